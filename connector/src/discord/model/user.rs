//! People and bots, and what a server adds to them. Every name in here was chosen by its owner and proves nothing.

use std::fmt;

use serde::Deserialize;

use crate::discord::json::null_as_default;
use crate::discord::snowflake::Snowflake;

/// An account. In a message posted by a webhook it is made up from the webhook.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct User {
    /// The one thing here that identifies.
    pub id: Snowflake,
    /// The account's own name.
    #[serde(default, deserialize_with = "null_as_default")]
    pub username: String,
    /// The display name, when there is one.
    #[serde(default)]
    pub global_name: Option<String>,
    /// Whether this is a bot's account.
    #[serde(default, deserialize_with = "null_as_default")]
    pub bot: bool,
    /// Whether this is Discord itself speaking.
    #[serde(default, deserialize_with = "null_as_default")]
    pub system: bool,
}

/// What a server adds to an account. Partial in messages (no `user`), whole in interactions.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Member {
    /// The account, where it is not given beside the member.
    pub user: Option<User>,
    /// The name on this server.
    pub nick: Option<String>,
    /// The roles held, without the one every member has.
    #[serde(deserialize_with = "null_as_default")]
    pub roles: Vec<Snowflake>,
}

impl User {
    /// The name people see on the server (E15): nickname, else display name, else account name.
    /// Any Unicode of up to 32 characters: never a key, never unescaped in a line.
    #[must_use]
    pub fn server_name<'a>(&'a self, member: Option<&'a Member>) -> &'a str {
        let nick = member.and_then(|member| member.nick.as_deref());
        let mut names = [nick, self.global_name.as_deref()].into_iter().flatten();
        names
            .find(|name| !name.is_empty())
            .unwrap_or(&self.username)
    }
}

// Names are people's words: a log that prints one of these gets the id.
impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "User({}{})",
            self.id,
            if self.bot { ", bot" } else { "" }
        )
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Member({:?}, {} roles)", self.user, self.roles.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e_15_a_name_falls_back_to_what_is_there() {
        let user = |json: &str| serde_json::from_str::<User>(json).unwrap();
        let whole =
            user(r#"{"id":"1","username":"ada","global_name":"Ada L.","bot":null,"future":{}}"#);
        let bare = user(r#"{"id":"1","username":"ada","global_name":null}"#);
        let member = Member {
            nick: Some("Countess".into()),
            ..Member::default()
        };

        assert_eq!(whole.server_name(Some(&member)), "Countess");
        assert_eq!(whole.server_name(Some(&Member::default())), "Ada L.");
        assert_eq!(whole.server_name(None), "Ada L.");
        assert_eq!(bare.server_name(None), "ada");
    }

    #[test]
    fn a_name_is_not_printed() {
        let user: User = serde_json::from_str(r#"{"id":"7","username":"ada","bot":true}"#).unwrap();

        assert_eq!(format!("{user:?}"), "User(7, bot)");
    }
}
