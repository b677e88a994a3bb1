//! Connector.

#![forbid(unsafe_code)]
