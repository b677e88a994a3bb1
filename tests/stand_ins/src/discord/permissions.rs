//! Permission bits and how a channel's overwrites change them (discord-api, section 2.1). Knows the bot only as "the one who asks".

use serde_json::{Value, json};

use super::snowflake::Snowflake;

/// A set of permission bits; on the wire a decimal string, as it may pass 53 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions(pub u64);

impl Permissions {
    /// React first.
    pub const ADD_REACTIONS: Self = Permissions(1 << 6);
    /// See the channel at all.
    pub const VIEW_CHANNEL: Self = Permissions(1 << 10);
    /// Post in a channel; counts for nothing inside a thread.
    pub const SEND_MESSAGES: Self = Permissions(1 << 11);
    /// Read what was said before; also needed to reply and to react.
    pub const READ_MESSAGE_HISTORY: Self = Permissions(1 << 16);
    /// Post in a thread.
    pub const SEND_MESSAGES_IN_THREADS: Self = Permissions(1 << 38);

    /// What @everyone has in a new server, as far as this server looks at it.
    pub(super) const EVERYONE: Self = Self::ADD_REACTIONS
        .and(Self::VIEW_CHANNEL)
        .and(Self::SEND_MESSAGES)
        .and(Self::READ_MESSAGE_HISTORY)
        .and(Self::SEND_MESSAGES_IN_THREADS);

    /// No bit at all.
    pub const NONE: Self = Permissions(0);

    /// Both sets together.
    #[must_use]
    pub const fn and(self, more: Self) -> Self {
        Permissions(self.0 | more.0)
    }

    /// This set without `denied`.
    #[must_use]
    pub const fn without(self, denied: Self) -> Self {
        Permissions(self.0 & !denied.0)
    }

    /// Whether every bit of `wanted` is here.
    #[must_use]
    pub const fn has(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }
}

/// A channel's overwrites: what it denies to @everyone.
pub(super) fn overwrites(guild: Snowflake, denied: Permissions) -> Value {
    match denied {
        Permissions::NONE => json!([]),
        Permissions(bits) => {
            json!([{ "id": guild, "type": 0, "allow": "0", "deny": bits.to_string() }])
        }
    }
}

/// What is left of the base permissions in a channel. Without VIEW_CHANNEL nothing else counts.
pub(super) fn in_channel(denied: Permissions) -> Permissions {
    let left = Permissions::EVERYONE.without(denied);
    if left.has(Permissions::VIEW_CHANNEL) {
        left
    } else {
        Permissions::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_counts_in_a_channel_one_cannot_see() {
        assert_eq!(in_channel(Permissions::VIEW_CHANNEL), Permissions::NONE);
    }

    #[test]
    fn a_denied_bit_takes_only_itself() {
        let left = in_channel(Permissions::SEND_MESSAGES);
        assert!(!left.has(Permissions::SEND_MESSAGES));
        assert!(left.has(Permissions::VIEW_CHANNEL.and(Permissions::READ_MESSAGE_HISTORY)));
    }
}
