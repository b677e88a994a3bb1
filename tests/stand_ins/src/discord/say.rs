//! What a person (or a webhook, or another bot) says in a channel, told like a sentence:
//! `discord.say("ideas", "Jason", "and the tests?").replying_to(answer).await`.

use std::{
    future::{IntoFuture, Ready, ready},
    sync::Arc,
    time::Duration,
};

use serde_json::{Map, Value, json};

use super::{
    Shared,
    message::{self, HAS_SNAPSHOT, Reference, StoredMessage, View},
    people::User,
    snowflake::{Now, Snowflake},
    world::World,
};

/// A message about to be posted; awaiting it posts it and gives its id.
#[derive(Debug)]
#[must_use = "nothing is said until it is awaited"]
pub struct Say {
    shared: Arc<Shared>,
    channel: String,
    author: String,
    content: String,
    kind: Option<u8>,
    reply_to: Option<Snowflake>,
    ping: bool,
    forward: Option<Snowflake>,
    mention_bot: bool,
    mention_bot_role: bool,
    everyone: bool,
    webhook: bool,
    nick: Option<String>,
    with_member: bool,
    age: Duration,
    heard: bool,
    attachments: Vec<Value>,
    flags: u64,
    extra: Map<String, Value>,
}

impl Say {
    pub(super) fn new(shared: Arc<Shared>, channel: &str, author: &str, content: &str) -> Self {
        Say {
            shared,
            channel: channel.into(),
            author: author.into(),
            content: content.into(),
            kind: None,
            reply_to: None,
            ping: true,
            forward: None,
            mention_bot: false,
            mention_bot_role: false,
            everyone: false,
            webhook: false,
            nick: None,
            with_member: true,
            age: Duration::ZERO,
            heard: true,
            attachments: Vec::new(),
            flags: 0,
            extra: Map::new(),
        }
    }

    /// As a reply to a message, which pings its author.
    pub fn replying_to(mut self, message: Snowflake) -> Self {
        self.reply_to = Some(message);
        self
    }

    /// With the ping of a reply switched off.
    pub fn without_ping(mut self) -> Self {
        self.ping = false;
        self
    }

    /// With a mention of the bot in front of the text.
    pub fn mentioning_bot(mut self) -> Self {
        self.mention_bot = true;
        self
    }

    /// With a mention of the bot's own role in place of the bot, as the picker likes to insert.
    pub fn mentioning_bot_role(mut self) -> Self {
        self.mention_bot_role = true;
        self
    }

    /// With an effective @everyone.
    pub fn mentioning_everyone(mut self) -> Self {
        self.everyone = true;
        self
    }

    /// Of another message type: 6 pin, 18 thread created, 24 automatic moderation, …
    pub fn of_type(mut self, kind: u8) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Posted by a webhook that calls itself by the author's name.
    pub fn by_webhook(mut self) -> Self {
        self.webhook = true;
        self
    }

    /// Under a server nickname.
    pub fn nick(mut self, nick: &str) -> Self {
        self.nick = Some(nick.into());
        self
    }

    /// Without the `member` object, which Discord leaves out at times.
    pub fn without_member(mut self) -> Self {
        self.with_member = false;
        self
    }

    /// Said this long ago, by its id and timestamp.
    pub fn aged(mut self, age: Duration) -> Self {
        self.age = age;
        self
    }

    /// Kept, but no session is told, not even later: as it is with messages nobody was connected for.
    pub fn unheard(mut self) -> Self {
        self.heard = false;
        self
    }

    /// With a file.
    pub fn attaching(mut self, filename: &str) -> Self {
        let id = self.attachments.len() + 1;
        let url = format!("https://cdn.discordapp.com/attachments/{id}/{filename}");
        self.attachments.push(json!({
            "id": id.to_string(), "filename": filename, "size": 4, "url": url, "proxy_url": url, "content_type": "text/plain",
        }));
        self
    }

    /// With a sticker.
    pub fn with_sticker(self, name: &str) -> Self {
        self.with(
            "sticker_items",
            json!([{ "id": "1", "name": name, "format_type": 1 }]),
        )
    }

    /// With message flags, as 1 << 13 for a voice message.
    pub fn flags(mut self, flags: u64) -> Self {
        self.flags = flags;
        self
    }

    /// As a forward of another message: reference type 1 and a snapshot without author.
    pub fn forwarding(mut self, message: Snowflake) -> Self {
        self.forward = Some(message);
        self
    }

    /// With any further key in the message object.
    pub fn with(mut self, key: &str, value: Value) -> Self {
        self.extra.insert(key.into(), value);
        self
    }

    fn post(self) -> Snowflake {
        let shared = Arc::clone(&self.shared);
        shared.touch(|world| self.post_into(world, Now::read()))
    }

    fn post_into(self, world: &mut World, now: Now) -> Snowflake {
        let channel = world.channel_named(&self.channel).id;
        let mut author = world.user_named(&self.author).clone();
        let age = u64::try_from(self.age.as_millis()).expect("an age of less than an age");
        let id = if age == 0 {
            world.mint.next(now)
        } else {
            world.mint.at(now.unix_ms - age)
        };

        let mut content = self.content;
        if self.mention_bot {
            content = format!("<@{}> {content}", world.bot.id);
        }
        if self.mention_bot_role {
            content = format!("<@&{}> {content}", world.guild.bot_role);
        }
        let mut message = plain(id, channel, author.clone(), &content);
        if let Some(target) = self.reply_to {
            message.kind = 19;
            message.reference = Some(Reference {
                message: target,
                channel,
                kind: 0,
            });
            let pinged = world
                .messages
                .get(&target)
                .map(|target| target.author.id)
                .filter(|_| self.ping);
            message
                .mentions
                .extend(pinged.filter(|pinged| !message.mentions.contains(pinged)));
        }
        if let Some(target) = self.forward {
            let forwarded = world
                .messages
                .get(&target)
                .unwrap_or_else(|| panic!("no message {target} to forward"));
            let mut copy = world.message_object(forwarded, View::Listed);
            for key in [
                "id",
                "author",
                "channel_id",
                "referenced_message",
                "message_reference",
            ] {
                copy.as_object_mut()
                    .expect("a message is an object")
                    .remove(key);
            }
            message.reference = Some(Reference {
                message: target,
                channel: forwarded.channel,
                kind: 1,
            });
            message.flags |= HAS_SNAPSHOT;
            message
                .extra
                .insert("message_snapshots".into(), json!([{ "message": copy }]));
        }
        if self.webhook {
            // A webhook's author is made up from the webhook: its id, and whatever name it likes.
            author.id = world.mint.next(now);
            author.bot = true;
            message.webhook = Some(author.id);
            message.author = author;
        }
        message.kind = self.kind.unwrap_or(message.kind);
        message.mention_everyone = self.everyone;
        message.nick = self.nick;
        message.with_member = self.with_member;
        message.attachments = Value::Array(self.attachments);
        message.flags |= self.flags;
        message.extra.extend(self.extra);
        if self.heard {
            world.publish(message)
        } else {
            world.messages.insert(id, message);
            id
        }
    }
}

impl IntoFuture for Say {
    type Output = Snowflake;
    type IntoFuture = Ready<Snowflake>;

    fn into_future(self) -> Self::IntoFuture {
        ready(self.post())
    }
}

/// A message that is nothing but text.
pub(super) fn plain(
    id: Snowflake,
    channel: Snowflake,
    author: User,
    content: &str,
) -> StoredMessage {
    StoredMessage {
        id,
        channel,
        author,
        content: content.into(),
        kind: 0,
        nonce: None,
        reference: None,
        mentions: message::mentioned_users(content),
        mention_roles: message::mentioned_roles(content),
        mention_everyone: false,
        components: json!([]),
        embeds: json!([]),
        attachments: json!([]),
        flags: 0,
        edited_at: None,
        deleted: false,
        reactions: Vec::new(),
        webhook: None,
        nick: None,
        with_member: true,
        extra: Map::new(),
    }
}
