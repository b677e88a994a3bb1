//! Discord's ids as numbers that carry their own time.
//! It does not know what an id names; a message and the thread started from it share one (`reference/discord-api.md` section 1).

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// 2015-01-01T00:00:00Z in Unix milliseconds: the zero of every id's clock.
const EPOCH_MS: u64 = 1_420_070_400_000;
/// The bits below the time: worker, process, counter.
const TIME_SHIFT: u32 = 22;

/// An id. Ordered as a number, because ids of different lengths do not sort as text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Snowflake(NonZeroU64);

/// Text that is no id. It does not repeat the text, which may be anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a Discord id: 1 to 20 decimal digits without a leading zero, below 2^64")]
pub struct BadSnowflake;

impl Snowflake {
    /// An id from its number; `None` for zero, which Discord never gives out.
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        match NonZeroU64::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The id from its decimal text, in the one spelling Discord uses, so that equal ids are equal text.
    pub fn parse(text: &str) -> Result<Self, BadSnowflake> {
        let canonical = (1..=20).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_digit())
            && !text.starts_with('0');
        if !canonical {
            return Err(BadSnowflake);
        }
        text.parse().map(Self).map_err(|_| BadSnowflake)
    }

    /// The id as a number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// When the id was made, in Unix milliseconds by Discord's clock.
    #[must_use]
    pub const fn created_ms(&self) -> u64 {
        (self.0.get() >> TIME_SHIFT) + EPOCH_MS
    }

    /// The smallest id that can have been made at `unix_ms`: what to pass as `after` to read from a moment on.
    /// A time before Discord gives the smallest id there is.
    #[must_use]
    pub const fn smallest_at(unix_ms: u64) -> Self {
        // 42 bits of time are left above the shift; a later time than they can hold is held at the last.
        let since = unix_ms.saturating_sub(EPOCH_MS);
        let since = if since > u64::MAX >> TIME_SHIFT {
            u64::MAX >> TIME_SHIFT
        } else {
            since
        };
        match NonZeroU64::new(since << TIME_SHIFT) {
            Some(number) => Self(number),
            None => Self(NonZeroU64::MIN),
        }
    }
}

impl FromStr for Snowflake {
    type Err = BadSnowflake;

    fn from_str(text: &str) -> Result<Self, BadSnowflake> {
        Self::parse(text)
    }
}

impl fmt::Display for Snowflake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Snowflake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Snowflake {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Snowflake {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Digits;

        impl serde::de::Visitor<'_> for Digits {
            type Value = Snowflake;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a Discord id as a string of digits")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Snowflake, E> {
                Snowflake::parse(text).map_err(E::custom)
            }
        }

        // Strings only: a number has been through a parser that may have rounded it to 53 bits.
        deserializer.deserialize_str(Digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_spelling_discord_uses_is_an_id() {
        let accepted = ["1", "175928847299117063", "18446744073709551615"];
        let refused = [
            "",
            "0",
            "01",
            "+1",
            "-1",
            " 1",
            "1 ",
            "1_0",
            "0x1",
            "1.0",
            "१२३",
            "18446744073709551616",
            "100000000000000000000",
            "184467440737095516150",
        ];

        for text in accepted {
            assert_eq!(
                Snowflake::parse(text).map(|id| id.to_string()),
                Ok(text.to_owned())
            );
        }
        for text in refused {
            assert_eq!(Snowflake::parse(text), Err(BadSnowflake), "{text:?}");
        }
    }

    #[test]
    fn an_id_carries_its_time() {
        let id = Snowflake::parse("175928847299117063").unwrap();

        assert_eq!(id.created_ms(), 1_462_015_105_796);
    }

    #[test]
    fn the_smallest_id_of_a_moment_is_not_after_any_other_of_it() {
        let id = Snowflake::parse("175928847299117063").unwrap();

        let smallest = Snowflake::smallest_at(id.created_ms());

        assert!(smallest <= id);
        assert_eq!(smallest.created_ms(), id.created_ms());
        assert_eq!(Snowflake::smallest_at(0).get(), 1);
        assert_eq!(
            Snowflake::smallest_at(u64::MAX).get(),
            u64::MAX << TIME_SHIFT
        );
    }

    #[test]
    fn ids_of_different_length_compare_as_numbers() {
        assert!(
            Snowflake::parse("99999999999999999").unwrap()
                < Snowflake::parse("100000000000000000").unwrap()
        );
    }

    #[test]
    fn in_json_an_id_is_a_string_and_a_number_is_refused() {
        let id: Snowflake = serde_json::from_str("\"42\"").unwrap();

        assert_eq!(serde_json::to_string(&id).unwrap(), "\"42\"");
        assert!(serde_json::from_str::<Snowflake>("42").is_err());
    }
}
