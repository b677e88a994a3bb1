//! What can happen to the seat and what it can ask for: two closed lists, so that "what can happen here?" has an answer
//! one can scroll.

use std::{sync::Arc, time::Duration};

use crate::{
    binding::Binding,
    broker::Asker,
    delivery::{News, Parcel, Sought},
    discord::Snowflake,
    journal::{At, EngineShare, Reaction, ToolCall, TurnRecord, lines},
};

/// A message that passed the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// The message.
    pub message: Snowflake,
    /// Where it stands and the answer goes: a channel or a thread.
    pub place: Snowflake,
    /// The listed channel that admitted it; equal to `place` unless it stands in a thread.
    pub channel: Snowflake,
    /// The binding's name of that channel.
    pub channel_name: String,
    /// The thread's name, as far as it is known.
    pub thread_name: Option<String>,
    /// Who wrote it.
    pub author: Snowflake,
    /// The role the binding gives the author.
    pub requester: String,
    /// The name the author shows on this server; data, never a key.
    pub server_name: String,
    /// What was written.
    pub text: String,
    /// When it was received.
    pub received: At,
}

/// What the gate made of a message that came over the gateway, or was fetched again after a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// It passed. `braked`: the stop switch was on when it came.
    Passed {
        /// The message.
        arrival: Arrival,
        /// Whether `STOP` was there.
        braked: bool,
        /// Whether its inbox line stands from before the restart.
        known: bool,
    },
    /// It was turned away.
    Dropped(lines::Drop),
    /// Our own account said it.
    Own {
        /// Its line, for the case that it is ours.
        line: lines::Drop,
        /// The message it answers, by its nonce.
        answers: Option<Snowflake>,
    },
}

/// How a run of the engine ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    /// The reply, or why there is none, from the engine's closed list.
    pub reply: Result<String, String>,
    /// What it took.
    pub share: EngineShare,
}

/// What happens to the seat.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A message came.
    Message(Message),
    /// The broker answered `OpenTurn`; an error is its reason.
    TurnOpened(Result<(), String>),
    /// A tool call of the open turn ended.
    CallEnded(ToolCall),
    /// The broker answered `CloseTurn`.
    TurnClosed(Result<Vec<ToolCall>, String>),
    /// The engine took the prompt.
    Prompted,
    /// The engine's run ended.
    Settled(Settled),
    /// A new engine is verified and idle.
    EngineReady,
    /// The engine ended, broke or could not be started, for this reason from its closed list.
    EngineGone(String),
    /// The control session ended.
    BrokerGone,
    /// The read receipt of a message was answered.
    Reacted {
        /// The message.
        message: Snowflake,
        /// What came of it.
        reaction: Reaction,
    },
    /// News for the courier.
    Courier(News),
    /// An edited binding is in force from the next admission on.
    Rebound(Arc<Binding>),
    /// A person stops the turn in hand; without one, or when its answer is on the way, nothing changes.
    Abort,
    /// End when the turn in hand is done: a signal, or something final that happened elsewhere.
    End(Ending),
}

/// How the process ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Asked to: exit 0.
    Asked,
    /// Something failed that a fresh start may mend: exit 1, with a sentence for the operator.
    Failed(String),
    /// Something only the operator can mend, so no supervisor may retry: exit 2, with a sentence.
    Misconfigured(String),
}

/// What the seat asks for. The order in the list is the order on disk: a line is synced before the next action begins.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Append to `inbox.jsonl`.
    Inbox(lines::Inbox),
    /// Append to `admissions.jsonl`.
    Admission(lines::Admission),
    /// Append to `drops.jsonl`; synced when its message was taken ([`lines::DropReason::ends_what_was_taken`]).
    Drop(lines::Drop),
    /// Append to `notices.jsonl`.
    Notice(lines::Notice),
    /// Append to `outbox.jsonl`.
    Outbox(lines::Outbox),
    /// Put an answer into the spool.
    Keep(Box<Parcel>),
    /// Take an answer out of the spool.
    Forget(Snowflake),
    /// Write the turn's record, once.
    Record(Box<TurnRecord>),
    /// Add the read receipt; answered by [`Event::Reacted`].
    React {
        /// Where.
        place: Snowflake,
        /// To which message.
        message: Snowflake,
    },
    /// Show the typing indicator from now on, every eight seconds.
    Type(Snowflake),
    /// Stop typing, and wait for a typing request under way: none may arrive after the answer (D-53, D-55).
    StopTyping,
    /// Open the broker's turn; answered by [`Event::TurnOpened`].
    OpenTurn {
        /// The message, which is also the turn's id and event.
        message: Snowflake,
        /// Who asked.
        asker: Asker,
    },
    /// Close the broker's turn; answered by [`Event::TurnClosed`].
    CloseTurn(Snowflake),
    /// Have the broker refuse further calls of this turn and the engine end its run, which it reports as before.
    Abort(Snowflake),
    /// Give the engine its prompt; answered by [`Event::Prompted`] and [`Event::Settled`] or [`Event::EngineGone`].
    Prompt(Box<Arrival>),
    /// Start a fresh engine after a pause; answered by [`Event::EngineReady`] or [`Event::EngineGone`].
    StartEngine(Duration),
    /// Post a chunk; answered by [`News::Answered`].
    Post {
        /// Where.
        place: Snowflake,
        /// As a reply to this message.
        reply_to: Option<Snowflake>,
        /// Under this nonce.
        nonce: String,
        /// What.
        content: String,
    },
    /// Wake the courier after this time with [`News::Woken`].
    WakeCourier(Duration),
    /// Read the place back from the inbound message on and look for a chunk of ours; answered by [`News::Seen`].
    LookFor {
        /// Where.
        place: Snowflake,
        /// The chunk.
        sought: Sought,
    },
    /// End the process.
    Exit(Ending),
}
