//! The HTTP client: how one request goes out and how its answer is read.
//! It does not know what the calls are for and never follows, repeats or decodes more than it was asked to.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};

use super::answer::{Answer, EDGE_PAUSE, judge};
use super::error::{BodyFault, Doubt, RestError, Unreached};
use super::limits::{Limits, RateHeaders, Route};
use crate::discord::address::ApiBase;
use crate::discord::json::parse_json;
use crate::discord::snowflake::Snowflake;
use crate::discord::token::Token;
use crate::discord::{USER_AGENT, install_tls};

/// The most that is kept of a good answer: a hundred long messages with everything on them fit many times.
const BODY_MAX: usize = 8 << 20;
/// The most that is kept of a bad one.
const ERROR_BODY_MAX: usize = 64 << 10;
/// Below the idle time after which Discord's edge closes, so that a request seldom meets a connection that is just being closed.
const IDLE_MAX: Duration = Duration::from_secs(30);

/// How long a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Until there is a connection.
    pub connect: Duration,
    /// From sending to the end of the answer.
    pub whole: Duration,
    /// The longest wait for a rate limit that a call sleeps through; a longer one is [`RestError::Limited`] at once, with nothing sent.
    pub patience: Duration,
}

impl Timing {
    /// What the service runs with.
    pub const STANDARD: Self = Self {
        connect: Duration::from_secs(10),
        whole: Duration::from_secs(20),
        patience: Duration::from_secs(15),
    };
}

/// Discord's REST API for one bot. Calls may run at the same time; the order of messages is the caller's to keep.
pub struct Rest {
    http: reqwest::Client,
    base: ApiBase,
    timing: Timing,
    began: Instant,
    limits: Mutex<Limits>,
    /// Set by the first 401. Ten thousand invalid requests in ten minutes ban the host, so not one more is sent.
    token_is_dead: AtomicBool,
}

/// The client could not be made.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Mostly: the system's trusted certificates cannot be read.
    #[error(
        "the HTTPS client could not be set up (are this system's CA certificates readable?): {0}"
    )]
    Tls(reqwest::Error),
}

impl Rest {
    /// The client. It reads the system's trusted certificates here, once, and nothing from the environment.
    pub fn new(base: ApiBase, token: &Token, timing: Timing) -> Result<Self, BuildError> {
        install_tls();
        let mut authorization = HeaderValue::from_str(&format!("Bot {}", token.reveal()))
            .expect("a token is letters, digits, `-`, `_` and dots");
        authorization.set_sensitive(true);
        let mut builder = reqwest::Client::builder()
            .user_agent(USER_AGENT)
            .default_headers(HeaderMap::from_iter([(AUTHORIZATION, authorization)]))
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .https_only(!base.is_stand_in())
            .connect_timeout(timing.connect)
            .timeout(timing.whole)
            .pool_idle_timeout(IDLE_MAX);
        if base.is_stand_in() {
            // No TLS is spoken to a stand-in, so a machine without CA certificates can still run one.
            builder = builder.tls_certs_only([]);
        }
        Ok(Self {
            http: builder.build().map_err(BuildError::Tls)?,
            base,
            timing,
            began: Instant::now(),
            limits: Mutex::default(),
            token_is_dead: AtomicBool::new(false),
        })
    }

    /// Sends, and reads the answer as JSON.
    pub(super) async fn fetch<T: DeserializeOwned>(
        &self,
        request: Request,
    ) -> Result<T, RestError> {
        let response = self.attempt(request).await?;
        if !is_json(response.headers()) {
            return Err(RestError::Body(BodyFault::NotJson));
        }
        let body = read_capped(response, BODY_MAX)
            .await?
            .ok_or(RestError::Body(BodyFault::TooLarge))?;
        parse_json(&body).map_err(|error| RestError::Body(BodyFault::Shape(error)))
    }

    /// Sends, and needs no more than success.
    pub(super) async fn call(&self, request: Request) -> Result<(), RestError> {
        let response = self.attempt(request).await?;
        // Read to the end so that the connection can be used again; what it says does not matter, nor whether it came whole.
        let _unused = read_capped(response, ERROR_BODY_MAX).await;
        Ok(())
    }

    /// Waits for the limit, sends once, and returns the answer only when it means success.
    async fn attempt(&self, request: Request) -> Result<Response, RestError> {
        let route = request.route;
        self.wait_for(route).await?;
        let response = self
            .build(request)
            .send()
            .await
            .map_err(|error| not_answered(&error))?;

        let rate = RateHeaders::read(response.headers());
        self.limits().learn(route, &rate, self.now());
        let (status, json) = (response.status().as_u16(), is_json(response.headers()));
        if response.status().is_success() {
            return Ok(response);
        }
        // The status decides even when the body is too long or was cut.
        let body = read_capped(response, ERROR_BODY_MAX)
            .await
            .ok()
            .flatten()
            .unwrap_or_default();
        match judge(Answer {
            status,
            json,
            body: &body,
            rate: &rate,
        }) {
            Err(error) => Err(self.remember(route, error)),
            // Only 2xx is judged a success, and that has left above.
            Ok(()) => Err(RestError::Unknown(Doubt::Status(status))),
        }
    }

    async fn wait_for(&self, route: Route) -> Result<(), RestError> {
        let deadline = self.now() + self.timing.patience;
        loop {
            if self.token_is_dead.load(Ordering::Relaxed) {
                return Err(RestError::Unauthorized);
            }
            let now = self.now();
            let Err(wait) = self.limits().claim(route, now) else {
                return Ok(());
            };
            if now + wait > deadline {
                return Err(RestError::Limited {
                    retry_after: wait,
                    global: false,
                    html: false,
                });
            }
            sleep(wait).await;
        }
    }

    fn build(&self, request: Request) -> reqwest::RequestBuilder {
        let built = self.http.request(
            request.method,
            format!("{}{}", self.base.as_str(), request.path),
        );
        match request.body {
            Some(json) => built.header(CONTENT_TYPE, "application/json").body(json),
            // Discord's edge answers 411 to a body-less PUT or POST that does not say so (D-64).
            None if request.length_zero => built.header(CONTENT_LENGTH, "0"),
            None => built,
        }
    }

    /// Draws the consequences for later calls.
    fn remember(&self, route: Route, error: RestError) -> RestError {
        match &error {
            RestError::Unauthorized => self.token_is_dead.store(true, Ordering::Relaxed),
            RestError::Blocked => self.limits().pause(self.now() + EDGE_PAUSE),
            RestError::Limited {
                retry_after,
                global: true,
                ..
            } => self.limits().pause(self.now() + *retry_after),
            RestError::Limited {
                retry_after,
                global: false,
                ..
            } => self.limits().block(route, self.now() + *retry_after),
            RestError::NotSent(_)
            | RestError::Unknown(_)
            | RestError::Refused { .. }
            | RestError::Body(_) => {}
        }
        error
    }

    fn limits(&self) -> std::sync::MutexGuard<'_, Limits> {
        // Each use leaves the table whole, so a panic elsewhere does not spoil it.
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }
}

impl std::fmt::Debug for Rest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rest")
            .field("base", &self.base.as_str())
            .finish_non_exhaustive()
    }
}

/// One call, before it is sent.
pub(super) struct Request {
    method: Method,
    route: Route,
    path: String,
    body: Option<Vec<u8>>,
    length_zero: bool,
}

impl Request {
    pub(super) fn get(name: &'static str, major: Option<Snowflake>, path: String) -> Self {
        Self {
            method: Method::GET,
            route: Route { name, major },
            path,
            body: None,
            length_zero: false,
        }
    }

    pub(super) fn post(name: &'static str, major: Snowflake, path: String) -> Self {
        Self {
            method: Method::POST,
            length_zero: true,
            ..Self::get(name, Some(major), path)
        }
    }

    pub(super) fn put(name: &'static str, major: Snowflake, path: String) -> Self {
        Self {
            method: Method::PUT,
            length_zero: true,
            ..Self::get(name, Some(major), path)
        }
    }

    pub(super) fn patch(name: &'static str, major: Snowflake, path: String) -> Self {
        Self {
            method: Method::PATCH,
            ..Self::get(name, Some(major), path)
        }
    }

    pub(super) fn with_json(self, body: &impl Serialize) -> Self {
        let body = serde_json::to_vec(body)
            .expect("messages are text, numbers and lists, which always serialize");
        Self {
            body: Some(body),
            ..self
        }
    }
}

/// `application/json`, with parameters or without.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// The body, or `None` when it is longer than `cap` bytes; the rest is then not read.
async fn read_capped(mut response: Response, cap: usize) -> Result<Option<Vec<u8>>, RestError> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() <= cap => body.extend_from_slice(&chunk),
            Ok(Some(_)) => return Ok(None),
            Ok(None) => return Ok(Some(body)),
            Err(error) if error.is_timeout() => return Err(RestError::Unknown(Doubt::Timeout)),
            Err(_) => return Err(RestError::Unknown(Doubt::CutBody)),
        }
    }
}

/// What is known when no answer began. The error itself is dropped: it prints the address.
fn not_answered(error: &reqwest::Error) -> RestError {
    match (error.is_connect(), error.is_timeout()) {
        (true, true) => RestError::NotSent(Unreached::Timeout),
        (true, false) => RestError::NotSent(Unreached::Connect),
        _ if error.is_builder() => RestError::NotSent(Unreached::Form),
        (false, true) => RestError::Unknown(Doubt::Timeout),
        (false, false) => RestError::Unknown(Doubt::Reset),
    }
}

#[cfg(test)]
mod tests;
