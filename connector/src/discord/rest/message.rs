//! Messages out, with the rules no caller may forget built in: deduplication by nonce, and nobody mentioned.
//! How a text is split and a nonce is formed is the delivery's business.

use std::fmt;

use serde::Serialize;

use crate::discord::snowflake::Snowflake;
use crate::visible::is_blank;

/// Discord counts code points (DESIGN section 7, row 12).
pub const CONTENT_MAX: usize = 2000;
/// The longest nonce Discord takes, in characters (D-67).
pub const NONCE_MAX: usize = 25;

/// A message that may be posted, and posted again: it always enforces its nonce and mentions nobody.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct CreateMessage {
    content: String,
    nonce: String,
    enforce_nonce: bool,
    allowed_mentions: Silence,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_reference: Option<ReplyTo>,
}

/// A new text for an own message. Without the mention field an edit would be read with Discord's permissive default.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct EditMessage {
    content: String,
    allowed_mentions: Silence,
}

/// A message Discord would refuse, told before it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadMessage {
    /// Nothing to see (50006, E18).
    #[error("the text is blank")]
    Blank,
    /// More than [`CONTENT_MAX`] code points.
    #[error("the text has {0} characters, Discord takes {CONTENT_MAX}")]
    TooLong(usize),
    /// Empty or over [`NONCE_MAX`].
    #[error("a nonce has 1 to {NONCE_MAX} characters")]
    Nonce,
}

/// `{"parse": [], "replied_user": false}`.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
struct Silence {
    parse: [&'static str; 0],
    replied_user: bool,
}

const SILENCE: Silence = Silence {
    parse: [],
    replied_user: false,
};

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
struct ReplyTo {
    message_id: Snowflake,
    /// A deleted question must not cost the answer (D-09): it is then posted as a plain message.
    fail_if_not_exists: bool,
}

impl CreateMessage {
    /// A message with its nonce, as a reply when `reply_to` is there.
    pub fn new(
        content: impl Into<String>,
        nonce: impl Into<String>,
        reply_to: Option<Snowflake>,
    ) -> Result<Self, BadMessage> {
        let nonce = nonce.into();
        if !(1..=NONCE_MAX).contains(&nonce.chars().count()) {
            return Err(BadMessage::Nonce);
        }
        Ok(Self {
            content: sendable(content.into())?,
            nonce,
            enforce_nonce: true,
            allowed_mentions: SILENCE,
            message_reference: reply_to.map(|message_id| ReplyTo {
                message_id,
                fail_if_not_exists: false,
            }),
        })
    }

    /// The text.
    #[must_use]
    pub fn content(&self) -> &str {
        &self.content
    }

    /// The nonce.
    #[must_use]
    pub fn nonce(&self) -> &str {
        &self.nonce
    }

    /// The message it answers.
    #[must_use]
    pub fn reply_to(&self) -> Option<Snowflake> {
        self.message_reference.map(|reference| reference.message_id)
    }
}

impl EditMessage {
    /// An edit to that text.
    pub fn new(content: impl Into<String>) -> Result<Self, BadMessage> {
        Ok(Self {
            content: sendable(content.into())?,
            allowed_mentions: SILENCE,
        })
    }
}

impl fmt::Debug for CreateMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "CreateMessage({}, {} characters)",
            self.nonce,
            self.content.chars().count()
        )
    }
}

impl fmt::Debug for EditMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "EditMessage({} characters)",
            self.content.chars().count()
        )
    }
}

fn sendable(content: String) -> Result<String, BadMessage> {
    let length = content.chars().count();
    if is_blank(&content) {
        return Err(BadMessage::Blank);
    }
    if length > CONTENT_MAX {
        return Err(BadMessage::TooLong(length));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_message_enforces_its_nonce_and_mentions_nobody() {
        let reply = CreateMessage::new("hello @everyone", "n-1", Snowflake::new(7)).unwrap();
        let plain = CreateMessage::new("hello", "n-2", None).unwrap();

        assert_eq!(
            serde_json::to_value(&reply).unwrap(),
            json!({
                "content": "hello @everyone", "nonce": "n-1", "enforce_nonce": true,
                "allowed_mentions": {"parse": [], "replied_user": false},
                "message_reference": {"message_id": "7", "fail_if_not_exists": false}
            })
        );
        assert_eq!(
            serde_json::to_value(&plain).unwrap(),
            json!({"content": "hello", "nonce": "n-2", "enforce_nonce": true, "allowed_mentions": {"parse": [], "replied_user": false}})
        );
    }

    #[test]
    fn every_edit_mentions_nobody() {
        let edit = EditMessage::new("done").unwrap();

        assert_eq!(
            serde_json::to_value(&edit).unwrap(),
            json!({"content": "done", "allowed_mentions": {"parse": [], "replied_user": false}})
        );
    }

    #[test]
    fn d_12_d_13_length_is_counted_in_code_points() {
        let with = |content: String| CreateMessage::new(content, "n", None).map(|_| ());

        assert_eq!(with("😀".repeat(CONTENT_MAX)), Ok(()));
        assert_eq!(
            with("x".repeat(CONTENT_MAX + 1)),
            Err(BadMessage::TooLong(CONTENT_MAX + 1))
        );
    }

    #[test]
    fn e_18_what_nobody_could_see_is_not_sent() {
        for blank in ["", " \n\t", "\u{200b}", "\u{feff}\u{200d} ", "\0"] {
            assert_eq!(
                CreateMessage::new(blank, "n", None),
                Err(BadMessage::Blank),
                "{blank:?}"
            );
        }
    }

    #[test]
    fn d_67_a_nonce_has_at_most_25_characters() {
        let with = |nonce: &str| CreateMessage::new("x", nonce, None).map(|_| ());

        assert_eq!(with(&"9".repeat(NONCE_MAX)), Ok(()));
        assert_eq!(with(&"9".repeat(NONCE_MAX + 1)), Err(BadMessage::Nonce));
        assert_eq!(with(""), Err(BadMessage::Nonce));
    }

    #[test]
    fn a_debug_print_holds_no_word_of_the_message() {
        assert_eq!(
            format!("{:?}", CreateMessage::new("geheim", "n", None).unwrap()),
            "CreateMessage(n, 6 characters)"
        );
    }
}
