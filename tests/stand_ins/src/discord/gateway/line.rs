//! One gateway connection as a conversation: what each frame of the client means and what is answered (discord-api, sections 4 to 6, H21).
//! Owns no socket.

use std::{collections::VecDeque, time::Duration};

use serde_json::{Value, json};
use tokio::{sync::mpsc::UnboundedSender, time::Instant};

use super::{Order, Reception, Session, Welcome, session::CannotResume};
use crate::discord::{
    record::{Door, End, Happening, RecordedConnection},
    snowflake::Now,
    world::{World, intents},
};

/// Bytes of a client's frame.
const PAYLOAD_LIMIT: usize = 4096;
/// Frames of a client in `FRAME_WINDOW`.
const FRAME_LIMIT: usize = 120;
const FRAME_WINDOW: Duration = Duration::from_secs(60);
/// The highest intent bit there is (DIRECT_MESSAGE_POLLS).
const KNOWN_INTENTS: u64 = (1 << 26) - 1;
/// Application flag: the message content intent is granted to a small bot.
const CONTENT_LIMITED: u64 = 1 << 19;

const API_VERSION: &str = "10";

/// What a connection does next.
#[derive(Debug, PartialEq)]
pub(super) enum Reply {
    Frame(String),
    Close(u16),
    Drop,
    /// Compress each further frame on its own, as IDENTIFY asked for.
    CompressPayloads,
    /// Send RESUMED once this time has passed.
    ResumedAfter(Duration, String),
}

/// The protocol state of one connection.
#[derive(Debug)]
pub(super) struct Line {
    connection: usize,
    /// Nothing is said and nothing is answered.
    mute: bool,
    session: Option<String>,
    heard: VecDeque<Instant>,
}

fn frame(op: u64, d: &Value) -> Reply {
    // Every frame has all four keys (H1).
    Reply::Frame(json!({ "op": op, "d": d, "s": null, "t": null }).to_string())
}

impl Line {
    /// A connection was opened; says hello.
    pub(super) fn open(
        world: &mut World,
        door: Door,
        query: &str,
        welcome: Option<Welcome>,
        orders: UnboundedSender<Order>,
    ) -> (Self, Vec<Reply>) {
        let connection = world.connections.len();
        world.connections.push(RecordedConnection {
            door,
            query: query.into(),
            frames: Vec::new(),
            session: None,
            end: None,
        });
        world.lines.add(connection, orders);
        world.note(Happening::Connected { door });
        let line = Line {
            connection,
            mute: welcome == Some(Welcome::Silence),
            session: None,
            heard: VecDeque::new(),
        };

        let asks_for = |key: &str, value: &str| {
            query
                .split('&')
                .any(|pair| pair.split_once('=') == Some((key, value)))
        };
        let hello = match welcome {
            Some(Welcome::Silence) => vec![],
            Some(Welcome::Dropped) => vec![Reply::Drop],
            Some(Welcome::ReconnectBeforeHello) => vec![frame(7, &Value::Null)],
            _ if !asks_for("v", API_VERSION) => vec![Reply::Close(4012)],
            _ => {
                let interval = u64::try_from(world.settings.heartbeat_interval.as_millis())
                    .expect("an interval of less than an age");
                vec![frame(10, &json!({ "heartbeat_interval": interval }))]
            }
        };
        (line, hello)
    }

    /// The client sent a message, text or binary (H3).
    pub(super) fn hear(&mut self, text: &[u8], world: &mut World, now: Now) -> Vec<Reply> {
        if self.mute {
            return vec![];
        }
        self.heard.push_back(now.instant);
        while self
            .heard
            .front()
            .is_some_and(|first| now.instant.duration_since(*first) >= FRAME_WINDOW)
        {
            self.heard.pop_front();
        }
        if self.heard.len() > FRAME_LIMIT {
            return self.blame(world, 4008, "more than 120 frames in 60 s");
        }
        if text.len() > PAYLOAD_LIMIT {
            return self.blame(world, 4002, "a frame of more than 4096 bytes");
        }
        let Ok(heard) = serde_json::from_slice::<Value>(text) else {
            return self.blame(world, 4002, "a frame that is not JSON");
        };
        world.connections[self.connection]
            .frames
            .push(heard.clone());
        let Some(op) = heard["op"].as_u64() else {
            return self.blame(world, 4002, "a frame without op");
        };
        match op {
            1 if world.lines.acknowledges(self.connection) => vec![frame(11, &Value::Null)],
            1 => vec![],
            2 | 6 if self.session.is_some() => {
                self.blame(world, 4005, "a second identify or resume")
            }
            2 => self.identify(&heard["d"], world, now),
            6 => self.resume(&heard["d"], world, now),
            3 | 4 | 8 | 31 if self.session.is_some() => vec![],
            3 | 4 | 8 | 31 => self.blame(world, 4003, "a frame before identify"),
            _ => self.blame(world, 4001, &format!("op {op}")),
        }
    }

    /// The connection is over.
    pub(super) fn end(self, world: &mut World, end: End, now: Now) {
        world.connections[self.connection].end = Some(end);
        world.lines.remove(self.connection);
        world.note(Happening::Disconnected { end });
        // A client that closes with 1000 or 1001 means it: the session is over at once (section 6.2).
        let for_good = matches!(end, End::ClientClosed(Some(1000 | 1001)));
        for session in &mut world.sessions {
            session.lose(self.connection, for_good, now.instant);
        }
    }

    /// Closes over something no client should send, and keeps it where a test will find it.
    fn blame(&self, world: &mut World, code: u16, what: &str) -> Vec<Reply> {
        world.surprise(format!(
            "gateway connection {}: {what} (closed with {code})",
            self.connection
        ));
        vec![Reply::Close(code)]
    }

    fn identify(&mut self, d: &Value, world: &mut World, now: Now) -> Vec<Reply> {
        let reception = world.greetings.identifies.pop_front();
        match reception {
            Some(Reception::Dropped) => return vec![Reply::Drop],
            Some(Reception::Closed(code)) => return vec![Reply::Close(code)],
            Some(Reception::Invalid { resumable }) => return vec![frame(9, &json!(resumable))],
            Some(Reception::Ignored) => return vec![],
            Some(Reception::ThenReconnect | Reception::LateResumed(_)) | None => {}
        }
        if !d["token"]
            .as_str()
            .is_some_and(|token| world.knows_token(token))
        {
            return vec![Reply::Close(4004)];
        }
        if world.identifies_left() == 0 {
            world.surprise("an IDENTIFY beyond the daily budget: the token is reset");
            world.token_dead = true;
            world.sessions.iter_mut().for_each(Session::end);
            return vec![Reply::Close(4004)];
        }
        let too_soon = world
            .identified_at
            .last()
            .is_some_and(|last| now.instant.duration_since(*last) < world.settings.identify_every);
        world.identified_at.push(now.instant);
        if too_soon {
            world.surprise("an IDENTIFY too soon after the last one");
            return vec![frame(9, &json!(false))];
        }
        let asked = match intents_asked(d, world.settings.content_granted) {
            Ok(asked) => asked,
            Err(code) => return vec![Reply::Close(code)],
        };
        if let Err(code) = check_shard(d) {
            return vec![Reply::Close(code)];
        }
        let Some(orders) = world.lines.orders(self.connection) else {
            return vec![];
        };

        let id = format!("{:032x}", u128::from(world.mint.next(now).0) << 16);
        self.session = Some(id.clone());
        world.connections[self.connection].session = Some(id.clone());
        let mut session = Session::begin(id.clone(), asked, self.connection, orders);
        session.dispatch("READY", &ready(world, &id, d));
        if asked & intents::GUILDS != 0 {
            session.dispatch("GUILD_CREATE", &world.guild_create());
        }
        world.sessions.push(session);
        world.note(Happening::Identified { session: id });
        let mut replies = Vec::new();
        if d["compress"] == true {
            replies.push(Reply::CompressPayloads);
        }
        if reception == Some(Reception::ThenReconnect) {
            replies.push(frame(7, &Value::Null));
        }
        replies
    }

    fn resume(&mut self, d: &Value, world: &mut World, now: Now) -> Vec<Reply> {
        let reception = world.greetings.resumes.pop_front();
        match reception {
            Some(Reception::Dropped) => return vec![Reply::Drop],
            Some(Reception::Closed(code)) => return vec![Reply::Close(code)],
            Some(Reception::Invalid { resumable }) => return vec![frame(9, &json!(resumable))],
            Some(Reception::Ignored) => return vec![],
            Some(Reception::ThenReconnect | Reception::LateResumed(_)) | None => {}
        }
        if !d["token"]
            .as_str()
            .is_some_and(|token| world.knows_token(token))
        {
            return vec![Reply::Close(4004)];
        }
        let (Some(id), Some(seq)) = (d["session_id"].as_str(), d["seq"].as_u64()) else {
            return self.blame(world, 4002, "a RESUME without session or number");
        };
        let Some(orders) = world.lines.orders(self.connection) else {
            return vec![];
        };
        let life = world.settings.session_life;
        let Some(session) = world.sessions.iter_mut().find(|session| session.id == id) else {
            return vec![frame(9, &json!(false))];
        };
        let replayed = match session.resume(seq, self.connection, orders, life, now.instant) {
            Ok(replayed) => replayed,
            Err(CannotResume::Gone) => return vec![frame(9, &json!(false))],
            Err(CannotResume::NeverSent) => return vec![Reply::Close(4007)],
        };
        self.session = Some(id.into());
        world.connections[self.connection].session = Some(id.into());
        world.note(Happening::Resumed {
            session: id.into(),
            replayed,
        });
        match reception {
            Some(Reception::LateResumed(after)) => {
                return vec![Reply::ResumedAfter(after, id.into())];
            }
            Some(Reception::ThenReconnect) => {
                say_resumed(world, id);
                return vec![frame(7, &Value::Null)];
            }
            _ => say_resumed(world, id),
        }
        vec![]
    }
}

/// The replay is over.
pub(super) fn say_resumed(world: &mut World, session: &str) {
    if let Some(session) = world.sessions.iter_mut().find(|known| known.id == session) {
        session.dispatch("RESUMED", &json!({ "_trace": [] }));
    }
}

fn intents_asked(d: &Value, content_granted: bool) -> Result<u64, u16> {
    let asked = d["intents"]
        .as_u64()
        .filter(|bits| bits & !KNOWN_INTENTS == 0)
        .ok_or(4013_u16)?;
    let ungranted = intents::GUILD_MEMBERS
        | intents::GUILD_PRESENCES
        | if content_granted {
            0
        } else {
            intents::MESSAGE_CONTENT
        };
    if asked & ungranted == 0 {
        Ok(asked)
    } else {
        Err(4014)
    }
}

fn check_shard(d: &Value) -> Result<(), u16> {
    let Some(shard) = d.get("shard").filter(|shard| !shard.is_null()) else {
        return Ok(());
    };
    match (shard[0].as_u64(), shard[1].as_u64()) {
        (Some(id), Some(count)) if id < count => Ok(()),
        _ => Err(4010),
    }
}

fn ready(world: &World, session: &str, identify: &Value) -> Value {
    let mut ready = json!({
        "v": 10, "user": world.bot.own_object(), "session_id": session, "resume_gateway_url": world.resume_url(),
        // Unavailable stubs: the server itself comes as GUILD_CREATE (H17).
        "guilds": [{ "id": world.guild.id, "unavailable": true }],
        "application": { "id": world.bot.id, "flags": application_flags(world) },
        "session_type": "normal", "private_channels": [], "relationships": [], "presences": [], "guild_join_requests": [],
        "geo_ordered_rtc_regions": [], "user_settings": {}, "user_settings_proto": "", "auth": {}, "_trace": [],
    });
    if let Some(shard) = identify.get("shard") {
        ready["shard"] = shard.clone();
    }
    ready
}

/// The application's flags: whether it may read message content.
pub(in crate::discord) fn application_flags(world: &World) -> u64 {
    if world.settings.content_granted {
        CONTENT_LIMITED
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use super::*;
    use crate::discord::{Builder, Discord};

    const QUERY: &str = "v=10&encoding=json";

    fn world(builder: Builder) -> World {
        builder.build(([127, 0, 0, 1], 1).into())
    }

    fn connect(world: &mut World) -> (Line, UnboundedReceiver<Order>) {
        let (orders, received) = unbounded_channel();
        let (line, _hello) = Line::open(world, Door::Front, QUERY, None, orders);
        (line, received)
    }

    fn say(line: &mut Line, world: &mut World, frame: &Value) -> Vec<Reply> {
        line.hear(frame.to_string().as_bytes(), world, Now::read())
    }

    fn identify(world: &World) -> Value {
        json!({ "op": 2, "d": { "token": world.token(), "intents": 33281, "properties": {} } })
    }

    fn names(orders: &mut UnboundedReceiver<Order>) -> Vec<(String, u64)> {
        let mut names = Vec::new();
        while let Ok(Order::Frame(frame)) = orders.try_recv() {
            let frame: Value = serde_json::from_str(&frame).expect("frames are JSON");
            names.push((
                frame["t"].as_str().expect("a dispatch has a name").into(),
                frame["s"].as_u64().expect("and a number"),
            ));
        }
        names
    }

    #[tokio::test]
    async fn hello_has_all_four_keys() {
        let mut world =
            world(Discord::guild("Acme").heartbeat_interval(Duration::from_millis(1500)));
        let (orders, _received) = unbounded_channel();
        let (_, hello) = Line::open(&mut world, Door::Front, QUERY, None, orders);
        assert_eq!(hello, [frame(10, &json!({ "heartbeat_interval": 1500 }))]);
        let Reply::Frame(text) = &hello[0] else {
            panic!("hello is a frame")
        };
        let hello: Value = serde_json::from_str(text).expect("JSON");
        let keys: Vec<&String> = hello.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["d", "op", "s", "t"]);
    }

    #[tokio::test]
    async fn ready_is_number_1_and_the_server_follows() {
        let mut world = world(Discord::guild("Acme"));
        let (mut line, mut orders) = connect(&mut world);
        let hello = identify(&world);
        assert_eq!(say(&mut line, &mut world, &hello), []);
        assert_eq!(
            names(&mut orders),
            [("READY".into(), 1), ("GUILD_CREATE".into(), 2)]
        );
    }

    #[tokio::test]
    async fn the_table_of_close_codes() {
        let too_long = json!({ "op": 2, "d": "x".repeat(4096) }).to_string();
        let rows = [
            ("{", 4002),
            ("[]", 4002),
            (too_long.as_str(), 4002),
            (r#"{"op":99,"d":null}"#, 4001),
            (r#"{"op":3,"d":{}}"#, 4003),
        ];
        for (text, code) in rows {
            let mut world = world(Discord::guild("Acme"));
            let (mut line, _orders) = connect(&mut world);
            let replies = line.hear(text.as_bytes(), &mut world, Now::read());
            assert_eq!(replies, [Reply::Close(code)], "{text}");
        }
    }

    #[tokio::test]
    async fn what_an_identify_may_not_ask_for() {
        let rows = [
            ("token", json!("wrong"), 4004),
            ("shard", json!([1, 1]), 4010),
            ("intents", json!(1_u64 << 40), 4013),
            ("intents", json!(1 << 8), 4014),
        ];
        for (key, value, code) in rows {
            let mut world = world(Discord::guild("Acme"));
            let (mut line, _orders) = connect(&mut world);
            let mut frame = identify(&world);
            frame["d"][key] = value;
            assert_eq!(
                say(&mut line, &mut world, &frame),
                [Reply::Close(code)],
                "{key}"
            );
        }
    }

    #[tokio::test]
    async fn content_not_granted_is_4014() {
        let mut world = world(Discord::guild("Acme").without_message_content());
        let (mut line, _orders) = connect(&mut world);
        let hello = identify(&world);
        assert_eq!(say(&mut line, &mut world, &hello), [Reply::Close(4014)]);
    }

    #[tokio::test]
    async fn an_old_version_is_4012() {
        let mut world = world(Discord::guild("Acme"));
        let (orders, _received) = unbounded_channel();
        let (_, replies) = Line::open(&mut world, Door::Front, "v=9&encoding=json", None, orders);
        assert_eq!(replies, [Reply::Close(4012)]);
    }

    #[tokio::test]
    async fn a_second_identify_is_4005_and_one_too_soon_gets_op_9() {
        let mut world = world(Discord::guild("Acme"));
        let (mut line, _orders) = connect(&mut world);
        let hello = identify(&world);
        say(&mut line, &mut world, &hello);
        assert_eq!(say(&mut line, &mut world, &hello), [Reply::Close(4005)]);

        let (mut next, _orders) = connect(&mut world);
        assert_eq!(
            say(&mut next, &mut world, &hello),
            [frame(9, &json!(false))]
        );
    }

    #[tokio::test]
    async fn an_identify_beyond_the_budget_kills_the_token() {
        let mut world = world(Discord::guild("Acme").identify_budget(0));
        let (mut line, _orders) = connect(&mut world);
        let hello = identify(&world);
        assert_eq!(say(&mut line, &mut world, &hello), [Reply::Close(4004)]);
        assert!(!world.knows_token(&world.token()));
    }

    #[tokio::test]
    async fn the_121st_frame_in_a_minute_is_4008() {
        let mut world = world(Discord::guild("Acme"));
        let (mut line, _orders) = connect(&mut world);
        let beat = json!({ "op": 1, "d": null });
        for _ in 0..120 {
            assert_eq!(say(&mut line, &mut world, &beat), [frame(11, &Value::Null)]);
        }
        assert_eq!(say(&mut line, &mut world, &beat), [Reply::Close(4008)]);
    }

    #[tokio::test]
    async fn a_zombie_acknowledges_nothing() {
        let mut world = world(Discord::guild("Acme"));
        let (mut line, _orders) = connect(&mut world);
        world.lines.acknowledge(false);
        assert_eq!(
            say(&mut line, &mut world, &json!({ "op": 1, "d": null })),
            []
        );
    }

    #[tokio::test]
    async fn a_resume_replays_then_says_resumed_and_a_bad_number_is_4007() {
        let mut world = world(Discord::guild("Acme"));
        let (mut line, _orders) = connect(&mut world);
        let hello = identify(&world);
        say(&mut line, &mut world, &hello);
        let session = line.session.clone().expect("identified");
        line.end(&mut world, End::ClientVanished, Now::read());
        let resume = |seq: u64, world: &World| json!({ "op": 6, "d": { "token": world.token(), "session_id": session, "seq": seq } });

        let (mut liar, _orders) = connect(&mut world);
        let frame = resume(9, &world);
        assert_eq!(say(&mut liar, &mut world, &frame), [Reply::Close(4007)]);

        let (mut next, mut orders) = connect(&mut world);
        let frame = resume(1, &world);
        assert_eq!(say(&mut next, &mut world, &frame), []);
        assert_eq!(
            names(&mut orders),
            [("GUILD_CREATE".into(), 2), ("RESUMED".into(), 3)]
        );
    }

    #[tokio::test]
    async fn closing_with_1000_ends_the_session_and_4000_does_not() {
        for (code, expected) in [(1000, vec![frame(9, &json!(false))]), (4000, vec![])] {
            let mut world = world(Discord::guild("Acme"));
            let (mut line, _orders) = connect(&mut world);
            let hello = identify(&world);
            say(&mut line, &mut world, &hello);
            let session = line.session.clone().expect("identified");
            line.end(&mut world, End::ClientClosed(Some(code)), Now::read());

            let (mut next, _orders) = connect(&mut world);
            let resume = json!({ "op": 6, "d": { "token": world.token(), "session_id": session, "seq": 2 } });
            assert_eq!(say(&mut next, &mut world, &resume), expected, "{code}");
        }
    }

    #[tokio::test]
    async fn without_the_content_intent_text_is_blank_unless_it_mentions_the_bot() {
        let mut world = world(Discord::guild("Acme").channel("ideas").user("Jason"));
        let (mut line, mut orders) = connect(&mut world);
        let mut hello = identify(&world);
        hello["d"]["intents"] = json!(513);
        say(&mut line, &mut world, &hello);
        names(&mut orders);

        let mut heard = |content: &str, world: &mut World| {
            let (channel, author) = (
                world.channel_named("ideas").id,
                world.user_named("Jason").clone(),
            );
            let message =
                crate::discord::say::plain(world.mint.next(Now::read()), channel, author, content);
            world.publish(message);
            let Ok(Order::Frame(frame)) = orders.try_recv() else {
                panic!("nothing was sent")
            };
            serde_json::from_str::<Value>(&frame).expect("JSON")["d"]["content"].clone()
        };
        assert_eq!(heard("secret", &mut world), json!(""));
        let mention = format!("<@{}> hello", world.bot.id);
        assert_eq!(heard(&mention, &mut world), json!(mention));
    }
}
