//! What one line of each journal says: plain data with the words of the files. No line holds message text, a secret or a
//! path of the host; deciding what to write is the seat's.

use serde::{Deserialize, Serialize};

use super::{At, Day, Digest};
use crate::binding::Changes;
use crate::discord::Snowflake;

/// `inbox.jsonl`: a message was received and passed the gate. Written before anything else is done about it; its ids are
/// what makes a replayed message a duplicate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inbox {
    /// The message.
    pub id: Snowflake,
    /// Where it stands: a channel or a thread.
    pub channel: Snowflake,
    /// Who wrote it.
    pub author: Snowflake,
    /// When it was received.
    pub at: At,
}

/// `admissions.jsonl`: a turn began for a message, before the engine runs. The ceiling counts these by UTC day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Admission {
    /// The message.
    pub id: Snowflake,
    /// Where it stands: a channel or a thread.
    pub channel: Snowflake,
    /// Who wrote it.
    pub author: Snowflake,
    /// When it was admitted.
    pub at: At,
}

/// `outbox.jsonl`: what is about to be posted and what became of it.
///
/// Every POST has its `Intent` before it, repeated tries included; `Confirmed`, `Refused` and `Unknown` close the nonce.
/// The text itself lies in the [`super::Spool`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Outbox {
    /// The chunk is about to be posted.
    Intent {
        /// Names the chunk towards Discord.
        nonce: String,
        /// The inbound message it answers.
        message: Snowflake,
        /// Where it is posted: a channel or a thread.
        channel: Snowflake,
        /// Which chunk of the answer, from 0.
        part: usize,
        /// How many chunks the answer has.
        of: usize,
        /// Which try, from 1.
        attempt: u32,
        /// Digest of the chunk's UTF-8 bytes.
        sha256: Digest,
        /// Length of the chunk in code points.
        chars: usize,
        /// When.
        at: At,
    },
    /// It stands in the channel.
    Confirmed {
        /// Names the chunk.
        nonce: String,
        /// The message Discord made of it; absent when it was posted and deleted since.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        posted: Option<Snowflake>,
        /// When that was known.
        at: At,
    },
    /// It does not stand in the channel and is not tried again.
    Refused {
        /// Names the chunk.
        nonce: String,
        /// Status and code of Discord's answer, or our own word for what happened. Never text from outside.
        reason: String,
        /// When that was known.
        at: At,
    },
    /// Nobody can say whether it stands in the channel.
    Unknown {
        /// Names the chunk.
        nonce: String,
        /// When the last try ended.
        at: At,
    },
}

impl Outbox {
    /// The chunk the line is about.
    pub fn nonce(&self) -> &str {
        match self {
            Self::Intent { nonce, .. }
            | Self::Confirmed { nonce, .. }
            | Self::Refused { nonce, .. }
            | Self::Unknown { nonce, .. } => nonce,
        }
    }
}

/// `drops.jsonl`: a message was dropped or refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drop {
    /// The message.
    pub id: Snowflake,
    /// Where it stands: a channel or a thread.
    pub channel: Snowflake,
    /// Who wrote it.
    pub author: Snowflake,
    /// The one rule that turned it away.
    pub reason: DropReason,
    /// When.
    pub at: At,
}

/// Every way a message ends without a turn, in the order the rules are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DropReason {
    /// Our own message came back.
    OwnMessage,
    /// Our own account said it and this connector did not: another process has the token (D-35).
    ForeignOwnMessage,
    /// A direct message, or one from another server.
    OtherGuild,
    /// Posted through a webhook: the author proves nothing.
    Webhook,
    /// The author is a bot or Discord itself.
    Bot,
    /// A system notice, not something a person wrote.
    MessageType,
    /// The author is not listed.
    AuthorNotListed,
    /// Neither the channel nor the thread's parent is listed.
    ChannelNotListed,
    /// The author may not use this channel.
    ChannelNotForUser,
    /// Forwarded words are not the forwarder's own.
    Forward,
    /// Nothing a person could read.
    NoText,
    /// Only a role was mentioned, which may be the bot's own.
    RoleMention,
    /// The bot was not mentioned.
    NotMentioned,
    /// The message was received before.
    Duplicate,
    /// The stop switch is on.
    Stopped,
    /// Longer than the binding takes.
    OverSize,
    /// The day's turns are spent.
    OverCeiling,
    /// Too old to be answered when the connector came to it.
    TooOld,
    /// Deleted before its turn began.
    Deleted,
}

impl DropReason {
    /// Whether the message has an inbox line. Then this line ends what that one began: a start that does not find it takes
    /// the message up again, so it must be on disk before anything is said.
    pub fn ends_what_was_taken(self) -> bool {
        matches!(
            self,
            Self::Stopped | Self::TooOld | Self::OverSize | Self::OverCeiling | Self::Deleted
        )
    }

    /// The binding field whose value decided, as a path into the file; nothing for rules no binding can change.
    pub fn binding_field(self) -> Option<&'static str> {
        match self {
            Self::OwnMessage | Self::ForeignOwnMessage => Some("botUserId"),
            Self::OtherGuild => Some("guildId"),
            Self::AuthorNotListed => Some("users"),
            Self::ChannelNotListed => Some("channels"),
            Self::ChannelNotForUser => Some("users[].channels"),
            Self::RoleMention | Self::NotMentioned => Some("channels[].mode"),
            Self::OverSize => Some("limits.inboundMaxChars"),
            Self::OverCeiling => Some("limits.turnsPerDay"),
            Self::TooOld => Some("limits.maxAgeSeconds"),
            Self::Webhook
            | Self::Bot
            | Self::MessageType
            | Self::Forward
            | Self::NoText
            | Self::Duplicate
            | Self::Stopped
            | Self::Deleted => None,
        }
    }
}

/// `notices.jsonl`: a fixed line that is said once a day was attempted, whatever became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notice {
    /// The UTC day it stands for.
    pub day: Day,
    /// Which line.
    pub kind: NoticeKind,
    /// When.
    pub at: At,
}

/// `reloads.jsonl`: a reload was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Reload {
    /// The edited binding is in force.
    Applied {
        /// What was swapped.
        changes: Changes,
        /// When.
        at: At,
    },
    /// The binding from before stays in force.
    Refused {
        /// Why.
        why: Refused,
        /// When.
        at: At,
    },
}

/// Every reason to refuse a reload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Refused {
    /// A signal came without a binding: it was not sent by `mosaic-discord reload`.
    NothingHandedOver,
    /// What was handed over is no binding.
    Invalid {
        /// The field that does not fit, when it is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        field: Option<String>,
    },
    /// Fields that are fixed for the life of the process differ.
    FixedFields {
        /// The fields.
        fields: Vec<String>,
    },
    /// A new channel is not in the bound server.
    ChannelElsewhere {
        /// The channel.
        channel: Snowflake,
    },
    /// Discord does not show the bot a new channel.
    ChannelNotSeen {
        /// The channel.
        channel: Snowflake,
    },
    /// Discord could not be asked about a new channel.
    LookUpFailed {
        /// The channel.
        channel: Snowflake,
    },
}

/// The lines that are said once a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoticeKind {
    /// The day's turns are spent.
    OverCeiling,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at() -> At {
        "2026-11-30T23:48:27.123Z".parse().unwrap()
    }

    fn id(number: u64) -> Snowflake {
        Snowflake::new(number).unwrap()
    }

    #[test]
    fn an_inbox_line_begins_with_the_id() {
        let line = Inbox {
            id: id(1),
            channel: id(2),
            author: id(3),
            at: at(),
        };

        let text = serde_json::to_string(&line).unwrap();

        assert_eq!(
            text,
            r#"{"id":"1","channel":"2","author":"3","at":"2026-11-30T23:48:27.123Z"}"#
        );
        assert_eq!(serde_json::from_str::<Inbox>(&text).unwrap(), line);
    }

    #[test]
    fn every_outbox_state_reads_back_as_written() {
        let nonce = || "1-0".to_owned();
        let lines = [
            Outbox::Intent {
                nonce: nonce(),
                message: id(1),
                channel: id(2),
                part: 0,
                of: 1,
                attempt: 1,
                sha256: Digest::of(b"hello"),
                chars: 5,
                at: at(),
            },
            Outbox::Confirmed {
                nonce: nonce(),
                posted: Some(id(4)),
                at: at(),
            },
            Outbox::Confirmed {
                nonce: nonce(),
                posted: None,
                at: at(),
            },
            Outbox::Refused {
                nonce: nonce(),
                reason: "403 50013".into(),
                at: at(),
            },
            Outbox::Unknown {
                nonce: nonce(),
                at: at(),
            },
        ];

        let texts: Vec<String> = lines
            .iter()
            .map(|line| serde_json::to_string(line).unwrap())
            .collect();

        assert_eq!(
            texts[3],
            r#"{"state":"refused","nonce":"1-0","reason":"403 50013","at":"2026-11-30T23:48:27.123Z"}"#
        );
        for (text, line) in texts.iter().zip(&lines) {
            assert_eq!(&serde_json::from_str::<Outbox>(text).unwrap(), line);
            assert_eq!(line.nonce(), "1-0");
        }
    }

    #[test]
    fn an_unknown_key_in_a_line_is_refused() {
        let text =
            r#"{"id":"1","channel":"2","author":"3","at":"2026-11-30T23:48:27.123Z","more":1}"#;

        assert!(serde_json::from_str::<Inbox>(text).is_err());
    }
}
