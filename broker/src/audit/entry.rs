//! The kinds of line a ledger has: one closed enum, so that "what can be in it?" has an answer you can scroll.

use serde::{Deserialize, Serialize};

use super::Told;

/// What one line says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Entry {
    /// A broker began to serve; its confinement held when it was tested.
    Start {
        version: String,
        pid: u32,
        /// Digest of the policy its fences are built from.
        policy: String,
        /// Landlock ABI of the kernel, and the one the binding demands.
        abi: u32,
        required_abi: u32,
        /// Attempts of the self-test, all of which the kernel denied.
        attempts: u32,
    },
    /// The last line had been cut short; its bytes were set aside in the file named.
    Recovered {
        bytes: u64,
        sha256: String,
        kept_in: String,
    },
    /// A call had been written down and never ended: the broker died in it. `found` says what was left of it.
    Interrupted {
        turn: String,
        call: u32,
        tool: String,
        found: String,
    },
    /// A turn was opened.
    TurnOpen {
        turn: String,
        event: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        requester: Option<Who>,
    },
    /// A call passed its fences; the act follows.
    Intent(CallStart),
    /// The act was done.
    Done(CallEnd),
    /// A fence said no.
    Refused(CallEnd),
    /// The act was begun and failed; nothing of it is left.
    Failed(CallEnd),
    /// The caller went away first; nothing was done, or what was begun was undone.
    Cancelled(CallEnd),
    /// The kernel denied what a fence had passed: a bug or an attack. The call's own line follows.
    KernelDenied(CallStart),
    /// The turn takes no further calls.
    TurnAbort { turn: String },
    /// The turn is over. `unlisted` counts refused calls beyond those that got a line.
    TurnClose {
        turn: String,
        calls: u32,
        unlisted: u64,
        ending: Ending,
    },
    /// The broker ended in order.
    Stop,
}

/// Who asked for a turn, as the connector says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Who {
    pub(crate) id: String,
    /// The role the binding gives this person.
    pub(crate) name: String,
}

/// A call of a turn and what its fences found out. Without a turn, the turn is empty and calls count from 1 between
/// turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CallStart {
    pub(crate) turn: String,
    pub(crate) call: u32,
    pub(crate) tool: String,
    pub(crate) facts: Told,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CallEnd {
    pub(crate) turn: String,
    pub(crate) call: u32,
    pub(crate) tool: String,
    /// From the closed list of refusals; absent when done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// From arrival to end, in milliseconds.
    pub(crate) ms: u64,
    pub(crate) facts: Told,
}

/// Why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ending {
    /// The connector closed it.
    Closed,
    /// The control connection ended first.
    SessionLost,
    /// The broker was told to stop.
    BrokerStopped,
}

impl Entry {
    /// The turn the line belongs to; empty for a call outside of any.
    pub(crate) fn turn(&self) -> Option<&str> {
        match self {
            Entry::TurnOpen { turn, .. }
            | Entry::TurnAbort { turn }
            | Entry::TurnClose { turn, .. }
            | Entry::Interrupted { turn, .. } => Some(turn),
            Entry::Intent(call) | Entry::KernelDenied(call) => Some(&call.turn),
            Entry::Done(call)
            | Entry::Refused(call)
            | Entry::Failed(call)
            | Entry::Cancelled(call) => Some(&call.turn),
            Entry::Start { .. } | Entry::Recovered { .. } | Entry::Stop => None,
        }
    }

    /// The end of a call, when the line is one, with the word for how it ended.
    pub(crate) fn call_end(&self) -> Option<(&'static str, &CallEnd)> {
        match self {
            Entry::Done(end) => Some(("done", end)),
            Entry::Refused(end) => Some(("refused", end)),
            Entry::Failed(end) => Some(("failed", end)),
            Entry::Cancelled(end) => Some(("cancelled", end)),
            _ => None,
        }
    }
}
