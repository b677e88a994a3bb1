//! `turns/<message id>.json`: what one turn was, written once when everything about it is known. Plain data for people and
//! for the commands that read records; it holds no message text, and nothing here decides anything.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::At;
use crate::discord::Snowflake;

/// The shape of the record; a reader that meets a higher one should say so.
pub const RECORD_VERSION: u32 = 1;

/// One turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TurnRecord {
    /// [`RECORD_VERSION`].
    pub record_version: u32,
    /// The inbound message, and the record's name.
    pub id: Snowflake,
    /// The listed channel.
    pub channel: Snowflake,
    /// The thread below it, when the message stands in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<Snowflake>,
    /// Who wrote the message.
    pub author: Snowflake,
    /// The role the binding gives the author.
    pub requester: String,
    /// When each step was done.
    pub times: Times,
    /// How it ended.
    pub outcome: Outcome,
    /// Why it failed, from the closed lists of the program; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What became of the read receipt (the reaction on admission).
    pub receipt: Reaction,
    /// What the engine did.
    pub engine: EngineShare,
    /// The tool calls in the order they began, as the broker's ledger has them.
    pub tools: Vec<ToolCall>,
    /// What became of the answer.
    pub delivery: Delivery,
    /// How the parts were confined.
    pub sandbox: Sandbox,
    /// Digest of the policy the tools ran under; absent without tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_digest: Option<String>,
}

/// When the steps of a turn were done. A step that was not reached is absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Times {
    /// The message came over the gateway.
    pub received: At,
    /// The turn was admitted.
    pub admitted: At,
    /// The prompt was written to the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompted: Option<At>,
    /// The engine settled, failed or was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<At>,
    /// The delivery ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered: Option<At>,
}

/// How a turn ended, as the person in the channel saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The whole reply stands in the channel.
    Answered,
    /// A reply was made, and not all of it is known to stand in the channel.
    Undelivered,
    /// No reply was made; one fixed line says so.
    Failed,
    /// A person stopped it.
    Aborted,
    /// The process died during the turn; written by the start after it.
    Interrupted,
}

/// What became of one reaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Reaction {
    /// It stands at the message.
    Added,
    /// Discord refused it, or the try ended without an answer. It never fails the turn.
    Refused {
        /// Status and code of the answer, or our own word.
        reason: String,
    },
    /// It was not tried.
    NotTried,
}

/// What the engine did in a turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EngineShare {
    /// The provider, as the binding names it.
    pub provider: String,
    /// The model, as the binding names it.
    pub model: String,
    /// How many model calls the answer took.
    pub turns: u32,
    /// How often the engine tried a model call again.
    pub retries: u32,
    /// Whether the reply was cut by the model's length limit.
    pub cut: bool,
    /// Tokens and cost over all model calls.
    pub usage: Usage,
}

/// Tokens and cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Usage {
    /// Tokens read that were in no cache.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens read from a cache.
    pub cache_read: u64,
    /// Tokens put into a cache.
    pub cache_write: u64,
    /// In US dollars, by the engine's price list.
    pub cost: f64,
}

/// One tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// Position in the turn, from 1.
    pub index: u32,
    /// Name of the verb.
    pub name: String,
    /// How it ended.
    pub outcome: CallOutcome,
    /// Why not, from the broker's closed list; absent when done.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// When it began.
    pub at: At,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Names, sizes and digests as the broker gives them.
    pub facts: Map<String, Value>,
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallOutcome {
    /// It did what was asked.
    Done,
    /// A fence refused it.
    Refused,
    /// It was begun and nothing of it is left.
    Failed,
    /// Its caller went away.
    Cancelled,
}

/// What became of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Delivery {
    /// How many chunks the answer has.
    pub chunks: usize,
    /// How many of them, from the first, stand in the channel.
    pub standing: usize,
    /// The messages Discord made of them; absent for one that was deleted since.
    pub posted: Vec<Option<Snowflake>>,
    /// Why the rest does not stand there, or is not known to; absent when all do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_by: Option<String>,
}

/// How the parts were confined while the turn ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sandbox {
    /// Landlock ABI of the running kernel.
    pub landlock_abi: u32,
    /// ABI the binding demands.
    pub required_abi: u32,
    /// Attempts of the broker's self-test that the kernel denied, as they must be.
    pub denied: u32,
    /// All attempts of the self-test.
    pub attempts: u32,
}

/// A record in which nothing is left out but what a reply makes absent, for the tests of whoever reads records.
#[cfg(test)]
impl TurnRecord {
    pub(crate) fn example() -> Self {
        let at: At = "2026-11-30T23:48:27.123Z".parse().unwrap();
        let id = |number| Snowflake::new(number).unwrap();
        Self {
            record_version: RECORD_VERSION,
            id: id(1),
            channel: id(2),
            thread: Some(id(3)),
            author: id(4),
            requester: "Jason".into(),
            times: Times {
                received: at,
                admitted: at,
                prompted: Some(at),
                settled: Some(at),
                delivered: None,
            },
            outcome: Outcome::Undelivered,
            error: None,
            receipt: Reaction::Refused {
                reason: "403 50013".into(),
            },
            engine: EngineShare {
                usage: Usage {
                    cost: 0.25,
                    ..Usage::default()
                },
                ..EngineShare::default()
            },
            tools: vec![ToolCall {
                index: 1,
                name: "read_file".into(),
                outcome: CallOutcome::Refused,
                reason: "symlink".into(),
                at,
                duration_ms: 3,
                facts: Map::from_iter([("root".to_owned(), Value::from("vault"))]),
            }],
            delivery: Delivery {
                chunks: 2,
                standing: 1,
                posted: vec![Some(id(9))],
                stopped_by: Some("403 50013".into()),
            },
            sandbox: Sandbox {
                landlock_abi: 7,
                required_abi: 6,
                denied: 12,
                attempts: 12,
            },
            policy_digest: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_back_as_written() {
        let record = TurnRecord::example();

        let text = serde_json::to_string_pretty(&record).unwrap();

        assert_eq!(serde_json::from_str::<TurnRecord>(&text).unwrap(), record);
        insta::assert_snapshot!(text);
    }
}
