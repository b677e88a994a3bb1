//! The typing indicator of the turn in hand: one request at a time, every eight seconds, none after the answer.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{MissedTickBehavior, interval, timeout},
};

use crate::discord::{Rest, Snowflake};

/// Discord shows the indicator for ten seconds (seeds 002, step 4).
pub(super) const EVERY: Duration = Duration::from_secs(8);
/// How long the answer waits for a typing request under way, so that it cannot arrive after it (D-55).
const LAST_REQUEST: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(super) struct Typing {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Typing {
    /// A refused request changes nothing; the next tick asks again (D-54).
    pub(super) fn start(rest: Arc<Rest>, place: Snowflake, every: Duration) -> Self {
        let (stop, mut stopped) = watch::channel(false);
        let task = tokio::spawn(async move {
            let mut ticks = interval(every);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    // A stop is seen first, also when a slow request has made the next tick due.
                    biased;
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

#[cfg(test)]
mod tests {
    use stand_ins::discord::{Discord, Endpoint, Fault, Mishap, Refusal, Scope};

    use super::*;
    use crate::discord::{ApiBase, CreateMessage, Token, rest::Timing};

    const PATIENCE: Duration = Duration::from_secs(30);
    /// Faster than Discord's answers, so that requests would pile up if they could.
    const AT_ONCE: Duration = Duration::from_millis(1);

    async fn channel() -> (Discord, Arc<Rest>, Snowflake) {
        let discord = Discord::guild("Acme").channel("ideas").start().await;
        let base = ApiBase::from_override(Some(&discord.base_url())).unwrap();
        let token = Token::parse(&discord.token()).unwrap();
        let rest = Rest::new(base, &token, Timing::STANDARD).unwrap();
        let ideas = Snowflake::new(discord.channel_id("ideas").0).unwrap();
        (discord, Arc::new(rest), ideas)
    }

    fn typing_requests(discord: &Discord) -> usize {
        let requests = discord.requests();
        requests
            .iter()
            .filter(|request| request.path.ends_with("/typing"))
            .count()
    }

    #[tokio::test]
    async fn d_54_typing_that_is_limited_refused_and_broken_goes_on_one_request_at_a_time() {
        let (discord, rest, ideas) = channel().await;
        for mishap in [
            Mishap::RateLimited {
                retry_after: 0.01,
                scope: Scope::User,
            },
            Mishap::Refused(Refusal::new(403, 50_013, "Missing Permissions")),
            Mishap::Page {
                status: 500,
                acted: false,
            },
        ] {
            discord.fault(Fault::next(Endpoint::Typing, mishap));
        }

        let typing = Typing::start(rest, ideas, AT_ONCE);
        let shown =
            |world: &stand_ins::discord::World| (world.typing_count("ideas") > 0).then_some(());
        discord.wait_for("the indicator", PATIENCE, shown).await;
        typing.stop().await;

        assert!(typing_requests(&discord) >= 4);
    }

    #[tokio::test]
    async fn d_53_d_55_a_typing_request_under_way_is_waited_for_and_none_comes_after_the_answer() {
        let (discord, rest, ideas) = channel().await;
        let slow = Mishap::Slow(Duration::from_millis(300));
        discord.fault(Fault::next(Endpoint::Typing, slow).forever());
        let typing = Typing::start(Arc::clone(&rest), ideas, AT_ONCE);
        // It is on its way, and acted on only later.
        while typing_requests(&discord) == 0 {
            tokio::task::yield_now().await;
        }

        typing.stop().await;
        let asked = typing_requests(&discord);
        let shown = discord.typing_count("ideas");
        let answer = CreateMessage::new("done", "1-0", None).unwrap();
        rest.create_message(ideas, &answer).await.unwrap();

        assert_eq!(
            (asked, shown),
            (1, 1),
            "one at a time, and it was over before the answer"
        );
        let last = discord.requests().pop().unwrap();
        assert!(last.path.ends_with("/messages"), "{}", last.path);
        assert_eq!(discord.typing_count("ideas"), 1);
    }
}
