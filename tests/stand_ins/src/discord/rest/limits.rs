//! Rate limits: a count for each endpoint and channel (or server) that starts anew when its time has passed (discord-api, section 2.4).

use std::{collections::HashMap, time::Duration};

use tokio::time::Instant;

use super::Endpoint;
use crate::discord::{fault::Scope, snowflake::Snowflake};

/// The limit where a test set none: high enough never to be met, so that the headers are still true.
const GENEROUS: (u32, Duration) = (1000, Duration::from_secs(1));

/// The counts of every bucket.
#[derive(Debug, Default)]
pub(in crate::discord) struct Buckets {
    used: HashMap<(Endpoint, Option<Snowflake>), (Instant, u32)>,
}

/// What a bucket says of itself in the headers of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Level {
    pub(super) endpoint: Endpoint,
    pub(super) limit: u32,
    pub(super) remaining: u32,
    pub(super) reset_after: Duration,
    /// The request was one too many.
    pub(super) exceeded: bool,
}

impl Buckets {
    pub(super) fn spend(
        &mut self,
        endpoint: Endpoint,
        major: Option<Snowflake>,
        set: Option<(u32, Duration)>,
        now: Instant,
    ) -> Level {
        let (limit, window) = set.unwrap_or(GENEROUS);
        let (since, used) = self.used.entry((endpoint, major)).or_insert((now, 0));
        if now.duration_since(*since) >= window {
            (*since, *used) = (now, 0);
        }
        let exceeded = *used >= limit;
        if !exceeded {
            *used += 1;
        }
        Level {
            endpoint,
            limit,
            remaining: limit - *used,
            reset_after: window.saturating_sub(now.duration_since(*since)),
            exceeded,
        }
    }
}

impl Level {
    /// The headers of an answer; `skew` is how far ahead the clock behind `Reset` is, in seconds.
    pub(super) fn headers(&self, unix_ms: u64, skew: f64) -> Vec<(&'static str, String)> {
        let after = self.reset_after.as_secs_f64();
        vec![
            ("x-ratelimit-limit", self.limit.to_string()),
            ("x-ratelimit-remaining", self.remaining.to_string()),
            (
                "x-ratelimit-reset",
                format!("{:.3}", seconds(unix_ms) + after + skew),
            ),
            ("x-ratelimit-reset-after", format!("{after:.3}")),
            ("x-ratelimit-bucket", bucket_name(self.endpoint)),
        ]
    }
}

/// The headers of a 429 (H11). `Retry-After` is whole seconds rounded up.
pub(super) fn refused_headers(
    endpoint: Endpoint,
    retry_after: f64,
    scope: Scope,
    unix_ms: u64,
) -> Vec<(&'static str, String)> {
    let mut headers = vec![
        ("retry-after", format!("{}", retry_after.ceil())),
        ("x-ratelimit-scope", scope.name().to_owned()),
    ];
    if scope == Scope::Global {
        headers.push(("x-ratelimit-global", "true".to_owned()));
    } else {
        headers.extend([
            ("x-ratelimit-limit", "5".to_owned()),
            ("x-ratelimit-remaining", "0".to_owned()),
            (
                "x-ratelimit-reset",
                format!("{:.3}", seconds(unix_ms) + retry_after),
            ),
            ("x-ratelimit-reset-after", format!("{retry_after:.3}")),
            ("x-ratelimit-bucket", bucket_name(endpoint)),
        ]);
    }
    headers
}

/// An opaque name; send and edit share one, as was seen with Discord.
fn bucket_name(endpoint: Endpoint) -> String {
    let family = if endpoint == Endpoint::EditMessage {
        Endpoint::CreateMessage
    } else {
        endpoint
    };
    format!("{:032x}", 0x51ab_u128 + family as u128)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "milliseconds of this era fit the 53 bits of a double"
)]
fn seconds(unix_ms: u64) -> f64 {
    unix_ms as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_too_many_is_exceeded_until_the_window_is_over() {
        let (mut buckets, start) = (Buckets::default(), Instant::now());
        let set = Some((2, Duration::from_secs(5)));
        let mut exceeded = |after| {
            buckets
                .spend(
                    Endpoint::CreateMessage,
                    None,
                    set,
                    start + Duration::from_secs(after),
                )
                .exceeded
        };
        assert_eq!(
            [exceeded(0), exceeded(1), exceeded(4), exceeded(5)],
            [false, false, true, false]
        );
    }

    #[test]
    fn each_channel_has_a_bucket_of_its_own() {
        let (mut buckets, now) = (Buckets::default(), Instant::now());
        let mut exceeded = |channel| {
            buckets
                .spend(
                    Endpoint::Typing,
                    Some(Snowflake(channel)),
                    Some((1, Duration::from_secs(5))),
                    now,
                )
                .exceeded
        };
        assert_eq!(
            [exceeded(1), exceeded(2), exceeded(1)],
            [false, false, true]
        );
    }

    #[test]
    fn retry_after_is_rounded_up_to_whole_seconds_in_the_header() {
        let headers = refused_headers(Endpoint::CreateMessage, 0.3, Scope::User, 0);
        assert_eq!(headers[0], ("retry-after", "1".to_owned()));
    }
}
