//! Discord's ids and the time inside them. Knows nothing of what an id stands for.

use std::{fmt, time::SystemTime};

use serde::{Serialize, Serializer};
use tokio::time::Instant;

/// 2015-01-01T00:00:00Z in Unix milliseconds: the zero of every id (discord-api, Conventions).
const DISCORD_EPOCH_MS: u64 = 1_420_070_400_000;

/// A Discord id: 64 bits, written as a decimal string everywhere on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Snowflake(pub u64);

impl Snowflake {
    /// Reads the decimal form; anything else is `None`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Snowflake)
    }

    /// When the id was made, in Unix milliseconds.
    #[must_use]
    pub fn unix_millis(self) -> u64 {
        (self.0 >> 22) + DISCORD_EPOCH_MS
    }
}

impl fmt::Display for Snowflake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Snowflake {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The two clocks, read once where a request, a frame or a test's act comes in, and handed down from there.
///
/// The wall clock goes into ids and timestamps; the monotonic one measures windows, so that a test which pauses tokio's time can
/// cross them without waiting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    pub(super) unix_ms: u64,
    pub(super) instant: Instant,
}

impl Now {
    pub(super) fn read() -> Self {
        let since_1970 = SystemTime::UNIX_EPOCH
            .elapsed()
            .expect("the clock of a test machine is past 1970");
        Now {
            unix_ms: u64::try_from(since_1970.as_millis())
                .expect("milliseconds since 1970 fit 64 bits"),
            instant: Instant::now(),
        }
    }
}

/// ISO 8601 with microseconds and offset, the form Discord writes.
pub(super) fn timestamp(unix_ms: u64) -> String {
    let ms = i64::try_from(unix_ms).expect("a time in this era");
    let time = jiff::Timestamp::from_millisecond(ms).expect("a time in this era");
    format!("{}+00:00", time.strftime("%Y-%m-%dT%H:%M:%S%.6f"))
}

/// Makes ids that never repeat and rise with every call, also within one millisecond.
#[derive(Debug, Default)]
pub(super) struct Mint {
    last: u64,
    backdated: u64,
}

impl Mint {
    pub(super) fn next(&mut self, now: Now) -> Snowflake {
        self.last = (self.last + 1).max(now.unix_ms.saturating_sub(DISCORD_EPOCH_MS) << 22);
        Snowflake(self.last)
    }

    /// An id of the past. Its worker bits differ from those of `next`, so that the two never meet.
    pub(super) fn at(&mut self, unix_ms: u64) -> Snowflake {
        self.backdated += 1;
        let moment = unix_ms.saturating_sub(DISCORD_EPOCH_MS) << 22;
        Snowflake(moment | (1 << 17) | (self.backdated & 0xfff))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_one_millisecond_still_rise() {
        let now = Now {
            unix_ms: 1_790_000_000_000,
            instant: Instant::now(),
        };
        let mut mint = Mint::default();
        let (first, second) = (mint.next(now), mint.next(now));
        assert!(first < second);
        assert_eq!(
            (first.unix_millis(), second.unix_millis()),
            (now.unix_ms, now.unix_ms)
        );
    }

    #[test]
    fn timestamps_have_microseconds_and_an_offset() {
        assert_eq!(
            timestamp(1_789_560_000_123),
            "2026-09-16T12:00:00.123000+00:00"
        );
    }
}
