//! Where every call goes through: one turn, one call at a time, and for each the same walk: clear, write down, act.
//! Knows neither sockets nor messages of the wire, and no fence: it asks them.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use jiff::Timestamp;
use tokio::sync::{Mutex as Queue, Notify, OwnedMutexGuard, broadcast};

use crate::{
    audit::{CallEnd, CallStart, Chain, Durable, Ending, Entry, Ledger, LedgerFault, Told, Who},
    cancel::Cancel,
    facts::Facts,
    fence::Reach,
    refusal::Refusal,
    tools::{self, Denied, Outcome, Pace, Request},
    turn::{Arrival, Call, CallState, Id, Place, TurnError, Turns},
};

/// Call events a watcher may lag behind before it is cut off.
const WATCH_BACKLOG: usize = 1024;

/// The one place that decides, records and acts.
pub(crate) struct Desk {
    reach: Reach,
    ledger: Ledger,
    turns: Mutex<Turns>,
    /// Calls of one binding run one at a time, in the order they came.
    queue: Arc<Queue<()>>,
    call_ended: Notify,
    calls: broadcast::Sender<CallEvent>,
    kernel_denied: AtomicU64,
}

/// A call began, or ended: [`CallState::Running`] tells which.
pub(crate) type CallEvent = Call;

/// What the caller gets.
#[derive(Debug)]
pub(crate) enum Answer {
    /// What the model reads, and the facts the ledger has.
    Done(String, Facts),
    Refused(Refusal),
}

/// The call itself broke; nothing is known to be wrong with the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Broke;

/// Why a turn was not opened, aborted or closed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TurnFault {
    #[error("{0:?}")]
    Turn(TurnError),
    #[error(transparent)]
    Ledger(#[from] LedgerFault),
}

impl From<TurnError> for TurnFault {
    fn from(error: TurnError) -> Self {
        TurnFault::Turn(error)
    }
}

impl Desk {
    /// A desk over what may be reached, writing to `ledger`.
    pub(crate) fn new(reach: Reach, ledger: Ledger) -> Desk {
        Desk {
            turns: Mutex::new(Turns::new(reach.policy().max_calls_per_turn())),
            reach,
            ledger,
            queue: Arc::default(),
            call_ended: Notify::new(),
            calls: broadcast::Sender::new(WATCH_BACKLOG),
            kernel_denied: AtomicU64::new(0),
        }
    }

    /// Runs one verb for the open turn.
    ///
    /// When the caller drops the future, the call hears of it and undoes what it began.
    ///
    /// # Errors
    /// When the broker itself failed on this call; the turn goes on.
    pub(crate) async fn call(self: &Arc<Self>, request: Request) -> Result<Answer, Broke> {
        let (tool, pace) = (request.tool().name, request.pace());
        self.seat(tool, pace, move |desk, place, cancel| {
            desk.walk(place, request, cancel)
        })
        .await
    }

    /// The walk. A reader can stop at any line and know what is already certain.
    fn walk(&self, place: &Place, request: Request, cancel: &Cancel) -> Result<Outcome, Denied> {
        let tool = request.tool().name;
        let cleared = tools::clear(request, &self.reach, cancel)?;
        self.write_intent(place, tool, cleared.facts(), cleared.changes())?;
        Ok(cleared.perform(cancel))
    }

    fn write_intent(
        &self,
        place: &Place,
        tool: &str,
        facts: &Facts,
        changes: bool,
    ) -> Result<(), Denied> {
        let durable = if changes { Durable::Now } else { Durable::Soon };
        self.ledger.write(Timestamp::now(), &Entry::Intent(start(place, tool, facts)), durable).map_err(|fault| {
            tracing::error!(%fault, turn = place.turn(), call = place.index(), "a call was refused before its act");
            Denied { refusal: Refusal::LedgerUnwritable, facts: facts.clone() }
        })
    }

    /// Gives a call its place in the turn and in the queue, lets `walk` do the work, and keeps how it ended.
    async fn seat<W>(
        self: &Arc<Self>,
        tool: &'static str,
        pace: Pace,
        walk: W,
    ) -> Result<Answer, Broke>
    where
        W: FnOnce(&Desk, &Place, &Cancel) -> Result<Outcome, Denied> + Send + 'static,
    {
        let arrived = Instant::now();
        let arrival = self.turns().arrive(tool, now_ms());
        let place = match arrival {
            Arrival::Admitted(place) => place,
            Arrival::Counted(refusal) => return Ok(Answer::Refused(refusal)),
            Arrival::Refused(place, refusal) => {
                self.began(&place);
                let outcome = Outcome::Refused(refusal, Facts::new());
                return Ok(self.end(&place, tool, arrived, outcome, &Cancel::default()));
            }
        };
        self.began(&place);

        let cancel = Cancel::default();
        let seated = Seated {
            place,
            tool,
            arrived,
            cancel,
        };
        if pace == Pace::Brief
            && let Ok(turn) = Arc::clone(&self.queue).try_lock_owned()
        {
            // Here and now: waking another thread takes several times as long as the call, which is over before anybody
            // could give it up. Calls run one at a time, so at most one of the runtime's workers is kept by one.
            let walked = catch_unwind(AssertUnwindSafe(|| self.work(turn, &seated, walk)));
            return self.conclude(&seated, walked.map_err(drop));
        }
        // The handler's future is dropped when the caller goes away; the work below is not, so that it can clean up.
        let _gone = CancelOnDrop(seated.cancel.clone());
        let desk = Arc::clone(self);
        let work = tokio::spawn(async move {
            let turn = Arc::clone(&desk.queue).lock_owned().await;
            let (at_work, at) = (Arc::clone(&desk), seated.clone());
            let walked = tokio::task::spawn_blocking(move || at_work.work(turn, &at, walk));
            desk.conclude(&seated, walked.await.map_err(drop))
        });
        work.await.unwrap_or(Err(Broke))
    }

    /// The work of a call whose turn in the queue has come.
    fn work<W>(
        &self,
        turn: OwnedMutexGuard<()>,
        seated: &Seated,
        walk: W,
    ) -> Result<Outcome, Denied>
    where
        W: FnOnce(&Desk, &Place, &Cancel) -> Result<Outcome, Denied>,
    {
        let _turn = turn;
        self.may_begin(&seated.place, &seated.cancel)?;
        walk(self, &seated.place, &seated.cancel)
    }

    /// Keeps how the work ended; it is an error when it panicked.
    fn conclude(
        &self,
        seated: &Seated,
        walked: Result<Result<Outcome, Denied>, ()>,
    ) -> Result<Answer, Broke> {
        let Seated {
            place,
            tool,
            arrived,
            cancel,
        } = seated;
        let (outcome, broke) = match walked {
            Ok(Ok(outcome)) => (outcome, false),
            Ok(Err(denied)) => (Outcome::Refused(denied.refusal, denied.facts), false),
            // The panic's message may hold content, so only its place is logged.
            Err(()) => (Outcome::Failed(Refusal::Internal, Facts::new()), true),
        };
        let answer = self.end(place, tool, *arrived, outcome, cancel);
        if broke { Err(Broke) } else { Ok(answer) }
    }

    fn may_begin(&self, place: &Place, cancel: &Cancel) -> Result<(), Denied> {
        let allowed = if cancel.is_cancelled() {
            Err(Refusal::Cancelled)
        } else {
            self.turns().may_begin(place)
        };
        allowed.map_err(|refusal| Denied {
            refusal,
            facts: Facts::new(),
        })
    }

    fn began(&self, place: &Place) {
        let call = self.turns().call(place).cloned();
        if let Some(call) = call {
            // Nobody watching is fine.
            let _ = self.calls.send(call);
        }
    }

    /// Writes how a call ended, in the ledger, the turn and for watchers, and forms the answer.
    fn end(
        &self,
        place: &Place,
        tool: &'static str,
        arrived: Instant,
        outcome: Outcome,
        cancel: &Cancel,
    ) -> Answer {
        let (state, reason, facts) = match &outcome {
            // What was done is done, whether or not somebody still waits for the answer.
            Outcome::Done { facts, .. } => (CallState::Done, "", facts),
            Outcome::Refused(refusal, facts) | Outcome::Failed(refusal, facts)
                if cancel.is_cancelled() =>
            {
                (CallState::Cancelled, refusal.code(), facts)
            }
            Outcome::Refused(refusal, facts) => (CallState::Refused, refusal.code(), facts),
            Outcome::Failed(refusal, facts) => (CallState::Failed, refusal.code(), facts),
        };
        let duration_ms = u64::try_from(arrived.elapsed().as_millis()).unwrap_or(u64::MAX);
        if reason == Refusal::NotPermitted.code() {
            self.kernel_denied.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(
                turn = place.turn(),
                call = place.index(),
                tool,
                "the kernel denied what the fences passed"
            );
            self.record(&Entry::KernelDenied(start(place, tool, facts)));
        }
        self.record(&ending(place, tool, state, reason, duration_ms, facts));
        let ended = self.turns().call(place).cloned().map(|begun| Call {
            state,
            reason,
            duration_ms,
            facts: facts.clone(),
            ..begun
        });
        if let Some(ended) = ended {
            self.turns().end(&ended);
            let _ = self.calls.send(ended);
        }
        self.call_ended.notify_waiters();
        tracing::info!(
            turn = place.turn(),
            call = place.index(),
            tool,
            ?state,
            reason,
            duration_ms,
            "call ended"
        );
        match outcome {
            Outcome::Done { text, facts } => Answer::Done(text, facts),
            Outcome::Refused(refusal, _) | Outcome::Failed(refusal, _) => Answer::Refused(refusal),
        }
    }

    /// Writes a line about something that has already happened, so it cannot be refused any more.
    fn record(&self, entry: &Entry) {
        if let Err(fault) = self.ledger.write(Timestamp::now(), entry, Durable::Soon) {
            tracing::error!(%fault, "the end of a call is missing in the ledger");
        }
    }

    /// Opens a turn, on record.
    ///
    /// # Errors
    /// As the machine of turns says, or when the ledger cannot be written.
    pub(crate) fn open_turn(
        &self,
        id: &Id,
        event: &Id,
        requester: Option<Who>,
    ) -> Result<(), TurnFault> {
        let mut turns = self.turns();
        turns.open(id.clone())?;
        let turn = id.as_str().to_owned();
        let entry = Entry::TurnOpen {
            turn,
            event: event.as_str().to_owned(),
            requester,
        };
        if let Err(fault) = self.ledger.write(Timestamp::now(), &entry, Durable::Soon) {
            turns.close(id)?;
            return Err(fault.into());
        }
        tracing::info!(turn = id.as_str(), "turn opened");
        Ok(())
    }

    /// Lets the turn take no further calls.
    ///
    /// # Errors
    /// When no such turn is open.
    pub(crate) fn abort_turn(&self, id: &Id) -> Result<(), TurnFault> {
        self.turns().abort(id)?;
        self.record(&Entry::TurnAbort {
            turn: id.as_str().to_owned(),
        });
        tracing::info!(turn = id.as_str(), "turn aborted");
        Ok(())
    }

    /// Ends the turn once its calls have ended, and returns them. The ledger is on disk when this returns.
    ///
    /// # Errors
    /// When no such turn is open. A ledger that cannot be written does not keep the turn open; it keeps the next call
    /// from acting.
    pub(crate) async fn close_turn(
        self: &Arc<Self>,
        id: Id,
        why: Ending,
    ) -> Result<Vec<Call>, TurnFault> {
        self.turns().abort(&id)?;
        self.until_idle().await;
        let desk = Arc::clone(self);
        let closed = tokio::task::spawn_blocking(move || {
            let closed = desk.turns().close(&id)?;
            let calls = u32::try_from(closed.calls.len()).unwrap_or(u32::MAX);
            let turn = id.as_str().to_owned();
            let entry = Entry::TurnClose {
                turn,
                calls,
                unlisted: closed.unlisted,
                ending: why,
            };
            let chain = desk.ledger.seal(Timestamp::now(), &entry)?;
            tracing::info!(turn = id.as_str(), calls, seq = chain.seq, head = %chain.head, "turn closed");
            Ok(closed.calls)
        });
        closed.await.expect("closing a turn does not panic")
    }

    /// Ends what a control session left open, so that the next one begins afresh.
    pub(crate) async fn end_session(self: &Arc<Self>) {
        self.end_open_turn(Ending::SessionLost).await;
        self.turns().forget_closed();
    }

    /// Refuses everything from now on, ends the open turn and writes the last line.
    ///
    /// # Errors
    /// When the last line is not on disk.
    pub(crate) async fn stop(self: &Arc<Self>) -> Result<Chain, LedgerFault> {
        self.turns().stop();
        self.end_open_turn(Ending::BrokerStopped).await;
        let desk = Arc::clone(self);
        let sealed =
            tokio::task::spawn_blocking(move || desk.ledger.seal(Timestamp::now(), &Entry::Stop));
        sealed.await.expect("sealing the ledger does not panic")
    }

    async fn end_open_turn(self: &Arc<Self>, why: Ending) {
        let open = self.turns().current().cloned();
        let Some(id) = open else { return };
        match self.close_turn(id, why).await {
            Ok(_) | Err(TurnFault::Turn(_)) => {}
            Err(TurnFault::Ledger(fault)) => {
                tracing::error!(%fault, "the end of a turn is missing in the ledger");
            }
        }
    }

    async fn until_idle(&self) {
        loop {
            // Asked for before looking, so that an end in between is not missed.
            let ended = self.call_ended.notified();
            if !self.turns().is_busy() {
                return;
            }
            ended.await;
        }
    }

    /// Calls as they begin and end, from now on.
    pub(crate) fn watch(&self) -> broadcast::Receiver<CallEvent> {
        self.calls.subscribe()
    }

    /// What may be reached.
    pub(crate) fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Number and hash of the ledger's last line.
    pub(crate) fn ledger_head(&self) -> Chain {
        self.ledger.head()
    }

    /// Id of the open turn; empty without one.
    pub(crate) fn current_turn(&self) -> String {
        self.turns()
            .current()
            .map_or_else(String::new, |id| id.as_str().to_owned())
    }

    /// How often the kernel denied what a fence had passed.
    pub(crate) fn kernel_denied(&self) -> u64 {
        self.kernel_denied.load(Ordering::Relaxed)
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        // No step of the machine leaves it half changed, so a panic beside it does not poison it for others.
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call with its place.
#[derive(Clone)]
struct Seated {
    place: Place,
    tool: &'static str,
    arrived: Instant,
    cancel: Cancel,
}

struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

fn start(place: &Place, tool: &str, facts: &Facts) -> CallStart {
    CallStart {
        turn: place.turn().to_owned(),
        call: place.index(),
        tool: tool.to_owned(),
        facts: Told::from(facts),
    }
}

fn ending(
    place: &Place,
    tool: &str,
    state: CallState,
    reason: &str,
    ms: u64,
    facts: &Facts,
) -> Entry {
    let end = CallEnd {
        turn: place.turn().to_owned(),
        call: place.index(),
        tool: tool.to_owned(),
        reason: (!reason.is_empty()).then(|| reason.to_owned()),
        ms,
        facts: Told::from(facts),
    };
    match state {
        CallState::Done => Entry::Done(end),
        CallState::Refused => Entry::Refused(end),
        CallState::Cancelled => Entry::Cancelled(end),
        CallState::Failed | CallState::Running => Entry::Failed(end),
    }
}

fn now_ms() -> u64 {
    u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out a binding by path")]
mod tests;
