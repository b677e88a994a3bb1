//! One message as the gateway or REST gives it (`reference/discord-api.md` section 8).
//! Of attachments, stickers, embeds and forwards only the number is kept: nobody here reads them.

use std::fmt;

use serde::{Deserialize, Deserializer};

use super::channel::ChannelKind;
use super::user::{Member, User};
use crate::discord::json::{count, null_as_default};
use crate::discord::snowflake::Snowflake;

/// A message. `Debug` gives ids and counts, never a word of it.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct Message {
    /// Shared by a public thread that was started from this message.
    pub id: Snowflake,
    /// The channel, or the thread when it was written in one.
    pub channel_id: Snowflake,
    /// The kind of that channel, when Discord says it.
    #[serde(default)]
    pub channel_type: Option<ChannelKind>,
    /// The server. In gateway events only; absent in a direct message.
    #[serde(default)]
    pub guild_id: Option<Snowflake>,
    /// Who wrote it. Proves nothing when [`webhook_id`](Self::webhook_id) is there.
    pub author: User,
    /// What the server adds to the author; sometimes missing, always for a webhook.
    #[serde(default)]
    pub member: Option<Member>,
    /// The webhook that posted it.
    #[serde(default)]
    pub webhook_id: Option<Snowflake>,
    /// The application, on the answer to a command or by a bot.
    #[serde(default)]
    pub application_id: Option<Snowflake>,
    /// What was typed. May hold NUL and control characters (D-48).
    #[serde(default, deserialize_with = "null_as_default")]
    pub content: String,
    /// Mentioned users; the author of the replied-to message too, when the reply pings.
    #[serde(default, deserialize_with = "null_as_default")]
    pub mentions: Vec<User>,
    /// Mentioned roles, among them perhaps the bot's own (D-37).
    #[serde(default, deserialize_with = "null_as_default")]
    pub mention_roles: Vec<Snowflake>,
    /// Whether @everyone or @here took effect.
    #[serde(default, deserialize_with = "null_as_default")]
    pub mention_everyone: bool,
    /// What kind of message; only two are people speaking.
    #[serde(rename = "type", default)]
    pub kind: MessageKind,
    /// What it points at: a reply's message, but also a forward's, a pin's, a thread's.
    #[serde(default)]
    pub message_reference: Option<MessageReference>,
    /// The bits as Discord sends them; see the constants of this type.
    #[serde(default, deserialize_with = "null_as_default")]
    pub flags: u64,
    /// How many files.
    #[serde(default, deserialize_with = "count")]
    pub attachments: usize,
    /// How many stickers.
    #[serde(rename = "sticker_items", default, deserialize_with = "count")]
    pub stickers: usize,
    /// How many embeds. They may arrive later, with an update (D-45).
    #[serde(default, deserialize_with = "count")]
    pub embeds: usize,
    /// How many forwarded messages (D-47). Their text is not the forwarder's.
    #[serde(rename = "message_snapshots", default, deserialize_with = "count")]
    pub snapshots: usize,
    /// Whether it is a poll.
    #[serde(default, deserialize_with = "present")]
    pub poll: bool,
    /// The sender's own mark, sent as text or as a number (E24), kept as text.
    #[serde(default, deserialize_with = "nonce")]
    pub nonce: Option<String>,
}

/// A message's kind. Zero when Discord leaves it out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "u64")]
pub enum MessageKind {
    /// A person or bot speaking.
    #[default]
    Default,
    /// The same, as a reply.
    Reply,
    /// A system notice, a command's answer, or something newer than this program.
    Other(u64),
}

impl From<u64> for MessageKind {
    fn from(number: u64) -> Self {
        match number {
            0 => Self::Default,
            19 => Self::Reply,
            other => Self::Other(other),
        }
    }
}

/// What a message points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct MessageReference {
    /// 0 reply (also when left out), 1 forward.
    #[serde(rename = "type", default, deserialize_with = "null_as_default")]
    pub kind: u64,
    /// The message pointed at.
    #[serde(default)]
    pub message_id: Option<Snowflake>,
    /// Its channel.
    #[serde(default)]
    pub channel_id: Option<Snowflake>,
}

impl Message {
    /// The bit of a message only one user sees.
    pub const EPHEMERAL: u64 = 1 << 6;
    /// The bit of a voice message.
    pub const VOICE: u64 = 1 << 13;
    /// The bit of a forward.
    pub const HAS_SNAPSHOT: u64 = 1 << 14;

    /// The message this one answers. A forward, a pin or a thread starter answers nothing (E1–E3), nor does a reply whose reference names no message.
    #[must_use]
    pub fn reply_to(&self) -> Option<Snowflake> {
        match (self.kind, &self.message_reference) {
            (MessageKind::Reply, Some(reference)) if reference.kind == 0 => reference.message_id,
            _ => None,
        }
    }

    /// Whether it is a forward of somebody's message.
    #[must_use]
    pub fn is_forward(&self) -> bool {
        self.snapshots > 0
            || self.flags & Self::HAS_SNAPSHOT != 0
            || self
                .message_reference
                .is_some_and(|reference| reference.kind == 1)
    }

    /// Whether `user` is mentioned as a user; a role or @everyone does not count.
    #[must_use]
    pub fn mentions(&self, user: Snowflake) -> bool {
        self.mentions.iter().any(|mentioned| mentioned.id == user)
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("id", &self.id)
            .field("channel_id", &self.channel_id)
            .field("author", &self.author)
            .field("kind", &self.kind)
            .field("characters", &self.content.chars().count())
            .finish_non_exhaustive()
    }
}

/// Whether the key holds anything but `null`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::<serde::de::IgnoredAny>::deserialize(deserializer)?.is_some())
}

fn nonce<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Nonce {
        Text(String),
        Number(i64),
        Large(u64),
    }

    Ok(
        Option::<Nonce>::deserialize(deserializer)?.map(|nonce| match nonce {
            Nonce::Text(text) => text,
            Nonce::Number(number) => number.to_string(),
            Nonce::Large(number) => number.to_string(),
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discord::json::parse_json;

    fn message(more: &str) -> Message {
        parse_json(
            format!(r#"{{"id":"3","channel_id":"2","author":{{"id":"1"}}{more}}}"#).as_bytes(),
        )
        .unwrap()
    }

    #[test]
    fn the_least_a_message_can_be_is_read() {
        let least = message("");

        assert_eq!(
            (
                least.kind,
                least.content.as_str(),
                least.guild_id,
                least.nonce
            ),
            (MessageKind::Default, "", None, None)
        );
    }

    #[test]
    fn null_is_as_good_as_absent_and_the_unknown_passes() {
        let nulls = message(
            r#","content":null,"member":null,"mentions":null,"mention_roles":null,"mention_everyone":null,"flags":null,"attachments":null,
               "sticker_items":null,"embeds":null,"message_snapshots":null,"poll":null,"nonce":null,"message_reference":null,"webhook_id":null,
               "guild_id":null,"channel_type":null,"brand_new":[{"x":1}]"#,
        );

        assert_eq!(nulls, message(""));
    }

    #[test]
    fn e_24_a_nonce_is_text_however_it_was_sent() {
        assert_eq!(message(r#","nonce":"a-1""#).nonce.as_deref(), Some("a-1"));
        assert_eq!(message(r#","nonce":42"#).nonce.as_deref(), Some("42"));
        assert_eq!(
            message(r#","nonce":18446744073709551615"#).nonce.as_deref(),
            Some("18446744073709551615")
        );
    }

    #[test]
    fn what_is_not_text_is_counted() {
        let parts = message(
            r#","attachments":[{},{}],"sticker_items":[{}],"embeds":[],"message_snapshots":[{"message":{}}],"poll":{}"#,
        );

        assert_eq!(
            (
                parts.attachments,
                parts.stickers,
                parts.embeds,
                parts.snapshots,
                parts.poll
            ),
            (2, 1, 0, 1, true)
        );
    }

    #[test]
    fn only_a_reply_answers_a_message() {
        let reference = r#","message_reference":{"message_id":"9","channel_id":"2"}"#;
        let forward = r#","message_reference":{"type":1,"message_id":"9","channel_id":"2"}"#;

        assert_eq!(
            message(&format!(r#"{reference},"type":19"#)).reply_to(),
            Snowflake::new(9)
        );
        assert_eq!(
            message(&format!(r#"{reference},"type":6"#)).reply_to(),
            None
        );
        assert_eq!(message(&format!(r#"{forward},"type":0"#)).reply_to(), None);
        assert!(message(&format!(r#"{forward},"type":0"#)).is_forward());
        assert!(!message(&format!(r#"{reference},"type":19"#)).is_forward());
    }

    #[test]
    fn e_25_a_reply_to_a_deleted_message_still_names_it() {
        let reply = message(
            r#","type":19,"referenced_message":null,"message_reference":{"message_id":"9"}"#,
        );

        assert_eq!(reply.reply_to(), Snowflake::new(9));
    }

    #[test]
    fn e_07_everyone_mentions_nobody() {
        let everyone =
            message(r#","mention_everyone":true,"mention_roles":["5"],"mentions":[{"id":"6"}]"#);

        assert!(everyone.mentions(Snowflake::new(6).unwrap()));
        assert!(!everyone.mentions(Snowflake::new(5).unwrap()));
    }

    #[test]
    fn a_debug_print_holds_no_word_of_the_message() {
        let printed = format!("{:?}", message(r#","content":"geheim""#));

        assert_eq!(
            printed,
            "Message { id: 3, channel_id: 2, author: User(1), kind: Default, characters: 6, .. }"
        );
    }
}
