//! Connector.
fn main() {}
