//! The real broker, confined, over its real sockets: what it serves, what it refuses, and what is left behind.

#![expect(
    clippy::disallowed_methods,
    reason = "lays out files, starts the broker and connects to it, as its neighbours do"
)]

mod calls;
mod commands;
mod confinement;
mod floods;
mod frames;
mod harness;
mod ledger;
mod sockets;
