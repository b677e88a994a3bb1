//! Everything the server knows: who and what there is, what was said, what was sent to it. The one state behind REST and gateway.
//!
//! It owns no socket: gateway connections are known as the sending end of a queue. What the bot may do to it is in `deeds.rs`, what people
//! do in it is in `say.rs` and `acts.rs`.

use std::{
    collections::{BTreeMap, HashMap},
    net::SocketAddr,
};

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::openapi::Exchange;

use super::{
    builder::Settings,
    buttons::Press,
    fault::Plan,
    gateway::{Greetings, Lines, Session},
    message::{StoredMessage, View},
    nonce::NonceBook,
    people::User,
    permissions::Permissions,
    places::{Channel, Guild},
    record::{Happening, RecordedConnection, RecordedRequest},
    rest::Buckets,
    snowflake::{Mint, Now, Snowflake},
};

/// Intents an event needs (discord-api, section 6); several mean "any of them".
pub(super) mod intents {
    pub(in super::super) const GUILDS: u64 = 1 << 0;
    pub(in super::super) const GUILD_MEMBERS: u64 = 1 << 1;
    pub(in super::super) const GUILD_PRESENCES: u64 = 1 << 8;
    pub(in super::super) const GUILD_MESSAGES: u64 = 1 << 9;
    pub(in super::super) const GUILD_MESSAGE_REACTIONS: u64 = 1 << 10;
    pub(in super::super) const GUILD_MESSAGE_TYPING: u64 = 1 << 11;
    pub(in super::super) const MESSAGE_CONTENT: u64 = 1 << 15;
    /// Sent whatever was asked for.
    pub(in super::super) const NONE: u64 = 0;
}

/// The state of the server. A test sees it inside `wait_for` and through the methods of `Discord`.
#[derive(Debug)]
pub struct World {
    pub(super) settings: Settings,
    pub(super) address: SocketAddr,
    pub(super) guild: Guild,
    pub(super) bot: User,
    pub(super) users: Vec<User>,
    pub(super) channels: Vec<Channel>,
    pub(super) messages: BTreeMap<Snowflake, StoredMessage>,
    pub(super) presses: Vec<Press>,
    pub(super) mint: Mint,
    pub(super) nonces: NonceBook,
    pub(super) typing: HashMap<Snowflake, usize>,
    pub(super) token_dead: bool,

    pub(super) sessions: Vec<Session>,
    pub(super) lines: Lines,
    pub(super) greetings: Greetings,
    pub(super) identified_at: Vec<Instant>,

    pub(super) plan: Plan,
    pub(super) buckets: Buckets,

    pub(super) requests: Vec<RecordedRequest>,
    /// Right answers only; what a mishap made of them is no word of Discord's.
    pub(super) exchanges: Vec<Exchange>,
    pub(super) connections: Vec<RecordedConnection>,
    pub(super) happenings: Vec<Happening>,
}

/// An event on its way to the sessions.
pub(super) struct Event<'a> {
    pub(super) name: &'a str,
    /// The intent it needs, or none.
    pub(super) needs: u64,
    /// The channel it happens in: nobody hears of a channel he cannot see.
    pub(super) channel: Option<Snowflake>,
    pub(super) data: Value,
}

/// What a test may look at.
impl World {
    /// The messages of a channel or thread, oldest first, deleted ones included.
    ///
    /// # Panics
    /// When there is no channel of that name: a test that misspells it must not pass.
    #[must_use]
    pub fn messages(&self, channel: &str) -> Vec<&StoredMessage> {
        let channel = self.channel_named(channel).id;
        self.messages
            .values()
            .filter(|message| message.channel == channel)
            .collect()
    }

    /// What the bot said in a channel and what still stands there, oldest first.
    ///
    /// # Panics
    /// When there is no channel of that name.
    #[must_use]
    pub fn said_by_bot(&self, channel: &str) -> Vec<&StoredMessage> {
        let mut messages = self.messages(channel);
        messages.retain(|message| message.author.id == self.bot.id && !message.deleted);
        messages
    }

    /// Every channel and thread there is.
    #[must_use]
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// Everyone there is, the bot first.
    #[must_use]
    pub fn users(&self) -> &[User] {
        &self.users
    }

    /// One message.
    #[must_use]
    pub fn message(&self, id: Snowflake) -> Option<&StoredMessage> {
        self.messages.get(&id)
    }

    /// Every request so far.
    #[must_use]
    pub fn requests(&self) -> &[RecordedRequest] {
        &self.requests
    }

    /// Every gateway connection so far.
    #[must_use]
    pub fn connections(&self) -> &[RecordedConnection] {
        &self.connections
    }

    /// The ids of the sessions that have a live connection now.
    #[must_use]
    pub fn sessions(&self) -> Vec<String> {
        self.sessions
            .iter()
            .filter(|session| session.is_connected())
            .map(|session| session.id.clone())
            .collect()
    }

    /// What happened, in order.
    #[must_use]
    pub fn happenings(&self) -> &[Happening] {
        &self.happenings
    }

    /// How often the bot said it was typing in a channel.
    ///
    /// # Panics
    /// When there is no channel of that name.
    #[must_use]
    pub fn typing_count(&self, channel: &str) -> usize {
        self.typing
            .get(&self.channel_named(channel).id)
            .copied()
            .unwrap_or(0)
    }

    /// Whether the bot put this emoji on a message.
    #[must_use]
    pub fn bot_reacted(&self, message: Snowflake, emoji: &str) -> bool {
        self.message(message)
            .is_some_and(|message| message.has_reaction(emoji, self.bot.id))
    }

    /// What came that nobody should send: unknown routes, frames out of place, unsupported options.
    #[must_use]
    pub fn surprises(&self) -> Vec<&str> {
        let surprises = self
            .happenings
            .iter()
            .filter_map(|happening| match happening {
                Happening::Surprise { what } => Some(what.as_str()),
                _ => None,
            });
        surprises.collect()
    }
}

/// Looking things up.
impl World {
    pub(super) fn channel_named(&self, name: &str) -> &Channel {
        let known = || {
            self.channels
                .iter()
                .map(|channel| channel.name.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        };
        self.channels
            .iter()
            .find(|channel| channel.name == name)
            .unwrap_or_else(|| panic!("no channel {name:?} here, only: {}", known()))
    }

    pub(super) fn user_named(&self, name: &str) -> &User {
        let known = || {
            self.users
                .iter()
                .map(|user| user.name.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        };
        self.users
            .iter()
            .find(|user| user.name == name)
            .unwrap_or_else(|| panic!("no user {name:?} here, only: {}", known()))
    }

    pub(super) fn channel(&self, id: Snowflake) -> Option<&Channel> {
        self.channels.iter().find(|channel| channel.id == id)
    }

    pub(super) fn channel_name(&self, id: Snowflake) -> String {
        self.channel(id)
            .map_or_else(|| id.to_string(), |channel| channel.name.clone())
    }

    pub(super) fn user(&self, id: Snowflake) -> Option<&User> {
        self.users.iter().find(|user| user.id == id)
    }

    /// The bot's token: the first part is its id in base64 (H7), the shape is that of a real one so that leak scanners see it.
    pub(super) fn token(&self) -> String {
        format!(
            "{}.G5tand.in-Zq0cV7mT4wXk9Lr2Yb8Hd6Nf3Js1Pg",
            STANDARD_NO_PAD.encode(self.bot.id.to_string())
        )
    }

    /// Whether a token, with or without the leading `Bot ` (H6), is the bot's and not yet reset.
    pub(super) fn knows_token(&self, token: &str) -> bool {
        !self.token_dead && token.strip_prefix("Bot ").unwrap_or(token) == self.token()
    }

    pub(super) fn gateway_url(&self) -> String {
        format!("ws://{}/gateway/front", self.address)
    }

    /// Differs from the first address, so that a client that resumes at the wrong one is seen (H9).
    pub(super) fn resume_url(&self) -> String {
        self.settings
            .resume_url
            .clone()
            .unwrap_or_else(|| format!("ws://{}/gateway/resume", self.address))
    }

    pub(super) fn last_message(&self, channel: Snowflake) -> Option<Snowflake> {
        self.messages
            .values()
            .rev()
            .find(|message| message.channel == channel && !message.is_ephemeral())
            .map(|message| message.id)
    }

    pub(super) fn channel_object(&self, channel: &Channel) -> Value {
        channel.object(
            self.guild.id,
            self.guild.owner,
            self.last_message(channel.id),
        )
    }

    pub(super) fn message_object(&self, message: &StoredMessage, view: View) -> Value {
        let replied_to = message
            .reference
            .as_ref()
            .and_then(|reference| self.messages.get(&reference.message))
            .filter(|target| !target.deleted);
        let mut object = message.object(view, self.guild.id, &self.users, replied_to, self.bot.id);
        if let (View::Gateway, Some(channel)) = (view, self.channel(message.channel)) {
            object["channel_type"] = json!(channel.kind as u8);
        }
        object
    }

    /// The budget of `GET /gateway/bot` and what is left of it.
    pub(super) fn identifies_left(&self) -> u32 {
        let used = u32::try_from(self.identified_at.len()).unwrap_or(u32::MAX);
        self.settings.identify_budget.saturating_sub(used)
    }
}

/// Telling those who listen.
impl World {
    pub(super) fn note(&mut self, happening: Happening) {
        self.happenings.push(happening);
    }

    pub(super) fn surprise(&mut self, what: impl Into<String>) {
        self.note(Happening::Surprise { what: what.into() });
    }

    /// Gives an event to every session that may hear it.
    pub(super) fn emit(&mut self, event: &Event<'_>) {
        let hidden = |id| {
            self.channel(id)
                .is_some_and(|channel| !channel.permissions().has(Permissions::VIEW_CHANNEL))
        };
        if event.channel.is_some_and(hidden) {
            return;
        }
        let blanked = event
            .name
            .starts_with("MESSAGE_")
            .then(|| self.without_content(&event.data))
            .flatten();
        for session in &mut self.sessions {
            if event.needs != intents::NONE && session.intents & event.needs == 0 {
                continue;
            }
            let reads = session.intents & intents::MESSAGE_CONTENT != 0;
            session.dispatch(
                event.name,
                blanked.as_ref().filter(|_| !reads).unwrap_or(&event.data),
            );
        }
    }

    /// A message as it looks to a bot that did not ask for content (H20); `None` where it sees everything anyway.
    fn without_content(&self, message: &Value) -> Option<Value> {
        let me = self.bot.id.to_string();
        let mentions_me = message["mentions"]
            .as_array()?
            .iter()
            .any(|user| user["id"] == me.as_str());
        if mentions_me || message["author"]["id"] == me.as_str() {
            return None;
        }
        let mut blank = message.clone();
        blank["content"] = json!("");
        for key in ["embeds", "attachments", "components"] {
            blank[key] = json!([]);
        }
        blank.as_object_mut()?.remove("poll");
        Some(blank)
    }

    /// Stores a new message and tells everyone, its author included (H13).
    pub(super) fn publish(&mut self, message: StoredMessage) -> Snowflake {
        let (id, channel) = (message.id, message.channel);
        let event = self.message_object(&message, View::Gateway);
        self.note(Happening::Message {
            id,
            channel: self.channel_name(channel),
            author: message.author.name.clone(),
            content: message.content.clone(),
            reply_to: message
                .reference
                .as_ref()
                .filter(|reference| reference.kind == 0)
                .map(|reference| reference.message),
        });
        let secret = message.is_ephemeral();
        self.messages.insert(id, message);
        if !secret {
            self.emit(&Event {
                name: "MESSAGE_CREATE",
                needs: intents::GUILD_MESSAGES,
                channel: Some(channel),
                data: event,
            });
        }
        id
    }

    /// Tells everyone that a message is not what it was; `edited` when somebody changed its text.
    pub(super) fn announce_update(&mut self, id: Snowflake, edited: bool) {
        let Some(message) = self.messages.get(&id) else {
            return;
        };
        let (channel, content) = (message.channel, message.content.clone());
        let data = self.message_object(message, View::Gateway);
        if edited {
            self.note(Happening::Edited { id, content });
        }
        self.emit(&Event {
            name: "MESSAGE_UPDATE",
            needs: intents::GUILD_MESSAGES,
            channel: Some(channel),
            data,
        });
    }

    pub(super) fn emit_thread(&mut self, name: &str, thread: Snowflake, newly_created: bool) {
        let Some(channel) = self.channel(thread) else {
            return;
        };
        let mut data = self.channel_object(channel);
        if newly_created {
            data["newly_created"] = json!(true);
        }
        self.emit(&Event {
            name,
            needs: intents::GUILDS,
            channel: Some(thread),
            data,
        });
    }

    /// The server as GUILD_CREATE shows it (H14).
    pub(super) fn guild_create(&self) -> Value {
        let seen = |channel: &&Channel| channel.permissions().has(Permissions::VIEW_CHANNEL);
        let mut guild = self.guild.object(&self.bot);
        let channels = self
            .channels
            .iter()
            .filter(|channel| !channel.is_thread())
            .map(|channel| {
                let mut object = self.channel_object(channel);
                // Inside GUILD_CREATE a channel does not repeat its server's id.
                object
                    .as_object_mut()
                    .expect("a channel is an object")
                    .remove("guild_id");
                object
            });
        let threads = self
            .channels
            .iter()
            .filter(|channel| channel.is_thread() && channel.announced && !channel.archived)
            .filter(seen);
        guild["channels"] = channels.collect();
        guild["threads"] = threads.map(|thread| self.channel_object(thread)).collect();
        guild["members"] = json!([self.bot_member()]);
        guild["joined_at"] = json!(super::snowflake::timestamp(self.bot.id.unix_millis()));
        guild["member_count"] = json!(self.users.len());
        for (key, value) in [("large", json!(false)), ("unavailable", json!(false))] {
            guild[key] = value;
        }
        for key in [
            "voice_states",
            "presences",
            "stage_instances",
            "guild_scheduled_events",
            "soundboard_sounds",
        ] {
            guild[key] = json!([]);
        }
        guild
    }

    pub(super) fn bot_member(&self) -> Value {
        self.bot.member(None, &[self.guild.bot_role])
    }

    /// Opens a thread as somebody in the server does.
    pub(super) fn add_thread(
        &mut self,
        parent: &str,
        name: &str,
        announced: bool,
        now: Now,
    ) -> Snowflake {
        let parent = self.channel_named(parent).clone();
        let id = self.mint.next(now);
        self.channels.push(Channel {
            id,
            name: name.into(),
            kind: super::ChannelKind::PublicThread,
            parent: Some(parent.id),
            archived: false,
            locked: false,
            announced,
            ..parent
        });
        if announced {
            self.emit_thread("THREAD_CREATE", id, true);
        }
        id
    }
}
