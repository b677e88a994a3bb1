//! Keeps the engine: starts it, gives it prompts, reports how runs and engines end. It never decides whether to start one.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::{
    engine::{Engine, EngineEvent, EngineSpec, Failure, RunLimits, RunOutcome},
    journal::{EngineShare, Usage},
    seat::{Event, Settled},
};

/// How long an idle pi may take to end by itself once its input is closed.
const STOP_GRACE: Duration = Duration::from_secs(5);
/// How long a run may take to settle once it is aborted; then pi is killed.
const ABORT_GRACE: Duration = Duration::from_secs(10);

/// What the keeper is told.
#[derive(Debug)]
pub(super) enum Order {
    /// Throw away what is left of the last engine and start a fresh one after this pause.
    Start(Duration),
    /// Give it a prompt.
    Prompt {
        /// What the engine is told.
        text: String,
        /// How long it may work on it.
        timeout: Duration,
    },
    /// Have the run end; its end comes as that of every run.
    Abort,
    /// Say that orders are taken, whatever the engine does.
    Answer(oneshot::Sender<()>),
}

/// Runs until `orders` closes, then stops the engine.
pub(super) async fn keep(
    first: Engine,
    spec: EngineSpec,
    mut orders: mpsc::Receiver<Order>,
    events: mpsc::UnboundedSender<Event>,
) {
    let mut engine = Some(first);
    loop {
        let event = tokio::select! {
            order = orders.recv() => match order {
                None => break,
                Some(Order::Start(pause)) => {
                    engine = None;
                    tokio::time::sleep(pause).await;
                    start(&spec, &mut engine).await
                }
                Some(Order::Prompt { text, timeout }) => {
                    prompt(&mut engine, &text, RunLimits { timeout, grace: ABORT_GRACE })
                }
                Some(Order::Abort) => {
                    if let Some(engine) = &engine {
                        engine.abort();
                    }
                    continue;
                }
                Some(Order::Answer(answer)) => {
                    // Whoever asked may have stopped waiting.
                    let _ = answer.send(());
                    continue;
                }
            },
            event = next(&mut engine) => match event {
                // The end of the engine follows; both are one event for the seat.
                EngineEvent::RunEnded(RunOutcome { reply: Err(Failure::EngineLost), .. }) => {
                    gone(&mut engine, &Failure::EngineLost)
                }
                EngineEvent::RunEnded(outcome) => Event::Settled(settled(outcome)),
                EngineEvent::Broken(reason) => gone(&mut engine, &reason),
                EngineEvent::Exited(status) => gone(&mut engine, &status),
                EngineEvent::Over => gone(&mut engine, &"its end"),
            },
        };
        if events.send(event).is_err() {
            break;
        }
    }
    if let Some(engine) = engine {
        engine.stop(STOP_GRACE).await;
    }
}

async fn start(spec: &EngineSpec, engine: &mut Option<Engine>) -> Event {
    match Engine::start(spec.clone()).await {
        Ok(started) => {
            *engine = Some(started);
            Event::EngineReady
        }
        Err(error) => {
            tracing::error!(%error, "the engine did not start");
            Event::EngineGone("engine-start-failed".into())
        }
    }
}

fn prompt(engine: &mut Option<Engine>, text: &str, limits: RunLimits) -> Event {
    let Some(running) = engine else {
        return Event::EngineGone(Failure::EngineLost.code().into());
    };
    match running.prompt(text, limits) {
        Ok(()) => Event::Prompted,
        Err(error) => gone(engine, &error),
    }
}

/// The next event of a running engine; of none, never.
async fn next(engine: &mut Option<Engine>) -> EngineEvent {
    match engine {
        Some(engine) => engine.next().await,
        None => std::future::pending().await,
    }
}

fn gone(engine: &mut Option<Engine>, reason: &dyn std::fmt::Display) -> Event {
    *engine = None;
    tracing::error!(%reason, "the engine is gone");
    Event::EngineGone(Failure::EngineLost.code().into())
}

fn settled(outcome: RunOutcome) -> Settled {
    let share = EngineShare {
        turns: outcome.turns,
        retries: outcome.retries,
        cut: outcome.cut,
        usage: Usage {
            input: outcome.usage.input,
            output: outcome.usage.output,
            cache_read: outcome.usage.cache_read,
            cache_write: outcome.usage.cache_write,
            cost: outcome.usage.cost,
        },
        ..EngineShare::default()
    };
    Settled {
        reply: outcome.reply.map_err(|failure| failure.code().to_owned()),
        share,
    }
}
