//! What an HTTP answer means: success, or which [`RestError`]. Pure; the table is `reference/discord-api.md` sections 2.2 and 2.3.

use std::time::Duration;

use serde::Deserialize;

use super::error::{Doubt, RestError};
use super::limits::{RateHeaders, wait_from_seconds};
use crate::discord::json::parse_json;

/// How long everything rests after an answer that came from Discord's edge and not from its API, or that tells no time (D-62).
pub(super) const EDGE_PAUSE: Duration = Duration::from_secs(60);
/// Discord's code for a client its edge will not have.
const BLOCKED: u64 = 40333;
/// What is kept of a form error.
const LEAVES_MAX: usize = 16;
const LEAF_LENGTH_MAX: usize = 64;

/// The parts of an answer that decide.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer<'a> {
    pub(super) status: u16,
    /// Whether the content type says JSON; nothing else is read as such.
    pub(super) json: bool,
    pub(super) body: &'a [u8],
    pub(super) rate: &'a RateHeaders,
}

/// `Ok` for success, whose body the caller reads.
pub(super) fn judge(answer: Answer<'_>) -> Result<(), RestError> {
    let said: Said = if answer.json {
        parse_json(answer.body).unwrap_or_default()
    } else {
        Said::default()
    };
    match answer.status {
        200..=299 => Ok(()),
        401 => Err(RestError::Unauthorized),
        403 if !answer.json || said.code == Some(BLOCKED) => Err(RestError::Blocked),
        429 => Err(limited(answer, &said)),
        408 | 500.. => Err(RestError::Unknown(Doubt::Status(answer.status))),
        status => Err(RestError::Refused {
            status,
            code: said.code,
            leaf: leaves(&said.errors),
        }),
    }
}

fn limited(answer: Answer<'_>, said: &Said) -> RestError {
    let told = said
        .retry_after
        .and_then(wait_from_seconds)
        .or(answer.rate.retry_after);
    match (answer.json, told) {
        (true, Some(retry_after)) => {
            let global = answer.rate.global || said.global == Some(true);
            RestError::Limited {
                retry_after,
                global,
                html: false,
            }
        }
        // A page, or a limit that tells no time: no probing, whatever it says beyond that.
        (json, told) => RestError::Limited {
            retry_after: told.unwrap_or(EDGE_PAUSE).max(EDGE_PAUSE),
            global: true,
            html: !json,
        },
    }
}

/// The keys of an error body, each as lenient as can be: an odd one must not hide the others.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Said {
    #[serde(deserialize_with = "lenient")]
    code: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    retry_after: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    global: Option<bool>,
    errors: serde_json::Value,
}

fn lenient<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::de::DeserializeOwned,
{
    Ok(serde_json::from_value(serde_json::Value::deserialize(deserializer)?).ok())
}

/// The names in a form error's tree: `{"errors": {field: {"_errors": [{"code": NAME}]}}}`. Only upper-case names, so that no text gets through.
fn leaves(errors: &serde_json::Value) -> Vec<String> {
    let mut found = Vec::new();
    // An explicit stack; the parser has already bounded the depth.
    let mut pending = vec![errors];
    while let Some(value) = pending.pop() {
        let serde_json::Value::Object(fields) = value else {
            continue;
        };
        for (name, value) in fields {
            match value {
                serde_json::Value::Array(items) if name == "_errors" => {
                    found.extend(
                        items
                            .iter()
                            .filter_map(|item| item["code"].as_str())
                            .filter(|code| is_name(code))
                            .map(str::to_owned),
                    );
                }
                other => pending.push(other),
            }
        }
    }
    found.truncate(LEAVES_MAX);
    found
}

fn is_name(code: &str) -> bool {
    (1..=LEAF_LENGTH_MAX).contains(&code.len())
        && code
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(status: u16, body: &str) -> Result<(), RestError> {
        judge(Answer {
            status,
            json: true,
            body: body.as_bytes(),
            rate: &RateHeaders::default(),
        })
    }

    fn page(status: u16, rate: &RateHeaders) -> Result<(), RestError> {
        judge(Answer {
            status,
            json: false,
            body: b"<html>error 1015",
            rate,
        })
    }

    fn refused(status: u16, code: Option<u64>, leaf: &[&str]) -> Result<(), RestError> {
        Err(RestError::Refused {
            status,
            code,
            leaf: leaf.iter().map(|&name| name.to_owned()).collect(),
        })
    }

    fn limited(millis: u64, global: bool, html: bool) -> Result<(), RestError> {
        Err(RestError::Limited {
            retry_after: Duration::from_millis(millis),
            global,
            html,
        })
    }

    #[test]
    fn each_answer_has_one_meaning() {
        let none = RateHeaders::default();

        assert_eq!(json(200, "{}"), Ok(()));
        assert_eq!(page(204, &none), Ok(()));
        assert_eq!(
            json(401, r#"{"code":0,"message":"401: Unauthorized"}"#),
            Err(RestError::Unauthorized)
        );
        assert_eq!(
            json(403, r#"{"code":50013,"message":"Missing Permissions"}"#),
            refused(403, Some(50013), &[])
        );
        assert_eq!(
            json(404, r#"{"code":10008}"#),
            refused(404, Some(10008), &[])
        );
        assert_eq!(json(400, "not json"), refused(400, None, &[]));
        assert_eq!(page(411, &none), refused(411, None, &[]));
        assert_eq!(page(301, &none), refused(301, None, &[]));
        for status in [408, 500, 502, 503, 504, 520, 527] {
            assert_eq!(
                page(status, &none),
                Err(RestError::Unknown(Doubt::Status(status)))
            );
        }
    }

    #[test]
    fn d_63_a_wrong_agent_string_is_told_as_a_fault_of_configuration() {
        assert_eq!(
            json(403, r#"{"code":40333,"message":"internal network error"}"#),
            Err(RestError::Blocked)
        );
        assert_eq!(page(403, &RateHeaders::default()), Err(RestError::Blocked));
    }

    #[test]
    fn a_limit_is_read_from_the_body_first() {
        let header = RateHeaders {
            retry_after: Some(Duration::from_secs(1)),
            ..RateHeaders::default()
        };
        let answer = |body: &'static str| {
            judge(Answer {
                status: 429,
                json: true,
                body: body.as_bytes(),
                rate: &header,
            })
        };

        assert_eq!(
            json(429, r#"{"message":"…","retry_after":0.3,"global":false}"#),
            limited(300, false, false)
        );
        assert_eq!(
            json(429, r#"{"retry_after":64.57,"global":true}"#),
            limited(64_570, true, false)
        );
        assert_eq!(answer(r#"{"retry_after":0.3}"#), limited(300, false, false));
        assert_eq!(answer("{}"), limited(1000, false, false));
    }

    #[test]
    fn d_62_a_page_or_a_limit_without_a_time_means_a_minute_of_silence() {
        let header = |seconds| RateHeaders {
            retry_after: Some(Duration::from_secs(seconds)),
            ..RateHeaders::default()
        };

        assert_eq!(
            page(429, &RateHeaders::default()),
            limited(60_000, true, true)
        );
        assert_eq!(page(429, &header(5)), limited(60_000, true, true));
        assert_eq!(page(429, &header(600)), limited(600_000, true, true));
        assert_eq!(
            json(429, r#"{"message":"slow down"}"#),
            limited(60_000, true, false)
        );
        assert_eq!(
            json(429, r#"{"retry_after":-1}"#),
            limited(60_000, true, false)
        );
        assert_eq!(json(429, "<html>"), limited(60_000, true, false));
    }

    #[test]
    fn a_form_error_keeps_its_names_and_no_text() {
        let body = r#"{"code":50035,"message":"Invalid Form Body","errors":{
            "content":{"_errors":[{"code":"BASE_TYPE_MAX_LENGTH","message":"secret"}]},
            "embeds":{"0":{"x":{"_errors":[{"code":"lower case text"},{"code":"UNION_TYPE_CHOICES"}]}}}}}"#;

        let Err(RestError::Refused {
            status: 400,
            code: Some(50035),
            mut leaf,
        }) = json(400, body)
        else {
            panic!("not refused")
        };
        leaf.sort();

        assert_eq!(leaf, ["BASE_TYPE_MAX_LENGTH", "UNION_TYPE_CHOICES"]);
    }

    #[test]
    fn an_odd_key_does_not_hide_the_others() {
        assert_eq!(
            json(400, r#"{"code":"50035","errors":[1]}"#),
            refused(400, None, &[])
        );
        assert_eq!(
            json(429, r#"{"retry_after":1.5,"code":"x","global":"y"}"#),
            limited(1500, false, false)
        );
    }

    #[test]
    fn d_66_the_words_of_an_error_hold_codes_and_times_only() {
        let rows = [
            (
                json(404, r#"{"code":10062,"message":"secret"}"#),
                "refused: HTTP 404, code 10062",
            ),
            (
                json(429, r#"{"retry_after":2.04}"#),
                "rate limited for 2.0 s",
            ),
            (
                page(429, &RateHeaders::default()),
                "rate limited for 60.0 s (no API answer; Discord's edge blocks this address)",
            ),
            (
                page(502, &RateHeaders::default()),
                "sent, outcome not known: HTTP 502",
            ),
        ];

        for (answer, words) in rows {
            assert_eq!(answer.unwrap_err().to_string(), words);
        }
    }
}
