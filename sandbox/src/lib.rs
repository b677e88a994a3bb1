//! Puts a process inside a table: which paths, ports and system calls it keeps, with a reason beside every row.
//!
//! A [`Profile`] is that table. [`Profile::prepare`] turns it into a [`Fence`] while paths are still reachable,
//! [`Fence::enter`] closes the fence around the process, and [`selftest::run`] tries, from inside, what must fail.
//! The crate knows nothing of Discord, pi, git or the wire; it knows the kernel.
//!
//! ```no_run
//! # fn main() -> Result<(), mosaic_sandbox::SandboxError> {
//! use mosaic_sandbox::{RequiredAbi, harden_process, profiles, selftest};
//!
//! harden_process()?; // first thing in `main`
//! // … read the binding, take the lock, bind the sockets, open what the fence will put out of reach …
//! let reach = profiles::BrokerReach { read_roots: vec![], write_roots: vec![], state: "/srv/state".into() };
//! let ground = selftest::Ground::lay("/run/user/1000/mosaic".as_ref())?;
//! let entered = profiles::broker(&reach).prepare(RequiredAbi::default())?.enter()?; // before any thread exists
//! let report = selftest::run(&entered, Some(&ground), &[selftest::Probe::open_denied("/etc/passwd".as_ref())]);
//! assert!(report.holds(), "{report}");
//! // … only now the runtime …
//! # Ok(()) }
//! ```
//!
//! Everything fails closed: a missing path, an older kernel, a fence that holds only in part are errors, never warnings.
#![expect(
    unsafe_code,
    reason = "this is the one crate that makes system calls the safe wrappers lack"
)]

mod abi;
mod call;
mod error;
mod exec;
mod fence;
mod files;
mod landlock_rules;
mod launch;
mod launcher;
mod ports;
mod print;
mod process;
mod profile;
pub mod profiles;
mod refusal;
mod seccomp_filter;
pub mod selftest;

#[cfg(test)]
mod mutation;

pub use abi::RequiredAbi;
pub use error::SandboxError;
pub use fence::{Entered, Fence};
pub use launch::launch_engine;
pub use launcher::confine;
pub use process::harden_process;
pub use profile::Profile;
