//! The typing indicator of the turn in hand: one request at a time, every eight seconds, none after the answer.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{MissedTickBehavior, interval, timeout},
};

use crate::discord::{Rest, Snowflake};

/// Discord shows the indicator for ten seconds (seeds 002, step 4).
const EVERY: Duration = Duration::from_secs(8);
/// How long the answer waits for a typing request under way, so that it cannot arrive after it (D-55).
const LAST_REQUEST: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(super) struct Typing {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Typing {
    /// A refused request changes nothing; the next tick asks again (D-54).
    pub(super) fn start(rest: Arc<Rest>, place: Snowflake) -> Self {
        let (stop, mut stopped) = watch::channel(false);
        let task = tokio::spawn(async move {
            let mut ticks = interval(EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    _ = stopped.changed() => return,
                    _ = ticks.tick() => {
                        if let Err(error) = rest.typing(place).await {
                            tracing::debug!(%place, %error, "typing was not shown");
                        }
                    }
                }
            }
        });
        Self { stop, task }
    }

    /// No request starts after this; one under way is waited for, and given up when it takes long.
    pub(super) async fn stop(mut self) {
        let _ = self.stop.send(true);
        if timeout(LAST_REQUEST, &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}
