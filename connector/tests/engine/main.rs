//! The engine with the real pi, the real extension and the real fence, between a scripted model and a small broker.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod broker;
mod fence;
mod house;
mod runs;
mod start;
