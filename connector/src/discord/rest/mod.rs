//! Discord over HTTP: one attempt per call, after waiting for its rate limit, with an error that says what is known of the outcome.
//! It repeats nothing on its own: whether a message may be sent again is for the caller, who has the journal.

mod answer;
mod client;
mod error;
mod limits;
mod message;

use serde::de::DeserializeOwned;

pub use client::{BuildError, Rest, Timing};
pub use error::{BodyFault, Doubt, RestError, Unreached};
pub use message::{BadMessage, CONTENT_MAX, CreateMessage, EditMessage, NONCE_MAX};

use super::model::{Application, Channel, GatewayBot, Guild, Member, Message, User};
use super::snowflake::Snowflake;
use client::Request;

/// The most messages one list call may ask for.
pub const LIST_MAX: u8 = 100;

/// The calls in use (`reference/discord-api.md` section 2.1), each one attempt.
impl Rest {
    /// Who the token is.
    pub async fn me(&self) -> Result<User, RestError> {
        self.get("me", None, "/users/@me".into()).await
    }

    /// The bot's application: its flags and where its interactions go.
    pub async fn application(&self) -> Result<Application, RestError> {
        self.get("application", None, "/applications/@me".into())
            .await
    }

    /// A server the bot is in.
    pub async fn guild(&self, guild: Snowflake) -> Result<Guild, RestError> {
        self.get("guild", Some(guild), format!("/guilds/{guild}"))
            .await
    }

    /// A member of a server, with roles.
    pub async fn member(&self, guild: Snowflake, user: Snowflake) -> Result<Member, RestError> {
        self.get(
            "member",
            Some(guild),
            format!("/guilds/{guild}/members/{user}"),
        )
        .await
    }

    /// A channel or thread.
    pub async fn channel(&self, channel: Snowflake) -> Result<Channel, RestError> {
        self.get("channel", Some(channel), format!("/channels/{channel}"))
            .await
    }

    /// The gateway's address and what is left of the identify budget.
    pub async fn gateway_bot(&self) -> Result<GatewayBot, RestError> {
        self.get("gateway", None, "/gateway/bot".into()).await
    }

    /// Posts a message. On [`RestError::Unknown`] and [`RestError::Body`] it may have been posted: only the same nonce may follow.
    pub async fn create_message(
        &self,
        channel: Snowflake,
        message: &CreateMessage,
    ) -> Result<Message, RestError> {
        let request = Request::post(
            "create message",
            channel,
            format!("/channels/{channel}/messages"),
        )
        .with_json(message);
        self.fetch(request).await
    }

    /// Replaces the text of an own message, mentions as silent as in the original.
    pub async fn edit_message(
        &self,
        channel: Snowflake,
        message: Snowflake,
        edit: &EditMessage,
    ) -> Result<Message, RestError> {
        let request = Request::patch(
            "edit message",
            channel,
            format!("/channels/{channel}/messages/{message}"),
        )
        .with_json(edit);
        self.fetch(request).await
    }

    /// Up to `limit` (1 to [`LIST_MAX`], held inside it) messages after an id, newest first.
    ///
    /// Without the permission to read the history the list is empty and no error: an empty list proves nothing by itself.
    pub async fn messages_after(
        &self,
        channel: Snowflake,
        after: Snowflake,
        limit: u8,
    ) -> Result<Vec<Message>, RestError> {
        let limit = limit.clamp(1, LIST_MAX);
        self.get(
            "list messages",
            Some(channel),
            format!("/channels/{channel}/messages?after={after}&limit={limit}"),
        )
        .await
    }

    /// One message; refused with code 10008 when it is gone.
    pub async fn message(
        &self,
        channel: Snowflake,
        message: Snowflake,
    ) -> Result<Message, RestError> {
        self.get(
            "message",
            Some(channel),
            format!("/channels/{channel}/messages/{message}"),
        )
        .await
    }

    /// Adds the bot's reaction. `emoji` is the Unicode emoji itself, or `name:id` of a server's own.
    pub async fn react(
        &self,
        channel: Snowflake,
        message: Snowflake,
        emoji: &str,
    ) -> Result<(), RestError> {
        let emoji = percent_encode(emoji);
        self.call(Request::put(
            "react",
            channel,
            format!("/channels/{channel}/messages/{message}/reactions/{emoji}/@me"),
        ))
        .await
    }

    /// Shows the bot as typing for ten seconds or until its next message; nothing can stop it sooner.
    pub async fn typing(&self, channel: Snowflake) -> Result<(), RestError> {
        self.call(Request::post(
            "typing",
            channel,
            format!("/channels/{channel}/typing"),
        ))
        .await
    }

    async fn get<T: DeserializeOwned>(
        &self,
        route: &'static str,
        major: Option<Snowflake>,
        path: String,
    ) -> Result<T, RestError> {
        self.fetch(Request::get(route, major, path)).await
    }
}

/// Everything but letters, digits and `-._~` as `%XX`: a wrong encoding is refused as an unknown emoji (10014).
fn percent_encode(text: &str) -> String {
    text.bytes().fold(
        String::with_capacity(3 * text.len()),
        |mut encoded, byte| {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                encoded.push(char::from(byte));
            } else {
                encoded.push_str(&format!("%{byte:02X}"));
            }
            encoded
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emoji_is_sent_as_its_bytes_in_percent() {
        let rows = [
            ("👀", "%F0%9F%91%80"),
            ("name:42", "name%3A42"),
            ("a/../b?c#d", "a%2F..%2Fb%3Fc%23d"),
            ("✅", "%E2%9C%85"),
        ];

        for (emoji, encoded) in rows {
            assert_eq!(percent_encode(emoji), encoded);
        }
    }
}
