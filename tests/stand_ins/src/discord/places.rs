//! The one server, its channels and its threads, as Discord describes them. Knows no message.

use serde_json::{Value, json};

use super::{
    people::User,
    permissions::{self, Permissions},
    snowflake::{Snowflake, timestamp},
};

/// What a channel is; the numbers are Discord's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelKind {
    /// A text channel.
    Text = 0,
    /// A category, which only groups channels.
    Category = 4,
    /// A thread anyone may see.
    PublicThread = 11,
    /// A thread by invitation.
    PrivateThread = 12,
    /// A forum; its posts are threads.
    Forum = 15,
}

/// A channel or a thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// The channel's id.
    pub id: Snowflake,
    /// The name a test calls it by.
    pub name: String,
    /// What it is.
    pub kind: ChannelKind,
    /// A thread's channel, a channel's category.
    pub parent: Option<Snowflake>,
    /// What is denied to the bot here; a thread inherits its channel's.
    pub denied: Permissions,
    /// A thread nobody wrote in for long; posting wakes it up.
    pub archived: bool,
    /// A thread only moderators may write in.
    pub locked: bool,
    /// Whether GUILD_CREATE and THREAD_CREATE speak of this thread.
    pub announced: bool,
}

impl Channel {
    /// Whether it is a thread.
    #[must_use]
    pub fn is_thread(&self) -> bool {
        matches!(
            self.kind,
            ChannelKind::PublicThread | ChannelKind::PrivateThread
        )
    }

    /// What the bot may do here.
    pub(super) fn permissions(&self) -> Permissions {
        permissions::in_channel(self.denied)
    }

    /// The permission it takes to post here.
    pub(super) fn needed_to_send(&self) -> Permissions {
        if self.is_thread() {
            Permissions::SEND_MESSAGES_IN_THREADS
        } else {
            Permissions::SEND_MESSAGES
        }
    }

    /// The channel object; `last_message` where the bot may know it.
    pub(super) fn object(
        &self,
        guild: Snowflake,
        owner: Snowflake,
        last_message: Option<Snowflake>,
    ) -> Value {
        let mut channel = json!({
            "id": self.id, "type": self.kind as u8, "flags": 0, "guild_id": guild, "name": self.name, "parent_id": self.parent,
            "last_message_id": last_message, "rate_limit_per_user": 0,
        });
        if self.is_thread() {
            let made = timestamp(self.id.unix_millis());
            channel["owner_id"] = json!(owner);
            channel["message_count"] = json!(0);
            channel["member_count"] = json!(1);
            channel["total_message_sent"] = json!(0);
            channel["thread_metadata"] = json!({
                "archived": self.archived, "archive_timestamp": made, "auto_archive_duration": 1440, "locked": self.locked,
                "create_timestamp": made,
            });
        } else {
            channel["position"] = json!(0);
            channel["permission_overwrites"] = permissions::overwrites(guild, self.denied);
            channel["nsfw"] = json!(false);
            channel["topic"] = json!(null);
        }
        if self.kind == ChannelKind::Forum {
            channel["available_tags"] = json!([]);
            channel["default_reaction_emoji"] = json!(null);
            channel["default_sort_order"] = json!(null);
            channel["default_forum_layout"] = json!(0);
            channel["default_tag_setting"] = json!("match_some");
        }
        channel
    }
}

/// The server.
#[derive(Clone, Debug, PartialEq)]
pub struct Guild {
    /// Its id, which is also that of the @everyone role.
    pub id: Snowflake,
    /// Its name.
    pub name: String,
    /// The role Discord makes for the bot itself; people pick it by mistake when they mean to mention the bot.
    pub bot_role: Snowflake,
    /// Who owns it.
    pub owner: Snowflake,
}

impl Guild {
    /// The @everyone role and the bot's managed role.
    pub(super) fn roles(&self, bot: &User) -> Value {
        let role = |id: Snowflake, name: &str, position: u8, managed: bool| {
            json!({
                "id": id, "name": name, "permissions": Permissions::EVERYONE.0.to_string(), "position": position, "color": 0,
                "colors": { "primary_color": 0, "secondary_color": null, "tertiary_color": null }, "hoist": false,
                "managed": managed, "mentionable": false, "icon": null, "unicode_emoji": null, "flags": 0,
            })
        };
        let mut own = role(self.bot_role, &bot.name, 1, true);
        own["tags"] = json!({ "bot_id": bot.id });
        json!([role(self.id, "@everyone", 0, false), own])
    }

    /// The server object of the REST API.
    pub(super) fn object(&self, bot: &User) -> Value {
        json!({
            "id": self.id, "name": self.name, "icon": null, "description": null, "home_header": null, "splash": null,
            "discovery_splash": null, "features": [], "banner": null, "owner_id": self.owner, "application_id": null,
            "region": "deprecated", "afk_channel_id": null, "afk_timeout": 300, "system_channel_id": null,
            "system_channel_flags": 0, "widget_enabled": false, "widget_channel_id": null, "verification_level": 0,
            "roles": self.roles(bot), "default_message_notifications": 0, "mfa_level": 0, "explicit_content_filter": 0,
            "max_presences": null, "max_members": 500_000, "max_stage_video_channel_users": 50, "max_video_channel_users": 25,
            "vanity_url_code": null, "premium_tier": 0, "premium_subscription_count": 0, "preferred_locale": "en-US",
            "rules_channel_id": null, "safety_alerts_channel_id": null, "public_updates_channel_id": null,
            "premium_progress_bar_enabled": false, "nsfw": false, "nsfw_level": 0, "emojis": [], "stickers": [],
            "incidents_data": null,
        })
    }
}
