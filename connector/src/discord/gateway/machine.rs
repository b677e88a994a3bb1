//! The gateway protocol as a value: what happened goes in with the time, what to do comes out. It owns no socket, clock or dice.
//! The rules are `reference/discord-api.md` sections 5 and 6; a line of its tests is one step of a connection's life.

use std::time::Duration;

use super::GatewayEvent;
use super::backoff::Backoff;
use super::close_code::{self, COMING_BACK, GOODBYE, Next};
use super::heartbeat::{Heartbeat, Tick};
use super::loss::{Down, Loss, OpenFault};
use super::send_limit::{SendLimit, Urgency};
use super::step::{Action, Input, Now, Pulse, Timer};
use super::wire::{Dispatch, Inbound, Outbound, Ready};
use crate::discord::address::{ApiBase, GatewayUrl};
use crate::discord::model::SessionStartLimit;
use crate::discord::rest::RestError;

/// From the open socket to the hello.
pub(super) const HELLO_TIMEOUT: Duration = Duration::from_secs(30);
/// From IDENTIFY or RESUME to the session, or to the last event of a long replay.
pub(super) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(60);
/// Between two IDENTIFYs; Discord answers a faster one with op 9. More than its 5 s, which it counts from arrival to arrival.
const IDENTIFY_SPACING: Duration = Duration::from_secs(6);
/// Session starts that are never used: one too many and Discord resets the token, and the operator's `check` needs some.
const IDENTIFY_RESERVE: u64 = 5;
/// Failed resumes after which the session is given up: it may be broken at Discord's side (D-23, D-24).
const RESUME_TRIES: u32 = 3;
/// A connection that lived less after READY or RESUMED was no success: the pauses go on growing (D-21).
const STEADY: Duration = Duration::from_secs(30);
/// After op 9 (with as much again four times over, at random).
const SESSION_REFUSED_WAIT: Duration = Duration::from_secs(1);
/// After an answer that blames this program or host, and no time was told.
const BLOCKED_WAIT: Duration = Duration::from_secs(60);
const HTTP_UNAUTHORIZED: u16 = 401;

/// The machine.
#[derive(Debug)]
pub(super) struct Machine {
    base: ApiBase,
    phase: Phase,
    /// The first address, until opening it fails.
    first_url: Option<GatewayUrl>,
    session: Option<Session>,
    failed_resumes: u32,
    backoff: Backoff,
    last_identify: Option<Duration>,
    /// Of this connection.
    heartbeat: Option<Heartbeat>,
    sends: SendLimit,
    last_dispatch: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Waiting,
    LookingUp,
    Opening,
    AwaitingHello,
    /// IDENTIFY or RESUME is due or sent.
    Entering,
    Live {
        since: Duration,
    },
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Session {
    id: String,
    /// Where to resume; `None` after opening it failed, or when READY named no address we would go to.
    url: Option<GatewayUrl>,
    seq: u64,
}

impl Machine {
    pub(super) fn new(base: ApiBase) -> Self {
        Self {
            base,
            phase: Phase::Waiting,
            first_url: None,
            session: None,
            failed_resumes: 0,
            backoff: Backoff::default(),
            last_identify: None,
            heartbeat: None,
            sends: SendLimit::default(),
            last_dispatch: Duration::ZERO,
        }
    }

    pub(super) fn pulse(&self) -> Pulse {
        let heartbeat = self.heartbeat.as_ref();
        Pulse {
            live: matches!(self.phase, Phase::Live { .. }),
            interval: heartbeat.map(Heartbeat::interval),
            acked_at: heartbeat.map(Heartbeat::acked_at),
        }
    }

    /// The one way in. An input that does not fit the phase is late news of a connection that is over, and does nothing.
    pub(super) fn handle(&mut self, input: Input, now: Now) -> Vec<Action> {
        if let (Input::Frame(_) | Input::Malformed(_), Some(heartbeat)) =
            (&input, &mut self.heartbeat)
        {
            heartbeat.heard();
        }
        match (self.phase, input) {
            (Phase::Ended, _) => vec![],
            (_, Input::Stop) => self.stop(),
            (Phase::Waiting, Input::Start | Input::Timer(Timer::Retry)) => self.connect(),
            (Phase::LookingUp, Input::LookedUp(answer)) => self.looked_up(answer, now),
            (Phase::Opening, Input::Opened) => self.opened(now),
            (Phase::Opening, Input::OpenFailed(fault)) => self.open_failed(fault, now),
            (Phase::Waiting | Phase::LookingUp | Phase::Opening, _) => vec![],
            (_, Input::Frame(frame)) => self.frame(frame, now),
            (_, Input::Malformed(reason)) => {
                vec![Action::Deliver(GatewayEvent::Malformed { reason })]
            }
            (_, Input::Broken(reason)) => self.lose(Loss::Frame(reason), Some(COMING_BACK), now),
            (_, Input::Closed { code }) => self.closed(code, now),
            (_, Input::Cut) => self.lose(Loss::Cut, None, now),
            (_, Input::Timer(Timer::Heartbeat { unread })) => self.beat(unread, now),
            (_, Input::Timer(Timer::Deadline)) => self.overdue(now),
            (Phase::Entering, Input::Timer(Timer::Enter)) => self.enter(now),
            (
                _,
                Input::Start
                | Input::LookedUp(_)
                | Input::Opened
                | Input::OpenFailed(_)
                | Input::Timer(Timer::Enter | Timer::Retry),
            ) => vec![],
        }
    }

    fn stop(&mut self) -> Vec<Action> {
        let connected = matches!(
            self.phase,
            Phase::AwaitingHello | Phase::Entering | Phase::Live { .. }
        );
        self.phase = Phase::Ended;
        self.heartbeat = None;
        if connected {
            vec![Action::HangUp(Some(GOODBYE)), Action::End]
        } else {
            vec![Action::End]
        }
    }

    /// A session is resumed where it was said to be, else at the first address. A new one always asks, because the budget is in the answer.
    fn connect(&mut self) -> Vec<Action> {
        let known = self
            .session
            .as_ref()
            .and_then(|session| session.url.clone().or_else(|| self.first_url.clone()));
        match known {
            Some(url) => {
                self.phase = Phase::Opening;
                vec![Action::Open(url)]
            }
            None => {
                self.phase = Phase::LookingUp;
                vec![Action::LookUp]
            }
        }
    }

    fn looked_up(
        &mut self,
        answer: Result<(GatewayUrl, SessionStartLimit), Loss>,
        now: Now,
    ) -> Vec<Action> {
        let (url, budget) = match answer {
            Ok(answer) => answer,
            Err(Loss::LookUp(RestError::Unauthorized)) => {
                return self.fatal(HTTP_UNAUTHORIZED, close_code::TOKEN_REFUSED);
            }
            Err(Loss::LookUp(RestError::Limited {
                retry_after,
                global,
                html,
            })) => {
                return self.pause(
                    Loss::LookUp(RestError::Limited {
                        retry_after,
                        global,
                        html,
                    }),
                    retry_after,
                    now,
                );
            }
            Err(Loss::LookUp(RestError::Blocked)) => {
                return self.pause(Loss::LookUp(RestError::Blocked), BLOCKED_WAIT, now);
            }
            Err(other) => return self.pause(other, Duration::ZERO, now),
        };
        self.first_url = Some(url.clone());
        if self.session.is_none() && budget.remaining <= IDENTIFY_RESERVE {
            return self.pause(
                Loss::Budget {
                    remaining: budget.remaining,
                },
                budget.resets_in(),
                now,
            );
        }
        self.phase = Phase::Opening;
        vec![Action::Open(url)]
    }

    fn opened(&mut self, now: Now) -> Vec<Action> {
        self.phase = Phase::AwaitingHello;
        self.sends = SendLimit::default();
        vec![Action::Set(Timer::Deadline, now.at + HELLO_TIMEOUT)]
    }

    /// The address that failed is forgotten (D-25); the session is not, for nobody has asked after it yet.
    fn open_failed(&mut self, fault: OpenFault, now: Now) -> Vec<Action> {
        let resume_url = self.session.as_mut().and_then(|session| session.url.take());
        if resume_url.is_none() {
            self.first_url = None;
        }
        self.pause(Loss::Open(fault), Duration::ZERO, now)
    }

    fn frame(&mut self, frame: Inbound, now: Now) -> Vec<Action> {
        match frame {
            Inbound::Hello { interval } if self.phase == Phase::AwaitingHello => {
                self.greeted(interval, now)
            }
            // A second hello changes nothing that was agreed.
            Inbound::Hello { .. } => vec![],
            Inbound::Dispatch { seq, dispatch } => self.dispatched(seq, dispatch, now),
            Inbound::HeartbeatRequest if self.sends.allow(Urgency::OnRequest, now.at) => {
                vec![self.heartbeat_frame()]
            }
            // A flood of requests must not make us break Discord's own limit.
            Inbound::HeartbeatRequest => vec![],
            Inbound::HeartbeatAck => {
                if let Some(heartbeat) = &mut self.heartbeat {
                    heartbeat.acked(now.at);
                }
                vec![]
            }
            Inbound::Reconnect => self.lose(Loss::Asked, Some(COMING_BACK), now),
            Inbound::InvalidSession { resumable } => {
                if !resumable {
                    self.session = None;
                }
                self.lose(Loss::SessionRefused { resumable }, Some(COMING_BACK), now)
            }
        }
    }

    /// Beats begin at a random part of the interval, so that a restart of Discord's is not answered by all bots at once.
    fn greeted(&mut self, interval: Duration, now: Now) -> Vec<Action> {
        self.phase = Phase::Entering;
        self.heartbeat = Some(Heartbeat::new(interval, now.at));
        let first = Action::Set(
            Timer::Heartbeat { unread: false },
            now.at + interval.mul_f64(now.chance),
        );
        let mut actions = vec![first];
        actions.extend(self.enter(now));
        actions
    }

    /// RESUME when there is a session, else IDENTIFY as soon as it may be sent.
    fn enter(&mut self, now: Now) -> Vec<Action> {
        let allowed_at = match (&self.session, self.last_identify) {
            (None, Some(last)) => last + IDENTIFY_SPACING,
            (Some(_), _) | (None, None) => now.at,
        };
        if allowed_at > now.at {
            return vec![
                Action::Set(Timer::Enter, allowed_at),
                Action::Set(Timer::Deadline, allowed_at + HANDSHAKE_TIMEOUT),
            ];
        }
        if !self.sends.allow(Urgency::Ours, now.at) {
            return vec![Action::Set(Timer::Enter, now.at + IDENTIFY_SPACING)];
        }
        let frame = match &self.session {
            Some(session) => Outbound::Resume {
                session_id: session.id.clone(),
                seq: session.seq,
            },
            None => {
                self.last_identify = Some(now.at);
                Outbound::Identify
            }
        };
        self.last_dispatch = now.at;
        vec![
            Action::Send(frame),
            Action::Set(Timer::Deadline, now.at + HANDSHAKE_TIMEOUT),
        ]
    }

    fn dispatched(&mut self, seq: Option<u64>, dispatch: Dispatch, now: Now) -> Vec<Action> {
        self.last_dispatch = now.at;
        if let (Some(session), Some(seq)) = (&mut self.session, seq) {
            session.seq = session.seq.max(seq);
        }
        match dispatch {
            Dispatch::Ready(ready) => self.ready(*ready, seq, now),
            Dispatch::Resumed if self.session.is_some() => {
                self.live(now);
                vec![
                    Action::Clear(Timer::Deadline),
                    Action::Deliver(GatewayEvent::Resumed),
                ]
            }
            Dispatch::Resumed => vec![],
            Dispatch::Event(event) => vec![Action::Deliver(GatewayEvent::Dispatch(event))],
            Dispatch::Unreadable(reason) => {
                vec![Action::Deliver(GatewayEvent::Malformed { reason })]
            }
        }
    }

    fn ready(&mut self, ready: Ready, seq: Option<u64>, now: Now) -> Vec<Action> {
        let Ready {
            user,
            application_flags,
            session_id,
            resume_url,
        } = ready;
        let url = resume_url.and_then(|url| GatewayUrl::parse(&url, &self.base).ok());
        self.session = Some(Session {
            id: session_id,
            url,
            seq: seq.unwrap_or(0),
        });
        self.live(now);
        vec![
            Action::Clear(Timer::Deadline),
            Action::Deliver(GatewayEvent::Ready {
                user,
                application_flags,
            }),
        ]
    }

    fn live(&mut self, now: Now) {
        self.phase = Phase::Live { since: now.at };
        self.failed_resumes = 0;
    }

    fn beat(&mut self, unread: bool, now: Now) -> Vec<Action> {
        let Some(heartbeat) = &mut self.heartbeat else {
            return vec![];
        };
        let next = Action::Set(
            Timer::Heartbeat { unread: false },
            now.at + heartbeat.interval(),
        );
        if heartbeat.tick(unread) == Tick::Dead {
            return self.lose(Loss::NoAck, Some(COMING_BACK), now);
        }
        if !self.sends.allow(Urgency::Heartbeat, now.at) {
            return vec![next];
        }
        heartbeat.sent();
        vec![self.heartbeat_frame(), next]
    }

    fn heartbeat_frame(&self) -> Action {
        Action::Send(Outbound::Heartbeat {
            seq: self.session.as_ref().map(|session| session.seq),
        })
    }

    fn overdue(&mut self, now: Now) -> Vec<Action> {
        match self.phase {
            Phase::AwaitingHello => self.lose(Loss::NoHello, Some(COMING_BACK), now),
            // A replay is under way: the session is there, only long.
            Phase::Entering if now.at < self.last_dispatch + HANDSHAKE_TIMEOUT => {
                vec![Action::Set(
                    Timer::Deadline,
                    self.last_dispatch + HANDSHAKE_TIMEOUT,
                )]
            }
            Phase::Entering => self.lose(Loss::NoSession, Some(COMING_BACK), now),
            Phase::Waiting
            | Phase::LookingUp
            | Phase::Opening
            | Phase::Live { .. }
            | Phase::Ended => vec![],
        }
    }

    fn closed(&mut self, code: u16, now: Now) -> Vec<Action> {
        match close_code::next(code) {
            Next::Fatal(sentence) => return self.fatal(code, sentence),
            Next::Identify => self.session = None,
            Next::ResumeOnce if matches!(self.phase, Phase::Live { .. }) => {
                self.failed_resumes = RESUME_TRIES - 1;
            }
            Next::ResumeOnce => self.session = None,
            Next::Resume => {}
        }
        self.lose(Loss::Closed { code }, None, now)
    }

    fn fatal(&mut self, code: u16, sentence: &'static str) -> Vec<Action> {
        self.phase = Phase::Ended;
        self.heartbeat = None;
        vec![
            Action::HangUp(None),
            Action::Deliver(GatewayEvent::Fatal { code, sentence }),
            Action::End,
        ]
    }

    /// A connection that was open is over.
    fn lose(&mut self, loss: Loss, farewell: Option<u16>, now: Now) -> Vec<Action> {
        let steady = matches!(self.phase, Phase::Live { since } if now.at >= since + STEADY);
        if steady {
            self.backoff = Backoff::default();
        }
        if self.session.is_some() && !matches!(self.phase, Phase::Live { .. }) {
            self.failed_resumes += 1;
        }
        if self.failed_resumes >= RESUME_TRIES {
            self.session = None;
            self.failed_resumes = 0;
        }
        self.heartbeat = None;
        let mut actions = vec![Action::HangUp(farewell)];
        actions.extend(match loss {
            // Asked to come back, after a good life: at once.
            Loss::Asked if steady => self.wait(loss, Duration::ZERO, now),
            Loss::SessionRefused { .. } => self.pause(
                loss,
                SESSION_REFUSED_WAIT.mul_f64(1.0 + 4.0 * now.chance),
                now,
            ),
            other => self.pause(other, Duration::ZERO, now),
        });
        actions
    }

    /// Waits as long as the growing pause says, and not less than `at_least`.
    fn pause(&mut self, loss: Loss, at_least: Duration, now: Now) -> Vec<Action> {
        let pause = self.backoff.next(now.chance).max(at_least);
        self.wait(loss, pause, now)
    }

    fn wait(&mut self, loss: Loss, next_try: Duration, now: Now) -> Vec<Action> {
        self.phase = Phase::Waiting;
        vec![
            Action::Deliver(GatewayEvent::Down {
                reason: Down { loss, next_try },
            }),
            Action::Set(Timer::Retry, now.at + next_try),
        ]
    }
}

#[cfg(test)]
mod tests;
