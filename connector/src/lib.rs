//! Connector.

#![forbid(unsafe_code)]

pub mod discord;
