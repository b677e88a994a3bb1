//! What became of one message, decided from the journals: the answer to `why`. One fate per message, each a sentence with the
//! next step where there is one.

use std::fmt;

use serde_json::{Value, json};

use super::History;
use crate::discord::Snowflake;
use crate::journal::lines::{Drop, DropReason, Inbox, Outbox};
use crate::journal::{At, Outcome, TurnRecord};

/// What became of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Fate {
    /// Its turn ended.
    Recorded(Box<TurnRecord>),
    /// Its turn was admitted and has no record.
    Open {
        /// When it was admitted.
        since: At,
    },
    /// It was received and waits.
    Held {
        /// The message whose turn is under way.
        behind: Option<Snowflake>,
        /// When it was received.
        since: At,
    },
    /// It was turned away.
    Dropped(Drop),
    /// It is one of ours.
    Ours {
        /// The message it answers.
        answers: Snowflake,
        /// Which part of the answer, from 1.
        part: usize,
        /// How many parts the answer has.
        of: usize,
    },
    /// No line is about it.
    Unknown {
        /// When it was written.
        written: At,
        /// The last message that was received before it, and when.
        before: Option<At>,
        /// The first that was received after it.
        after: Option<At>,
    },
}

impl Fate {
    /// Decides. `record` is the message's, when there is one.
    pub fn of(message: Snowflake, history: &History, record: Option<TurnRecord>) -> Self {
        if let Some(record) = record {
            return Self::Recorded(Box::new(record));
        }
        if let Some(line) = history.admissions.iter().find(|line| line.id == message) {
            return Self::Open { since: line.at };
        }
        // What we post comes back over the gateway and is dropped as our own: that says less than what it answers.
        if let Some(ours) = ours(message, &history.outbox) {
            return ours;
        }
        let drops = || history.drops.iter().filter(|drop| drop.id == message);
        // The repeat of a message is not why the first one had no turn.
        let first = drops().find(|drop| drop.reason != DropReason::Duplicate);
        let received = history.inbox.iter().find(|line| line.id == message);
        match (first, received, drops().next()) {
            (Some(drop), _, _) | (None, None, Some(drop)) => Self::Dropped(drop.clone()),
            (None, Some(line), _) => Self::Held {
                behind: history.open_turns().next().map(|line| line.id),
                since: line.at,
            },
            (None, None, None) => unknown(message, &history.inbox),
        }
    }

    /// The word of the state, for programs.
    fn state(&self) -> &'static str {
        match self {
            Self::Recorded(record) => outcome(record.outcome),
            Self::Open { .. } => "open",
            Self::Held { .. } => "held",
            Self::Dropped(_) => "dropped",
            Self::Ours { .. } => "ours",
            Self::Unknown { .. } => "unknown",
        }
    }

    /// For programs: the state, the sentence, and what decided.
    pub fn to_json(&self, message: Snowflake) -> Value {
        let mut json = json!({
            "message": message,
            "state": self.state(),
            "sentence": self.to_string(),
        });
        match self {
            Self::Dropped(drop) => {
                json["reason"] = json!(drop.reason);
                json["bindingField"] = json!(drop.reason.binding_field());
            }
            Self::Recorded(record) => json["error"] = json!(record.error),
            Self::Held { behind, .. } => json["behind"] = json!(behind),
            Self::Ours { answers, .. } => json["answers"] = json!(answers),
            Self::Open { .. } | Self::Unknown { .. } => {}
        }
        json
    }
}

/// The word of an outcome, as in the record.
pub(crate) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Answered => "answered",
        Outcome::Undelivered => "undelivered",
        Outcome::Failed => "failed",
        Outcome::Aborted => "aborted",
        Outcome::Interrupted => "interrupted",
    }
}

fn ours(message: Snowflake, outbox: &[Outbox]) -> Option<Fate> {
    let nonce = outbox.iter().find_map(|line| match line {
        Outbox::Confirmed {
            nonce,
            posted: Some(posted),
            ..
        } if *posted == message => Some(nonce),
        _ => None,
    })?;
    outbox.iter().find_map(|line| match line {
        Outbox::Intent {
            nonce: of_intent,
            message,
            part,
            of,
            ..
        } if of_intent == nonce => Some(Fate::Ours {
            answers: *message,
            part: part + 1,
            of: *of,
        }),
        _ => None,
    })
}

fn unknown(message: Snowflake, inbox: &[Inbox]) -> Fate {
    let written = At::from_ms(message.created_ms());
    Fate::Unknown {
        written,
        before: inbox
            .iter()
            .map(|line| line.at)
            .filter(|at| *at <= written)
            .max(),
        after: inbox
            .iter()
            .map(|line| line.at)
            .filter(|at| *at > written)
            .min(),
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recorded(record) => recorded(f, record),
            Self::Open { since } => write!(
                f,
                "Its turn was admitted at {since} and has no record yet: it is under way, or the process died in it and the \
                 next start will say so."
            ),
            Self::Held {
                behind: Some(turn),
                since,
            } => write!(
                f,
                "It was received at {since} and is held behind the turn of {turn}."
            ),
            Self::Held {
                behind: None,
                since,
            } => write!(
                f,
                "It was received at {since} and waits for its turn; after a crash the next start takes it up, unless it is older \
                 than limits.maxAgeSeconds."
            ),
            Self::Dropped(drop) => {
                write!(f, "It was dropped at {}: {}", drop.at, words(drop.reason))?;
                match drop.reason.binding_field() {
                    Some(field) => write!(f, " Decided by {field} of the binding."),
                    None => Ok(()),
                }
            }
            Self::Ours { answers, part, of } => write!(
                f,
                "It is ours: part {part} of {of} of what was posted for message {answers}."
            ),
            Self::Unknown {
                written,
                before,
                after,
            } => {
                write!(
                    f,
                    "No line is about it, so it never reached us. It was written at {written}"
                )?;
                match (before, after) {
                    (None, None) => f.write_str("; nothing was ever received.")?,
                    (Some(before), None) => {
                        write!(f, "; the last message was received at {before}.")?;
                    }
                    (None, Some(after)) => {
                        write!(f, ", before the first message was received at {after}.")?;
                    }
                    (Some(before), Some(after)) => {
                        write!(f, ", between messages received at {before} and at {after}.")?;
                    }
                }
                f.write_str(
                    " The connector was down then, or the bot cannot see that channel: `mosaic-discord check` tells.",
                )
            }
        }
    }
}

fn recorded(f: &mut fmt::Formatter<'_>, record: &TurnRecord) -> fmt::Result {
    let delivery = &record.delivery;
    let (standing, chunks) = (delivery.standing, delivery.chunks);
    let stopped_by = delivery.stopped_by.as_deref().unwrap_or("unknown");
    let error = record.error.as_deref().unwrap_or("unknown");
    match record.outcome {
        Outcome::Answered if chunks == 1 => f.write_str("It was answered."),
        Outcome::Answered => write!(
            f,
            "It was answered in {chunks} parts; all stand in the channel."
        ),
        Outcome::Undelivered => write!(
            f,
            "It has an answer of which {standing} of {chunks} parts stand in the channel; the rest was stopped by {stopped_by}."
        ),
        Outcome::Failed => write!(f, "Its turn failed: {error}. ")
            .and_then(|()| said_so(f, standing, chunks, stopped_by)),
        Outcome::Aborted => write!(f, "Its turn was stopped by a person. ")
            .and_then(|()| said_so(f, standing, chunks, stopped_by)),
        Outcome::Interrupted => write!(f, "The process died in its turn. ")
            .and_then(|()| said_so(f, standing, chunks, stopped_by)),
    }
}

fn said_so(
    f: &mut fmt::Formatter<'_>,
    standing: usize,
    chunks: usize,
    stopped_by: &str,
) -> fmt::Result {
    if standing == chunks {
        f.write_str("The channel was told with a fixed line.")
    } else {
        write!(f, "The channel could not be told: {stopped_by}.")
    }
}

/// A rule in words, as the person who wrote the message would be told.
fn words(reason: DropReason) -> &'static str {
    match reason {
        DropReason::OwnMessage => "the bot wrote it itself.",
        DropReason::ForeignOwnMessage => {
            "the bot's account wrote it, but not this connector: another process has the token."
        }
        DropReason::OtherGuild => "it is a direct message or from another server.",
        DropReason::Webhook => "it came through a webhook, where the author proves nothing.",
        DropReason::Bot => "a bot or Discord itself wrote it.",
        DropReason::MessageType => "it is a system notice, not something a person wrote.",
        DropReason::AuthorNotListed => "its author is not listed.",
        DropReason::ChannelNotListed => "neither its channel nor the thread's parent is listed.",
        DropReason::ChannelNotForUser => "its author is not allowed in this channel.",
        DropReason::Forward => "it is forwarded, and forwarded words are not the forwarder's own.",
        DropReason::NoText => "it has no text a person could read.",
        DropReason::RoleMention => {
            "it mentions only a role, and this channel wants the bot itself mentioned."
        }
        DropReason::NotMentioned => "this channel wants the bot mentioned, and it does not.",
        DropReason::Duplicate => "it had been received before.",
        DropReason::Stopped => "STOP was there.",
        DropReason::OverSize => "it is longer than is taken; the channel was told.",
        DropReason::OverCeiling => "the day's turns were used up; the channel was told once.",
        DropReason::TooOld => "it was too old when the connector came to it.",
        DropReason::Deleted => "it was deleted before its turn began.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Digest;
    use crate::journal::lines::Admission;

    fn id(number: u64) -> Snowflake {
        Snowflake::new(number).unwrap()
    }

    fn at(second: u64) -> At {
        At::from_ms(1_796_000_000_000 + 1000 * second)
    }

    fn inbox(number: u64, second: u64) -> Inbox {
        Inbox {
            id: id(number),
            channel: id(2),
            author: id(3),
            at: at(second),
        }
    }

    fn admission(number: u64, second: u64) -> Admission {
        Admission {
            id: id(number),
            channel: id(2),
            author: id(3),
            at: at(second),
        }
    }

    fn drop(number: u64, reason: DropReason) -> Drop {
        Drop {
            id: id(number),
            channel: id(2),
            author: id(3),
            reason,
            at: at(0),
        }
    }

    fn fate(number: u64, history: &History) -> Fate {
        Fate::of(id(number), history, None)
    }

    #[test]
    fn a_message_is_open_held_dropped_or_never_came() {
        let history = History {
            inbox: vec![inbox(10, 1), inbox(11, 2), inbox(12, 3)],
            admissions: vec![admission(10, 2)],
            drops: vec![
                drop(11, DropReason::Duplicate),
                drop(12, DropReason::Duplicate),
                drop(12, DropReason::OverSize),
                drop(13, DropReason::NotMentioned),
            ],
            ..History::default()
        };

        assert_eq!(fate(10, &history), Fate::Open { since: at(2) });
        assert_eq!(
            fate(11, &history),
            Fate::Held {
                behind: Some(id(10)),
                since: at(2)
            }
        );
        assert_eq!(
            fate(12, &history),
            Fate::Dropped(drop(12, DropReason::OverSize))
        );
        assert_eq!(
            fate(13, &history),
            Fate::Dropped(drop(13, DropReason::NotMentioned))
        );
        assert!(matches!(
            fate(14, &history),
            Fate::Unknown {
                before: None,
                after: Some(_),
                ..
            }
        ));
    }

    #[test]
    fn a_message_of_ours_names_the_one_it_answers() {
        let outbox = vec![
            Outbox::Intent {
                nonce: "10-1".into(),
                message: id(10),
                channel: id(2),
                part: 1,
                of: 3,
                attempt: 1,
                sha256: Digest::of(b""),
                chars: 0,
                at: at(0),
            },
            Outbox::Confirmed {
                nonce: "10-1".into(),
                posted: Some(id(20)),
                at: at(1),
            },
        ];
        let history = History {
            outbox,
            drops: vec![drop(20, DropReason::OwnMessage)],
            ..History::default()
        };

        assert_eq!(
            fate(20, &history),
            Fate::Ours {
                answers: id(10),
                part: 2,
                of: 3
            }
        );
    }

    #[test]
    fn the_sentences_name_the_rule_the_field_and_the_next_step() {
        let written = at(0);
        let fates = [
            Fate::Open { since: at(0) },
            Fate::Held {
                behind: Some(id(10)),
                since: at(0),
            },
            Fate::Held {
                behind: None,
                since: at(0),
            },
            Fate::Dropped(drop(1, DropReason::NotMentioned)),
            Fate::Dropped(drop(1, DropReason::Stopped)),
            Fate::Ours {
                answers: id(10),
                part: 1,
                of: 2,
            },
            Fate::Unknown {
                written,
                before: Some(at(1)),
                after: Some(at(2)),
            },
            Fate::Unknown {
                written,
                before: None,
                after: None,
            },
        ];

        let told: Vec<String> = fates.iter().map(ToString::to_string).collect();

        insta::assert_snapshot!(told.join("\n"));
    }
}
