//! The one turn in hand: which step it is in and what its record will say.

use crate::{
    journal::{
        At, Delivery, EngineShare, Outcome, RECORD_VERSION, Reaction, Times, ToolCall, TurnRecord,
    },
    seat::{Arrival, Identity},
};

/// Where the turn stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    /// The broker was asked to open it.
    Opening,
    /// The engine works.
    Running,
    /// The engine is done, with this reply or reason; the broker was asked to close it.
    Closing(Result<String, String>),
    /// Its answer is on the way.
    Answering,
}

#[derive(Debug)]
pub(super) struct Turn {
    pub(super) arrival: Arrival,
    /// Length of a part of the answer: the limit as it was at the admission.
    pub(super) chunk_chars: usize,
    pub(super) phase: Phase,
    /// A person stopped it.
    pub(super) aborted: bool,
    pub(super) times: Times,
    pub(super) receipt: Reaction,
    pub(super) share: EngineShare,
    /// Calls as they were heard to end; replaced by the broker's own list when the turn is closed.
    pub(super) calls: Vec<ToolCall>,
}

impl Turn {
    pub(super) fn admitted(arrival: Arrival, chunk_chars: usize, now: At) -> Self {
        let times = Times {
            received: arrival.received,
            admitted: now,
            prompted: None,
            settled: None,
            delivered: None,
        };
        Self {
            arrival,
            chunk_chars,
            phase: Phase::Opening,
            aborted: false,
            times,
            receipt: Reaction::NotTried,
            share: EngineShare::default(),
            calls: Vec::new(),
        }
    }

    /// The record, all but the delivery.
    pub(super) fn record(
        &self,
        identity: &Identity,
        outcome: Outcome,
        error: Option<String>,
    ) -> TurnRecord {
        let Arrival {
            message,
            place,
            channel,
            author,
            requester,
            ..
        } = self.arrival.clone();
        TurnRecord {
            record_version: RECORD_VERSION,
            id: message,
            channel,
            thread: (place != channel).then_some(place),
            author,
            requester,
            times: self.times.clone(),
            outcome,
            error,
            receipt: self.receipt.clone(),
            engine: EngineShare {
                provider: identity.provider.clone(),
                model: identity.model.clone(),
                ..self.share.clone()
            },
            tools: self.calls.clone(),
            delivery: Delivery::default(),
            sandbox: identity.sandbox,
            policy_digest: identity.policy_digest.clone(),
        }
    }
}
