//! A message as it is kept, and as it looks over REST and over the gateway. Knows no rule about who may post it.

use serde_json::{Map, Value, json};

use super::{
    people::User,
    snowflake::{Snowflake, timestamp},
};

/// Message flag: only the one who pressed the button sees it.
pub(super) const EPHEMERAL: u64 = 1 << 6;
/// Message flag: carries a copy of a forwarded message.
pub(super) const HAS_SNAPSHOT: u64 = 1 << 14;

/// What a message points at.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The message pointed at.
    pub message: Snowflake,
    /// The channel that one is in.
    pub channel: Snowflake,
    /// 0 reply, 1 forward.
    pub kind: u8,
}

/// One reaction by one user.
#[derive(Clone, Debug, PartialEq)]
pub struct Reaction {
    /// The emoji itself, or `name:id` of a server's own.
    pub emoji: String,
    /// Who reacted.
    pub user: Snowflake,
}

/// Everything the server keeps about a message.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredMessage {
    /// The message's id.
    pub id: Snowflake,
    /// The channel or thread it is in.
    pub channel: Snowflake,
    /// Who wrote it.
    pub author: User,
    /// The text as it stands now.
    pub content: String,
    /// Discord's message type: 0 default, 19 reply, others are notices.
    pub kind: u8,
    /// The sender's nonce, as it came.
    pub nonce: Option<Value>,
    /// Reply or forward.
    pub reference: Option<Reference>,
    /// The users it pinged.
    pub mentions: Vec<Snowflake>,
    /// The roles it pinged.
    pub mention_roles: Vec<Snowflake>,
    /// Whether it pinged everyone.
    pub mention_everyone: bool,
    /// Components with the ids the server gave them (H15).
    pub components: Value,
    /// Embeds.
    pub embeds: Value,
    /// Attachments.
    pub attachments: Value,
    /// Message flags.
    pub flags: u64,
    /// When it was last edited, in Unix milliseconds.
    pub edited_at: Option<u64>,
    /// Whether it was deleted since.
    pub deleted: bool,
    /// Reactions, oldest first.
    pub reactions: Vec<Reaction>,
    /// Set when a webhook posted it.
    pub webhook: Option<Snowflake>,
    /// The server nickname the author had.
    pub nick: Option<String>,
    /// Whether gateway events carry `member`.
    pub with_member: bool,
    /// Further top-level keys (stickers, polls, snapshots, whatever a test wants seen).
    pub extra: Map<String, Value>,
}

/// Who asks for a message, which decides what is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// A gateway event: with server, member and nonce.
    Gateway,
    /// The answer to the POST that made it: with nonce.
    Created,
    /// Read back later: without nonce.
    Listed,
}

impl StoredMessage {
    /// Only the one who pressed the button sees it, and it is in no list.
    #[must_use]
    pub fn is_ephemeral(&self) -> bool {
        self.flags & EPHEMERAL != 0
    }

    /// Whether `emoji` is among the reactions of `user`.
    #[must_use]
    pub fn has_reaction(&self, emoji: &str, user: Snowflake) -> bool {
        self.reactions
            .iter()
            .any(|reaction| reaction.emoji == emoji && reaction.user == user)
    }

    /// The message object. `people` resolves mentioned users; `replied_to` is the message a reply points at, when it still exists.
    pub(super) fn object(
        &self,
        view: View,
        guild: Snowflake,
        people: &[User],
        replied_to: Option<&StoredMessage>,
        me: Snowflake,
    ) -> Value {
        let mut message = self.bare_object(guild, people);
        match view {
            View::Gateway => {
                message["guild_id"] = json!(guild);
                message["channel_type"] = json!(0);
                if self.with_member && self.webhook.is_none() {
                    message["member"] = self.author.partial_member(self.nick.as_deref(), &[]);
                }
                for (entry, id) in message["mentions"]
                    .as_array_mut()
                    .into_iter()
                    .flatten()
                    .zip(&self.mentions)
                {
                    if let Some(user) = people.iter().find(|user| user.id == *id) {
                        entry["member"] = user.partial_member(None, &[]);
                    }
                }
            }
            View::Created | View::Listed => {
                message["reactions"] = self.reaction_counts(me);
            }
        }
        if let (Some(nonce), View::Gateway | View::Created) = (&self.nonce, view) {
            message["nonce"] = nonce.clone();
        }
        if self.kind == 19 {
            message["referenced_message"] =
                replied_to.map_or(Value::Null, |target| target.bare_object(guild, people));
        }
        message
    }

    /// What every view shares.
    fn bare_object(&self, guild: Snowflake, people: &[User]) -> Value {
        let mentions: Vec<Value> = self
            .mentions
            .iter()
            .filter_map(|id| people.iter().find(|user| user.id == *id))
            .map(User::object)
            .collect();
        let mut message = json!({
            "id": self.id, "channel_id": self.channel, "type": self.kind, "content": self.content, "author": self.author.object(),
            "timestamp": timestamp(self.id.unix_millis()), "edited_timestamp": self.edited_at.map(timestamp), "tts": false,
            "mention_everyone": self.mention_everyone, "mentions": mentions, "mention_roles": self.mention_roles,
            "attachments": self.attachments, "embeds": self.embeds, "components": self.components, "pinned": false,
            "flags": self.flags,
        });
        if let Some(Reference {
            message: target,
            channel,
            kind,
        }) = &self.reference
        {
            message["message_reference"] = json!({ "type": kind, "message_id": target, "channel_id": channel, "guild_id": guild });
        }
        if let Some(webhook) = self.webhook {
            message["webhook_id"] = json!(webhook);
        }
        for (key, value) in &self.extra {
            message[key] = value.clone();
        }
        message
    }

    fn reaction_counts(&self, me: Snowflake) -> Value {
        let mut counted: Vec<(&str, u32, bool)> = Vec::new();
        for Reaction { emoji, user } in &self.reactions {
            match counted.iter_mut().find(|(known, ..)| known == emoji) {
                Some((_, count, mine)) => {
                    *count += 1;
                    *mine |= *user == me;
                }
                None => counted.push((emoji, 1, *user == me)),
            }
        }
        let objects = counted.into_iter().map(|(emoji, count, mine)| {
            json!({
                "emoji": emoji_object(emoji), "count": count, "count_details": { "normal": count, "burst": 0 },
                "burst_colors": [], "me_burst": false, "me": mine,
            })
        });
        objects.collect()
    }
}

/// An emoji as Discord describes it: a server's own has an id, a Unicode one has not.
pub(super) fn emoji_object(emoji: &str) -> Value {
    match emoji.split_once(':') {
        Some((name, id)) => json!({ "id": id, "name": name }),
        None => json!({ "id": null, "name": emoji }),
    }
}

/// The users a text mentions: `<@id>` and `<@!id>` outside of code.
pub(super) fn mentioned_users(content: &str) -> Vec<Snowflake> {
    mentioned(content, &["<@!", "<@"])
}

/// The roles a text mentions: `<@&id>` outside of code.
pub(super) fn mentioned_roles(content: &str) -> Vec<Snowflake> {
    mentioned(content, &["<@&"])
}

fn mentioned(content: &str, openings: &[&str]) -> Vec<Snowflake> {
    let mut found = Vec::new();
    // Every second piece between backticks is code: close enough to Discord's own reading, and the same for ` and ```.
    for prose in content.split('`').step_by(2) {
        for piece in prose.split('>') {
            let Some(id) = openings
                .iter()
                .find_map(|opening| piece.rfind(opening).map(|at| &piece[at + opening.len()..]))
            else {
                continue;
            };
            if let Some(id) = Snowflake::parse(id).filter(|id| !found.contains(id)) {
                found.push(id);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_mention_count_once_and_code_never_does() {
        assert_eq!(
            mentioned_users("<@7> and <@!7> and <@8>"),
            [Snowflake(7), Snowflake(8)]
        );
        assert_eq!(mentioned_users("`<@7>` and ```\n<@8>\n```"), []);
        assert_eq!(mentioned_users("<@&9>"), []);
        assert_eq!(mentioned_roles("<@&9> <@7>"), [Snowflake(9)]);
    }
}
