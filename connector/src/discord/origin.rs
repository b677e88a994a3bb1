//! For tests of the client alone: an HTTP server that answers in a fixed order, keeps what it was sent, and can misbehave at the byte.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::address::ApiBase;

/// What happens to one request, after it was read whole.
pub(super) enum Reply {
    /// These bytes; the connection stays open.
    Bytes(String),
    /// These bytes, then the end of the connection.
    Cut(String),
    /// Nothing, for ever.
    Silence,
}

/// The server.
pub(super) struct Origin {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Origin {
    /// Answers the first request with the first reply and so on. A request too many is answered 599, which no test expects.
    pub(super) async fn answering(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let replies = Arc::new(Mutex::new(replies.into_iter().collect::<VecDeque<_>>()));
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let kept = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(converse(stream, Arc::clone(&replies), Arc::clone(&kept)));
            }
        });
        Self { address, requests }
    }

    pub(super) fn base(&self) -> ApiBase {
        ApiBase::from_override(Some(&format!("http://{}", self.address))).unwrap()
    }

    /// What arrived, heads and bodies.
    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// A whole answer. `head` holds further header lines, each with its line end.
pub(super) fn answer(status: u16, kind: &str, head: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::Bytes(format!(
        "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\n{head}Content-Length: {length}\r\n\r\n{body}"
    ))
}

pub(super) fn json(status: u16, body: &str) -> Reply {
    answer(status, "application/json", "", body)
}

async fn converse(
    mut stream: TcpStream,
    replies: Arc<Mutex<VecDeque<Reply>>>,
    requests: Arc<Mutex<Vec<String>>>,
) {
    while let Some(request) = read_request(&mut stream).await {
        requests.lock().unwrap().push(request);
        let reply = replies
            .lock()
            .unwrap()
            .pop_front()
            .unwrap_or_else(|| json(599, "{}"));
        match reply {
            Reply::Bytes(bytes) => stream.write_all(bytes.as_bytes()).await.unwrap(),
            Reply::Cut(bytes) => return stream.write_all(bytes.as_bytes()).await.unwrap(),
            Reply::Silence => std::future::pending().await,
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && body.len() >= content_length(head)
        {
            return Some(text);
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

fn content_length(head: &str) -> usize {
    let line = head.lines().find_map(|line| {
        line.to_ascii_lowercase()
            .strip_prefix("content-length:")
            .map(str::to_owned)
    });
    line.map_or(0, |length| length.trim().parse().unwrap())
}
