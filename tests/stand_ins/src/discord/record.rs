//! What the server keeps about everything that was sent to it, for a test to look at. Decides nothing.

use serde::Serialize;
use serde_json::Value;

use super::snowflake::Snowflake;

/// One HTTP request, kept before it was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedRequest {
    /// The verb.
    pub method: String,
    /// The path without the query, as it was sent (still percent-encoded).
    pub path: String,
    /// The query, without the question mark.
    pub query: String,
    /// Every header, names in lower case. Holds the token: this is a test's own server.
    pub headers: Vec<(String, String)>,
    /// The body as text.
    pub body: String,
}

impl RecordedRequest {
    /// The first header of that (lower case) name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null when it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }
}

/// One gateway connection from beginning to end.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedConnection {
    /// Which of the two addresses it came to (H9).
    pub door: Door,
    /// The query of the handshake.
    pub query: String,
    /// Every frame the client sent that was JSON.
    pub frames: Vec<Value>,
    /// The session it carries, once identified or resumed.
    pub session: Option<String>,
    /// How it ended, once it did.
    pub end: Option<End>,
}

impl RecordedConnection {
    /// The frames with this opcode.
    pub fn frames_of(&self, op: u64) -> impl Iterator<Item = &Value> {
        self.frames.iter().filter(move |frame| frame["op"] == op)
    }
}

/// The two gateway addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Door {
    /// The one that `GET /gateway/bot` names.
    Front,
    /// The one that READY names for resuming.
    Resume,
}

/// How a gateway connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The client sent a close frame, with this code or none.
    ClientClosed(Option<u16>),
    /// The client's socket went away without one.
    ClientVanished,
    /// The server sent a close frame.
    ServerClosed(u16),
    /// The server dropped the socket.
    ServerDropped,
}

/// Something that happened, in the order it happened. Serialized, it is the event line the binary prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Happening {
    /// A gateway connection was opened.
    Connected {
        /// Where.
        door: Door,
    },
    /// A session began: READY was sent.
    Identified {
        /// Its id.
        session: String,
    },
    /// A session went on: its replay was sent.
    Resumed {
        /// Its id.
        session: String,
        /// The events that were sent again.
        replayed: usize,
    },
    /// A gateway connection ended.
    Disconnected {
        /// How.
        end: End,
    },
    /// A message appeared in a channel.
    Message {
        /// Its id.
        id: Snowflake,
        /// The channel's name.
        channel: String,
        /// The author's name.
        author: String,
        /// Its text.
        content: String,
        /// What it replies to.
        reply_to: Option<Snowflake>,
    },
    /// A message was edited.
    Edited {
        /// Its id.
        id: Snowflake,
        /// The new text.
        content: String,
    },
    /// A message was deleted.
    Deleted {
        /// Its id.
        id: Snowflake,
    },
    /// A reaction was added.
    Reacted {
        /// The message.
        message: Snowflake,
        /// The emoji.
        emoji: String,
        /// Who.
        user: String,
    },
    /// The bot is typing.
    Typing {
        /// Where.
        channel: String,
    },
    /// A press was answered.
    Answered {
        /// The interaction.
        interaction: Snowflake,
        /// The callback type.
        kind: u64,
    },
    /// A request was answered.
    Request {
        /// The verb.
        method: String,
        /// The path. An interaction's token is in it: a test's own.
        path: String,
        /// The status; none when the answer was withheld.
        status: Option<u16>,
    },
    /// Something came that no client of this server should send.
    Surprise {
        /// What.
        what: String,
    },
}
