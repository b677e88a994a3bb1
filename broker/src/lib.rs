//! See the README of the workspace.

#![forbid(unsafe_code)]
