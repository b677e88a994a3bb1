//! Rate limits as Discord announces them: which route must wait, and until when. Pure; the time comes in as the time since the client began.
//! It contains no number of Discord's: limits are learnt from answers (`reference/discord-api.md` section 2.4).

use std::collections::HashMap;
use std::time::Duration;

use reqwest::header::HeaderMap;

use crate::discord::snowflake::Snowflake;

/// Above this many buckets those that have run out of meaning are dropped.
const MANY_BUCKETS: usize = 256;
/// No announced wait is believed beyond a day: a wrong number must not stop the seat for ever.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// A kind of call and the channel or server in its path: Discord keeps one bucket for each such pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Route {
    pub(super) name: &'static str,
    pub(super) major: Option<Snowflake>,
}

/// All that is known.
#[derive(Debug, Default)]
pub(super) struct Limits {
    paused_until: Duration,
    /// The bucket each kind of call was last said to be in; different calls can share one.
    names: HashMap<&'static str, String>,
    buckets: HashMap<(String, Option<Snowflake>), Bucket>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    remaining: u64,
    resets_at: Duration,
    /// From a 429, which also stops a bucket that says it has some left: such are its hidden sub-limits.
    blocked_until: Duration,
}

/// What an answer's headers say about limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RateHeaders {
    pub(super) bucket: Option<String>,
    pub(super) remaining: Option<u64>,
    pub(super) reset_after: Option<Duration>,
    pub(super) retry_after: Option<Duration>,
    pub(super) global: bool,
}

impl RateHeaders {
    pub(super) fn read(headers: &HeaderMap) -> Self {
        let text = |name: &str| {
            headers
                .get(name)
                .and_then(|value| value.to_str().ok())
                .map(str::trim)
        };
        let wait = |name: &str| {
            text(name)
                .and_then(|text| text.parse().ok())
                .and_then(wait_from_seconds)
        };
        Self {
            bucket: text("x-ratelimit-bucket")
                .filter(|name| name.len() <= 128)
                .map(str::to_owned),
            remaining: text("x-ratelimit-remaining").and_then(|text| text.parse().ok()),
            // Reset-After and not Reset: the latter is a date and needs two clocks that agree.
            reset_after: wait("x-ratelimit-reset-after"),
            retry_after: wait("retry-after"),
            global: text("x-ratelimit-global")
                .is_some_and(|text| text.eq_ignore_ascii_case("true"))
                || text("x-ratelimit-scope") == Some("global"),
        }
    }
}

/// A wait from Discord's seconds; `None` for what is no length of time.
pub(super) fn wait_from_seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds)
        .ok()
        .map(|wait| wait.min(LONGEST_WAIT))
}

impl Limits {
    /// Takes one call out of its bucket, or says how long to wait before asking again.
    pub(super) fn claim(&mut self, route: Route, now: Duration) -> Result<(), Duration> {
        let paused_until = self.paused_until;
        let bucket = self.bucket(route);
        let counted = bucket.resets_at > now;
        let empty_until = if counted && bucket.remaining == 0 {
            bucket.resets_at
        } else {
            Duration::ZERO
        };
        let free_at = paused_until.max(bucket.blocked_until).max(empty_until);
        if free_at > now {
            return Err(free_at - now);
        }
        if counted {
            bucket.remaining -= 1;
        }
        Ok(())
    }

    /// Takes in what the headers of any answer say.
    pub(super) fn learn(&mut self, route: Route, headers: &RateHeaders, now: Duration) {
        if let Some(name) = &headers.bucket {
            let blocked_until = self.bucket(route).blocked_until;
            self.names.insert(route.name, name.clone());
            self.bucket(route).blocked_until = blocked_until;
        }
        let (Some(remaining), Some(reset_after)) = (headers.remaining, headers.reset_after) else {
            return;
        };
        let bucket = self.bucket(route);
        // Inside one window the lower count is right: answers overtake each other, and calls under way are already taken out.
        bucket.remaining = if bucket.resets_at > now {
            bucket.remaining.min(remaining)
        } else {
            remaining
        };
        bucket.resets_at = now + reset_after;
        if self.buckets.len() > MANY_BUCKETS {
            self.buckets
                .retain(|_, bucket| bucket.resets_at.max(bucket.blocked_until) > now);
        }
    }

    /// Stops one bucket.
    pub(super) fn block(&mut self, route: Route, until: Duration) {
        let bucket = self.bucket(route);
        bucket.blocked_until = bucket.blocked_until.max(until);
    }

    /// Stops everything.
    pub(super) fn pause(&mut self, until: Duration) {
        self.paused_until = self.paused_until.max(until);
    }

    fn bucket(&mut self, route: Route) -> &mut Bucket {
        let name = self
            .names
            .get(route.name)
            .map_or(route.name, String::as_str);
        self.buckets
            .entry((name.to_owned(), route.major))
            .or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEND: Route = Route {
        name: "send",
        major: Snowflake::new(1),
    };
    const SEND_ELSEWHERE: Route = Route {
        name: "send",
        major: Snowflake::new(2),
    };
    const EDIT: Route = Route {
        name: "edit",
        major: Snowflake::new(1),
    };

    fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn says(remaining: u64, reset_after: u64) -> RateHeaders {
        RateHeaders {
            bucket: Some("abcd".into()),
            remaining: Some(remaining),
            reset_after: Some(secs(reset_after)),
            ..RateHeaders::default()
        }
    }

    #[test]
    fn d_11_an_empty_bucket_waits_for_its_reset_and_not_longer() {
        let mut limits = Limits::default();
        assert_eq!(limits.claim(SEND, secs(0)), Ok(()));
        limits.learn(SEND, &says(1, 5), secs(0));

        assert_eq!(limits.claim(SEND, secs(1)), Ok(()));
        assert_eq!(limits.claim(SEND, secs(1)), Err(secs(4)));
        assert_eq!(limits.claim(SEND, secs(5)), Ok(()));
    }

    #[test]
    fn buckets_are_kept_apart_by_channel_and_joined_by_name() {
        let mut limits = Limits::default();
        limits.learn(SEND, &says(0, 5), secs(0));
        limits.learn(EDIT, &says(3, 5), secs(0));

        assert_eq!(limits.claim(SEND_ELSEWHERE, secs(1)), Ok(()));
        assert_eq!(limits.claim(EDIT, secs(1)), Err(secs(4)));
    }

    #[test]
    fn an_answer_that_was_overtaken_does_not_refill_the_bucket() {
        let mut limits = Limits::default();
        limits.learn(SEND, &says(0, 5), secs(0));
        limits.learn(SEND, &says(1, 5), secs(0));

        assert_eq!(limits.claim(SEND, secs(0)), Err(secs(5)));
    }

    #[test]
    fn a_blocked_bucket_waits_though_it_says_it_has_some_left() {
        let mut limits = Limits::default();
        limits.block(SEND, secs(3));
        limits.learn(SEND, &says(4, 5), secs(0));

        assert_eq!(limits.claim(SEND, secs(1)), Err(secs(2)));
        assert_eq!(limits.claim(SEND_ELSEWHERE, secs(1)), Ok(()));
    }

    #[test]
    fn a_pause_stops_every_route() {
        let mut limits = Limits::default();
        limits.pause(secs(60));

        assert_eq!(limits.claim(SEND, secs(1)), Err(secs(59)));
        assert_eq!(
            limits.claim(
                Route {
                    name: "me",
                    major: None
                },
                secs(60)
            ),
            Ok(())
        );
    }

    #[test]
    fn many_channels_do_not_pile_up() {
        let mut limits = Limits::default();
        for channel in 1..=10_000 {
            limits.learn(
                Route {
                    name: "send",
                    major: Snowflake::new(channel),
                },
                &says(4, 1),
                secs(channel),
            );
        }

        assert!(limits.buckets.len() <= MANY_BUCKETS + 1);
    }

    #[test]
    fn headers_that_make_no_sense_say_nothing() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("x-ratelimit-remaining", "-1"),
            ("x-ratelimit-reset-after", "NaN"),
            ("retry-after", "-5"),
            ("x-ratelimit-global", "no"),
        ] {
            headers.insert(name, value.parse().unwrap());
        }

        assert_eq!(RateHeaders::read(&headers), RateHeaders::default());
        assert_eq!(wait_from_seconds(f64::INFINITY), None);
        assert_eq!(wait_from_seconds(1e12), Some(LONGEST_WAIT));
        assert_eq!(wait_from_seconds(0.3), Some(Duration::from_millis(300)));
    }
}
