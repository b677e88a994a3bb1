//! What the bot may do in a channel, with every rule that can stand against it (discord-api, sections 2 and 3). Knows no HTTP; reading
//! back is in `history.rs`.

use serde_json::{Value, json};

use super::{
    draft::{Draft, Pings, Reply, Revision},
    message::{self, Reaction, Reference, StoredMessage, View},
    permissions::Permissions,
    places::Channel,
    record::Happening,
    refusal::Refusal,
    snowflake::{Now, Snowflake},
    world::{Event, World, intents},
};

impl World {
    /// A channel the bot can see.
    pub(super) fn visible_channel(&self, id: Snowflake) -> Result<&Channel, Refusal> {
        let channel = self.channel(id).ok_or_else(Refusal::unknown_channel)?;
        if channel.permissions().has(Permissions::VIEW_CHANNEL) {
            Ok(channel)
        } else {
            Err(Refusal::missing_access())
        }
    }

    /// A message that is still there, in a channel the bot can see.
    pub(super) fn standing_message(
        &self,
        channel: Snowflake,
        id: Snowflake,
    ) -> Result<&StoredMessage, Refusal> {
        self.visible_channel(channel)?;
        let message = self.messages.get(&id).filter(|message| {
            message.channel == channel && !message.deleted && !message.is_ephemeral()
        });
        message.ok_or_else(Refusal::unknown_message)
    }

    /// Posts as the bot. A repeated enforced nonce gives the existing message back, or 10008 when that one was deleted (section 3.2).
    pub(super) fn post(
        &mut self,
        channel: Snowflake,
        body: &Value,
        now: Now,
    ) -> Result<Value, Refusal> {
        let place = self.visible_channel(channel)?.clone();
        if !place.permissions().has(place.needed_to_send()) {
            return Err(Refusal::missing_permission());
        }
        if place.locked {
            return Err(Refusal::thread_locked());
        }
        let draft = Draft::parse(body)?;
        let nonce = draft.enforced_nonce();
        if let Some(earlier) = nonce
            .as_deref()
            .and_then(|nonce| self.nonces.find(nonce, now.instant))
        {
            let earlier = self
                .messages
                .get(&earlier)
                .filter(|message| !message.deleted)
                .ok_or_else(Refusal::unknown_message)?;
            return Ok(self.message_object(earlier, View::Created));
        }
        let reference = draft
            .reply
            .as_ref()
            .map(|reply| self.resolve_reply(&place, reply))
            .transpose()?
            .flatten();

        if place.archived {
            self.set_archived(channel, false);
        }
        let id = self.mint.next(now);
        let message = self.compose(id, channel, draft, reference);
        if let Some(nonce) = nonce {
            self.nonces.remember(nonce, id, now.instant);
        }
        self.publish(message);
        Ok(self.message_object(&self.messages[&id], View::Created))
    }

    /// What a reply points at, or `None` for a plain message because the target is gone and the sender said that is fine.
    fn resolve_reply(&self, place: &Channel, reply: &Reply) -> Result<Option<Reference>, Refusal> {
        if !place.permissions().has(Permissions::READ_MESSAGE_HISTORY) {
            return Err(Refusal::no_history());
        }
        let here = reply.channel.is_none_or(|channel| channel == place.id);
        match self
            .messages
            .get(&reply.to)
            .filter(|target| here && target.channel == place.id && !target.deleted)
        {
            Some(target) if !matches!(target.kind, 0 | 19 | 20 | 23) => Err(Refusal::form(
                "message_reference",
                "REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE",
                "Cannot reply to a system message",
            )),
            Some(target) => Ok(Some(Reference {
                message: target.id,
                channel: place.id,
                kind: 0,
            })),
            None if reply.fail_if_not_exists => Err(Refusal::form(
                "message_reference",
                "MESSAGE_REFERENCE_UNKNOWN_MESSAGE",
                "Unknown message",
            )),
            None => Ok(None),
        }
    }

    /// A message of the bot's.
    pub(super) fn compose(
        &self,
        id: Snowflake,
        channel: Snowflake,
        draft: Draft,
        reference: Option<Reference>,
    ) -> StoredMessage {
        let mut message = StoredMessage {
            id,
            channel,
            author: self.bot.clone(),
            content: draft.content,
            kind: if reference.is_some() { 19 } else { 0 },
            nonce: draft.nonce,
            reference,
            mentions: Vec::new(),
            mention_roles: Vec::new(),
            mention_everyone: false,
            components: draft.components,
            embeds: draft.embeds,
            attachments: json!([]),
            flags: draft.flags,
            edited_at: None,
            deleted: false,
            reactions: Vec::new(),
            webhook: None,
            nick: None,
            with_member: true,
            extra: serde_json::Map::new(),
        };
        self.ping(&mut message, &draft.pings);
        message
    }

    /// Works out whom a message of the bot's pings.
    fn ping(&self, message: &mut StoredMessage, pings: &Pings) {
        message.mentions = pings
            .users
            .filter(message::mentioned_users(&message.content));
        message.mention_roles = pings
            .roles
            .filter(message::mentioned_roles(&message.content));
        message.mention_everyone = pings.everyone
            && ["@everyone", "@here"]
                .iter()
                .any(|word| message.content.contains(word));
        let replied_to = message
            .reference
            .as_ref()
            .and_then(|reference| self.messages.get(&reference.message));
        if let Some(target) = replied_to
            .filter(|target| pings.replied_user && !message.mentions.contains(&target.author.id))
        {
            message.mentions.push(target.author.id);
        }
    }

    /// Edits the bot's own message. Without `allowed_mentions` the text pings again: the default of an edit is as permissive as that of a post.
    pub(super) fn edit(
        &mut self,
        channel: Snowflake,
        id: Snowflake,
        body: &Value,
        now: Now,
    ) -> Result<Value, Refusal> {
        if self.standing_message(channel, id)?.author.id != self.bot.id {
            return Err(Refusal::not_your_message());
        }
        if self
            .channel(channel)
            .is_some_and(|channel| channel.archived)
        {
            return Err(Refusal::thread_archived());
        }
        self.revise(id, body, now)
    }

    /// Changes a message of the bot's, however it was reached.
    pub(super) fn revise(
        &mut self,
        id: Snowflake,
        body: &Value,
        now: Now,
    ) -> Result<Value, Refusal> {
        let revision = Revision::parse(body)?;
        let mut message = self
            .messages
            .get(&id)
            .ok_or_else(Refusal::unknown_message)?
            .clone();
        if let Some(content) = revision.content {
            message.content = content;
        }
        if let Some(components) = revision.components {
            message.components = components;
        }
        if let Some(embeds) = revision.embeds {
            message.embeds = embeds;
        }
        if let Some(flags) = revision.flags {
            message.flags = flags;
        }
        if message.content.is_empty()
            && message.components == json!([])
            && message.embeds == json!([])
        {
            return Err(Refusal::empty_message());
        }
        self.ping(&mut message, &revision.pings);
        message.edited_at = Some(now.unix_ms);
        let object = self.message_object(&message, View::Listed);
        self.messages.insert(id, message);
        self.announce_update(id, true);
        Ok(object)
    }

    /// Deletes the bot's own message.
    pub(super) fn delete_own(&mut self, channel: Snowflake, id: Snowflake) -> Result<(), Refusal> {
        if self.standing_message(channel, id)?.author.id != self.bot.id {
            return Err(Refusal::missing_permission());
        }
        self.remove(id);
        Ok(())
    }

    /// Takes a message away, whoever does it.
    pub(super) fn remove(&mut self, id: Snowflake) {
        let Some(message) = self.messages.get_mut(&id) else {
            return;
        };
        message.deleted = true;
        let channel = message.channel;
        self.note(Happening::Deleted { id });
        let data = json!({ "id": id, "channel_id": channel, "guild_id": self.guild.id });
        self.emit(&Event {
            name: "MESSAGE_DELETE",
            needs: intents::GUILD_MESSAGES,
            channel: Some(channel),
            data,
        });
    }

    /// Puts the bot's reaction on a message; doing it again changes nothing.
    pub(super) fn react(
        &mut self,
        channel: Snowflake,
        id: Snowflake,
        emoji: &str,
    ) -> Result<(), Refusal> {
        let message = self.standing_message(channel, id)?;
        let place = self.visible_channel(channel)?;
        if !is_emoji(emoji) {
            return Err(Refusal::unknown_emoji());
        }
        if place.archived {
            return Err(Refusal::thread_archived());
        }
        let first = !message
            .reactions
            .iter()
            .any(|reaction| reaction.emoji == emoji);
        let needed = if first {
            Permissions::READ_MESSAGE_HISTORY.and(Permissions::ADD_REACTIONS)
        } else {
            Permissions::READ_MESSAGE_HISTORY
        };
        if !place.permissions().has(needed) {
            return Err(Refusal::missing_permission());
        }
        if !message.has_reaction(emoji, self.bot.id) {
            self.add_reaction(id, emoji, self.bot.id);
        }
        Ok(())
    }

    /// Stores a reaction and tells everyone.
    pub(super) fn add_reaction(&mut self, id: Snowflake, emoji: &str, user: Snowflake) {
        let Some(message) = self.messages.get_mut(&id) else {
            return;
        };
        message.reactions.push(Reaction {
            emoji: emoji.into(),
            user,
        });
        let channel = message.channel;
        let name = self
            .user(user)
            .map_or_else(|| user.to_string(), |user| user.name.clone());
        self.note(Happening::Reacted {
            message: id,
            emoji: emoji.into(),
            user: name,
        });
        let data = json!({
            "user_id": user, "channel_id": channel, "message_id": id, "guild_id": self.guild.id, "emoji": message::emoji_object(emoji),
            "type": 0, "burst": false,
        });
        self.emit(&Event {
            name: "MESSAGE_REACTION_ADD",
            needs: intents::GUILD_MESSAGE_REACTIONS,
            channel: Some(channel),
            data,
        });
    }

    /// Takes the bot's reaction away.
    pub(super) fn unreact(
        &mut self,
        channel: Snowflake,
        id: Snowflake,
        emoji: &str,
    ) -> Result<(), Refusal> {
        self.standing_message(channel, id)?;
        let bot = self.bot.id;
        if let Some(message) = self.messages.get_mut(&id) {
            message
                .reactions
                .retain(|reaction| reaction.emoji != emoji || reaction.user != bot);
        }
        Ok(())
    }

    /// The bot is typing; it shows for ten seconds or until its next message.
    pub(super) fn type_in(&mut self, channel: Snowflake, now: Now) -> Result<(), Refusal> {
        let place = self.visible_channel(channel)?;
        if !place.permissions().has(place.needed_to_send()) {
            return Err(Refusal::missing_permission());
        }
        *self.typing.entry(channel).or_default() += 1;
        self.note(Happening::Typing {
            channel: self.channel_name(channel),
        });
        let data = json!({ "channel_id": channel, "guild_id": self.guild.id, "user_id": self.bot.id, "timestamp": now.unix_ms / 1000 });
        self.emit(&Event {
            name: "TYPING_START",
            needs: intents::GUILD_MESSAGE_TYPING,
            channel: Some(channel),
            data,
        });
        Ok(())
    }

    pub(super) fn set_archived(&mut self, thread: Snowflake, archived: bool) {
        if let Some(channel) = self
            .channels
            .iter_mut()
            .find(|channel| channel.id == thread)
        {
            channel.archived = archived;
        }
        self.emit_thread("THREAD_UPDATE", thread, false);
    }
}

/// Whether this can be an emoji: a server's own as `name:id`, else something without plain letters. A doubly encoded one is caught by its `%`.
fn is_emoji(emoji: &str) -> bool {
    match emoji.split_once(':') {
        Some((name, id)) => !name.is_empty() && Snowflake::parse(id).is_some(),
        None => {
            !emoji.is_empty()
                && emoji
                    .chars()
                    .all(|c| !c.is_ascii() || c.is_ascii_digit() || matches!(c, '#' | '*'))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::discord::{Builder, Discord};

    fn world(builder: Builder) -> World {
        builder.build(([127, 0, 0, 1], 1).into())
    }

    fn text(content: &str) -> Value {
        json!({ "content": content })
    }

    fn with_nonce(content: &str) -> Value {
        json!({ "content": content, "nonce": "n-1", "enforce_nonce": true })
    }

    fn id_of(message: &Value) -> Snowflake {
        Snowflake::parse(message["id"].as_str().expect("an id is a string"))
            .expect("an id is a number")
    }

    #[tokio::test]
    async fn a_repeated_nonce_gives_the_first_message_and_posts_nothing() {
        let mut world = world(Discord::guild("Acme").channel("ideas"));
        let (ideas, now) = (world.channel_named("ideas").id, Now::read());

        let first = world.post(ideas, &with_nonce("one"), now).expect("posted");
        let second = world
            .post(ideas, &with_nonce("two"), now)
            .expect("answered");

        assert_eq!(second, first);
        assert_eq!(world.messages("ideas").len(), 1);
    }

    #[tokio::test]
    async fn a_nonce_beyond_the_window_posts_again() {
        let mut world = world(
            Discord::guild("Acme")
                .channel("ideas")
                .nonce_window(Duration::from_secs(60)),
        );
        let (ideas, now) = (world.channel_named("ideas").id, Now::read());
        let later = Now {
            instant: now.instant + Duration::from_secs(60),
            ..now
        };

        let first = world.post(ideas, &with_nonce("one"), now).expect("posted");
        let second = world
            .post(ideas, &with_nonce("one"), later)
            .expect("posted again");

        assert_ne!(id_of(&first), id_of(&second));
    }

    #[tokio::test]
    async fn a_repeated_nonce_of_a_deleted_message_is_10008() {
        let mut world = world(Discord::guild("Acme").channel("ideas"));
        let (ideas, now) = (world.channel_named("ideas").id, Now::read());
        let posted = world.post(ideas, &with_nonce("one"), now).expect("posted");
        world.remove(id_of(&posted));

        assert_eq!(
            world.post(ideas, &with_nonce("one"), now),
            Err(Refusal::unknown_message())
        );
    }

    #[tokio::test]
    async fn a_nonce_that_is_not_enforced_posts_twice() {
        let mut world = world(Discord::guild("Acme").channel("ideas"));
        let (ideas, now) = (world.channel_named("ideas").id, Now::read());
        let body = json!({ "content": "one", "nonce": "n-1" });

        world.post(ideas, &body, now).expect("posted");
        world.post(ideas, &body, now).expect("posted");

        assert_eq!(world.messages("ideas").len(), 2);
    }

    #[tokio::test]
    async fn a_read_only_channel_is_50013_and_a_hidden_one_50001() {
        let mut world = world(
            Discord::guild("Acme")
                .read_only_channel("rules")
                .hidden_channel("board"),
        );
        let (rules, board, now) = (
            world.channel_named("rules").id,
            world.channel_named("board").id,
            Now::read(),
        );

        assert_eq!(
            world.post(rules, &text("x"), now),
            Err(Refusal::missing_permission())
        );
        assert_eq!(
            world.post(board, &text("x"), now),
            Err(Refusal::missing_access())
        );
        assert_eq!(
            world.post(Snowflake(1), &text("x"), now),
            Err(Refusal::unknown_channel())
        );
    }

    #[tokio::test]
    async fn a_reply_to_nothing_fails_unless_it_says_that_is_fine() {
        let mut world = world(Discord::guild("Acme").channel("ideas"));
        let (ideas, now) = (world.channel_named("ideas").id, Now::read());
        let reply = |fail: bool| json!({ "content": "x", "message_reference": { "message_id": "5", "fail_if_not_exists": fail } });

        let refused = world.post(ideas, &reply(true), now).expect_err("refused");
        assert_eq!(
            refused,
            Refusal::form(
                "message_reference",
                "MESSAGE_REFERENCE_UNKNOWN_MESSAGE",
                "Unknown message"
            )
        );
        let plain = world
            .post(ideas, &reply(false), now)
            .expect("posted as a plain message");
        assert_eq!(
            (plain["type"].clone(), plain.get("message_reference")),
            (json!(0), None)
        );
    }

    #[tokio::test]
    async fn posting_wakes_an_archived_thread_and_a_locked_one_refuses() {
        let mut world = world(
            Discord::guild("Acme")
                .channel("ideas")
                .thread("ideas", "old")
                .thread("ideas", "shut"),
        );
        let (old, shut, now) = (
            world.channel_named("old").id,
            world.channel_named("shut").id,
            Now::read(),
        );
        world.set_archived(old, true);
        world
            .channels
            .iter_mut()
            .filter(|channel| channel.id == shut)
            .for_each(|channel| channel.locked = true);

        world.post(old, &text("x"), now).expect("posted");
        assert!(!world.channel_named("old").archived);
        assert_eq!(
            world.post(shut, &text("x"), now),
            Err(Refusal::thread_locked())
        );
    }

    #[tokio::test]
    async fn an_edit_without_allowed_mentions_pings() {
        let mut world = world(Discord::guild("Acme").channel("ideas").user("Jason"));
        let (ideas, jason, now) = (
            world.channel_named("ideas").id,
            world.user_named("Jason").id,
            Now::read(),
        );
        let body = json!({ "content": format!("<@{jason}>"), "allowed_mentions": { "parse": [] } });
        let posted = id_of(&world.post(ideas, &body, now).expect("posted"));
        assert_eq!(world.messages[&posted].mentions, []);

        world
            .edit(
                ideas,
                posted,
                &json!({ "content": format!("again <@{jason}>") }),
                now,
            )
            .expect("edited");
        assert_eq!(world.messages[&posted].mentions, [jason]);
    }

    #[test]
    fn a_doubly_encoded_emoji_is_none() {
        assert!(is_emoji("👀") && is_emoji("1️⃣") && is_emoji("sage:123"));
        assert!(!is_emoji("%F0%9F%91%80") && !is_emoji("eyes") && !is_emoji(""));
    }
}
