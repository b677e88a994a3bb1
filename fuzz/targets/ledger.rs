//! Fuzz target `ledger`: the reader of the ledger, with bytes as they come and with the hashes they would need.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mosaic_broker::read_as_ledger(bytes));
