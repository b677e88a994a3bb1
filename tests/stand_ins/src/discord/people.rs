//! Users as Discord describes them. Knows no channel and no message.

use serde_json::{Value, json};

use super::snowflake::{Snowflake, timestamp};

/// Someone who can write: a person, a bot, or ours.
#[derive(Clone, Debug, PartialEq)]
pub struct User {
    /// The user's id.
    pub id: Snowflake,
    /// The name a test calls the user by; Discord's `global_name`.
    pub name: String,
    /// Whether the account is a bot's.
    pub bot: bool,
}

impl User {
    /// The account name: lower case letters and digits only, as Discord allows.
    fn username(&self) -> String {
        let plain: String = self
            .name
            .to_lowercase()
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect();
        if plain.is_empty() {
            format!("user{}", self.id)
        } else {
            plain
        }
    }

    /// The public user object.
    pub(super) fn object(&self) -> Value {
        let mut user = json!({
            "id": self.id, "username": self.username(), "global_name": self.name, "discriminator": "0",
            "avatar": null, "banner": null, "accent_color": null, "avatar_decoration_data": null, "collectibles": null,
            "primary_guild": null, "flags": 0, "public_flags": 0,
        });
        if self.bot {
            user["bot"] = json!(true);
        }
        user
    }

    /// The user object one gets of oneself (H10).
    pub(super) fn own_object(&self) -> Value {
        let mut user = self.object();
        user["mfa_enabled"] = json!(true);
        user["locale"] = json!("en-US");
        user["verified"] = json!(true);
        user["email"] = json!(null);
        user["premium_type"] = json!(0);
        user
    }

    /// The partial member that comes with a message: no `user` inside.
    pub(super) fn partial_member(&self, nick: Option<&str>, roles: &[Snowflake]) -> Value {
        json!({
            "nick": nick, "roles": roles, "joined_at": timestamp(self.id.unix_millis()), "premium_since": null, "deaf": false,
            "mute": false, "flags": 0, "pending": false, "avatar": null, "banner": null, "communication_disabled_until": null,
        })
    }

    /// The full member, as in interactions and over REST.
    pub(super) fn member(&self, nick: Option<&str>, roles: &[Snowflake]) -> Value {
        let mut member = self.partial_member(nick, roles);
        member["user"] = self.object();
        member
    }
}
