//! What pi must show before the first prompt: exactly the broker's tools, the bound model and thinking level, and no
//! command of anybody's. A machine: it takes pi's records and says when all is proven, or what is not.

use serde_json::Value;

use super::{
    error::EngineError,
    protocol::{Announcement, Command, Record, Response},
};

/// The questions asked at start; their ids are their names. All at once: pi answers in order.
pub(super) const QUESTIONS: [(&str, Command); 3] = [
    ("get_state", Command::GetState),
    ("get_commands", Command::GetCommands),
    ("get_available_models", Command::GetAvailableModels),
];

/// What pi is compared with.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) thinking: String,
    /// The broker's list; empty means that pi runs without the extension.
    pub(super) tools: Vec<String>,
    pub(super) policy_digest: String,
}

/// What pi has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// pi's session, continued across launches.
    pub session: String,
    /// Messages in it at the start.
    pub messages: u64,
    /// Active tools, as announced; empty without the extension.
    pub tools: Vec<String>,
}

/// The proof in progress.
#[derive(Debug)]
pub(super) struct Verification {
    expected: Expected,
    announcement: Option<Announcement>,
    state: Option<Value>,
    commands: Option<Value>,
}

impl Verification {
    pub(super) fn new(expected: Expected) -> Self {
        Self {
            expected,
            announcement: None,
            state: None,
            commands: None,
        }
    }

    /// Takes one record; `Some` when all questions are answered.
    pub(super) fn handle(&mut self, record: Record) -> Result<Option<Verified>, EngineError> {
        match record {
            Record::Announcement(announcement) => self.announcement = Some(announcement),
            Record::Response(Response { id, success, data }) => match id.as_str() {
                "get_state" => self.state = Some(answered(success, data, "get_state")?),
                "get_commands" => self.commands = Some(answered(success, data, "get_commands")?),
                "get_available_models" => {
                    let models = answered(success, data, "get_available_models")?;
                    return self.judge(&models).map(Some);
                }
                _ => {}
            },
            _ => {}
        }
        Ok(None)
    }

    fn judge(&self, models: &Value) -> Result<Verified, EngineError> {
        // The last answer is here, so the ones before are too, or pi left one out.
        let state = self
            .state
            .as_ref()
            .ok_or(EngineError::Unanswered("get_state"))?;
        let commands = self
            .commands
            .as_ref()
            .ok_or(EngineError::Unanswered("get_commands"))?;
        let tools = self.tools()?;
        no_commands(commands)?;
        self.model(state, models)?;
        Ok(Verified {
            session: text(&state["sessionId"]).to_owned(),
            messages: state["messageCount"].as_u64().unwrap_or_default(),
            tools,
        })
    }

    fn tools(&self) -> Result<Vec<String>, EngineError> {
        let listed = &self.expected.tools;
        let Some(announced) = &self.announcement else {
            if listed.is_empty() {
                return Ok(vec![]);
            }
            return Err(EngineError::NoAnnouncement);
        };
        let missing: Vec<String> = listed
            .iter()
            .filter(|tool| !announced.active.contains(tool))
            .cloned()
            .collect();
        // A registered tool that is not active could be activated later.
        let foreign: Vec<String> = announced
            .active
            .iter()
            .chain(&announced.registered)
            .filter(|tool| !listed.contains(tool))
            .cloned()
            .collect();
        if !missing.is_empty() || !foreign.is_empty() {
            return Err(EngineError::ToolsDiffer { missing, foreign });
        }
        if announced.policy_digest != self.expected.policy_digest {
            return Err(EngineError::PolicyDiffers);
        }
        Ok(announced.active.clone())
    }

    fn model(&self, state: &Value, models: &Value) -> Result<(), EngineError> {
        let Expected {
            provider,
            model,
            thinking,
            ..
        } = &self.expected;
        let asked = format!("{provider}/{model}");
        let offered = models["models"].as_array().is_some_and(|models| {
            models
                .iter()
                .any(|offered| offered["provider"] == **provider && offered["id"] == **model)
        });
        if !offered {
            // pi takes any name and fails only when it is prompted.
            return Err(EngineError::ModelNotOffered(asked));
        }
        let running = &state["model"];
        let got = format!("{}/{}", text(&running["provider"]), text(&running["id"]));
        if got != asked {
            return Err(EngineError::ModelDiffers { asked, got });
        }
        let level = text(&state["thinkingLevel"]);
        if level != thinking {
            return Err(EngineError::ThinkingDiffers {
                asked: thinking.clone(),
                got: level.to_owned(),
            });
        }
        Ok(())
    }
}

fn no_commands(commands: &Value) -> Result<(), EngineError> {
    let names: Vec<String> = commands["commands"]
        .as_array()
        .ok_or(EngineError::Unanswered("get_commands"))?
        .iter()
        .map(|command| text(&command["name"]).to_owned())
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    Err(EngineError::ForeignCommands(names))
}

fn answered(success: bool, data: Value, question: &'static str) -> Result<Value, EngineError> {
    success
        .then_some(data)
        .ok_or(EngineError::Unanswered(question))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn expected(tools: &[&str]) -> Expected {
        Expected {
            provider: "acme".to_owned(),
            model: "m-1".to_owned(),
            thinking: "off".to_owned(),
            tools: names(tools),
            policy_digest: "d1".to_owned(),
        }
    }

    fn names(tools: &[&str]) -> Vec<String> {
        tools.iter().map(|&tool| tool.to_owned()).collect()
    }

    fn announced(active: &[&str], registered: &[&str], digest: &str) -> Record {
        Record::Announcement(Announcement {
            active: names(active),
            registered: names(registered),
            policy_digest: digest.to_owned(),
        })
    }

    fn answer(id: &str, data: Value) -> Record {
        Record::Response(Response {
            id: id.to_owned(),
            success: true,
            data,
        })
    }

    fn state(model: &str, thinking: &str) -> Record {
        answer(
            "get_state",
            json!({
                "model": { "provider": "acme", "id": model }, "thinkingLevel": thinking, "sessionId": "s",
                "messageCount": 4,
            }),
        )
    }

    fn commands(commands: &Value) -> Record {
        answer("get_commands", json!({ "commands": commands }))
    }

    fn models(ids: &[&str]) -> Record {
        let models: Vec<Value> = ids
            .iter()
            .map(|id| json!({ "provider": "acme", "id": id }))
            .collect();
        answer("get_available_models", json!({ "models": models }))
    }

    /// What comes of these records, the last of which must decide; errors as their sentence.
    fn verdict(
        expected: Expected,
        records: impl IntoIterator<Item = Record>,
    ) -> Result<Verified, String> {
        let mut verification = Verification::new(expected);
        for record in records {
            if let Some(verified) = verification
                .handle(record)
                .map_err(|error| error.to_string())?
            {
                return Ok(verified);
            }
        }
        panic!("the records decide nothing")
    }

    #[test]
    fn pi_with_exactly_what_was_bound_is_verified() {
        let records = [
            announced(&["read", "list"], &["list", "read"], "d1"),
            state("m-1", "off"),
            commands(&json!([])),
            models(&["m-0", "m-1"]),
        ];

        assert_eq!(
            verdict(expected(&["list", "read"]), records),
            Ok(Verified {
                session: "s".to_owned(),
                messages: 4,
                tools: names(&["read", "list"])
            })
        );
    }

    #[test]
    fn without_listed_tools_no_announcement_is_needed() {
        let records = [state("m-1", "off"), commands(&json!([])), models(&["m-1"])];

        assert_eq!(
            verdict(expected(&[]), records),
            Ok(Verified {
                session: "s".to_owned(),
                messages: 4,
                tools: vec![]
            })
        );
    }

    #[test]
    fn each_difference_is_found() {
        let fine = announced(&["read"], &["read"], "d1");
        let none = commands(&json!([]));
        let rows = [
            (
                [
                    announced(&[], &["read"], "d1"),
                    state("m-1", "off"),
                    none.clone(),
                    models(&["m-1"]),
                ],
                "pi's tools are not the broker's: missing [\"read\"], foreign []. Nothing was sent to the model",
            ),
            (
                [
                    announced(&["read"], &["read", "bash"], "d1"),
                    state("m-1", "off"),
                    none.clone(),
                    models(&["m-1"]),
                ],
                "pi's tools are not the broker's: missing [], foreign [\"bash\"]. Nothing was sent to the model",
            ),
            (
                [
                    announced(&["read"], &["read"], "d2"),
                    state("m-1", "off"),
                    none.clone(),
                    models(&["m-1"]),
                ],
                "the engine reached a broker with another policy than the connector's",
            ),
            (
                [
                    Record::Other,
                    state("m-1", "off"),
                    none.clone(),
                    models(&["m-1"]),
                ],
                "pi answered before the extension announced its tools; the extension was not loaded",
            ),
            (
                [
                    fine.clone(),
                    state("m-2", "off"),
                    none.clone(),
                    models(&["m-1", "m-2"]),
                ],
                "pi runs model acme/m-2, the binding says acme/m-1",
            ),
            (
                [
                    fine.clone(),
                    state("m-1", "high"),
                    none.clone(),
                    models(&["m-1"]),
                ],
                "pi thinks at level high, the binding says off; the model may not support that level",
            ),
            (
                [
                    fine.clone(),
                    state("m-1", "off"),
                    commands(&json!([{ "name": "skill:x" }])),
                    models(&["m-1"]),
                ],
                "pi offers commands it must not have: [\"skill:x\"]",
            ),
            (
                [
                    fine.clone(),
                    state("m-1", "off"),
                    answer("get_commands", json!(null)),
                    models(&["m-1"]),
                ],
                "pi refused to answer `get_commands` at its start",
            ),
            (
                [fine.clone(), Record::Other, none.clone(), models(&["m-1"])],
                "pi refused to answer `get_state` at its start",
            ),
        ];
        for (records, sentence) in rows {
            assert_eq!(
                verdict(expected(&["read"]), records),
                Err(sentence.to_owned())
            );
        }
    }

    #[test]
    fn a_model_nobody_lists_is_found_before_the_first_prompt() {
        let records = [
            announced(&["read"], &["read"], "d1"),
            state("m-1", "off"),
            commands(&json!([])),
            models(&["m-2"]),
        ];

        let error = verdict(expected(&["read"]), records).unwrap_err();

        assert!(
            error.starts_with("pi does not offer model acme/m-1:"),
            "{error}"
        );
    }

    #[test]
    fn an_error_for_an_answer_is_a_failed_start() {
        let refused = Record::Response(Response {
            id: "get_state".to_owned(),
            success: false,
            data: Value::Null,
        });

        assert_eq!(
            verdict(expected(&[]), [refused]),
            Err("pi refused to answer `get_state` at its start".to_owned())
        );
    }
}
