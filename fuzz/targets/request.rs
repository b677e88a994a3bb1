//! Fuzz target `request`: see `properties::request`.
#![no_main]

#[path = "../properties.rs"]
#[allow(dead_code, reason = "each target calls one property")]
mod properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| properties::request(bytes));
