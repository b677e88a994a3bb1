//! The words between the gateway's machine and its driver: what happens, what is to be done, and when.
//! Closed lists, so that "what can happen here?" has an answer.

use std::time::Duration;

use super::GatewayEvent;
use super::loss::{Loss, OpenFault};
use super::wire::{Inbound, Malformed, Outbound};
use crate::discord::address::GatewayUrl;
use crate::discord::model::SessionStartLimit;

/// The time since the driver began, and a fresh random fraction in `0..1` for the one decision that may need it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    pub(super) at: Duration,
    pub(super) chance: f64,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Input {
    Start,
    /// The answer to [`Action::LookUp`].
    LookedUp(Result<(GatewayUrl, SessionStartLimit), Loss>),
    /// The answers to [`Action::Open`].
    Opened,
    OpenFailed(OpenFault),
    Frame(Inbound),
    /// A frame that cannot be read, on a stream that can.
    Malformed(Malformed),
    /// The stream itself cannot be read any more.
    Broken(Malformed),
    /// A close frame.
    Closed {
        code: u16,
    },
    /// The end without one.
    Cut,
    Timer(Timer),
    Stop,
}

/// The alarms. Each is set at most once at a time; setting it again moves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// The next beat is due; `unread` says that frames wait to be read, perhaps the missing acknowledgement among them.
    Heartbeat { unread: bool },
    /// Hello or session are overdue.
    Deadline,
    /// IDENTIFY may be sent now.
    Enter,
    /// The pause between two connections is over.
    Retry,
}

/// What to do, in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    /// Ask REST for the gateway's address and budget.
    LookUp,
    Open(GatewayUrl),
    Send(Outbound),
    /// This connection is over, and its timers with it. The code goes out unless the other side ended it.
    HangUp(Option<u16>),
    Set(Timer, Duration),
    Clear(Timer),
    Deliver(GatewayEvent),
    /// Nothing more will be done.
    End,
}

/// What a watchdog may know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pulse {
    pub(super) live: bool,
    pub(super) interval: Option<Duration>,
    pub(super) acked_at: Option<Duration>,
}
