//! The stand-in Discord misbehaves on real sockets exactly as it was told: what a client sees of each fault, and what the server did all
//! the same. Its clients here are as plain as possible, so that no library gets over a fault before it is seen.

use std::{io, time::Duration};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use stand_ins::discord::{
    Discord, Door, End, Endpoint, Fault, Mishap, Reception, Refusal, Scope, Welcome,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream,
    tungstenite::{Error, Message},
};

/// Nothing here takes long; this only keeps a broken run from hanging.
const PATIENCE: Duration = Duration::from_secs(10);

/// What came back on a connection until it closed.
#[derive(Debug, PartialEq)]
struct Raw {
    head: String,
    body: String,
}

impl Raw {
    fn status(&self) -> u16 {
        let status = self.head.split(' ').nth(1).expect("a status line");
        status.parse().expect("a status")
    }

    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .filter(|(known, _)| *known == name)
            .map(|(_, value)| value)
            .next()
    }
}

/// Posts a message over a connection of its own and reads until that is closed. `None` when nothing came.
async fn post(discord: &Discord, text: &str) -> Option<Raw> {
    let body = json!({ "content": text }).to_string();
    let request = format!(
        "POST /api/v10/channels/{}/messages HTTP/1.1\r\nHost: localhost\r\nUser-Agent: DiscordBot (x, 1)\r\n\
         Authorization: Bot {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        discord.channel_id("ideas"),
        discord.token(),
        body.len()
    );
    let mut stream = TcpStream::connect(discord.address())
        .await
        .expect("connected");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    tokio::time::timeout(PATIENCE, stream.read_to_string(&mut answer))
        .await
        .expect("answered or closed in time")
        .expect("what comes is text");
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some(Raw {
        head: head.into(),
        body: body.into(),
    })
}

async fn ideas() -> Discord {
    Discord::guild("Acme")
        .channel("ideas")
        .user("Jason")
        .identify_every(Duration::ZERO)
        .start()
        .await
}

/// What the bot said, in order.
fn said(discord: &Discord) -> Vec<String> {
    discord
        .said_by_bot("ideas")
        .into_iter()
        .map(|message| message.content)
        .collect()
}

async fn post_under(mishap: Mishap) -> (Option<Raw>, Vec<String>) {
    let discord = ideas().await;
    discord.fault(Fault::next(Endpoint::CreateMessage, mishap));
    let answer = post(&discord, "x").await;
    (answer, said(&discord))
}

#[tokio::test]
async fn an_answer_lost_after_the_post_leaves_the_message_and_says_nothing() {
    assert_eq!(
        post_under(Mishap::LostAfter).await,
        (None, vec!["x".to_owned()])
    );
}

#[tokio::test]
async fn a_request_lost_before_the_post_leaves_nothing_but_the_record_of_it() {
    let discord = ideas().await;
    discord.fault(Fault::next(Endpoint::CreateMessage, Mishap::LostBefore));
    assert_eq!(post(&discord, "x").await, None);
    assert_eq!(said(&discord), [""; 0]);
    assert_eq!(discord.requests()[0].json(), json!({ "content": "x" }));
}

#[tokio::test]
async fn a_cut_body_promises_more_than_comes() {
    let (answer, said) = post_under(Mishap::CutBody).await;
    let answer = answer.expect("the head came");
    let promised: usize = answer
        .header("content-length")
        .expect("a length")
        .parse()
        .expect("a number");
    assert_eq!((answer.status(), answer.body.len()), (200, promised / 2));
    assert_eq!(said, ["x"]);
}

#[tokio::test]
async fn a_429_as_json_has_a_float_in_the_body_and_whole_seconds_in_the_header() {
    let limited = Mishap::RateLimited {
        retry_after: 1.5,
        scope: Scope::Global,
    };
    let (answer, said) = post_under(limited).await;
    let answer = answer.expect("answered");
    assert_eq!(
        (answer.status(), answer.header("content-type")),
        (429, Some("application/json"))
    );
    assert_eq!(
        serde_json::from_str::<Value>(&answer.body).expect("JSON"),
        json!({ "message": "You are being rate limited.", "retry_after": 1.5, "global": true })
    );
    assert_eq!(
        (
            answer.header("retry-after"),
            answer.header("x-ratelimit-global")
        ),
        (Some("2"), Some("true"))
    );
    assert_eq!(said, [""; 0]);
}

#[tokio::test]
async fn a_ban_is_a_page_without_any_limit_header() {
    let (answer, _) = post_under(Mishap::Banned { retry_after: None }).await;
    let answer = answer.expect("answered");
    assert_eq!(
        (answer.status(), answer.header("content-type")),
        (429, Some("text/html"))
    );
    assert_eq!(
        (
            answer.header("retry-after"),
            answer.header("x-ratelimit-scope")
        ),
        (None, None)
    );
}

#[tokio::test]
async fn a_502_may_hide_a_post_or_none() {
    for (acted, left) in [(true, vec!["x".to_owned()]), (false, vec![])] {
        let (answer, said) = post_under(Mishap::Page { status: 502, acted }).await;
        assert_eq!((answer.expect("answered").status(), said), (502, left));
    }
}

#[tokio::test]
async fn a_refusal_comes_with_the_code_it_was_given() {
    let (answer, said) = post_under(Mishap::Refused(Refusal::new(400, 200_000, "blocked"))).await;
    let answer = answer.expect("answered");
    let body: Value = serde_json::from_str(&answer.body).expect("JSON");
    assert_eq!(
        (answer.status(), body["code"].clone(), said),
        (400, json!(200_000), vec![])
    );
}

#[tokio::test]
async fn a_late_answer_was_acted_on_at_once() {
    let discord = ideas().await;
    discord.fault(Fault::next(
        Endpoint::CreateMessage,
        Mishap::Stalled { acted: true },
    ));
    let posting = post(&discord, "x");
    tokio::select! {
        answer = posting => panic!("a stalled request was answered: {answer:?}"),
        answers = discord.wait_for_answers("ideas", 1, PATIENCE) => assert_eq!(answers[0].content, "x"),
    }
}

#[tokio::test]
async fn a_bucket_of_two_refuses_the_third() {
    let discord = Discord::guild("Acme")
        .channel("ideas")
        .rate_limit(Endpoint::CreateMessage, 2, Duration::from_secs(60))
        .start()
        .await;
    let mut statuses = Vec::new();
    for text in ["1", "2", "3"] {
        statuses.push(post(&discord, text).await.expect("answered").status());
    }
    assert_eq!(
        (statuses, said(&discord)),
        (vec![200, 200, 429], vec!["1".into(), "2".into()])
    );
}

#[tokio::test]
async fn a_server_that_is_down_refuses_connections_and_comes_back_on_its_port() {
    let discord = ideas().await;
    discord.go_down();
    let refused = async {
        // The listener closes as soon as the server's task runs; until then a connection may still get through.
        while TcpStream::connect(discord.address()).await.is_ok() {
            tokio::task::yield_now().await;
        }
        TcpStream::connect(discord.address())
            .await
            .map(drop)
            .map_err(|error| error.kind())
    };
    let refused = tokio::time::timeout(PATIENCE, refused)
        .await
        .expect("it goes down");
    assert_eq!(refused, Err(io::ErrorKind::ConnectionRefused));

    discord.come_back();
    let back = async {
        while TcpStream::connect(discord.address()).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, back)
        .await
        .expect("it comes back");
    assert_eq!(post(&discord, "x").await.expect("answered").status(), 200);
}

/// A gateway client that does nothing on its own.
struct Client(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Client {
    async fn connect(discord: &Discord) -> Self {
        Self::connect_to(&discord.gateway_url()).await
    }

    async fn connect_to(url: &str) -> Self {
        let (socket, _) = tokio_tungstenite::connect_async(format!("{url}/?v=10&encoding=json"))
            .await
            .expect("the handshake is answered");
        Client(socket)
    }

    async fn identified(discord: &Discord) -> (Self, Value) {
        let mut client = Self::connect(discord).await;
        assert_eq!(client.frame().await["op"], 10);
        client.send(&json!({ "op": 2, "d": { "token": discord.token(), "intents": 33281, "properties": {} } })).await;
        let ready = client.frame().await;
        assert_eq!(client.frame().await["t"], "GUILD_CREATE");
        (client, ready)
    }

    async fn send(&mut self, frame: &Value) {
        self.0
            .send(Message::Text(frame.to_string().into()))
            .await
            .expect("sent");
    }

    async fn next(&mut self) -> Option<Result<Message, Error>> {
        tokio::time::timeout(PATIENCE, self.0.next())
            .await
            .expect("something comes in time")
    }

    async fn frame(&mut self) -> Value {
        match self.next().await {
            Some(Ok(Message::Text(text))) => serde_json::from_str(&text).expect("frames are JSON"),
            other => panic!("a frame was expected: {other:?}"),
        }
    }

    /// The code of the close frame that comes next.
    async fn close_code(&mut self) -> u16 {
        match self.next().await {
            Some(Ok(Message::Close(Some(frame)))) => frame.code.into(),
            other => panic!("a close frame was expected: {other:?}"),
        }
    }

    /// Whether the socket ends without a close frame.
    async fn just_ends(&mut self) -> bool {
        matches!(self.next().await, None | Some(Err(_)))
    }
}

#[tokio::test]
async fn a_dropped_connection_ends_without_a_close_frame_and_a_closed_one_with_its_code() {
    let discord = ideas().await;
    let (mut client, _) = Client::identified(&discord).await;
    discord.drop_connections();
    assert!(client.just_ends().await);

    let (mut client, _) = Client::identified(&discord).await;
    discord.close_connections(4014);
    assert_eq!(client.close_code().await, 4014);
    drop(client);

    let (mut client, _) = Client::identified(&discord).await;
    discord.reset_connections();
    assert!(client.just_ends().await);
}

#[tokio::test]
async fn the_close_code_of_the_client_is_kept() {
    let discord = ideas().await;
    let (mut client, _) = Client::identified(&discord).await;
    let code = tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode::from(4000);
    let frame = tokio_tungstenite::tungstenite::protocol::CloseFrame {
        code,
        reason: "".into(),
    };
    client.0.close(Some(frame)).await.expect("closed");
    let _ = client.next().await;
    let end = discord
        .wait_for("the end", PATIENCE, |world| world.connections()[0].end)
        .await;
    assert_eq!(end, End::ClientClosed(Some(4000)));
}

#[tokio::test]
async fn a_resume_on_the_resume_address_replays_what_was_missed() {
    let discord = ideas().await;
    let (mut client, ready) = Client::identified(&discord).await;
    discord.drop_connections();
    assert!(client.just_ends().await);
    discord.say("ideas", "Jason", "missed").await;

    let url = ready["d"]["resume_gateway_url"]
        .as_str()
        .expect("an address");
    let mut client = Client::connect_to(url).await;
    assert_eq!(client.frame().await["op"], 10);
    let resume =
        json!({ "token": discord.token(), "session_id": ready["d"]["session_id"], "seq": 2 });
    client.send(&json!({ "op": 6, "d": resume })).await;
    let missed = client.frame().await;
    assert_eq!(
        (&missed["s"], &missed["d"]["content"]),
        (&json!(3), &json!("missed"))
    );
    assert_eq!(client.frame().await["t"], "RESUMED");
    assert_eq!(discord.connections()[1].door, Door::Resume);
}

#[tokio::test]
async fn a_late_resumed_lets_new_events_overtake_it() {
    let discord = ideas().await;
    let (mut client, ready) = Client::identified(&discord).await;
    discord.drop_connections();
    assert!(client.just_ends().await);
    discord.next_resumes(1, Reception::LateResumed(Duration::from_millis(100)));

    let mut client = Client::connect(&discord).await;
    client.frame().await;
    let resume =
        json!({ "token": discord.token(), "session_id": ready["d"]["session_id"], "seq": 2 });
    client.send(&json!({ "op": 6, "d": resume })).await;
    discord.wait_for_session(PATIENCE).await;
    discord.say("ideas", "Jason", "overtakes").await;
    assert_eq!(client.frame().await["d"]["content"], "overtakes");
    assert_eq!(client.frame().await["t"], "RESUMED");
}

#[tokio::test]
async fn a_frozen_connection_neither_answers_nor_ends() {
    let discord = ideas().await;
    let (mut client, _) = Client::identified(&discord).await;
    discord.freeze_connections();
    // The order is carried out before a later one of the same queue, which a frozen connection no longer obeys.
    discord.ask_to_reconnect();
    client.send(&json!({ "op": 1, "d": 2 })).await;
    let silence = tokio::time::timeout(Duration::from_millis(200), client.0.next()).await;
    assert!(silence.is_err(), "a frozen connection said {silence:?}");
    assert_eq!(discord.sessions().len(), 1);
}

#[tokio::test]
async fn each_way_to_be_received() {
    let discord = ideas().await;
    let url = format!("{}/?v=10&encoding=json", discord.gateway_url());

    discord.next_connections(1, Welcome::RefusedWith(502));
    let refused = tokio_tungstenite::connect_async(&url).await.map(drop);
    assert!(matches!(refused, Err(Error::Http(answer)) if answer.status() == 502));

    discord.next_connections(1, Welcome::NoHandshake);
    let silence = tokio::time::timeout(
        Duration::from_millis(200),
        tokio_tungstenite::connect_async(&url),
    )
    .await;
    assert!(silence.is_err());

    discord.next_connections(1, Welcome::Silence);
    let mut client = Client::connect(&discord).await;
    client.send(&json!({ "op": 1, "d": null })).await;
    assert!(
        tokio::time::timeout(Duration::from_millis(200), client.0.next())
            .await
            .is_err()
    );

    discord.next_connections(1, Welcome::Dropped);
    assert!(Client::connect(&discord).await.just_ends().await);

    discord.next_connections(1, Welcome::ReconnectBeforeHello);
    assert_eq!(Client::connect(&discord).await.frame().await["op"], 7);
}

#[tokio::test]
async fn an_event_can_come_twice_under_its_number_or_under_a_new_one() {
    let discord = ideas().await;
    let (mut client, _) = Client::identified(&discord).await;
    let message = discord.say("ideas", "Jason", "once").await;
    discord.repeat_last_event();
    discord.repeat(message);
    let mut numbers = Vec::new();
    for _ in 0..3 {
        let frame = client.frame().await;
        assert_eq!(frame["d"]["id"], message.to_string());
        numbers.push(frame["s"].as_u64().expect("a number"));
    }
    assert_eq!(numbers, [3, 3, 4]);
}

#[tokio::test]
async fn broken_frames_arrive_as_they_were_written() {
    let discord = ideas().await;
    let (mut client, _) = Client::identified(&discord).await;
    discord.send_text("{\"op\":");
    assert_eq!(
        client.next().await.expect("came").expect("fine"),
        Message::Text("{\"op\":".into())
    );
    discord.send_binary(&[0xff, 0x00]);
    assert_eq!(
        client.next().await.expect("came").expect("fine"),
        Message::Binary(vec![0xff, 0x00].into())
    );
    // A frame with all reserved bits set, which no extension explains.
    discord.send_bytes(&[0xf1, 0x00]);
    assert!(matches!(client.next().await, Some(Err(Error::Protocol(_)))));
}

#[tokio::test]
async fn a_handshake_for_another_encoding_is_refused_and_kept_as_a_surprise() {
    let discord = ideas().await;
    let url = format!("{}/?v=10&encoding=etf", discord.gateway_url());
    assert!(tokio_tungstenite::connect_async(url).await.is_err());
    assert_eq!(discord.look(|world| world.surprises().len()), 1);
}
