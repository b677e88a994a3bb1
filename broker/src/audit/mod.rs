//! The ledger: what the broker was asked and what came of it, one line each, every line carrying the hash of the one
//! before. Written before an act, so that no effect is without its line. Holds names, sizes and digests; never
//! content, a secret or a path of the host.
//!
//! What the chain shows: any changed byte, any line removed, added or moved that later lines follow. A cut at the end
//! leaves a shorter but sound chain; it shows against `ledger.head`, which notes the last line of each closed turn,
//! and against the head that the log and `Status` name. Whoever can rewrite both files can rewrite history: the chain
//! has no key, on purpose, since the broker would have to hold it.

mod chain;
mod entry;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod hash;
mod head;
mod history;
mod ledger;
mod line;
mod told;

pub(crate) use chain::Chain;
pub(crate) use entry::{CallEnd, CallStart, Ending, Entry, Who};
pub(crate) use hash::Hash;
pub(crate) use history::{History, Unfinished};
pub(crate) use ledger::{Durable, Ledger, LedgerFault, OpenError, Verified, verify};
pub(crate) use line::Line;
pub(crate) use told::Told;

/// Name of the ledger in the broker's state folder.
pub(crate) const LEDGER: &str = "ledger.jsonl";
