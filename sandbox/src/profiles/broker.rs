//! The broker: it touches the roots and its own ledger, and speaks only through connections it accepted.

use std::path::PathBuf;

use super::required;
use crate::call::{ACCEPTED_STREAMS, CORE, EVENTS, FILE_READ, FILE_WRITE, THREADS};
use crate::files::{READ, WRITE};
use crate::profile::Profile;
use crate::refusal;

/// What the broker of one binding must reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerReach {
    /// Roots the model may read.
    pub read_roots: Vec<PathBuf>,
    /// Roots the model may read and write.
    pub write_roots: Vec<PathBuf>,
    /// The folder of the ledger, `<dataRoot>/discord/<binding>/broker`.
    pub state: PathBuf,
}

/// The broker's table. Its listeners are bound before the fence is entered; inside, no socket can be made, no program
/// started and no folder created. Writes are a temporary file and a rename within one folder.
#[must_use]
pub fn broker(reach: &BrokerReach) -> Profile {
    let mut profile = Profile::bare(
        "broker",
        "serves file verbs to one engine through sockets it bound before, and keeps the ledger",
    );
    profile.files.extend(
        reach
            .read_roots
            .iter()
            .map(|root| required(root, READ, "a root the model may read")),
    );
    profile.files.extend(
        reach
            .write_roots
            .iter()
            .map(|root| required(root, WRITE, "a root the model may write")),
    );
    profile
        .files
        .push(required(&reach.state, WRITE, "the ledger"));
    profile.groups.extend([
        CORE,
        THREADS,
        EVENTS,
        FILE_READ,
        FILE_WRITE,
        ACCEPTED_STREAMS,
    ]);
    profile.refusals.extend(refusal::never());
    profile.refusals.extend([
        refusal::unshare_always(),
        refusal::new_process(),
        refusal::foreign_limits(),
        refusal::process_controls(),
        refusal::device_controls(),
        refusal::set_id_modes(),
        refusal::socket_pairs(),
    ]);
    profile
}

#[cfg(test)]
pub(super) fn example() -> Profile {
    broker(&BrokerReach {
        read_roots: vec!["/srv/library".into()],
        write_roots: vec!["/srv/vault".into()],
        state: "/data/discord/desk/broker".into(),
    })
}
