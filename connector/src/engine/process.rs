//! The driver of a running pi: it waits for orders, records and deadlines, asks the machines, and does what they say. It
//! decides nothing about a run.

use std::{process::ExitStatus, time::Duration, time::Instant};

use jiff::Timestamp;
use tokio::{
    sync::{mpsc, oneshot},
    time::{sleep_until, timeout},
};

use super::{
    child::{Child, Spoken},
    error::{Broken, EngineError, PromptError},
    launch::EngineSpec,
    protocol::Record,
    run::{Action, Run, RunLimits, RunOutcome},
    snapshot::LaunchFiles,
    verify::{QUESTIONS, Verification, Verified},
};

/// A verified pi. It is killed, with its whole process group, when this is dropped.
#[derive(Debug)]
pub struct Engine {
    orders: mpsc::UnboundedSender<Order>,
    events: mpsc::UnboundedReceiver<EngineEvent>,
    verified: Verified,
    running: bool,
}

/// What happens to an engine.
#[derive(Debug, PartialEq)]
pub enum EngineEvent {
    /// The run of the last prompt is over. Each accepted prompt gets exactly one, whatever becomes of pi.
    RunEnded(RunOutcome),
    /// pi could not be trusted any more and was killed. Start another one.
    Broken(Broken),
    /// pi ended by itself. Start another one.
    Exited(ExitStatus),
    /// The engine is over and its end was told before.
    Over,
}

#[derive(Debug)]
enum Order {
    Prompt {
        text: String,
        limits: RunLimits,
    },
    Abort,
    Stop {
        grace: Duration,
        done: oneshot::Sender<()>,
    },
}

impl Engine {
    /// Writes folders, settings and the launch record, starts pi in its fence, and waits until it is proven to be what
    /// the binding says. Call it from a worker of the runtime (see [`Child::spawn`]).
    ///
    /// # Errors
    /// With the first thing that is not as it must be; pi is gone then, and nothing was sent to the model.
    pub async fn start(spec: EngineSpec) -> Result<Self, EngineError> {
        let (spec, files) = tokio::task::spawn_blocking(move || write_down(spec))
            .await
            .expect("writing a launch down does not panic")?;
        let command = spec.command(&files.prompt);
        let child =
            Child::spawn(&command, spec.environment(), &spec.folders.work()).map_err(|source| {
                EngineError::Spawn {
                    program: spec.confine.clone(),
                    source,
                }
            })?;
        let (child, verified) = verify(child, &spec).await?;
        let (orders, received) = mpsc::unbounded_channel();
        let (told, events) = mpsc::unbounded_channel();
        let keeper = Keeper {
            child,
            orders: received,
            events: told,
            run: None,
            runs: 0,
        };
        tokio::spawn(keeper.keep());
        Ok(Self {
            orders,
            events,
            verified,
            running: false,
        })
    }

    /// What pi showed at its start.
    #[must_use]
    pub fn verified(&self) -> &Verified {
        &self.verified
    }

    /// Begins a run with this text. Its end comes by [`Engine::next`].
    ///
    /// # Errors
    /// When the run before has not ended (pi would lose one of the two), or when pi is gone.
    pub fn prompt(&mut self, text: &str, limits: RunLimits) -> Result<(), PromptError> {
        if self.running {
            return Err(PromptError::Busy);
        }
        let text = text.to_owned();
        self.orders
            .send(Order::Prompt { text, limits })
            .map_err(|_| PromptError::Gone)?;
        self.running = true;
        Ok(())
    }

    /// Asks the running run to stop; its end still comes by [`Engine::next`]. Without a run it does nothing.
    pub fn abort(&self) {
        // Without pi there is nothing to stop.
        let _ = self.orders.send(Order::Abort);
    }

    /// Waits for what happens next. Safe to cancel.
    pub async fn next(&mut self) -> EngineEvent {
        let event = self.events.recv().await.unwrap_or(EngineEvent::Over);
        if matches!(event, EngineEvent::RunEnded(_)) {
            self.running = false;
        }
        event
    }

    /// Lets pi end by itself for at most `grace`, then kills it. A running run is lost.
    pub async fn stop(self, grace: Duration) {
        let (done, stopped) = oneshot::channel();
        if self.orders.send(Order::Stop { grace, done }).is_ok() {
            let _ = stopped.await;
        }
    }
}

/// Everything on disk that a launch needs, before it.
fn write_down(spec: EngineSpec) -> Result<(EngineSpec, LaunchFiles), EngineError> {
    spec.folders.prepare()?;
    let now = Timestamp::now();
    let files = LaunchFiles::at(&spec.folders.launches, now);
    files
        .write(&spec, now)
        .map_err(|source| EngineError::Folder {
            path: spec.folders.launches.clone(),
            why: "the launch record cannot be written",
            source: Some(source),
        })?;
    Ok((spec, files))
}

/// Puts the questions and waits for the proof.
async fn verify(mut child: Child, spec: &EngineSpec) -> Result<(Child, Verified), EngineError> {
    for (id, question) in &QUESTIONS {
        child.send(id, question);
    }
    let mut verification = Verification::new(spec.expected());
    let proof = async {
        loop {
            match child.next().await {
                Spoken::Record(record) => {
                    if let Some(verified) = verification.handle(record)? {
                        return Ok(Some(verified));
                    }
                }
                Spoken::BadLine(_) => {}
                Spoken::End(Some(broken)) => return Err(broken.into()),
                Spoken::End(None) => return Ok(None),
            }
        }
    };
    match timeout(spec.start_timeout, proof).await {
        Ok(Ok(Some(verified))) => Ok((child, verified)),
        Ok(Ok(None)) => {
            let status = child
                .end()
                .await
                .map_or_else(|error| error.to_string(), |status| status.to_string());
            let said = child.last_words().await;
            Err(EngineError::EndedAtStart { status, said })
        }
        Ok(Err(error)) => Err(error),
        Err(_) => Err(EngineError::StartTimedOut(spec.start_timeout)),
    }
}

/// The task that owns pi.
struct Keeper {
    child: Child,
    orders: mpsc::UnboundedReceiver<Order>,
    events: mpsc::UnboundedSender<EngineEvent>,
    run: Option<Run>,
    runs: u64,
}

impl Keeper {
    async fn keep(mut self) {
        loop {
            let deadline = self.run.as_ref().map(Run::deadline);
            let actions = tokio::select! {
                order = self.orders.recv() => match order {
                    Some(Order::Prompt { text, limits }) => self.begin(text, limits),
                    Some(Order::Abort) => self.run.as_mut().map_or_else(Vec::new, |run| run.abort(Instant::now())),
                    Some(Order::Stop { grace, done }) => {
                        self.stop(grace).await;
                        let _ = done.send(());
                        return;
                    }
                    // The engine was dropped: pi goes with it.
                    None => return,
                },
                spoken = self.child.next() => match spoken {
                    Spoken::Record(record) => self.hear(record),
                    Spoken::BadLine(count) => {
                        tracing::warn!(count, "the engine wrote a line that is no record");
                        vec![]
                    }
                    Spoken::End(broken) => {
                        self.bury(broken).await;
                        return;
                    }
                },
                () = until(deadline) => self.run.as_mut().map_or_else(Vec::new, |run| run.tick(Instant::now())),
            };
            for action in actions {
                match action {
                    Action::Send { id, command } => self.child.send(&id, &command),
                    Action::End(outcome) => {
                        self.run = None;
                        self.tell(EngineEvent::RunEnded(outcome));
                    }
                    Action::Discard(broken) => {
                        self.bury(Some(broken)).await;
                        return;
                    }
                }
            }
        }
    }

    fn begin(&mut self, text: String, limits: RunLimits) -> Vec<Action> {
        self.runs += 1;
        let (run, action) = Run::begin(self.runs, text, limits, Instant::now());
        self.run = Some(run);
        vec![action]
    }

    fn hear(&mut self, record: Record) -> Vec<Action> {
        match (&mut self.run, record) {
            (Some(run), record) => run.handle(record, Instant::now()),
            // Work nobody asked for.
            (None, Record::AgentStart | Record::Assistant(_) | Record::Settled) => {
                vec![Action::Discard(Broken::OutOfStep)]
            }
            (None, _) => vec![],
        }
    }

    /// Ends the run, if one is going on, and tells what became of pi.
    async fn bury(&mut self, broken: Option<Broken>) {
        if let Some(run) = self.run.take() {
            self.tell(EngineEvent::RunEnded(run.lost(Instant::now())));
        }
        let status = self.child.end().await;
        self.tell(match (broken, status) {
            (Some(broken), _) => EngineEvent::Broken(broken),
            (None, Ok(status)) => EngineEvent::Exited(status),
            (None, Err(_)) => EngineEvent::Broken(Broken::Unreadable),
        });
    }

    async fn stop(&mut self, grace: Duration) {
        self.child.close_input();
        // Its output is read to the end, or it could not end.
        let ended = timeout(grace, async {
            while !matches!(self.child.next().await, Spoken::End(_)) {}
        });
        let in_time = ended.await.is_ok();
        tracing::info!(in_time, "the engine was stopped");
        let _ = self.child.end().await;
    }

    fn tell(&self, event: EngineEvent) {
        // Nobody listens any more when the engine was dropped.
        let _ = self.events.send(event);
    }
}

/// Waits until `deadline`, or for ever without one.
async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}
