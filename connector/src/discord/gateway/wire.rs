//! Frames as bytes: reading what came, writing what goes out. The only place where the token meets a payload, and nothing here logs.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::event::Event;
use crate::discord::USER_AGENT;
use crate::discord::json::{JsonError, null_as_default, repair};
use crate::discord::model::User;
use crate::discord::token::Token;

/// Bounds of a believable heartbeat interval. Discord says about 41 s.
const HEARTBEAT_RANGE: std::ops::RangeInclusive<u64> = 10..=600_000;
/// The longest session id that still leaves RESUME far below Discord's 4096 bytes.
const SESSION_ID_MAX: usize = 512;
/// How much of a foreign event name an error repeats.
const NAME_MAX: usize = 48;

/// A frame that was read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Inbound {
    Hello {
        interval: Duration,
    },
    Dispatch {
        seq: Option<u64>,
        dispatch: Dispatch,
    },
    /// Discord wants a heartbeat now.
    HeartbeatRequest,
    HeartbeatAck,
    Reconnect,
    InvalidSession {
        resumable: bool,
    },
}

/// What a dispatch is to the machine.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Dispatch {
    Ready(Box<Ready>),
    Resumed,
    Event(Event),
    /// It has a place in the sequence but cannot be read: it must count, or every resume would replay it.
    Unreadable(Malformed),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ready {
    pub(super) user: User,
    pub(super) application_flags: u64,
    pub(super) session_id: String,
    pub(super) resume_url: Option<String>,
}

/// A frame that goes out. The token is added when it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outbound {
    Heartbeat { seq: Option<u64> },
    Identify,
    Resume { session_id: String, seq: u64 },
}

/// What is wrong with something that arrived. Its words repeat nothing of it but an event's name.
#[derive(Clone, PartialEq, Eq)]
pub struct Malformed(What);

#[derive(Clone, PartialEq, Eq)]
enum What {
    Json(JsonError),
    Binary(usize),
    TooLarge,
    Protocol,
    Opcode(u64),
    Payload(u64),
    Event(String, JsonError),
}

impl Malformed {
    pub(super) fn binary(length: usize) -> Self {
        Self(What::Binary(length))
    }

    pub(super) fn too_large() -> Self {
        Self(What::TooLarge)
    }

    pub(super) fn protocol() -> Self {
        Self(What::Protocol)
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            What::Json(error) => write!(f, "a frame is {error}"),
            What::Binary(length) => write!(
                f,
                "a binary frame of {length} bytes; compression was not asked for"
            ),
            What::TooLarge => f.write_str("a message over the size limit"),
            What::Protocol => f.write_str("a frame against the WebSocket protocol"),
            What::Opcode(op) => write!(f, "opcode {op} is not known"),
            What::Payload(op) => write!(f, "a frame of opcode {op} without the data it needs"),
            What::Event(name, error) => write!(f, "{name} is {error}"),
        }
    }
}

impl fmt::Debug for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    op: u64,
    #[serde(borrow, default)]
    d: Option<&'a RawValue>,
    #[serde(default)]
    s: Option<u64>,
    #[serde(borrow, default)]
    t: Option<Cow<'a, str>>,
}

/// Reads one text frame.
pub(super) fn read(text: &[u8]) -> Result<Inbound, Malformed> {
    let text = repair(text);
    let Envelope { op, d, s, t } =
        serde_json::from_slice(&text).map_err(|error| Malformed(What::Json(error.into())))?;
    let no_data = || Malformed(What::Payload(op));
    Ok(match op {
        0 => {
            let (Some(name), Some(data)) = (t, d) else {
                return Err(no_data());
            };
            Inbound::Dispatch {
                seq: s,
                dispatch: dispatch(&name, data),
            }
        }
        1 => Inbound::HeartbeatRequest,
        7 => Inbound::Reconnect,
        // Anything but a clear yes is a no: to identify is always right, only dearer.
        9 => Inbound::InvalidSession {
            resumable: d.is_some_and(|data| data.get() == "true"),
        },
        10 => {
            let hello: Hello = d
                .and_then(|data| serde_json::from_str(data.get()).ok())
                .ok_or_else(no_data)?;
            if !HEARTBEAT_RANGE.contains(&hello.heartbeat_interval) {
                return Err(no_data());
            }
            Inbound::Hello {
                interval: Duration::from_millis(hello.heartbeat_interval),
            }
        }
        11 => Inbound::HeartbeatAck,
        unknown => return Err(Malformed(What::Opcode(unknown))),
    })
}

fn dispatch(name: &str, data: &RawValue) -> Dispatch {
    let read = match name {
        "READY" => ready(data).map(|ready| Dispatch::Ready(Box::new(ready))),
        "RESUMED" => Ok(Dispatch::Resumed),
        other => Event::decode(other, data).map(Dispatch::Event),
    };
    read.unwrap_or_else(|error| {
        Dispatch::Unreadable(Malformed(What::Event(printable(name), error)))
    })
}

fn ready(data: &RawValue) -> Result<Ready, JsonError> {
    let ReadyData {
        user,
        session_id,
        resume_gateway_url,
        application,
    } = serde_json::from_str(data.get())?;
    if session_id.is_empty() || session_id.len() > SESSION_ID_MAX {
        return Err(<serde_json::Error as serde::de::Error>::custom(
            "a session id of an unexpected length",
        )
        .into());
    }
    Ok(Ready {
        user,
        application_flags: application.flags,
        session_id,
        resume_url: resume_gateway_url,
    })
}

#[derive(Deserialize)]
struct Hello {
    heartbeat_interval: u64,
}

#[derive(Deserialize)]
struct ReadyData {
    user: User,
    session_id: String,
    #[serde(default)]
    resume_gateway_url: Option<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    application: ReadyApplication,
}

#[derive(Default, Deserialize)]
struct ReadyApplication {
    #[serde(default, deserialize_with = "null_as_default")]
    flags: u64,
}

/// Event names are upper case; whatever else stands in their place is not printed.
fn printable(name: &str) -> String {
    let plain = name
        .bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    if plain && name.len() <= NAME_MAX {
        name.to_owned()
    } else {
        "an event with an odd name".to_owned()
    }
}

/// Writes one frame.
pub(super) fn write(frame: &Outbound, token: &Token, intents: u64) -> String {
    match frame {
        Outbound::Heartbeat { seq } => json!({"op": 1, "d": seq}),
        Outbound::Identify => json!({"op": 2, "d": {
            "token": token.reveal(),
            "intents": intents,
            "properties": {"os": std::env::consts::OS, "browser": USER_AGENT, "device": USER_AGENT},
            "compress": false,
        }}),
        Outbound::Resume { session_id, seq } => {
            json!({"op": 6, "d": {"token": token.reveal(), "session_id": session_id, "seq": seq}})
        }
    }
    .to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn token() -> Token {
        Token::parse("MTc1OTI4ODQ3Mjk5MTE3MDYz.stamp.not-a-secret").unwrap()
    }

    fn words(frame: &str) -> String {
        read(frame.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn each_opcode_is_read() {
        let rows = [
            (
                r#"{"op":10,"d":{"heartbeat_interval":41250,"_trace":["x"]},"s":null,"t":null}"#,
                Inbound::Hello {
                    interval: Duration::from_millis(41_250),
                },
            ),
            (
                r#"{"op":1,"d":null,"s":null,"t":null}"#,
                Inbound::HeartbeatRequest,
            ),
            (r#"{"op":11}"#, Inbound::HeartbeatAck),
            (r#"{"op":7,"d":null}"#, Inbound::Reconnect),
            (
                r#"{"op":9,"d":true}"#,
                Inbound::InvalidSession { resumable: true },
            ),
            (
                r#"{"op":9,"d":false}"#,
                Inbound::InvalidSession { resumable: false },
            ),
            (r#"{"op":9}"#, Inbound::InvalidSession { resumable: false }),
            (
                r#"{"op":0,"d":{},"s":5,"t":"RESUMED"}"#,
                Inbound::Dispatch {
                    seq: Some(5),
                    dispatch: Dispatch::Resumed,
                },
            ),
            (
                r#"{"t":"TYPING_START","s":6,"op":0,"d":{"a":[1]}}"#,
                Inbound::Dispatch {
                    seq: Some(6),
                    dispatch: Dispatch::Event(Event::Other("TYPING_START".into())),
                },
            ),
        ];

        for (frame, inbound) in rows {
            assert_eq!(read(frame.as_bytes()), Ok(inbound), "{frame}");
        }
    }

    #[test]
    fn ready_gives_the_session() {
        let frame = r#"{"op":0,"s":1,"t":"READY","d":{"v":10,"user":{"id":"7","username":"seat","bot":true},"guilds":[{"id":"1","unavailable":true}],
            "session_id":"abc","resume_gateway_url":"wss://resume.discord.gg","application":{"id":"7","flags":262144}}}"#;

        let Ok(Inbound::Dispatch {
            seq: Some(1),
            dispatch: Dispatch::Ready(ready),
        }) = read(frame.as_bytes())
        else {
            panic!("not READY")
        };

        assert_eq!(
            (ready.session_id.as_str(), ready.resume_url.as_deref()),
            ("abc", Some("wss://resume.discord.gg"))
        );
        assert_eq!((ready.user.id.get(), ready.application_flags), (7, 1 << 18));
    }

    #[test]
    fn a_frame_that_cannot_be_read_is_an_error_with_a_reason() {
        assert_eq!(
            words("{"),
            "a frame is JSON that ends too early (line 1, column 1)"
        );
        assert_eq!(
            words("[]"),
            "a frame is JSON of an unexpected shape (line 1, column 2)"
        );
        assert_eq!(words(r#"{"op":42,"d":{}}"#), "opcode 42 is not known");
        assert_eq!(
            words(r#"{"op":10,"d":{}}"#),
            "a frame of opcode 10 without the data it needs"
        );
        assert_eq!(
            words(r#"{"op":10,"d":{"heartbeat_interval":0}}"#),
            "a frame of opcode 10 without the data it needs"
        );
        assert_eq!(
            words(r#"{"op":0,"d":{},"s":1}"#),
            "a frame of opcode 0 without the data it needs"
        );
        assert_eq!(words("\u{0}"), "a frame is not JSON (line 1, column 1)");
    }

    #[test]
    fn an_unreadable_dispatch_keeps_its_place_in_the_sequence() {
        let frame = r#"{"op":0,"s":9,"t":"MESSAGE_CREATE","d":{"id":"1","content":"geheim"}}"#;

        let Ok(Inbound::Dispatch {
            seq: Some(9),
            dispatch: Dispatch::Unreadable(why),
        }) = read(frame.as_bytes())
        else {
            panic!("not counted")
        };

        assert_eq!(
            why.to_string(),
            "MESSAGE_CREATE is JSON of an unexpected shape (line 1, column 29)"
        );
    }

    #[test]
    fn d_48_a_lone_surrogate_and_a_nul_reach_the_seat_as_text() {
        let frame = r#"{"op":0,"s":9,"t":"MESSAGE_CREATE","d":{"id":"1","channel_id":"2","author":{"id":"3"},"content":"a\ud800\u0000b"}}"#;

        let Ok(Inbound::Dispatch {
            dispatch: Dispatch::Event(Event::MessageCreate(message)),
            ..
        }) = read(frame.as_bytes())
        else {
            panic!("not read")
        };

        assert_eq!(message.content, "a\u{fffd}\0b");
    }

    #[test]
    fn d_45_a_preview_that_arrives_later_is_no_second_message() {
        let frame = |name: &str| {
            format!(
                r#"{{"op":0,"s":2,"t":"{name}","d":{{"id":"1","channel_id":"2","guild_id":"3","content":"see https://example.org/",
                    "embeds":[{{}}],"author":{{"id":"4","username":"jay"}}}}}}"#
            )
        };
        let event = |name: &str| match read(frame(name).as_bytes()) {
            Ok(Inbound::Dispatch {
                dispatch: Dispatch::Event(event),
                ..
            }) => event,
            other => panic!("{other:?}"),
        };

        assert!(matches!(event("MESSAGE_CREATE"), Event::MessageCreate(_)));
        assert_eq!(
            event("MESSAGE_UPDATE"),
            Event::Other("MESSAGE_UPDATE".into())
        );
    }

    #[test]
    fn an_odd_event_name_is_not_repeated() {
        assert_eq!(printable("MESSAGE_CREATE"), "MESSAGE_CREATE");
        assert_eq!(printable("\u{1b}[31m"), "an event with an odd name");
    }

    #[test]
    fn d_27_a_heartbeat_carries_the_last_sequence() {
        assert_eq!(
            write(&Outbound::Heartbeat { seq: Some(5) }, &token(), 0),
            r#"{"d":5,"op":1}"#
        );
        assert_eq!(
            write(&Outbound::Heartbeat { seq: None }, &token(), 0),
            r#"{"d":null,"op":1}"#
        );
    }

    #[test]
    fn the_longest_frame_out_stays_below_4096_bytes() {
        let resume = Outbound::Resume {
            session_id: "\u{1}".repeat(SESSION_ID_MAX),
            seq: u64::MAX,
        };

        assert!(write(&resume, &token(), 0).len() < 4096);
        assert!(write(&Outbound::Identify, &token(), u64::MAX).len() < 4096);
    }

    #[test]
    fn what_is_going_out_prints_no_token() {
        assert_eq!(format!("{:?}", Outbound::Identify), "Identify");
    }

    /// Frames as Discord sends them; what is made of them below is what a broken peer might send.
    const FRAMES: &[&str] = &[
        r#"{"op":10,"d":{"heartbeat_interval":41250}}"#,
        r#"{"op":0,"s":1,"t":"READY","d":{"session_id":"a","resume_gateway_url":"wss://gateway.example","user":{"id":"7","username":"sage"},"application":{"id":"7","flags":0},"guilds":[]}}"#,
        r#"{"op":0,"s":3,"t":"MESSAGE_CREATE","d":{"id":"1","channel_id":"2","guild_id":"3","type":0,"content":"hi \ud800","author":{"id":"4","username":"a"},"mentions":[]}}"#,
        r#"{"op":9,"d":true}"#,
        r#"{"op":7,"d":null}"#,
    ];

    proptest! {
        #[test]
        fn a_frame_cut_flipped_or_spliced_is_read_or_refused_in_one_printable_line(
            frame in 0..FRAMES.len(), other in 0..FRAMES.len(), at in any::<prop::sample::Index>(),
            from in any::<prop::sample::Index>(), flip in any::<u8>(), noise in prop::collection::vec(any::<u8>(), 0..8),
        ) {
            let (frame, other) = (FRAMES[frame].as_bytes(), FRAMES[other].as_bytes());
            let mut bytes = [&frame[..at.index(frame.len())], &noise[..], &other[from.index(other.len())..]].concat();
            let last = bytes.len() - 1;
            bytes[at.index(last + 1)] ^= flip;

            if let Err(refused) = read(&bytes) {
                prop_assert!(!refused.to_string().chars().any(char::is_control));
            }
        }
    }
}
