//! A model behind the OpenAI-compatible streaming API, as pi calls it: `Model::answering([…])` plays a script,
//! `Model::by_rules()` follows a handful of commands. It knows the HTTP API and nothing of pi, Discord or the broker.

mod answer;
mod request;
mod rules;

use std::{
    collections::VecDeque,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{DefaultBodyLimit, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

use self::answer::Piece;
pub use self::{
    answer::Answer,
    request::{Request, ToolSeen},
};

/// The provider's name in [`Model::models_json`].
pub const PROVIDER: &str = "stand-in";
/// The model's id there.
pub const MODEL: &str = "stand-in-1";

/// A running stand-in. It stops when dropped.
#[derive(Debug)]
pub struct Model {
    address: SocketAddr,
    shared: Arc<Shared>,
    count: watch::Receiver<usize>,
    server: JoinHandle<()>,
}

type Mind = Box<dyn Fn(&Request) -> Answer + Send + Sync>;

struct Shared {
    mind: Mind,
    seen: Mutex<Seen>,
    count: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct Seen {
    requests: Vec<Request>,
    unexpected: Vec<String>,
}

impl Model {
    /// Starts a model that gives these answers in this order, one to each request. A request beyond the last one is
    /// answered with an error no client retries, and kept for [`Model::assert_nothing_unexpected`].
    ///
    /// # Errors
    /// When no loopback port can be bound.
    pub async fn answering(answers: impl IntoIterator<Item = Answer>) -> io::Result<Self> {
        let script: Mutex<VecDeque<Answer>> = Mutex::new(answers.into_iter().collect());
        Self::answering_by(move |_| {
            locked(&script)
                .pop_front()
                .unwrap_or_else(Answer::unexpected)
        })
        .await
    }

    /// Starts a model that decides each answer from the request.
    ///
    /// # Errors
    /// When no loopback port can be bound.
    pub async fn answering_by(
        mind: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::start(Box::new(mind), 0).await
    }

    /// Starts the model that follows commands: `list …`, `read …`, `search …`, `write FILE: text`,
    /// `replace OLD with NEW in FILE`.
    ///
    /// # Errors
    /// When the port, or any loopback port for 0, cannot be bound.
    pub async fn by_rules(port: u16) -> io::Result<Self> {
        Self::start(Box::new(rules::respond), port).await
    }

    async fn start(mind: Mind, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        let (sender, count) = watch::channel(0);
        let shared = Arc::new(Shared {
            mind,
            seen: Mutex::default(),
            count: sender,
        });
        let app = Router::new()
            .route("/v1/chat/completions", post(complete))
            .route("/v1/models", get(models))
            .fallback(unknown)
            // A conversation grows; the framework's own limit is 2 MB.
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&shared));
        let server = tokio::spawn(async move {
            // It serves until the task is aborted; an accept error ends the test that needs it by a time-out.
            let _ = axum::serve(listener, app).await;
        });
        Ok(Self {
            address,
            shared,
            count,
            server,
        })
    }

    /// The port it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The contents of pi's `models.json` that make this model available as [`PROVIDER`]/[`MODEL`].
    #[must_use]
    pub fn models_json(&self) -> Value {
        models_json(self.port())
    }

    /// Every completion request so far, in order of arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        locked(&self.shared.seen).requests.clone()
    }

    /// Waits until this many completion requests have arrived. The caller bounds the wait.
    pub async fn has_been_asked(&self, times: usize) {
        let mut count = self.count.clone();
        // The sender lives as long as `self`, so the wait cannot fail.
        let _ = count.wait_for(|count| *count >= times).await;
    }

    /// Fails the test on a request to a route that does not exist, with a body that is no request, or past the script.
    ///
    /// # Panics
    /// When there was one.
    pub fn assert_nothing_unexpected(&self) {
        assert_eq!(
            locked(&self.shared.seen).unexpected,
            Vec::<String>::new(),
            "requests the model did not expect"
        );
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}

/// The contents of pi's `models.json` for a stand-in on `port`.
#[must_use]
pub fn models_json(port: u16) -> Value {
    json!({
        "providers": {
            PROVIDER: {
                "baseUrl": format!("http://127.0.0.1:{port}/v1"),
                "api": "openai-completions",
                "apiKey": "stand-in-key",
                "compat": { "supportsDeveloperRole": false, "supportsReasoningEffort": false },
                "models": [{
                    "id": MODEL,
                    "contextWindow": 128_000,
                    "maxTokens": 4096,
                    "cost": { "input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 0 },
                }],
            },
        },
    })
}

async fn models() -> Response {
    axum::Json(json!({ "object": "list", "data": [{ "id": MODEL, "object": "model" }] }))
        .into_response()
}

async fn unknown(State(shared): State<Arc<Shared>>, request: axum::extract::Request) -> Response {
    let what = format!("{} {}", request.method(), request.uri().path());
    locked(&shared.seen).unexpected.push(what);
    StatusCode::NOT_FOUND.into_response()
}

async fn complete(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let authorization = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let request = match Request::parse(&body, authorization) {
        Ok(request) => request,
        Err(error) => {
            locked(&shared.seen).unexpected.push(error);
            return StatusCode::BAD_REQUEST.into_response();
        }
    };
    let answer = (shared.mind)(&request);
    let number = {
        let mut seen = locked(&shared.seen);
        seen.requests.push(request);
        if answer.is_unexpected() {
            let number = seen.requests.len();
            seen.unexpected
                .push(format!("completion request {number} is past the script"));
        }
        seen.requests.len()
    };
    shared.count.send_replace(number);
    respond(answer, number)
}

fn respond(answer: Answer, number: usize) -> Response {
    if let Some((status, body)) = answer.refusal() {
        return (status, axum::Json(body)).into_response();
    }
    let pieces = stream::iter(answer.into_pieces(number)).then(|piece| async {
        match piece {
            Piece::Bytes(text) => Ok(Bytes::from(text)),
            Piece::Pause(time) => {
                tokio::time::sleep(time).await;
                Ok(Bytes::new())
            }
            Piece::Silence => std::future::pending::<Result<Bytes, io::Error>>().await,
            Piece::Cut => Err(io::Error::other("cut on purpose")),
        }
    });
    // Empty chunks would end a chunked body early; a pause is one.
    let pieces = pieces.filter(|piece| {
        let keep = !matches!(piece, Ok(bytes) if bytes.is_empty());
        async move { keep }
    });
    (
        [(header::CONTENT_TYPE, "text/event-stream")],
        Body::from_stream(pieces),
    )
        .into_response()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What a panicking test left behind is still what was seen.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
