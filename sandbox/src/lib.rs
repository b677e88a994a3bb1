//! See the README of the workspace.

