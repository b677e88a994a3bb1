//! What happens on the server at a test's word: people act, and the server misbehaves.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    Discord,
    fault::Fault,
    gateway::{Order, Reception, Welcome},
    message::View,
    say::Say,
    snowflake::{Now, Snowflake},
    world::{Event, intents},
};

/// People.
impl Discord {
    /// Somebody says something; await it to post it.
    pub fn say(&self, channel: &str, user: &str, text: &str) -> Say {
        Say::new(Arc::clone(&self.shared), channel, user, text)
    }

    /// Somebody deletes a message.
    pub fn delete(&self, message: Snowflake) {
        self.shared.touch(|world| world.remove(message));
    }

    /// Somebody edits a message: MESSAGE_UPDATE, never a new message.
    pub fn edit(&self, message: Snowflake, text: &str) {
        self.shared.touch(|world| {
            if let Some(message) = world.messages.get_mut(&message) {
                message.content = text.into();
                message.edited_at = Some(Now::read().unix_ms);
            }
            world.announce_update(message, true);
        });
    }

    /// The link in a message got its preview: MESSAGE_UPDATE with an embed, which is no edit.
    pub fn unfurl(&self, message: Snowflake) {
        self.shared.touch(|world| {
            if let Some(message) = world.messages.get_mut(&message) {
                message.embeds =
                    json!([{ "type": "link", "url": "https://example.org/", "title": "Example" }]);
            }
            world.announce_update(message, false);
        });
    }

    /// Somebody reacts to a message.
    pub fn react(&self, message: Snowflake, user: &str, emoji: &str) {
        self.shared.touch(|world| {
            let user = world.user_named(user).id;
            world.add_reaction(message, emoji, user);
        });
    }

    /// Somebody presses a button of a message; gives the interaction's id.
    ///
    /// # Panics
    /// When there is no such message or user.
    pub fn press(&self, message: Snowflake, custom_id: &str, user: &str) -> Snowflake {
        self.shared.touch(|world| {
            let user = world.user_named(user).id;
            world.press(message, custom_id, user, Now::read())
        })
    }

    /// Somebody opens a thread: THREAD_CREATE.
    pub fn open_thread(&self, channel: &str, name: &str) -> Snowflake {
        self.shared
            .touch(|world| world.add_thread(channel, name, true, Now::read()))
    }

    /// A thread comes to be without any event; `announce_thread` tells of it later.
    pub fn open_thread_quietly(&self, channel: &str, name: &str) -> Snowflake {
        self.shared
            .touch(|world| world.add_thread(channel, name, false, Now::read()))
    }

    /// THREAD_CREATE, late.
    pub fn announce_thread(&self, name: &str) {
        self.shared.touch(|world| {
            let thread = world.channel_named(name).id;
            world.emit_thread("THREAD_CREATE", thread, true);
        });
    }

    /// A thread is archived, or woken up.
    pub fn set_archived(&self, thread: &str, archived: bool) {
        self.shared.touch(|world| {
            let thread = world.channel_named(thread).id;
            world.set_archived(thread, archived);
        });
    }

    /// A thread is locked, or unlocked.
    pub fn set_locked(&self, thread: &str, locked: bool) {
        self.shared.touch(|world| {
            let id = world.channel_named(thread).id;
            world
                .channels
                .iter_mut()
                .filter(|channel| channel.id == id)
                .for_each(|channel| channel.locked = locked);
            world.emit_thread("THREAD_UPDATE", id, false);
        });
    }

    /// A channel or thread is deleted.
    pub fn delete_channel(&self, name: &str) {
        self.shared.touch(|world| {
            let channel = world.channel_named(name).clone();
            let event = if channel.is_thread() {
                "THREAD_DELETE"
            } else {
                "CHANNEL_DELETE"
            };
            let data = world.channel_object(&channel);
            world.emit(&Event {
                name: event,
                needs: intents::GUILDS,
                channel: Some(channel.id),
                data,
            });
            world.channels.retain(|known| known.id != channel.id);
        });
    }

    /// A gateway event of any name and content, to every session whatever it asked for.
    pub fn dispatch(&self, name: &str, data: Value) {
        self.shared.touch(|world| {
            world.emit(&Event {
                name,
                needs: intents::NONE,
                channel: None,
                data,
            });
        });
    }

    /// MESSAGE_CREATE of an old message once more, under a new number.
    ///
    /// # Panics
    /// When there is no such message.
    pub fn repeat(&self, message: Snowflake) {
        self.shared.touch(|world| {
            let data = world.message_object(
                world.message(message).expect("a message to repeat"),
                View::Gateway,
            );
            world.emit(&Event {
                name: "MESSAGE_CREATE",
                needs: intents::GUILD_MESSAGES,
                channel: None,
                data,
            });
        });
    }
}

/// Misbehaviour of the REST side.
impl Discord {
    /// Plans a fault.
    pub fn fault(&self, fault: Fault) {
        self.shared.touch(|world| world.plan.add(fault));
    }

    /// Forgets every planned fault.
    pub fn behave(&self) {
        self.shared.touch(|world| {
            world.plan.clear();
            world.greetings = super::gateway::Greetings::default();
        });
    }

    /// The token is reset: 401 and 4004 from now on.
    pub fn revoke_token(&self) {
        self.shared.touch(|world| world.token_dead = true);
    }
}

/// Misbehaviour of the gateway. What is ordered hits every open connection.
impl Discord {
    pub(super) fn order(&self, order: impl Fn() -> Order) {
        self.shared.touch(|world| world.lines.tell_all(order));
    }

    /// Drops the connections without a close frame.
    pub fn drop_connections(&self) {
        self.order(|| Order::Drop);
    }

    /// Resets the TCP connections.
    pub fn reset_connections(&self) {
        self.order(|| Order::Reset);
    }

    /// Closes the connections with a code.
    pub fn close_connections(&self, code: u16) {
        self.order(|| Order::Close(code));
    }

    /// Neither reads nor writes any more, without closing anything.
    pub fn freeze_connections(&self) {
        self.order(|| Order::Freeze);
    }

    /// Op 7: please reconnect.
    pub fn ask_to_reconnect(&self) {
        self.send_frame(&json!({ "op": 7, "d": null, "s": null, "t": null }));
    }

    /// Op 9: the session is invalid.
    pub fn invalidate_sessions(&self, resumable: bool) {
        if !resumable {
            self.forget_sessions();
        }
        self.send_frame(&json!({ "op": 9, "d": resumable, "s": null, "t": null }));
    }

    /// Op 1: please send a heartbeat at once.
    pub fn ask_for_heartbeat(&self) {
        self.send_frame(&json!({ "op": 1, "d": null, "s": null, "t": null }));
    }

    /// Acknowledges no heartbeat on the connections that are open now.
    pub fn stop_acknowledging(&self) {
        self.shared.touch(|world| world.lines.acknowledge(false));
    }

    /// Ends every session: none can be resumed.
    pub fn forget_sessions(&self) {
        self.shared.touch(|world| {
            world
                .sessions
                .iter_mut()
                .for_each(super::gateway::Session::end);
        });
    }

    /// Sends the newest event once more under its old number.
    pub fn repeat_last_event(&self) {
        self.shared.touch(|world| {
            world
                .sessions
                .iter()
                .for_each(super::gateway::Session::repeat_last);
        });
    }

    /// Sends a frame outside every session.
    pub fn send_frame(&self, frame: &Value) {
        self.send_text(&frame.to_string());
    }

    /// Sends a text message, JSON or not, in the encoding of each connection.
    pub fn send_text(&self, text: &str) {
        self.order(|| Order::Text(text.into()));
    }

    /// Sends a binary message as it is.
    pub fn send_binary(&self, bytes: &[u8]) {
        self.order(|| Order::Binary(bytes.into()));
    }

    /// Writes bytes past the WebSocket layer.
    pub fn send_bytes(&self, bytes: &[u8]) {
        self.order(|| Order::Bytes(bytes.into()));
    }

    /// How the next `count` gateway connections are received, after those already planned.
    pub fn next_connections(&self, count: usize, welcome: Welcome) {
        self.shared.touch(|world| {
            world
                .greetings
                .connections
                .extend(std::iter::repeat_n(welcome, count));
        });
    }

    /// How the next `count` IDENTIFYs are answered, after those already planned.
    pub fn next_identifies(&self, count: usize, reception: Reception) {
        self.shared.touch(|world| {
            world
                .greetings
                .identifies
                .extend(std::iter::repeat_n(reception, count));
        });
    }

    /// How the next `count` RESUMEs are answered, after those already planned.
    pub fn next_resumes(&self, count: usize, reception: Reception) {
        self.shared.touch(|world| {
            world
                .greetings
                .resumes
                .extend(std::iter::repeat_n(reception, count));
        });
    }

    /// Closes the port and every connection: connecting is refused until `come_back`.
    pub fn go_down(&self) {
        self.up.send_replace(false);
        self.order(|| Order::Drop);
    }

    /// Opens the port again.
    pub fn come_back(&self) {
        self.up.send_replace(true);
    }
}
