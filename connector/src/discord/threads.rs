//! Which thread belongs to which channel, gathered from the gateway's events and from what a caller looked up.
//! It does not look anything up itself and does not know which channels are allowed.

use std::collections::HashMap;

use super::gateway::{ChannelChange, Event, ThreadChange};
use super::model::Channel;
use super::snowflake::Snowflake;

/// What is known of the places messages come from. No GUILD_CREATE follows a resume, so this must outlive connections.
#[derive(Clone, Debug, Default)]
pub struct Threads {
    places: HashMap<Snowflake, Known>,
}

/// What a channel id stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A channel of its own.
    Channel,
    /// A thread of that channel.
    Thread {
        /// The channel.
        parent: Snowflake,
    },
}

#[derive(Clone, Copy, Debug)]
struct Known {
    place: Place,
    guild: Option<Snowflake>,
}

impl Threads {
    /// What is known of a channel id; `None` means: look it up, and treat it as not allowed until then (DESIGN section 7, row 11).
    #[must_use]
    pub fn place(&self, channel: Snowflake) -> Option<Place> {
        self.places.get(&channel).map(|known| known.place)
    }

    /// The channel a thread belongs to; `None` when it is no thread, or not known.
    #[must_use]
    pub fn parent(&self, channel: Snowflake) -> Option<Snowflake> {
        match self.place(channel) {
            Some(Place::Thread { parent }) => Some(parent),
            Some(Place::Channel) | None => None,
        }
    }

    /// Takes in a channel or thread, as an event or a look-up gave it.
    pub fn learn(&mut self, channel: &Channel) {
        self.learn_in(channel, None);
    }

    /// Takes in what an event says; events without news of places pass.
    pub fn observe(&mut self, event: &Event) {
        match event {
            Event::GuildCreate {
                unavailable: false,
                id,
                channels,
                threads,
                ..
            } => {
                for channel in channels.iter().chain(threads) {
                    self.learn_in(channel, Some(*id));
                }
            }
            Event::GuildDelete {
                id,
                unavailable: false,
            } => self.places.retain(|_, known| known.guild != Some(*id)),
            Event::Channel(ChannelChange::Upsert(channel)) => self.learn(channel),
            Event::Channel(ChannelChange::Delete { id }) => {
                self.places.remove(id);
                self.forget_threads(|parent, _| parent == *id);
            }
            Event::Thread(ThreadChange::Upsert(thread)) => self.learn(thread),
            Event::Thread(ThreadChange::Delete { id }) => {
                self.places.remove(id);
            }
            Event::Thread(ThreadChange::ListSync {
                guild_id,
                parents,
                threads,
            }) => {
                self.forget_threads(|parent, guild| match parents {
                    Some(parents) => parents.contains(&parent),
                    None => guild == Some(*guild_id),
                });
                for thread in threads {
                    self.learn_in(thread, Some(*guild_id));
                }
            }
            // An outage (E21) says nothing about the places of a server.
            Event::GuildCreate {
                unavailable: true, ..
            }
            | Event::GuildDelete {
                unavailable: true, ..
            }
            | Event::MessageCreate(_)
            | Event::Interaction(_)
            | Event::Other(_) => {}
        }
    }

    fn learn_in(&mut self, channel: &Channel, guild: Option<Snowflake>) {
        let place = match (channel.kind, channel.thread_parent()) {
            (_, Some(parent)) => Place::Thread { parent },
            // A thread that hides its parent is not known: calling it a channel would let a guess pass for knowledge.
            (super::model::ChannelKind::Thread, None) => return,
            (_, None) => Place::Channel,
        };
        self.places.insert(
            channel.id,
            Known {
                place,
                guild: channel.guild_id.or(guild),
            },
        );
    }

    fn forget_threads(&mut self, which: impl Fn(Snowflake, Option<Snowflake>) -> bool) {
        self.places.retain(|_, known| match known.place {
            Place::Thread { parent } => !which(parent, known.guild),
            Place::Channel => true,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> Snowflake {
        Snowflake::new(number).unwrap()
    }

    fn channel(json: &str) -> Channel {
        serde_json::from_str(json).unwrap()
    }

    fn thread(number: u64, parent: u64) -> Channel {
        channel(&format!(
            r#"{{"id":"{number}","type":11,"parent_id":"{parent}"}}"#
        ))
    }

    /// Server 1 with channel 10 (in category 5) and thread 20 below it.
    fn known() -> Threads {
        let mut threads = Threads::default();
        threads.observe(&Event::GuildCreate {
            id: id(1),
            unavailable: false,
            name: None,
            channels: vec![channel(r#"{"id":"10","type":0,"parent_id":"5"}"#)],
            threads: vec![thread(20, 10)],
        });
        threads
    }

    #[test]
    fn d_40_a_thread_has_a_channel_and_a_channel_has_no_parent() {
        let known = known();

        assert_eq!(known.place(id(20)), Some(Place::Thread { parent: id(10) }));
        assert_eq!(known.place(id(10)), Some(Place::Channel));
        assert_eq!(known.parent(id(10)), None);
        assert_eq!(known.place(id(99)), None);
    }

    #[test]
    fn d_41_a_new_thread_is_known_when_it_is_announced() {
        let mut known = known();

        known.observe(&Event::Thread(ThreadChange::Upsert(Box::new(thread(
            21, 10,
        )))));
        known.observe(&Event::Thread(ThreadChange::Delete { id: id(20) }));

        assert_eq!(
            (known.parent(id(21)), known.parent(id(20))),
            (Some(id(10)), None)
        );
    }

    #[test]
    fn d_42_a_thread_that_hides_its_parent_stays_unknown_until_it_is_looked_up() {
        let mut threads = Threads::default();

        threads.learn(&channel(r#"{"id":"30","type":12}"#));
        assert_eq!(threads.place(id(30)), None);

        threads.learn(&thread(30, 10));
        assert_eq!(threads.parent(id(30)), Some(id(10)));
    }

    #[test]
    fn a_list_sync_replaces_the_threads_of_the_channels_it_names() {
        let mut known = known();
        known.learn(&thread(40, 11));

        known.observe(&Event::Thread(ThreadChange::ListSync {
            guild_id: id(1),
            parents: Some(vec![id(10)]),
            threads: vec![thread(22, 10)],
        }));

        assert_eq!(
            (
                known.parent(id(20)),
                known.parent(id(22)),
                known.parent(id(40))
            ),
            (None, Some(id(10)), Some(id(11)))
        );
    }

    #[test]
    fn a_list_sync_without_channels_replaces_those_of_its_server() {
        let mut known = known();

        known.observe(&Event::Thread(ThreadChange::ListSync {
            guild_id: id(1),
            parents: None,
            threads: vec![],
        }));

        assert_eq!(
            (known.place(id(20)), known.place(id(10))),
            (None, Some(Place::Channel))
        );
    }

    #[test]
    fn a_deleted_channel_takes_its_threads_along() {
        let mut known = known();

        known.observe(&Event::Channel(ChannelChange::Delete { id: id(10) }));

        assert_eq!((known.place(id(10)), known.place(id(20))), (None, None));
    }

    #[test]
    fn e_21_an_outage_forgets_nothing_and_a_removal_does() {
        let mut known = known();

        known.observe(&Event::GuildDelete {
            id: id(1),
            unavailable: true,
        });
        known.observe(&Event::GuildCreate {
            id: id(1),
            unavailable: true,
            name: None,
            channels: vec![],
            threads: vec![],
        });
        assert_eq!(known.parent(id(20)), Some(id(10)));

        known.observe(&Event::GuildDelete {
            id: id(1),
            unavailable: false,
        });
        assert_eq!(known.place(id(20)), None);
    }
}
