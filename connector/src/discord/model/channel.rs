//! Channels and threads, which Discord describes with one object.

use std::fmt;

use serde::Deserialize;

use super::guild::permission_bits;
use crate::discord::json::null_as_default;
use crate::discord::snowflake::Snowflake;

/// A channel or thread.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct Channel {
    /// Its id.
    pub id: Snowflake,
    /// What it is.
    #[serde(rename = "type", default)]
    pub kind: ChannelKind,
    /// Its server; may be missing in the channels of a GUILD_CREATE.
    #[serde(default)]
    pub guild_id: Option<Snowflake>,
    /// A thread's channel; a channel's category.
    #[serde(default)]
    pub parent_id: Option<Snowflake>,
    /// What people call it.
    #[serde(default)]
    pub name: Option<String>,
    /// A thread's state.
    #[serde(default)]
    pub thread_metadata: Option<ThreadMetadata>,
    /// What roles and members may do here beyond or below the server's rule.
    #[serde(default, deserialize_with = "null_as_default")]
    pub permission_overwrites: Vec<Overwrite>,
}

/// The kinds of channel this program tells apart; the number stays readable for the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "u64")]
pub enum ChannelKind {
    /// A text channel. Also what a missing kind is read as, which no rule of ours treats better than an unknown one.
    #[default]
    Text,
    /// A thread of any of the three kinds: in announcements (10), public (11), private (12).
    Thread,
    /// A forum or media channel, whose posts are threads.
    Forum,
    /// Everything else, by Discord's number.
    Other(u64),
}

impl From<u64> for ChannelKind {
    fn from(number: u64) -> Self {
        match number {
            0 => Self::Text,
            10..=12 => Self::Thread,
            15 | 16 => Self::Forum,
            other => Self::Other(other),
        }
    }
}

/// A thread's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ThreadMetadata {
    /// Put away; a new message takes it out again.
    pub archived: bool,
    /// Closed to all but moderators.
    pub locked: bool,
}

/// One exception of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Overwrite {
    /// The role or member.
    pub id: Snowflake,
    /// Bits given.
    #[serde(default, deserialize_with = "permission_bits")]
    pub allow: u64,
    /// Bits taken.
    #[serde(default, deserialize_with = "permission_bits")]
    pub deny: u64,
}

impl Channel {
    /// The channel a thread belongs to; `None` for a channel, whose parent is only a category.
    #[must_use]
    pub fn thread_parent(&self) -> Option<Snowflake> {
        match self.kind {
            ChannelKind::Thread => self.parent_id,
            ChannelKind::Text | ChannelKind::Forum | ChannelKind::Other(_) => None,
        }
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Channel({}, {:?}, parent {:?})",
            self.id, self.kind, self.parent_id
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_category_is_not_the_parent_of_a_thread() {
        let channel = |kind| {
            serde_json::from_str::<Channel>(&format!(
                r#"{{"id":"1","type":{kind},"parent_id":"2"}}"#
            ))
            .unwrap()
        };

        for kind in [10, 11, 12] {
            assert_eq!(channel(kind).thread_parent(), Snowflake::new(2), "{kind}");
        }
        for kind in [0, 2, 5, 15, 16, 99] {
            assert_eq!(channel(kind).thread_parent(), None, "{kind}");
        }
    }
}
