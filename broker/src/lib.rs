//! The broker: decides what the model may touch, writes it down, and touches it. It knows roots, paths and files; it
//! does not know who is talking, over what, or why.
//!
//! A call walks three modules in order, and the walk cannot be cut short: [`fence`] looks and decides, [`effect`]
//! touches and takes nothing but what a fence has made, [`tools`] joins the two into verbs. The desk (`desk.rs`) takes
//! each call along that walk, one at a time, and has the ledger (`audit/`) written before the act. `listener/` says who
//! may connect, `service/` translates the wire, `commands/` is what an operator types.

#![forbid(unsafe_code)]

mod audit;
pub mod cancel;
mod commands;
mod desk;
pub mod effect;
pub mod facts;
pub mod fence;
pub mod limits;
mod listener;
pub mod policy;
mod private;
pub mod refusal;
mod service;
pub mod tools;
mod turn;

pub use commands::main;

/// The broker's version, as `Hello`, `Status` and the ledger name it.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What the fuzz target `ledger` calls: the ledger itself stays the broker's own.
#[cfg(fuzzing)]
pub fn read_as_ledger(bytes: &[u8]) {
    audit::fuzzing::read_as_ledger(bytes);
}
