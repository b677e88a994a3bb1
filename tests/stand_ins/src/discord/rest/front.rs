//! The door of the REST side: reads a request, keeps it, and lets the right answer out, or what a planned mishap leaves of it.

use std::{fmt, sync::Arc};

use http_body_util::{BodyExt, Limited};
use hyper::{Request, Response, body::Incoming, header};
use serde_json::json;

use super::{
    Endpoint,
    answer::{Answer, Body},
    answers,
    limits::refused_headers,
    routes::{self, Matched},
};
use crate::discord::{
    Shared,
    fault::{Mishap, Scope},
    record::{Happening, RecordedRequest},
    refusal::Refusal,
    snowflake::Now,
    world::World,
};
use crate::openapi::Exchange;

/// The largest body this server takes; Discord's own limit is of the same order.
const BODY_LIMIT: usize = 8 * 1024 * 1024;
const BASE: &str = "/api/v10/";

/// No answer is given: the connection is closed in its place.
#[derive(Debug)]
pub(in crate::discord) struct Withheld;

impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer is withheld")
    }
}

impl std::error::Error for Withheld {}

/// Attends to one request, from reading it to letting go of its answer.
pub(in crate::discord) async fn attend(
    request: Request<Incoming>,
    shared: &Arc<Shared>,
) -> Result<Response<Body>, Withheld> {
    let Some(request) = read(request).await else {
        return Ok(Answer::refusal(&Refusal::body_too_large()).into_response());
    };
    // Kept before it is looked at: what was sent is known even when nothing comes of it.
    let (matched, mishap) = shared.touch(|world| {
        world.requests.push(request.clone());
        let matched = find(&request);
        let mishap = matched
            .as_ref()
            .ok()
            .and_then(|matched| world.plan.hit(matched.endpoint));
        (matched, mishap)
    });
    let response = meet(mishap, &request, &matched, shared).await;
    let status = response
        .as_ref()
        .ok()
        .map(|response| response.status().as_u16());
    shared.touch(|world| {
        world.note(Happening::Request {
            method: request.method.clone(),
            path: request.path.clone(),
            status,
        });
    });
    response
}

/// The answer as it leaves, which is the right one unless a mishap was planned.
async fn meet(
    mishap: Option<Mishap>,
    request: &RecordedRequest,
    matched: &Result<Matched, Refusal>,
    shared: &Arc<Shared>,
) -> Result<Response<Body>, Withheld> {
    let act_skewed = |ahead| {
        shared.touch(|world| {
            let answer = answer(world, request, matched, Now::read(), ahead);
            world.exchanges.push(Exchange {
                method: request.method.clone(),
                path: request.path.clone(),
                sent: request.json(),
                status: answer.status,
                answered: serde_json::from_str(&answer.body).unwrap_or_default(),
            });
            answer
        })
    };
    let act = || act_skewed(0.0);
    let endpoint = matched
        .as_ref()
        .map_or(Endpoint::Gateway, |matched| matched.endpoint);
    let answer = match mishap {
        None => act(),
        Some(Mishap::RateLimited { retry_after, scope }) => {
            rate_limited(endpoint, retry_after, scope, Now::read())
        }
        Some(Mishap::RateLimitedWithoutHint) => {
            Answer::json(429, &json!({ "message": "You are being rate limited." }))
        }
        Some(Mishap::Banned { retry_after }) => {
            Answer::page(429).with(retry_after.map(|seconds| ("retry-after", seconds.to_string())))
        }
        Some(Mishap::Page { status, acted }) => {
            if acted {
                act();
            }
            Answer::page(status)
        }
        Some(Mishap::Refused(refusal)) => Answer::refusal(&refusal),
        Some(Mishap::Instead {
            status,
            content_type,
            body,
            acted,
        }) => {
            if acted {
                act();
            }
            Answer {
                status,
                content_type: Some(content_type),
                body,
                headers: Vec::new(),
            }
        }
        Some(Mishap::LostBefore) => return Err(Withheld),
        Some(Mishap::LostAfter) => {
            act();
            return Err(Withheld);
        }
        Some(Mishap::CutBody) => return Ok(act().into_cut_response()),
        Some(Mishap::Late(pause)) => {
            let answer = act();
            tokio::time::sleep(pause).await;
            answer
        }
        Some(Mishap::Slow(pause)) => {
            tokio::time::sleep(pause).await;
            act()
        }
        Some(Mishap::Stalled { acted }) => {
            if acted {
                act();
            }
            std::future::pending().await
        }
        Some(Mishap::SkewedReset(ahead)) => act_skewed(ahead),
    };
    Ok(answer.into_response())
}

/// Reads the whole request; `None` when its body is larger than any that is meant well.
async fn read(request: Request<Incoming>) -> Option<RecordedRequest> {
    let (head, body) = request.into_parts();
    let body = Limited::new(body, BODY_LIMIT)
        .collect()
        .await
        .ok()?
        .to_bytes();
    let text = |value: &header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    Some(RecordedRequest {
        method: head.method.to_string(),
        path: head.uri.path().into(),
        query: head.uri.query().unwrap_or_default().into(),
        headers: head
            .headers
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), text(value)))
            .collect(),
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}

fn find(request: &RecordedRequest) -> Result<Matched, Refusal> {
    let path = request
        .path
        .strip_prefix(BASE)
        .ok_or_else(Refusal::no_such_route)?;
    routes::find(&request.method, path)
}

/// The right answer: what stands in front of the API first, then the API.
fn answer(
    world: &mut World,
    request: &RecordedRequest,
    matched: &Result<Matched, Refusal>,
    now: Now,
    skew: f64,
) -> Answer {
    let has_secret_path = matched
        .as_ref()
        .is_ok_and(|matched| matched.endpoint.has_secret_path());
    let agent = request.header("user-agent");
    if !has_secret_path && !agent.is_some_and(is_bot_agent) {
        world.surprise(format!(
            "{} {} with the user agent {:?}",
            request.method, request.path, agent
        ));
        return Answer::refusal(&Refusal::blocked_agent());
    }
    let brings_body =
        request.header("content-length").is_some() || request.header("transfer-encoding").is_some();
    if matches!(request.method.as_str(), "POST" | "PUT" | "PATCH") && !brings_body {
        return Answer::page(411);
    }
    let matched = match matched {
        Ok(matched) => matched,
        Err(refusal) => {
            world.surprise(format!(
                "{} {} ({})",
                request.method, request.path, refusal.message
            ));
            return Answer::refusal(refusal);
        }
    };
    let authorized = request
        .header("authorization")
        .is_some_and(|value| value.starts_with("Bot ") && world.knows_token(value));
    if matched.endpoint.needs_token() && !authorized {
        return Answer::refusal(&Refusal::unauthorized());
    }
    let set = world.settings.rate_limits.get(&matched.endpoint).copied();
    let level = world.buckets.spend(
        matched.endpoint,
        matched.ids.first().copied(),
        set,
        now.instant,
    );
    if level.exceeded {
        return rate_limited(
            matched.endpoint,
            level.reset_after.as_secs_f64(),
            Scope::User,
            now,
        );
    }
    let answer = answers::answer(world, request, matched, now)
        .unwrap_or_else(|refusal| Answer::refusal(&refusal));
    answer.with(level.headers(now.unix_ms, skew)).with([via()])
}

fn rate_limited(endpoint: Endpoint, retry_after: f64, scope: Scope, now: Now) -> Answer {
    let body = json!({ "message": "You are being rate limited.", "retry_after": retry_after, "global": scope == Scope::Global });
    Answer::json(429, &body)
        .with(refused_headers(endpoint, retry_after, scope, now.unix_ms))
        .with([via()])
}

/// Without it one library takes a 429 for a ban (H11).
fn via() -> (&'static str, String) {
    ("via", "1.1 google".to_owned())
}

/// The required form is `DiscordBot (url, version)`; real Discord takes a blank in place of the comma too.
fn is_bot_agent(agent: &str) -> bool {
    agent
        .strip_prefix("DiscordBot (")
        .is_some_and(|rest| rest.find(')').is_some_and(|end| end > 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discord::Discord;

    const AGENT: (&str, &str) = ("user-agent", "DiscordBot (https://example.org, 1)");

    fn world() -> World {
        Discord::guild("Acme")
            .channel("ideas")
            .build(([127, 0, 0, 1], 1).into())
    }

    fn ask(
        world: &mut World,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let request = RecordedRequest {
            method: method.into(),
            path: format!("/api/v10/{path}"),
            query: String::new(),
            headers,
            body: body.into(),
        };
        let matched = find(&request);
        answer(world, &request, &matched, Now::read(), 0.0)
    }

    #[tokio::test]
    async fn a_browser_agent_is_blocked_with_40333() {
        let mut world = world();
        for agent in [&[][..], &[("user-agent", "Mozilla/5.0")]] {
            assert_eq!(
                ask(&mut world, "GET", "gateway", agent, ""),
                Answer::refusal(&Refusal::blocked_agent())
            );
        }
    }

    #[tokio::test]
    async fn a_callback_needs_neither_agent_nor_token() {
        let mut world = world();
        let headers = [
            ("content-type", "application/json"),
            ("content-length", "10"),
        ];
        let answer = ask(
            &mut world,
            "POST",
            "interactions/7/secret/callback",
            &headers,
            "{\"type\":6}",
        );
        assert_eq!(
            answer.body,
            Refusal::unknown_interaction().body().to_string()
        );
    }

    #[tokio::test]
    async fn a_body_less_post_without_content_length_is_411_as_a_page() {
        let mut world = world();
        let ideas = world.channel_named("ideas").id;
        let answer = ask(
            &mut world,
            "POST",
            &format!("channels/{ideas}/typing"),
            &[AGENT],
            "",
        );
        assert_eq!(
            (answer.status, answer.content_type),
            (411, Some("text/html"))
        );
    }

    #[tokio::test]
    async fn a_bad_token_is_401_on_every_route_that_needs_one() {
        let mut world = world();
        for token in [
            &[AGENT][..],
            &[AGENT, ("authorization", "Bot wrong")],
            &[AGENT, ("authorization", "Bearer x")],
        ] {
            assert_eq!(
                ask(&mut world, "GET", "users/@me", token, ""),
                Answer::refusal(&Refusal::unauthorized())
            );
        }
        assert_eq!(ask(&mut world, "GET", "gateway", &[AGENT], "").status, 200);
    }

    #[tokio::test]
    async fn an_unknown_route_is_404_code_0_and_kept_as_a_surprise() {
        let mut world = world();
        let answer = ask(&mut world, "GET", "nowhere", &[AGENT], "");
        assert_eq!(
            (answer.status, answer.body),
            (
                404,
                json!({ "message": "404: Not Found", "code": 0 }).to_string()
            )
        );
        assert_eq!(world.surprises(), ["GET /api/v10/nowhere (404: Not Found)"]);
    }

    #[test]
    fn a_429_says_how_long_in_body_and_headers() {
        let answer = rate_limited(Endpoint::CreateMessage, 0.3, Scope::Shared, Now::read());
        let has = |name: &str, value: &str| {
            answer
                .headers
                .iter()
                .any(|(known, is)| *known == name && is == value)
        };
        assert_eq!(answer.body, json!({ "message": "You are being rate limited.", "retry_after": 0.3, "global": false }).to_string());
        assert!(
            has("retry-after", "1")
                && has("x-ratelimit-scope", "shared")
                && has("x-ratelimit-reset-after", "0.300")
                && has("via", "1.1 google")
        );
    }
}
