//! The driver against a real socket, with the test playing Discord one frame at a time.

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

use super::*;
use crate::discord::USER_AGENT;
use crate::discord::gateway::{Event, INTENTS};
use crate::discord::origin::{self, Origin};
use crate::discord::rest::Timing;
use crate::discord::token::Token;

const TOKEN: &str = "MTc1OTI4ODQ3Mjk5MTE3MDYz.stamp.not-a-secret";
/// No heartbeat comes in between unless a test is about it.
const RARELY: u64 = 60_000;

/// Discord's gateway, played by hand.
struct Stage {
    listener: TcpListener,
    gateway: GatewayHandle,
    events: mpsc::Receiver<GatewayEvent>,
}

/// One connection, seen from Discord's side.
struct Peer {
    stream: WebSocketStream<TcpStream>,
    path: String,
    agent: String,
}

impl Stage {
    async fn set() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("ws://{}", listener.local_addr().unwrap());
        let found = json!({"url": url, "shards": 1, "session_start_limit": {"total": 1000, "remaining": 999, "reset_after": 0, "max_concurrency": 1}});
        let origin = Origin::answering((0..4).map(|_| origin::json(200, &found.to_string()))).await;
        let token = Token::parse(TOKEN).unwrap();
        let rest = Arc::new(Rest::new(origin.base(), &token, Timing::STANDARD).unwrap());
        let (gateway, events) = spawn(
            GatewayConfig {
                token,
                intents: INTENTS,
                base: origin.base(),
            },
            rest,
        );
        Self {
            listener,
            gateway,
            events,
        }
    }

    async fn accept(&self) -> Peer {
        let (stream, _) = self.listener.accept().await.unwrap();
        let (mut path, mut agent) = (String::new(), String::new());
        #[expect(
            clippy::result_large_err,
            reason = "the library's callback is of that type"
        )]
        let look = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
            path = request.uri().to_string();
            agent = request.headers()["user-agent"].to_str().unwrap().to_owned();
            Ok(response)
        };
        let stream = accept_hdr_async(stream, look).await.unwrap();
        Peer {
            stream,
            path,
            agent,
        }
    }

    /// A connection that has said hello and was told who is there.
    async fn accept_and_greet(&self, interval: u64) -> (Peer, Value) {
        let mut peer = self.accept().await;
        peer.send(json!({"op": 10, "d": {"heartbeat_interval": interval}, "s": null, "t": null}))
            .await;
        let entered = peer.receive_but_heartbeats().await;
        (peer, entered)
    }

    /// A connection in session.
    async fn begin(&mut self, interval: u64) -> Peer {
        let (mut peer, _identify) = self.accept_and_greet(interval).await;
        let resume = format!("ws://{}/resume", self.listener.local_addr().unwrap());
        let ready = json!({"v": 10, "user": {"id": "7"}, "guilds": [], "session_id": "abc", "resume_gateway_url": resume, "application": {"id": "7", "flags": 0}});
        peer.dispatch(1, "READY", ready).await;
        assert!(matches!(self.event().await, GatewayEvent::Ready { .. }));
        peer
    }

    async fn event(&mut self) -> GatewayEvent {
        self.events.recv().await.expect("the gateway goes on")
    }
}

impl Peer {
    async fn send(&mut self, frame: Value) {
        self.stream
            .send(Message::text(frame.to_string()))
            .await
            .unwrap();
    }

    async fn dispatch(&mut self, seq: u64, name: &str, data: Value) {
        self.send(json!({"op": 0, "d": data, "s": seq, "t": name}))
            .await;
    }

    async fn receive(&mut self) -> Value {
        let frame = self.stream.next().await.unwrap().unwrap();
        serde_json::from_str(frame.to_text().unwrap()).unwrap()
    }

    async fn receive_but_heartbeats(&mut self) -> Value {
        loop {
            let frame = self.receive().await;
            if frame["op"] != 1 {
                return frame;
            }
        }
    }

    /// The code of the close frame, which must be the next thing but heartbeats.
    async fn closed(&mut self) -> u16 {
        loop {
            match self.stream.next().await {
                Some(Ok(Message::Close(frame))) => return frame.unwrap().code.into(),
                Some(Ok(Message::Text(text))) => assert!(text.contains("\"op\":1"), "{text}"),
                other => panic!("no close frame: {other:?}"),
            }
        }
    }
}

fn other(name: &str) -> GatewayEvent {
    GatewayEvent::Dispatch(Event::Other(name.into()))
}

fn loss(event: GatewayEvent) -> Loss {
    match event {
        GatewayEvent::Down { reason } => reason.loss,
        event => panic!("not a loss: {event:?}"),
    }
}

#[tokio::test]
async fn it_identifies_delivers_beats_and_says_goodbye() {
    let mut stage = Stage::set().await;

    let (peer, identify) = stage.accept_and_greet(RARELY).await;
    assert_eq!(
        (peer.path.as_str(), peer.agent.as_str()),
        ("/?v=10&encoding=json", USER_AGENT)
    );
    assert_eq!(
        (
            &identify["op"],
            &identify["d"]["token"],
            &identify["d"]["intents"]
        ),
        (&json!(2), &json!(TOKEN), &json!(33281))
    );
    drop(peer);
    assert_eq!(loss(stage.event().await), Loss::Cut);

    // IDENTIFYs are five seconds apart, which a heartbeat does not wait for.
    let mut peer = stage.accept().await;
    peer.send(json!({"op": 10, "d": {"heartbeat_interval": 20}}))
        .await;
    assert_eq!(peer.receive().await, json!({"op": 1, "d": null}));
    peer.send(json!({"op": 11})).await;
    let goodbye = async { peer.closed().await };
    let (code, ()) = tokio::join!(goodbye, stage.gateway.close());
    assert_eq!(code, 1000);
}

#[tokio::test]
async fn d_28_op_7_closes_with_4000_and_resumes_at_the_resume_address() {
    let mut stage = Stage::set().await;
    let mut peer = stage.begin(RARELY).await;
    peer.dispatch(2, "SOMETHING", json!({})).await;
    assert_eq!(stage.event().await, other("SOMETHING"));

    peer.send(json!({"op": 7, "d": null, "s": null, "t": null}))
        .await;

    assert_eq!(peer.closed().await, 4000);
    assert_eq!(loss(stage.event().await), Loss::Asked);
    let (mut peer, resume) = stage.accept_and_greet(RARELY).await;
    assert_eq!(peer.path, "/resume/?v=10&encoding=json");
    assert_eq!(
        resume,
        json!({"op": 6, "d": {"token": TOKEN, "session_id": "abc", "seq": 2}})
    );
    peer.dispatch(3, "MISSED", json!({})).await;
    peer.dispatch(4, "RESUMED", json!({})).await;
    assert_eq!(
        (stage.event().await, stage.event().await),
        (other("MISSED"), GatewayEvent::Resumed)
    );
    assert!(stage.gateway.health().live);
}

#[tokio::test]
async fn what_cannot_be_read_is_reported_and_the_connection_lives() {
    let mut stage = Stage::set().await;
    let mut peer = stage.begin(RARELY).await;

    for frame in [
        Message::text("{"),
        Message::text(""),
        Message::text(r#"{"op":99}"#),
        Message::text(r#"{"op":0,"s":2,"t":"MESSAGE_CREATE","d":{}}"#),
        Message::text("[".repeat(100_000)),
        Message::binary(vec![0x78, 0x9c, 0xff]),
    ] {
        peer.stream.send(frame).await.unwrap();
        assert!(matches!(
            stage.event().await,
            GatewayEvent::Malformed { .. }
        ));
    }
    peer.dispatch(3, "STILL_HERE", json!({})).await;

    assert_eq!(stage.event().await, other("STILL_HERE"));
}

#[tokio::test]
async fn a_message_over_the_size_limit_costs_the_connection_and_not_the_session() {
    let mut stage = Stage::set().await;
    let mut peer = stage.begin(RARELY).await;

    // Whether all of it can be written does not matter.
    let _sent = peer.stream.send(Message::text("x".repeat(33 << 20))).await;

    assert!(matches!(loss(stage.event().await), Loss::Frame(_)));
    let (_peer, resume) = stage.accept_and_greet(RARELY).await;
    assert_eq!((&resume["op"], &resume["d"]["seq"]), (&json!(6), &json!(1)));
}

#[tokio::test]
async fn a_message_of_sixteen_mebibytes_is_read() {
    let mut stage = Stage::set().await;
    let mut peer = stage.begin(RARELY).await;

    peer.dispatch(2, "LARGE", json!("x".repeat(16 << 20))).await;

    assert_eq!(stage.event().await, other("LARGE"));
}

#[tokio::test]
async fn a_consumer_that_stands_still_costs_no_event_and_no_heartbeat() {
    const EVENTS: u64 = QUEUE as u64 * 3;
    let mut stage = Stage::set().await;
    // Long enough for the flood to fill the queue before a second beat is due, on a busy machine too.
    let peer = stage.begin(500).await;

    let (mut write, mut read) = peer.stream.split();
    let flood = tokio::spawn(async move {
        for seq in 2..EVENTS + 2 {
            let event = json!({"op": 0, "d": {"pad": "x".repeat(1000)}, "s": seq, "t": "FLOOD"});
            write.send(Message::text(event.to_string())).await.unwrap();
        }
        // Right behind the flood, so that on a busy machine too no heartbeat falls due between them.
        for last in [r#"{"op":11}"#, r#"{"op":0,"d":{},"s":99999,"t":"AFTER"}"#] {
            write.send(Message::text(last)).await.unwrap();
        }
        write
    });
    // Beats nobody answers, while the queue is full: more than a connection in doubt would survive.
    let mut beats = 0;
    while beats < 4 {
        let frame: Value =
            serde_json::from_str(read.next().await.unwrap().unwrap().to_text().unwrap()).unwrap();
        assert_eq!(frame["op"], 1);
        beats += 1;
    }
    assert!(!stage.gateway.health().is_acknowledged());
    for _ in 0..EVENTS {
        assert_eq!(stage.event().await, other("FLOOD"));
    }
    assert_eq!(stage.event().await, other("AFTER"));
    let _write = flood.await.unwrap();
}

#[tokio::test]
async fn d_29_a_server_that_falls_silent_is_left_and_its_session_resumed() {
    let mut stage = Stage::set().await;
    let _silent = stage.begin(50).await;

    let (_peer, resume) = stage.accept_and_greet(RARELY).await;

    assert_eq!(resume["op"], 6);
    assert_eq!(loss(stage.event().await), Loss::NoAck);
}

#[tokio::test]
async fn d_32_a_fatal_close_is_told_once_and_nothing_is_tried_again() {
    let mut stage = Stage::set().await;
    let (mut peer, _identify) = stage.accept_and_greet(RARELY).await;

    peer.stream
        .close(Some(CloseFrame {
            code: 4014.into(),
            reason: "Disallowed intent(s).".into(),
        }))
        .await
        .unwrap();

    assert!(matches!(
        stage.event().await,
        GatewayEvent::Fatal { code: 4014, .. }
    ));
    assert_eq!(stage.events.recv().await, None);
    stage.gateway.close().await;
}

#[tokio::test]
async fn d_33_a_stop_during_a_pause_is_a_stop() {
    let mut stage = Stage::set().await;
    let peer = stage.begin(RARELY).await;
    drop(peer);
    assert_eq!(loss(stage.event().await), Loss::Cut);

    stage.gateway.close().await;

    assert_eq!(stage.events.recv().await, None);
}

#[tokio::test]
async fn the_gateway_ends_with_its_consumer() {
    let mut stage = Stage::set().await;
    let mut peer = stage.begin(RARELY).await;

    drop(stage.events);

    assert_eq!(peer.closed().await, 1000);
}

#[test]
fn chance_is_a_fraction() {
    let mut dice = Dice { state: 1 };
    let throws: Vec<f64> = (0..10_000).map(|_| dice.throw()).collect();

    let mean = throws.iter().sum::<f64>() / 10_000.0;
    assert!(throws.iter().all(|throw| (0.0..1.0).contains(throw)));
    assert!((0.45..0.55).contains(&mean), "{mean}");
}
