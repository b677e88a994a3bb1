//! Fuzz target `credential`: see `properties::credential`.
#![no_main]

#[path = "../properties.rs"]
#[allow(dead_code, reason = "each target calls one property")]
mod properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| properties::credential(bytes));
