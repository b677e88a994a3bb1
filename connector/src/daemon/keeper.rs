//! Keeps the engine: starts it, gives it prompts, reports how runs and engines end. It never decides whether to start one.

use std::time::Duration;

use tokio::sync::mpsc;

use crate::{
    engine::{Engine, EngineEvent, EngineSpec, RunOutcome},
    journal::{EngineShare, Usage},
    seat::{Event, Settled},
};

/// How long an idle pi may take to end by itself once its input is closed.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// What the keeper is told.
#[derive(Debug)]
pub(super) enum Order {
    /// Throw away what is left of the last engine and start a fresh one after this pause.
    Start(Duration),
    /// Give it a prompt.
    Prompt(String),
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
                Some(Order::Prompt(text)) => prompt(&mut engine, &text).await,
            },
            event = next(&mut engine) => match event {
                EngineEvent::RunEnded(outcome) => Event::Settled(settled(outcome)),
                EngineEvent::Broken(reason) => gone(&mut engine, &reason),
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

async fn prompt(engine: &mut Option<Engine>, text: &str) -> Event {
    let Some(running) = engine else { return Event::EngineGone("engine-lost".into()) };
    match running.prompt(text).await {
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
    Event::EngineGone("engine-lost".into())
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
    Settled { reply: outcome.reply.map_err(|failure| failure.code().to_owned()), share }
}
