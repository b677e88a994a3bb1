//! Moves frames between a WebSocket and a `Line`, and carries out what the world orders. Decides nothing about the protocol.

use std::{sync::Arc, time::Duration};

use futures_util::{SinkExt, StreamExt};
use hyper::{Request, Response, StatusCode, body::Incoming, header, upgrade::OnUpgrade};
use hyper_util::rt::TokioIo;
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        handshake::derive_accept_key,
        protocol::{CloseFrame, Role},
    },
};

use super::{
    Order, Welcome,
    line::{Line, Reply, say_resumed},
    wire::Encoder,
};
use crate::discord::{
    Shared,
    record::{Door, End},
    rest::{Answer, Body, Withheld},
    snowflake::Now,
};

/// How long a client may take to answer a close frame.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);

type Socket = WebSocketStream<TcpStream>;

/// Answers the handshake of a gateway connection and leaves a task behind that carries it.
pub(in crate::discord) async fn upgrade(
    mut request: Request<Incoming>,
    shared: &Arc<Shared>,
) -> Result<Response<Body>, Withheld> {
    let door = match request.uri().path().trim_end_matches('/') {
        "/gateway/front" => Door::Front,
        "/gateway/resume" => Door::Resume,
        other => {
            shared.touch(|world| world.surprise(format!("a gateway handshake at {other}")));
            return Ok(Answer::page(404).into_response());
        }
    };
    let query = request.uri().query().unwrap_or_default().to_owned();
    let Some(key) = request.headers().get(header::SEC_WEBSOCKET_KEY).cloned() else {
        shared.touch(|world| world.surprise("a gateway request that is no WebSocket handshake"));
        return Ok(Answer::page(400).into_response());
    };
    let welcome = shared.touch(|world| world.greetings.connections.pop_front());
    match welcome {
        Some(Welcome::RefusedWith(status)) => return Ok(Answer::page(status).into_response()),
        Some(Welcome::NoHandshake) => std::future::pending::<()>().await,
        _ => {}
    }
    let Some(encoder) = Encoder::asked_for(&query) else {
        shared
            .touch(|world| world.surprise(format!("a gateway handshake that asks for {query:?}")));
        return Ok(Answer::page(400).into_response());
    };

    let upgraded = hyper::upgrade::on(&mut request);
    tokio::spawn(carry(
        upgraded,
        Arc::clone(shared),
        door,
        query,
        welcome,
        encoder,
    ));
    let response = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(
            header::SEC_WEBSOCKET_ACCEPT,
            derive_accept_key(key.as_bytes()),
        );
    Ok(response
        .body(Body::default())
        .expect("these headers are well formed"))
}

/// Carries one connection from hello to its end.
async fn carry(
    upgraded: OnUpgrade,
    shared: Arc<Shared>,
    door: Door,
    query: String,
    welcome: Option<Welcome>,
    encoder: Encoder,
) {
    let Ok(upgraded) = upgraded.await else { return };
    let parts = upgraded
        .downcast::<TokioIo<TcpStream>>()
        .expect("this server serves TCP only");
    let stream = parts.io.into_inner();
    // Each frame matters as soon as it is sent; without this, small ones wait for each other.
    let _ = stream.set_nodelay(true);
    let socket =
        WebSocketStream::from_partially_read(stream, parts.read_buf.to_vec(), Role::Server, None)
            .await;

    let (sender, orders) = unbounded_channel();
    let (mut line, hello) = shared.touch(|world| Line::open(world, door, &query, welcome, sender));
    let mut carrier = Carrier {
        socket,
        encoder,
        shared: Arc::clone(&shared),
        frozen: false,
    };
    let end = carrier.run(&mut line, hello, orders).await;
    shared.touch(|world| line.end(world, end, Now::read()));
}

struct Carrier {
    socket: Socket,
    encoder: Encoder,
    shared: Arc<Shared>,
    frozen: bool,
}

/// `Err` is the end of the connection.
type Step = Result<(), End>;

impl Carrier {
    async fn run(
        &mut self,
        line: &mut Line,
        hello: Vec<Reply>,
        mut orders: UnboundedReceiver<Order>,
    ) -> End {
        let mut step = self.reply(hello).await;
        loop {
            if let Err(end) = step {
                return end;
            }
            step = tokio::select! {
                message = self.socket.next(), if !self.frozen => match message {
                    Some(Ok(Message::Text(text))) => self.hear(line, text.as_bytes()).await,
                    Some(Ok(Message::Binary(bytes))) => self.hear(line, &bytes).await,
                    Some(Ok(Message::Close(frame))) => {
                        self.drain().await;
                        Err(End::ClientClosed(frame.map(|frame| frame.code.into())))
                    }
                    Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Ok(()),
                    Some(Err(_)) | None => Err(End::ClientVanished),
                },
                order = orders.recv() => match order {
                    Some(order) => self.obey(order).await,
                    None => Err(End::ServerDropped),
                },
            };
        }
    }

    async fn hear(&mut self, line: &mut Line, text: &[u8]) -> Step {
        let replies = self
            .shared
            .touch(|world| line.hear(text, world, Now::read()));
        self.reply(replies).await
    }

    async fn reply(&mut self, replies: Vec<Reply>) -> Step {
        for reply in replies {
            match reply {
                Reply::Frame(text) => self.send_text(&text).await?,
                Reply::Close(code) => return Err(self.close(code).await),
                Reply::Drop => return Err(End::ServerDropped),
                Reply::CompressPayloads => self.encoder.compress_payloads(),
                Reply::ResumedAfter(pause, session) => {
                    let shared = Arc::clone(&self.shared);
                    tokio::spawn(async move {
                        tokio::time::sleep(pause).await;
                        shared.touch(|world| say_resumed(world, &session));
                    });
                }
            }
        }
        Ok(())
    }

    async fn obey(&mut self, order: Order) -> Step {
        match order {
            Order::Freeze => {
                self.frozen = true;
                Ok(())
            }
            Order::Drop => Err(End::ServerDropped),
            Order::Reset => {
                // Lingering for no time turns the close of the socket into a reset.
                let _ = self.socket.get_ref().set_zero_linger();
                Err(End::ServerDropped)
            }
            // Whatever a frozen connection should send is lost with it.
            _ if self.frozen => Ok(()),
            Order::Frame(text) => self.send_text(&text).await,
            Order::Text(text) => self.send_text(&text).await,
            Order::Binary(bytes) => self.send(Message::Binary(bytes.into())).await,
            Order::Bytes(bytes) => self
                .socket
                .get_mut()
                .write_all(&bytes)
                .await
                .map_err(|_| End::ClientVanished),
            Order::Close(code) => Err(self.close(code).await),
        }
    }

    async fn send_text(&mut self, text: &str) -> Step {
        let message = self.encoder.encode(text);
        self.send(message).await
    }

    async fn send(&mut self, message: Message) -> Step {
        self.socket
            .send(message)
            .await
            .map_err(|_| End::ClientVanished)
    }

    /// Sends a close frame and waits for the client's.
    async fn close(&mut self, code: u16) -> End {
        let frame = CloseFrame {
            code: code.into(),
            reason: "".into(),
        };
        if self.socket.close(Some(frame)).await.is_ok() {
            self.drain().await;
        }
        End::ServerClosed(code)
    }

    /// Lets the closing handshake finish: its last frame goes out with the next read, and a client that never answers is not waited for.
    async fn drain(&mut self) {
        let rest = async { while let Some(Ok(_)) = self.socket.next().await {} };
        let _ = tokio::time::timeout(CLOSE_PATIENCE, rest).await;
    }
}
