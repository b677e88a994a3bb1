//! pi's RPC protocol: lines in, lines out. Every command pi is ever sent is built here. It knows the shape of each record
//! and nothing of their order.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use tokio::io::{self, AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};

use crate::discord::parse_json;

/// Longest line that is read, in bytes. pi repeats all messages of a run in one record: several megabytes are normal.
pub(super) const LINE_MAX: u64 = 64 * 1024 * 1024;

/// Capacity that is kept between lines, so that one huge record does not hold its memory for ever.
const KEEP: usize = 1024 * 1024;

/// Key under which the extension announces the tools.
const STATUS_KEY: &str = "mosaic";

/// What the connector asks of pi. Nothing else exists here on purpose: `bash` would run a shell, `follow_up` and `steer`
/// would fold a second answer into a running one (pi-engine-1.6, section 5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Command {
    Prompt { message: String },
    Abort,
    GetState,
    GetAvailableModels,
    GetCommands,
}

impl Command {
    /// The command as one line. Always an object: the line `null` kills pi.
    pub(super) fn line(&self, id: &str) -> Vec<u8> {
        #[derive(Serialize)]
        struct Line<'a> {
            id: &'a str,
            #[serde(flatten)]
            command: &'a Command,
        }
        let mut line =
            serde_json::to_vec(&Line { id, command: self }).expect("strings always serialize");
        line.push(b'\n');
        line
    }
}

/// A record of pi that means something to us.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Record {
    Announcement(Announcement),
    Response(Response),
    AgentStart,
    TurnStart,
    Assistant(AssistantMessage),
    RetryStart,
    CompactionStart,
    Settled,
    /// A known or unknown kind that decides nothing.
    Other,
}

/// The extension's first word: the tools pi has active and registered.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Announcement {
    pub(super) active: Vec<String>,
    pub(super) registered: Vec<String>,
    pub(super) policy_digest: String,
}

/// pi's answer to a command.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Response {
    #[serde(default)]
    pub(super) id: String,
    pub(super) success: bool,
    #[serde(default)]
    pub(super) data: Value,
}

/// A finished message of the model.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AssistantMessage {
    pub(super) text: String,
    pub(super) stop: StopReason,
    pub(super) usage: Spent,
    /// The HTTP status a provider's error begins with. The rest of an error is the provider's text and goes nowhere.
    pub(super) status: Option<u16>,
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum StopReason {
    Stop,
    Length,
    ToolUse,
    Error,
    Aborted,
    #[serde(other)]
    Unknown,
}

/// What one message cost, as pi counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Spent {
    #[serde(deserialize_with = "count")]
    pub(super) input: u64,
    #[serde(deserialize_with = "count")]
    pub(super) output: u64,
    #[serde(deserialize_with = "count")]
    pub(super) cache_read: u64,
    #[serde(deserialize_with = "count")]
    pub(super) cache_write: u64,
    pub(super) cost: Cost,
}

/// The cost part of a usage, in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Cost {
    #[serde(deserialize_with = "money")]
    pub(super) total: f64,
}

/// A line that is no record. Its content is not kept: it may hold anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadLine;

impl Record {
    /// Reads one line. Kinds that decide nothing are skipped without looking at more than their name, whatever their
    /// size.
    pub(super) fn parse(line: &[u8]) -> Result<Self, BadLine> {
        #[derive(Deserialize)]
        struct Head<'a> {
            #[serde(rename = "type", borrow)]
            kind: Cow<'a, str>,
        }
        // serde skips strings without judging their escapes, so a half emoji elsewhere in the line does no harm here.
        let head: Head<'_> = serde_json::from_slice(line).map_err(|_| BadLine)?;
        match head.kind.as_ref() {
            "response" => Ok(Self::Response(read(line)?)),
            "extension_ui_request" => announcement(line),
            "message_end" => message(line),
            "agent_start" => Ok(Self::AgentStart),
            "turn_start" => Ok(Self::TurnStart),
            "auto_retry_start" => Ok(Self::RetryStart),
            "compaction_start" => Ok(Self::CompactionStart),
            "agent_settled" => Ok(Self::Settled),
            _ => Ok(Self::Other),
        }
    }
}

/// Reads a whole record, with lone surrogates repaired (`reference/pi-engine-1.6.md`, section 4).
fn read<T: serde::de::DeserializeOwned>(line: &[u8]) -> Result<T, BadLine> {
    parse_json(line).map_err(|_| BadLine)
}

fn announcement(line: &[u8]) -> Result<Record, BadLine> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    #[derive(Default)]
    struct Status {
        method: String,
        status_key: String,
        status_text: String,
    }
    let status: Status = read(line)?;
    if status.method != "setStatus" || status.status_key != STATUS_KEY {
        return Ok(Record::Other);
    }
    Ok(Record::Announcement(read(status.status_text.as_bytes())?))
}

fn message(line: &[u8]) -> Result<Record, BadLine> {
    #[derive(Deserialize)]
    struct Role<'a> {
        #[serde(borrow)]
        role: Cow<'a, str>,
    }
    #[derive(Deserialize)]
    struct Peek<'a> {
        #[serde(borrow)]
        message: Role<'a>,
    }
    #[derive(Deserialize)]
    struct Whole {
        message: Assistant,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Assistant {
        content: Vec<Part>,
        stop_reason: StopReason,
        #[serde(default)]
        usage: Spent,
        #[serde(default)]
        error_message: String,
    }
    #[derive(Deserialize)]
    struct Part {
        #[serde(rename = "type")]
        kind: String,
        #[serde(default)]
        text: String,
    }
    let peek: Peek<'_> = serde_json::from_slice(line).map_err(|_| BadLine)?;
    if peek.message.role != "assistant" {
        return Ok(Record::Other);
    }
    let Whole { message } = read(line)?;
    let texts = message
        .content
        .into_iter()
        .filter(|part| part.kind == "text");
    Ok(Record::Assistant(AssistantMessage {
        text: texts.map(|part| part.text).collect(),
        stop: message.stop_reason,
        usage: message.usage,
        status: http_status(&message.error_message),
    }))
}

/// The status in front of `401: {…}`.
fn http_status(error: &str) -> Option<u16> {
    let (status, _) = error.split_once(':')?;
    let status = status.parse().ok()?;
    (100..600).contains(&status).then_some(status)
}

/// A count of tokens. Providers send them as any kind of number; a negative one counts as none.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    // The cast saturates at both ends, which is what is meant.
    Ok(f64::deserialize(deserializer)? as u64)
}

/// A price; a negative one counts as nothing.
fn money<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(f64::deserialize(deserializer)?.max(0.0))
}

/// One step of reading pi's output.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    /// A whole line, without its end.
    Whole(Vec<u8>),
    /// The output ended inside a line.
    Half,
    /// A line longer than [`LINE_MAX`]; reading cannot go on.
    TooLong,
    End,
}

/// Splits pi's output on LF and nothing else: U+2028 stands inside strings.
pub(super) struct Lines<R> {
    output: R,
    max: u64,
    buffer: Vec<u8>,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(super) fn new(output: R, max: u64) -> Self {
        Self {
            output,
            max,
            buffer: Vec::new(),
        }
    }

    /// The next line. Not to be cancelled: what was read of a line would be lost.
    pub(super) async fn next(&mut self) -> io::Result<Line> {
        self.buffer.clear();
        self.buffer.shrink_to(KEEP);
        let mut bounded = (&mut self.output).take(self.max + 1);
        bounded.read_until(b'\n', &mut self.buffer).await?;
        Ok(match self.buffer.split_last() {
            None => Line::End,
            Some((b'\n', line)) => Line::Whole(line.to_vec()),
            Some(_) if self.buffer.len() as u64 > self.max => Line::TooLong,
            Some(_) => Line::Half,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn parse(value: &Value) -> Result<Record, BadLine> {
        Record::parse(value.to_string().as_bytes())
    }

    fn assistant(text: &str) -> Value {
        json!({ "type": "message_end", "message": {
            "role": "assistant", "stopReason": "stop", "content": [{ "type": "text", "text": text }],
        } })
    }

    #[test]
    fn commands_are_one_line_with_their_id() {
        let prompt = Command::Prompt {
            message: "a\n\u{2028}\"b\"".to_owned(),
        };

        assert_eq!(
            String::from_utf8(prompt.line("run-1")).unwrap(),
            "{\"id\":\"run-1\",\"type\":\"prompt\",\"message\":\"a\\n\u{2028}\\\"b\\\"\"}\n"
        );
        assert_eq!(
            Command::GetState.line("s"),
            b"{\"id\":\"s\",\"type\":\"get_state\"}\n"
        );
    }

    #[test]
    fn an_assistant_message_is_its_text_reason_and_cost() {
        let line = json!({ "type": "message_end", "message": {
            "role": "assistant", "stopReason": "error", "errorMessage": "429: {\"error\":\"slow down\"}",
            "content": [
                { "type": "thinking", "thinking": "hm" },
                { "type": "text", "text": "a" },
                { "type": "toolCall", "id": "1", "name": "x", "arguments": {} },
                { "type": "text", "text": "b" },
            ],
            "usage": { "input": 60, "output": 20.0, "cacheRead": 40, "cacheWrite": -1, "cost": { "total": 0.5 } },
        } });

        assert_eq!(
            parse(&line),
            Ok(Record::Assistant(AssistantMessage {
                text: "ab".to_owned(),
                stop: StopReason::Error,
                usage: Spent {
                    input: 60,
                    output: 20,
                    cache_read: 40,
                    cache_write: 0,
                    cost: Cost { total: 0.5 }
                },
                status: Some(429),
            }))
        );
    }

    #[test]
    fn a_lone_surrogate_becomes_the_replacement_character() {
        let line = assistant("HALF!").to_string().replace("HALF", "\\ud83d");

        let Ok(Record::Assistant(message)) = Record::parse(line.as_bytes()) else {
            panic!("the line is repaired");
        };
        assert_eq!(message.text, "\u{fffd}!");
    }

    #[test]
    fn kinds_that_decide_nothing_pass_whatever_they_hold() {
        for line in [
            r#"{"type":"message_update","assistantMessageEvent":{"delta":"\ud83d"}}"#,
            r#"{"type":"agent_end","messages":[{"role":"assistant"}],"willRetry":false}"#,
            r#"{"type":"something_new"}"#,
            r#"{"type":"message_end","message":{"role":"toolResult","content":"\udc00"}}"#,
            r#"{"type":"extension_ui_request","method":"notify","message":"x"}"#,
        ] {
            assert_eq!(Record::parse(line.as_bytes()), Ok(Record::Other), "{line}");
        }
    }

    #[test]
    fn what_is_no_record_is_a_bad_line() {
        for line in [
            "",
            " ",
            "null",
            "[]",
            "{}",
            "{\"type\":5}",
            "{\"type\":\"agent_start\"",
            "text",
            "\u{feff}{}",
            r#"{"type":"response","success":"yes"}"#,
            r#"{"type":"message_end","message":{"role":"assistant","content":"text"}}"#,
        ] {
            assert_eq!(Record::parse(line.as_bytes()), Err(BadLine), "{line}");
        }
        assert_eq!(
            Record::parse(b"{\"type\":\"agent_start\xff\"}"),
            Err(BadLine)
        );
    }

    #[test]
    fn a_deeply_nested_line_is_bad_and_harmless() {
        let line = format!(
            "{{\"type\":\"response\",\"success\":true,\"data\":{}",
            "[".repeat(100_000)
        );

        assert_eq!(Record::parse(line.as_bytes()), Err(BadLine));
    }

    #[test]
    fn only_a_leading_number_is_a_status() {
        for (error, status) in [
            ("401: {}", Some(401)),
            ("Connection error.: connect ECONNREFUSED", None),
            ("70000: x", None),
            ("99: x", None),
            ("500", None),
            ("", None),
        ] {
            assert_eq!(http_status(error), status, "{error}");
        }
    }

    async fn lines(output: &[u8], max: u64) -> Vec<Line> {
        let mut lines = Lines::new(output, max);
        let mut seen = Vec::new();
        loop {
            let line = lines.next().await.unwrap();
            let over = !matches!(line, Line::Whole(_));
            seen.push(line);
            if over {
                return seen;
            }
        }
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[tokio::test]
    async fn lines_end_at_lf_and_nowhere_else() {
        let output = "a\u{2028}b\rc\0d\n\ne\n".as_bytes();

        assert_eq!(
            lines(output, 100).await,
            [whole("a\u{2028}b\rc\0d"), whole(""), whole("e"), Line::End]
        );
    }

    #[tokio::test]
    async fn half_a_line_at_the_end_is_told_apart() {
        assert_eq!(lines(b"a\nhalf", 100).await, [whole("a"), Line::Half]);
    }

    #[tokio::test]
    async fn the_longest_line_passes_and_one_byte_more_does_not() {
        assert_eq!(lines(b"1234\n", 4).await, [whole("1234"), Line::End]);
        assert_eq!(lines(b"12345\n", 4).await, [Line::TooLong]);
    }

    proptest! {
        #[test]
        fn a_record_cut_flipped_or_spliced_is_read_or_a_bad_line(
            at in any::<prop::sample::Index>(), from in any::<prop::sample::Index>(), flip in any::<u8>(),
            noise in prop::collection::vec(any::<u8>(), 0..8), text in any::<String>(),
        ) {
            let whole = assistant(&text).to_string().into_bytes();
            let mut bytes = [&whole[..at.index(whole.len())], &noise[..], &whole[from.index(whole.len())..]].concat();
            let last = bytes.len() - 1;
            bytes[at.index(last + 1)] ^= flip;

            let _ = Record::parse(&bytes);
            prop_assert!(Record::parse(&whole).is_ok());
        }
    }
}
