//! The dispatches this program reads, decoded; all others keep their name only.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::discord::json::{JsonError, null_as_default};
use crate::discord::model::{Channel, Interaction, Message};
use crate::discord::snowflake::Snowflake;

/// Something that happened on Discord.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message was posted, perhaps by us (E28), perhaps seen before (E13).
    MessageCreate(Box<Message>),
    /// A server is there, after READY or after an outage.
    GuildCreate {
        /// The server.
        id: Snowflake,
        /// Still down: the lists are empty because nothing is known (E21).
        unavailable: bool,
        /// Its name.
        name: Option<String>,
        /// Its channels.
        channels: Vec<Channel>,
        /// Its active threads that the bot can see.
        threads: Vec<Channel>,
    },
    /// A server is gone.
    GuildDelete {
        /// The server.
        id: Snowflake,
        /// True for an outage; false when the bot was removed.
        unavailable: bool,
    },
    /// A channel changed.
    Channel(ChannelChange),
    /// A thread changed.
    Thread(ThreadChange),
    /// A button was pressed.
    Interaction(Box<Interaction>),
    /// Any other dispatch, by its name.
    Other(String),
}

/// A channel changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelChange {
    /// It is new or different.
    Upsert(Box<Channel>),
    /// It is gone.
    Delete {
        /// The channel.
        id: Snowflake,
    },
}

/// A thread changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadChange {
    /// It is new, different, or taken out of the archive.
    Upsert(Box<Channel>),
    /// It is gone.
    Delete {
        /// The thread.
        id: Snowflake,
    },
    /// The active threads of some channels, whole: what was known of those channels' threads is void.
    ListSync {
        /// The server.
        guild_id: Snowflake,
        /// The channels; `None` means all of the server.
        parents: Option<Vec<Snowflake>>,
        /// Their active threads.
        threads: Vec<Channel>,
    },
}

impl Event {
    /// Decodes the dispatch `name` from its data.
    pub(super) fn decode(name: &str, data: &RawValue) -> Result<Self, JsonError> {
        Ok(match name {
            "MESSAGE_CREATE" => Self::MessageCreate(read(data)?),
            "GUILD_CREATE" => {
                let GuildCreate {
                    id,
                    unavailable,
                    name,
                    channels,
                    threads,
                } = read(data)?;
                Self::GuildCreate {
                    id,
                    unavailable,
                    name,
                    channels,
                    threads,
                }
            }
            "GUILD_DELETE" => {
                let GuildDelete { id, unavailable } = read(data)?;
                Self::GuildDelete { id, unavailable }
            }
            "CHANNEL_CREATE" | "CHANNEL_UPDATE" => {
                Self::Channel(ChannelChange::Upsert(read(data)?))
            }
            "CHANNEL_DELETE" => Self::Channel(ChannelChange::Delete {
                id: read::<Identified>(data)?.id,
            }),
            "THREAD_CREATE" | "THREAD_UPDATE" => Self::Thread(ThreadChange::Upsert(read(data)?)),
            "THREAD_DELETE" => Self::Thread(ThreadChange::Delete {
                id: read::<Identified>(data)?.id,
            }),
            "THREAD_LIST_SYNC" => {
                let ThreadListSync {
                    guild_id,
                    channel_ids,
                    threads,
                } = read(data)?;
                Self::Thread(ThreadChange::ListSync {
                    guild_id,
                    parents: channel_ids,
                    threads,
                })
            }
            "INTERACTION_CREATE" => Self::Interaction(read(data)?),
            other => Self::Other(other.to_owned()),
        })
    }
}

fn read<'a, T: Deserialize<'a>>(data: &'a RawValue) -> Result<T, JsonError> {
    Ok(serde_json::from_str(data.get())?)
}

#[derive(Deserialize)]
struct Identified {
    id: Snowflake,
}

#[derive(Deserialize)]
struct GuildCreate {
    id: Snowflake,
    #[serde(default, deserialize_with = "null_as_default")]
    unavailable: bool,
    #[serde(default)]
    name: Option<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    channels: Vec<Channel>,
    #[serde(default, deserialize_with = "null_as_default")]
    threads: Vec<Channel>,
}

#[derive(Deserialize)]
struct GuildDelete {
    id: Snowflake,
    #[serde(default, deserialize_with = "null_as_default")]
    unavailable: bool,
}

#[derive(Deserialize)]
struct ThreadListSync {
    guild_id: Snowflake,
    #[serde(default)]
    channel_ids: Option<Vec<Snowflake>>,
    #[serde(default, deserialize_with = "null_as_default")]
    threads: Vec<Channel>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(name: &str, data: &str) -> Result<Event, JsonError> {
        Event::decode(name, &RawValue::from_string(data.to_owned()).unwrap())
    }

    fn id(number: u64) -> Snowflake {
        Snowflake::new(number).unwrap()
    }

    #[test]
    fn a_server_in_an_outage_is_told_from_an_empty_one() {
        let down = decode("GUILD_CREATE", r#"{"id":"1","unavailable":true}"#);
        let up = decode(
            "GUILD_CREATE",
            r#"{"id":"1","name":"Home","channels":[],"threads":null}"#,
        );
        let create = |unavailable, name| Event::GuildCreate {
            id: id(1),
            unavailable,
            name,
            channels: vec![],
            threads: vec![],
        };

        assert_eq!(down, Ok(create(true, None)));
        assert_eq!(up, Ok(create(false, Some("Home".into()))));
        assert_eq!(
            decode("GUILD_DELETE", r#"{"id":"1"}"#),
            Ok(Event::GuildDelete {
                id: id(1),
                unavailable: false
            })
        );
    }

    #[test]
    fn a_list_sync_tells_all_channels_from_some() {
        let sync = |parents| {
            Ok(Event::Thread(ThreadChange::ListSync {
                guild_id: id(1),
                parents,
                threads: vec![],
            }))
        };

        assert_eq!(
            decode(
                "THREAD_LIST_SYNC",
                r#"{"guild_id":"1","threads":[],"members":[]}"#
            ),
            sync(None)
        );
        assert_eq!(
            decode(
                "THREAD_LIST_SYNC",
                r#"{"guild_id":"1","channel_ids":["2"],"threads":[]}"#
            ),
            sync(Some(vec![id(2)]))
        );
    }

    #[test]
    fn an_unknown_dispatch_keeps_its_name_and_its_data_is_not_looked_at() {
        assert_eq!(
            decode("SOMETHING_NEW", "[1,2,3]"),
            Ok(Event::Other("SOMETHING_NEW".into()))
        );
    }

    #[test]
    fn a_message_without_an_author_is_an_error() {
        assert!(
            decode(
                "MESSAGE_CREATE",
                r#"{"id":"1","channel_id":"2","content":"hi"}"#
            )
            .is_err()
        );
    }
}
