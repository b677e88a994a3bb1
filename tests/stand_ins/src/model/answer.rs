//! One answer of the model, built like a sentence, and the server-sent events it becomes.

use std::time::Duration;

use axum::http::StatusCode;
use serde_json::{Value, json};

/// What the model says to one request, well-behaved or not.
#[derive(Clone, Debug)]
pub struct Answer {
    texts: Vec<String>,
    calls: Vec<(String, String)>,
    finish: Option<String>,
    usage: Usage,
    pause: Option<Duration>,
    fault: Option<Fault>,
}

/// Tokens reported at the end of an answer.
#[derive(Clone, Copy, Debug)]
struct Usage {
    input: u64,
    cached: u64,
    output: u64,
}

#[derive(Clone, Debug)]
enum Fault {
    Unexpected,
    Status(u16, Value),
    SilenceAtOnce,
    Silence,
    Cut,
    Malformed,
    NoFinish,
    SplitEmoji,
}

/// One step of sending an answer.
#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    Bytes(String),
    Pause(Duration),
    /// Says nothing more and keeps the connection open.
    Silence,
    /// Breaks the connection off.
    Cut,
}

impl Answer {
    /// Says `text` and stops.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self {
            texts: vec![text.to_owned()],
            ..Self::empty()
        }
    }

    /// Stops without a word.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            texts: Vec::new(),
            calls: Vec::new(),
            finish: None,
            usage: Usage {
                input: 100,
                cached: 40,
                output: 20,
            },
            pause: None,
            fault: None,
        }
    }

    /// Calls one tool.
    #[must_use]
    pub fn call(tool: &str, arguments: &Value) -> Self {
        Self::empty().and_call(tool, arguments)
    }

    /// Calls one more tool, beside the others of this answer.
    #[must_use]
    pub fn and_call(mut self, tool: &str, arguments: &Value) -> Self {
        self.calls.push((tool.to_owned(), arguments.to_string()));
        self
    }

    /// Calls one tool with arguments sent as they are, JSON or not.
    #[must_use]
    pub fn call_raw(tool: &str, arguments: &str) -> Self {
        let mut answer = Self::empty();
        answer.calls.push((tool.to_owned(), arguments.to_owned()));
        answer
    }

    /// Says a further piece of text, in an event of its own.
    #[must_use]
    pub fn and_text(mut self, text: &str) -> Self {
        self.texts.push(text.to_owned());
        self
    }

    /// Reports these tokens; `input` includes the `cached` ones.
    #[must_use]
    pub fn using(mut self, input: u64, cached: u64, output: u64) -> Self {
        self.usage = Usage {
            input,
            cached,
            output,
        };
        self
    }

    /// Ends with this `finish_reason`: `length`, `content_filter`, `tool_calls` without calls …
    #[must_use]
    pub fn finishing(mut self, reason: &str) -> Self {
        self.finish = Some(reason.to_owned());
        self
    }

    /// Waits this long before each event.
    #[must_use]
    pub fn slowly(mut self, pause: Duration) -> Self {
        self.pause = Some(pause);
        self
    }

    /// Answers with an HTTP status and a provider's error body, and no stream.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self::refusing(
            status,
            json!({ "error": { "message": format!("stand-in says {status}"), "type": "stand_in" } }),
        )
    }

    /// Answers with an HTTP status and this body.
    #[must_use]
    pub fn refusing(status: u16, body: Value) -> Self {
        Self::empty().with(Fault::Status(status, body))
    }

    /// Takes the request and says nothing, not even a status line's body.
    #[must_use]
    pub fn silent() -> Self {
        Self::empty().with(Fault::SilenceAtOnce)
    }

    /// Says its text, then nothing, and keeps the connection.
    #[must_use]
    pub fn then_silent(self) -> Self {
        self.with(Fault::Silence)
    }

    /// Says its text, then breaks the connection off.
    #[must_use]
    pub fn then_cut(self) -> Self {
        self.with(Fault::Cut)
    }

    /// Says its text, then an event that is no JSON.
    #[must_use]
    pub fn then_malformed(self) -> Self {
        self.with(Fault::Malformed)
    }

    /// Says its text and closes without a `finish_reason`.
    #[must_use]
    pub fn then_no_finish(self) -> Self {
        self.with(Fault::NoFinish)
    }

    /// Says its text, then an emoji whose two UTF-16 halves come in two events.
    #[must_use]
    pub fn then_split_emoji(self) -> Self {
        self.with(Fault::SplitEmoji)
    }

    pub(super) fn unexpected() -> Self {
        Self::empty().with(Fault::Unexpected)
    }

    pub(super) fn is_unexpected(&self) -> bool {
        matches!(self.fault, Some(Fault::Unexpected))
    }

    fn with(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// The status and body of an answer that is no stream.
    pub(super) fn refusal(&self) -> Option<(StatusCode, Value)> {
        match &self.fault {
            Some(Fault::Status(status, body)) => Some((
                StatusCode::from_u16(*status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
                body.clone(),
            )),
            // 400 is a status no client tries again.
            Some(Fault::Unexpected) => Some((
                StatusCode::BAD_REQUEST,
                json!({ "error": { "message": "the stand-in's script is over" } }),
            )),
            _ => None,
        }
    }

    /// The answer as the steps of an event stream; `number` counts the requests and makes ids unique.
    pub(super) fn into_pieces(self, number: usize) -> Vec<Piece> {
        if matches!(self.fault, Some(Fault::SilenceAtOnce)) {
            return vec![Piece::Silence];
        }
        let chunk = |delta: Value, finish: Option<&str>| {
            event(&json!({
                "id": format!("chatcmpl-{number}"),
                "object": "chat.completion.chunk",
                "created": 0,
                "model": super::MODEL,
                "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
            }))
        };
        let mut events = vec![chunk(json!({ "role": "assistant", "content": "" }), None)];
        for text in &self.texts {
            events.push(chunk(json!({ "content": text }), None));
        }
        for (index, (tool, arguments)) in self.calls.iter().enumerate() {
            events.push(chunk(
                json!({ "tool_calls": [{
                    "index": index,
                    "id": format!("call_{number}_{index}"),
                    "type": "function",
                    "function": { "name": tool, "arguments": arguments },
                }] }),
                None,
            ));
        }
        let mut end = Vec::new();
        match self.fault {
            Some(Fault::Silence) => end.push(Piece::Silence),
            Some(Fault::Cut) => end.push(Piece::Cut),
            Some(Fault::NoFinish) => {}
            Some(Fault::Malformed) => events.push("data: {\"choices\": [\n\n".to_owned()),
            Some(Fault::SplitEmoji) => {
                for half in ["\\ud83d", "\\ude00"] {
                    // Written by hand: a Rust string cannot hold half of a character.
                    events.push(chunk(json!({ "content": "HALF" }), None).replace("HALF", half));
                }
                events.extend(self.ending(&chunk));
            }
            _ => events.extend(self.ending(&chunk)),
        }
        let mut pieces = Vec::new();
        for text in events {
            pieces.extend(self.pause.map(Piece::Pause));
            pieces.push(Piece::Bytes(text));
        }
        pieces.extend(end);
        pieces
    }

    fn ending(&self, chunk: &dyn Fn(Value, Option<&str>) -> String) -> Vec<String> {
        let by_content = if self.calls.is_empty() {
            "stop"
        } else {
            "tool_calls"
        };
        let finish = self.finish.as_deref().unwrap_or(by_content);
        let Usage {
            input,
            cached,
            output,
        } = self.usage;
        vec![
            chunk(json!({}), Some(finish)),
            event(&json!({
                "id": "usage",
                "object": "chat.completion.chunk",
                "created": 0,
                "model": super::MODEL,
                "choices": [],
                "usage": {
                    "prompt_tokens": input,
                    "completion_tokens": output,
                    "total_tokens": input + output,
                    "prompt_tokens_details": { "cached_tokens": cached },
                },
            })),
            "data: [DONE]\n\n".to_owned(),
        ]
    }
}

fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(answer: Answer) -> String {
        answer
            .into_pieces(1)
            .into_iter()
            .map(|piece| match piece {
                Piece::Bytes(text) => text,
                other => format!("<{other:?}>"),
            })
            .collect()
    }

    #[test]
    fn a_text_ends_with_stop_and_usage() {
        let stream = sent(Answer::text("hi").using(10, 4, 2));

        assert!(stream.contains(r#""delta":{"content":"hi"}"#));
        assert!(stream.contains(r#""finish_reason":"stop""#));
        assert!(stream.contains(r#""cached_tokens":4"#));
        assert!(stream.ends_with("data: [DONE]\n\n"));
    }

    #[test]
    fn calls_of_one_answer_have_ids_of_their_own() {
        let stream = sent(Answer::call("a", &json!({})).and_call("b", &json!({})));

        assert!(stream.contains("call_1_0") && stream.contains("call_1_1"));
        assert!(stream.contains(r#""finish_reason":"tool_calls""#));
    }

    #[test]
    fn a_split_emoji_leaves_each_half_alone_in_its_event() {
        let stream = sent(Answer::text("x").then_split_emoji());

        assert!(stream.contains(r#""content":"\ud83d"}"#));
        assert!(stream.contains(r#""content":"\ude00"}"#));
    }

    #[test]
    fn a_cut_answer_never_finishes() {
        let stream = sent(Answer::text("x").then_cut());

        assert!(stream.ends_with("<Cut>"));
        assert!(!stream.contains("[DONE]"));
    }
}
