//! The seat: one turn at a time, later messages held, every answer carried to its end. A pure machine: it takes events and
//! the time and returns actions, and owns no socket, file or clock.

mod event;
mod recovery;
#[cfg(test)]
mod tests;
mod turn;

use std::{
    collections::{HashSet, VecDeque},
    time::Duration,
};

pub use event::{Action, Arrival, Ending, Event, Message, Settled};
pub use recovery::{Past, Plan, Resumed};
use turn::{Phase, Turn};

use crate::{
    binding::{Binding, Limits},
    broker::Asker,
    delivery::{
        Courier, News, PARTS_MAX, Parcel, Receipt, Sought, Step,
        split::{count, split},
    },
    discord::Snowflake,
    fixed::{Fixed, aborted},
    journal::{
        At, Day, Delivery, Digest, Outcome, Sandbox,
        lines::{Admission, Drop, DropReason, Inbox, Notice, NoticeKind, Outbox},
    },
};

/// So many engines may fail one after the other before the process gives up and leaves it to the supervisor.
const ENGINE_TRIES: u32 = 3;
/// Pause before an engine is started again, multiplied by the failures in a row.
const ENGINE_PAUSE: Duration = Duration::from_secs(2);

/// What is fixed for the life of the process and goes into every record.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    /// The engine's provider, as the binding names it.
    pub provider: String,
    /// The engine's model, as the binding names it.
    pub model: String,
    /// How the broker is confined; all zero without one.
    pub sandbox: Sandbox,
    /// Digest of the policy the tools run under; `None` without tools, and then no broker is asked for anything.
    pub policy_digest: Option<String>,
}

/// The machine.
#[derive(Debug)]
pub struct Seat {
    identity: Identity,
    limits: Limits,
    /// Every message id that has an inbox line.
    seen: HashSet<Snowflake>,
    today: Today,
    held: VecDeque<Arrival>,
    turn: Option<Turn>,
    engine: Engine,
    /// Parcels that wait for the one being carried.
    outgoing: VecDeque<Load>,
    carrying: Option<(Load, Courier)>,
    ending: Option<Ending>,
    broker_gone: bool,
    /// Nonces of which nobody can say whether they stand in the channel.
    unsettled: Vec<String>,
}

/// What the ceiling counts.
#[derive(Debug, Clone, Copy)]
struct Today {
    day: Day,
    admitted: u32,
    /// The day's one line about the ceiling was attempted.
    told: bool,
}

/// The engine as the seat sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Engine {
    /// Being started, for the n-th time in a row without a run that ended.
    Starting(u32),
    Idle(u32),
    Busy,
}

/// A parcel with what is already known of its delivery.
#[derive(Debug, Clone)]
struct Load {
    parcel: Parcel,
    /// Set on what a restart found; a fresh parcel sets out with its first part.
    found: Option<Resumed>,
    posted: Vec<Option<Snowflake>>,
}

impl Seat {
    /// A seat that goes on where `plan` says the last one stopped, and the first actions of it.
    ///
    /// Held messages of the plan come back as [`Event::Message`] once they are fetched again.
    pub fn new(identity: Identity, limits: Limits, plan: Plan, now: At) -> (Self, Vec<Action>) {
        let Plan {
            seen,
            admitted_today,
            told_today,
            parcels,
            drops,
            ..
        } = plan;
        let mut seat = Self {
            identity,
            limits,
            seen,
            today: Today {
                day: now.day(),
                admitted: admitted_today,
                told: told_today,
            },
            held: VecDeque::new(),
            turn: None,
            engine: Engine::Starting(1),
            outgoing: VecDeque::new(),
            carrying: None,
            ending: None,
            broker_gone: false,
            unsettled: Vec::new(),
        };
        let mut actions: Vec<Action> = drops.into_iter().map(Action::Drop).collect();
        for resumed in parcels {
            if resumed.fresh {
                actions.push(Action::Keep(Box::new(resumed.parcel.clone())));
            }
            let posted = resumed.posted.clone();
            seat.outgoing.push_back(Load {
                parcel: resumed.parcel.clone(),
                found: Some(resumed),
                posted,
            });
        }
        seat.carry_next(now, &mut actions);
        (seat, actions)
    }

    /// Nothing is on its way to a channel.
    pub fn nothing_outgoing(&self) -> bool {
        self.carrying.is_none() && self.outgoing.is_empty()
    }

    /// Nonces that came to their end without anybody knowing whether they were delivered.
    pub fn unsettled(&self) -> &[String] {
        &self.unsettled
    }

    /// The message of the turn in hand.
    pub fn turn(&self) -> Option<Snowflake> {
        self.turn.as_ref().map(|turn| turn.arrival.message)
    }

    /// Turns admitted on the day of the last one, or of the start.
    pub fn admitted_today(&self) -> u32 {
        self.today.admitted
    }

    /// The limits that hold for the next admission.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The process ends as soon as nothing is in hand.
    pub fn is_ending(&self) -> bool {
        self.ending.is_some()
    }

    /// Messages that wait for their turn.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Takes what happened and says what to do, in order.
    pub fn handle(&mut self, event: Event, now: At) -> Vec<Action> {
        let mut actions = Vec::new();
        self.take(event, now, &mut actions);
        self.start_next(now, &mut actions);
        self.end_if_done(&mut actions);
        actions
    }

    fn take(&mut self, event: Event, now: At, actions: &mut Vec<Action>) {
        match event {
            Event::Message(Message::Dropped(drop)) => actions.push(Action::Drop(drop)),
            Event::Message(Message::Own { mut line, answers }) => {
                if !answers.is_some_and(|message| self.seen.contains(&message)) {
                    line.reason = DropReason::ForeignOwnMessage;
                }
                actions.push(Action::Drop(line));
            }
            Event::Message(Message::Passed {
                arrival,
                braked,
                known,
            }) => {
                self.arrived(arrival, braked, known, now, actions);
            }
            Event::TurnOpened(Ok(())) => self.turn_opened(now, actions),
            Event::TurnOpened(Err(reason)) => self.turn_failed(reason, now, actions),
            Event::CallEnded(call) => {
                if let Some(turn) = &mut self.turn {
                    turn.calls.push(call);
                }
            }
            Event::TurnClosed(closed) => self.turn_closed(closed.ok(), now, actions),
            Event::Prompted => {
                if let Some(turn) = &mut self.turn {
                    turn.times.prompted = Some(now);
                }
            }
            Event::Settled(settled) => {
                self.engine = Engine::Idle(0);
                self.run_ended(settled, now, actions);
            }
            Event::EngineReady => {
                if let Engine::Starting(tries) = self.engine {
                    self.engine = Engine::Idle(tries);
                }
            }
            Event::EngineGone(reason) => self.engine_gone(reason, now, actions),
            Event::BrokerGone => self.broker_gone(now, actions),
            Event::Reacted { message, reaction } => {
                if let Some(turn) = self
                    .turn
                    .as_mut()
                    .filter(|turn| turn.arrival.message == message)
                {
                    turn.receipt = reaction;
                }
            }
            Event::Courier(news) => self.courier_news(news, now, actions),
            Event::Abort => self.abort(actions),
            Event::Rebound(binding) => self.rebound(&binding, now, actions),
            Event::End(ending) => self.ending = Some(self.ending.take().unwrap_or(ending)),
        }
    }

    /// Inbox first, then the stop switch, the size and the ceiling (seeds 002, steps 2 and 3).
    fn arrived(
        &mut self,
        arrival: Arrival,
        braked: bool,
        known: bool,
        now: At,
        actions: &mut Vec<Action>,
    ) {
        let drop = |reason| {
            let Arrival {
                message: id,
                place: channel,
                author,
                ..
            } = arrival;
            Action::Drop(Drop {
                id,
                channel,
                author,
                reason,
                at: now,
            })
        };
        if !known && !self.seen.insert(arrival.message) {
            actions.push(drop(DropReason::Duplicate));
            return;
        }
        if !known {
            let Arrival {
                message: id,
                place: channel,
                author,
                received: at,
                ..
            } = arrival;
            actions.push(Action::Inbox(Inbox {
                id,
                channel,
                author,
                at,
            }));
        }
        if braked {
            actions.push(drop(DropReason::Stopped));
        } else if now.ms().saturating_sub(arrival.message.created_ms()) > as_ms(self.limits.max_age)
        {
            // A resume can replay what was written long ago; the same age holds for it as after a restart (DESIGN 7.25).
            actions.push(drop(DropReason::TooOld));
        } else if count(&arrival.text) > self.limits.inbound_max_chars {
            let parcel = line_parcel(&arrival, Fixed::OverSize, now);
            actions.push(Action::Keep(Box::new(parcel.clone())));
            actions.push(drop(DropReason::OverSize));
            self.send(parcel, now, actions);
        } else if self.ceiling_reached(now) {
            let first = !std::mem::replace(&mut self.today.told, true);
            if first {
                let kind = NoticeKind::OverCeiling;
                actions.push(Action::Notice(Notice {
                    day: now.day(),
                    kind,
                    at: now,
                }));
                let parcel = line_parcel(&arrival, Fixed::OverCeiling, now);
                actions.push(Action::Keep(Box::new(parcel.clone())));
                actions.push(drop(DropReason::OverCeiling));
                self.send(parcel, now, actions);
            } else {
                actions.push(drop(DropReason::OverCeiling));
            }
        } else {
            self.held.push_back(arrival);
        }
    }

    /// Counts what was admitted today and what waits, since each of those will be.
    fn ceiling_reached(&mut self, now: At) -> bool {
        if self.today.day != now.day() {
            self.today = Today {
                day: now.day(),
                admitted: 0,
                told: false,
            };
        }
        let waiting = u32::try_from(self.held.len()).unwrap_or(u32::MAX);
        self.today.admitted.saturating_add(waiting) >= self.limits.turns_per_day
    }

    fn start_next(&mut self, now: At, actions: &mut Vec<Action>) {
        let ready =
            self.turn.is_none() && matches!(self.engine, Engine::Idle(_)) && self.ending.is_none();
        if !ready {
            return;
        }
        let Some(arrival) = self.held.pop_front() else {
            return;
        };
        if self.today.day != now.day() {
            self.today = Today {
                day: now.day(),
                admitted: 0,
                told: false,
            };
        }
        self.today.admitted += 1;
        let Arrival {
            message,
            place,
            author,
            ..
        } = arrival;
        actions.push(Action::Admission(Admission {
            id: message,
            channel: place,
            author,
            at: now,
        }));
        let asker = Asker {
            id: author.to_string(),
            name: arrival.requester.clone(),
            server_name: arrival.server_name.clone(),
        };
        self.turn = Some(Turn::admitted(arrival, self.limits.reply_chunk_chars, now));
        self.engine = Engine::Busy;
        if self.identity.policy_digest.is_some() {
            actions.push(Action::OpenTurn { message, asker });
        } else {
            self.turn_opened(now, actions);
        }
    }

    fn abort(&mut self, actions: &mut Vec<Action>) {
        let Some(turn) = &mut self.turn else { return };
        let message = turn.arrival.message;
        match turn.phase {
            // The broker still opens it; it is closed again as soon as it is open.
            Phase::Opening => turn.aborted = true,
            Phase::Running if !turn.aborted => {
                turn.aborted = true;
                actions.push(Action::Abort(message));
            }
            // What the engine said is not sent; the broker's list of what was done comes with the close.
            Phase::Closing(_) => turn.aborted = true,
            Phase::Running | Phase::Answering => {}
        }
    }

    /// Another binding holds for what was not admitted yet: a held message of somebody who is no longer listed gets no turn.
    fn rebound(&mut self, binding: &Binding, now: At, actions: &mut Vec<Action>) {
        self.limits = binding.limits.clone();
        self.held.retain(|arrival| {
            let Some(reason) = no_longer(arrival, binding) else {
                return true;
            };
            let Arrival {
                message: id,
                place: channel,
                author,
                ..
            } = *arrival;
            actions.push(Action::Drop(Drop {
                id,
                channel,
                author,
                reason,
                at: now,
            }));
            false
        });
    }

    fn turn_opened(&mut self, now: At, actions: &mut Vec<Action>) {
        if let Some(turn) = self
            .turn
            .as_mut()
            .filter(|turn| turn.phase == Phase::Opening)
        {
            turn.phase = Phase::Running;
            let Arrival { place, message, .. } = turn.arrival;
            if !turn.aborted {
                // The prompt first: the signs of life may cost the network its time while pi begins.
                actions.push(Action::Prompt(Box::new(turn.arrival.clone())));
                actions.push(Action::React { place, message });
                actions.push(Action::Type(place));
                return;
            }
            // It never reached the engine, which is as idle as before.
            self.engine = Engine::Idle(0);
            let settled = Settled {
                reply: Err("aborted".into()),
                share: Default::default(),
            };
            self.run_ended(settled, now, actions);
        }
    }

    /// The turn failed before the engine was asked: the engine is as idle as before.
    fn turn_failed(&mut self, reason: String, now: At, actions: &mut Vec<Action>) {
        if self
            .turn
            .as_ref()
            .is_some_and(|turn| turn.phase == Phase::Opening)
        {
            if self.engine == Engine::Busy {
                self.engine = Engine::Idle(0);
            }
            self.answer(Err(reason), now, actions);
        }
    }

    fn run_ended(&mut self, settled: Settled, now: At, actions: &mut Vec<Action>) {
        let Some(turn) = self
            .turn
            .as_mut()
            .filter(|turn| turn.phase == Phase::Running)
        else {
            return;
        };
        turn.times.settled = Some(now);
        turn.share = settled.share;
        if self.identity.policy_digest.is_some() && !self.broker_gone {
            turn.phase = Phase::Closing(settled.reply);
            actions.push(Action::CloseTurn(turn.arrival.message));
        } else {
            self.answer(settled.reply, now, actions);
        }
    }

    fn engine_gone(&mut self, reason: String, now: At, actions: &mut Vec<Action>) {
        let failures = match self.engine {
            Engine::Starting(tries) | Engine::Idle(tries) => tries,
            Engine::Busy => 0,
        };
        if failures >= ENGINE_TRIES {
            let sentence =
                format!("The engine failed {failures} times in a row, last with {reason}.");
            self.ending.get_or_insert(Ending::Failed(sentence));
        } else {
            self.engine = Engine::Starting(failures + 1);
            actions.push(Action::StartEngine(ENGINE_PAUSE * failures));
        }
        self.run_ended(
            Settled {
                reply: Err(reason),
                share: Default::default(),
            },
            now,
            actions,
        );
    }

    /// A control session does not come back: the turn fails, and a fresh process asks for a fresh session (DESIGN 2).
    fn broker_gone(&mut self, now: At, actions: &mut Vec<Action>) {
        self.broker_gone = true;
        self.ending.get_or_insert(Ending::Failed(
            "The broker went away, and the connector with it; a turn in hand was ended. Start the broker, then the connector.".into(),
        ));
        let Some(turn) = &mut self.turn else { return };
        match std::mem::replace(&mut turn.phase, Phase::Answering) {
            Phase::Answering => {}
            Phase::Closing(reply) => self.answer(reply, now, actions),
            Phase::Opening | Phase::Running => self.answer(Err("broker-gone".into()), now, actions),
        }
    }

    fn turn_closed(
        &mut self,
        calls: Option<Vec<crate::journal::ToolCall>>,
        now: At,
        actions: &mut Vec<Action>,
    ) {
        let Some(turn) = &mut self.turn else { return };
        if let Phase::Closing(reply) = std::mem::replace(&mut turn.phase, Phase::Answering) {
            // Without the broker's own list the calls heard while the turn ran stand in the record.
            turn.calls = calls.unwrap_or_else(|| std::mem::take(&mut turn.calls));
            self.answer(reply, now, actions);
        }
    }

    /// Packs the reply, or the one fixed line of a failed turn, and sends it.
    fn answer(&mut self, reply: Result<String, String>, now: At, actions: &mut Vec<Action>) {
        let Some(turn) = &mut self.turn else { return };
        turn.phase = Phase::Answering;
        let parts = reply.and_then(|text| match split(&text, turn.chunk_chars) {
            parts if parts.is_empty() => Err("empty-reply".to_owned()),
            parts if parts.len() > PARTS_MAX => Err("reply-too-long".to_owned()),
            parts => Ok(parts),
        });
        let (chunks, outcome, error) = match parts {
            // Whatever the engine still said: the person was promised that it stops.
            _ if turn.aborted => (vec![aborted(&turn.calls)], Outcome::Aborted, None),
            Ok(parts) => (
                parts.into_iter().map(|part| part.text).collect(),
                Outcome::Answered,
                None,
            ),
            Err(reason) => (
                vec![Fixed::Failed.text().to_owned()],
                Outcome::Failed,
                Some(reason),
            ),
        };
        let parcel = Parcel {
            message: turn.arrival.message,
            place: turn.arrival.place,
            packed: now,
            chunks,
            record: Some(Box::new(turn.record(&self.identity, outcome, error))),
        };
        actions.push(Action::StopTyping);
        actions.push(Action::Keep(Box::new(parcel.clone())));
        self.send(parcel, now, actions);
    }

    fn send(&mut self, parcel: Parcel, now: At, actions: &mut Vec<Action>) {
        self.outgoing.push_back(Load {
            parcel,
            found: None,
            posted: Vec::new(),
        });
        self.carry_next(now, actions);
    }

    fn carry_next(&mut self, now: At, actions: &mut Vec<Action>) {
        while self.carrying.is_none() {
            let Some(load) = self.outgoing.pop_front() else {
                return;
            };
            let parts = load.parcel.chunks.len();
            let (courier, steps) = match &load.found {
                None => Courier::set_out(parts, now),
                Some(found) => found.carry_on(now),
            };
            self.carrying = Some((load, courier));
            self.walk(steps, now, actions);
        }
    }

    fn courier_news(&mut self, news: News, now: At, actions: &mut Vec<Action>) {
        let Some((_, courier)) = &mut self.carrying else {
            return;
        };
        let steps = courier.handle(news, now);
        self.walk(steps, now, actions);
        self.carry_next(now, actions);
    }

    fn walk(&mut self, steps: Vec<Step>, now: At, actions: &mut Vec<Action>) {
        for step in steps {
            let Some((load, _)) = &mut self.carrying else {
                return;
            };
            let Load { parcel, posted, .. } = load;
            match step {
                Step::Intend { part, attempt } => {
                    actions.push(Action::Outbox(intent(parcel, part, attempt, now)));
                }
                Step::Post { part, reference } => actions.push(Action::Post {
                    place: parcel.place,
                    reply_to: reference.then_some(parcel.message),
                    nonce: parcel.nonce(part),
                    content: parcel.chunks[part].clone(),
                }),
                Step::Wait(after) => actions.push(Action::WakeCourier(after)),
                Step::LookFor { part } => actions.push(Action::LookFor {
                    place: parcel.place,
                    sought: Sought {
                        message: parcel.message,
                        part,
                        beyond: posted
                            .iter()
                            .flatten()
                            .next_back()
                            .copied()
                            .unwrap_or(parcel.message),
                        content: parcel.chunks[part].clone(),
                    },
                }),
                Step::Note { part, receipt } => {
                    match receipt {
                        Receipt::Confirmed(id) => posted.push(id),
                        Receipt::Unknown => self.unsettled.push(parcel.nonce(part)),
                        Receipt::Refused(_) => {}
                    }
                    actions.push(Action::Outbox(note(parcel.nonce(part), receipt, now)));
                }
                Step::Finished {
                    standing,
                    stopped_by,
                } => {
                    if let Some((load, _)) = self.carrying.take() {
                        self.delivered(load, standing, stopped_by.as_ref(), now, actions);
                    }
                }
            }
        }
    }

    /// The record last, then the answer leaves the spool. One nobody can vouch for stays in it for the next start.
    fn delivered(
        &mut self,
        load: Load,
        standing: usize,
        stopped_by: Option<&Receipt>,
        now: At,
        actions: &mut Vec<Action>,
    ) {
        let Load { parcel, posted, .. } = load;
        let ends_turn = self
            .turn
            .as_ref()
            .is_some_and(|turn| turn.arrival.message == parcel.message);
        let stopped_by = stopped_by.map(|receipt| match receipt {
            Receipt::Refused(reason) => reason.clone(),
            Receipt::Unknown | Receipt::Confirmed(_) => "unknown".to_owned(),
        });
        let unclear = stopped_by.as_deref() == Some("unknown");
        if let Some(mut record) = parcel.record {
            if let Some(turn) = self.turn.as_ref().filter(|_| ends_turn) {
                record.receipt = turn.receipt.clone();
            }
            if record.outcome == Outcome::Answered && stopped_by.is_some() {
                record.outcome = Outcome::Undelivered;
            }
            record.times.delivered = Some(now);
            record.delivery = Delivery {
                chunks: parcel.chunks.len(),
                standing,
                posted,
                stopped_by,
            };
            actions.push(Action::Record(record));
        }
        if !unclear {
            actions.push(Action::Forget(parcel.message));
        }
        if ends_turn {
            self.turn = None;
        }
    }

    fn end_if_done(&mut self, actions: &mut Vec<Action>) {
        if self.turn.is_none()
            && self.nothing_outgoing()
            && let Some(ending) = self.ending.clone()
        {
            actions.push(Action::Exit(ending));
        }
    }
}

fn as_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Why a message that passed the gate would not pass it any more; its text and its mentions have not changed.
fn no_longer(arrival: &Arrival, binding: &Binding) -> Option<DropReason> {
    let Some(user) = binding.user(arrival.author) else {
        return Some(DropReason::AuthorNotListed);
    };
    if binding.channel(arrival.channel).is_none() {
        return Some(DropReason::ChannelNotListed);
    }
    let own = user.channels.as_ref();
    own.is_some_and(|own| !own.contains(&arrival.channel))
        .then_some(DropReason::ChannelNotForUser)
}

/// A fixed line in answer to a message that gets no turn.
fn line_parcel(arrival: &Arrival, line: Fixed, now: At) -> Parcel {
    Parcel {
        message: arrival.message,
        place: arrival.place,
        packed: now,
        chunks: vec![line.text().to_owned()],
        record: None,
    }
}

fn intent(parcel: &Parcel, part: usize, attempt: u32, at: At) -> Outbox {
    let text = &parcel.chunks[part];
    Outbox::Intent {
        nonce: parcel.nonce(part),
        message: parcel.message,
        channel: parcel.place,
        part,
        of: parcel.chunks.len(),
        attempt,
        sha256: Digest::of(text.as_bytes()),
        chars: count(text),
        at,
    }
}

fn note(nonce: String, receipt: Receipt, at: At) -> Outbox {
    match receipt {
        Receipt::Confirmed(posted) => Outbox::Confirmed { nonce, posted, at },
        Receipt::Refused(reason) => Outbox::Refused { nonce, reason, at },
        Receipt::Unknown => Outbox::Unknown { nonce, at },
    }
}
