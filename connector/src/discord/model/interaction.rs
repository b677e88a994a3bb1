//! A pressed button, as INTERACTION_CREATE gives it. Read only; answering it is not here.

use std::fmt;

use serde::Deserialize;

use super::user::{Member, User};
use crate::discord::snowflake::Snowflake;

/// A press. Its token is the right to answer it, so it prints as nothing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Interaction {
    /// Its id.
    pub id: Snowflake,
    /// The application that is to answer.
    pub application_id: Snowflake,
    /// 3 is a component.
    #[serde(rename = "type")]
    pub kind: u64,
    /// The right to answer.
    pub token: InteractionToken,
    /// The server; absent in a direct message.
    #[serde(default)]
    pub guild_id: Option<Snowflake>,
    /// Where.
    #[serde(default)]
    pub channel_id: Option<Snowflake>,
    /// Who pressed, on a server.
    #[serde(default)]
    pub member: Option<Member>,
    /// Who pressed, in a direct message.
    #[serde(default)]
    pub user: Option<User>,
    /// The message whose button it was.
    #[serde(default)]
    message: Option<Pressed>,
    #[serde(default)]
    data: Option<Data>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
struct Pressed {
    id: Snowflake,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Data {
    #[serde(default)]
    custom_id: Option<String>,
}

impl Interaction {
    /// Who pressed.
    #[must_use]
    pub fn presser(&self) -> Option<&User> {
        self.member
            .as_ref()
            .and_then(|member| member.user.as_ref())
            .or(self.user.as_ref())
    }

    /// The message whose button was pressed.
    #[must_use]
    pub fn message_id(&self) -> Option<Snowflake> {
        self.message.map(|message| message.id)
    }

    /// The button's own mark. Any client can read it, so it is no secret and no proof without the message id.
    #[must_use]
    pub fn custom_id(&self) -> Option<&str> {
        self.data.as_ref()?.custom_id.as_deref()
    }
}

/// The right to answer a press, for 15 minutes. Part of a callback's address: no address that holds it may be printed (D-66).
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct InteractionToken(String);

impl InteractionToken {
    /// The text, for the callback's path.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for InteractionToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InteractionToken(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_press_names_who_what_and_where_and_hides_its_token() {
        let press: Interaction = serde_json::from_str(
            r#"{"id":"1","application_id":"2","type":3,"token":"geheim","guild_id":"3","channel_id":"4","version":1,
                "member":{"user":{"id":"5"},"roles":[]},"message":{"id":"6"},"data":{"component_type":2,"custom_id":"ok","id":1}}"#,
        )
        .unwrap();

        assert_eq!(press.presser().map(|user| user.id), Snowflake::new(5));
        assert_eq!(
            (press.message_id(), press.custom_id()),
            (Snowflake::new(6), Some("ok"))
        );
        assert!(!format!("{press:?}").contains("geheim"));
    }
}
