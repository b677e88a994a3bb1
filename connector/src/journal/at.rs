//! Moments as every journal and record writes them: UTC, RFC 3339, to the millisecond. Reading the clock is in one
//! function, for drivers and commands; decisions are given the time.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::tz::Offset;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A moment, to the millisecond: `2026-11-30T23:48:27.123Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At(Timestamp);

impl At {
    /// The clock's reading. For drivers and commands only.
    pub fn now() -> Self {
        Timestamp::now().into()
    }

    /// The moment `ms` milliseconds after 1970-01-01T00:00:00Z; the last one of the year 9999 for anything later.
    pub fn from_ms(ms: u64) -> Self {
        let moment = i64::try_from(ms)
            .ok()
            .and_then(|ms| Timestamp::from_millisecond(ms).ok());
        Self(moment.unwrap_or(Timestamp::MAX))
    }

    /// Milliseconds since 1970-01-01T00:00:00Z; 0 for anything earlier.
    pub fn ms(self) -> u64 {
        u64::try_from(self.0.as_millisecond()).unwrap_or(0)
    }

    /// The UTC day it falls on.
    pub fn day(self) -> Day {
        Day(Offset::UTC.to_datetime(self.0).date())
    }

    /// For file names, sorting as time does: `20261130T234827123Z`.
    pub fn compact(self) -> String {
        self.to_string().replace(['-', ':', '.'], "")
    }
}

impl From<Timestamp> for At {
    fn from(moment: Timestamp) -> Self {
        Self(Timestamp::from_millisecond(moment.as_millisecond()).unwrap_or(moment))
    }
}

impl From<At> for Timestamp {
    fn from(at: At) -> Self {
        at.0
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.0)
    }
}

impl FromStr for At {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<Timestamp>().map(Self::from)
    }
}

impl Serialize for At {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for At {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .map_err(|_| de::Error::custom("not an RFC 3339 time"))
    }
}

/// A UTC day, what the ceiling and the once-a-day notices count by: `2026-11-30`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(jiff::civil::Date);

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for Day {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Day {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| de::Error::custom("not a day"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_reads_back_as_written() {
        let at = At::from_ms(1_795_996_107_120);

        assert_eq!(at.to_string(), "2026-11-29T23:48:27.120Z");
        assert_eq!(at.to_string().parse::<At>().unwrap(), at);
        assert_eq!(at.ms(), 1_795_996_107_120);
        assert_eq!(at.compact(), "20261129T234827120Z");
    }

    #[test]
    fn the_day_turns_at_midnight_utc() {
        let day = |text: &str| text.parse::<At>().unwrap().day().to_string();

        assert_eq!(day("2026-11-30T23:59:59.999Z"), "2026-11-30");
        assert_eq!(day("2026-12-01T00:00:00.000Z"), "2026-12-01");
        assert_eq!(day("2026-12-01T01:00:00.000+02:00"), "2026-11-30");
    }

    #[test]
    fn a_number_out_of_reach_is_the_last_moment_and_no_panic() {
        assert_eq!(At::from_ms(u64::MAX).day().to_string(), "9999-12-30");
    }
}
