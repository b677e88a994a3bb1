//! A completion request as the model received it, with the questions tests ask of it.

use serde_json::Value;

/// One completion request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The `authorization` header.
    pub authorization: Option<String>,
    /// The messages, oldest first, as they were sent.
    pub messages: Vec<Value>,
    /// The tools offered to the model.
    pub tools: Vec<ToolSeen>,
    /// The whole body.
    pub body: Value,
}

/// One tool as the model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSeen {
    /// The name it is called by.
    pub name: String,
    /// Its words for the model.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
}

impl Request {
    pub(super) fn parse(body: &[u8], authorization: Option<&str>) -> Result<Self, String> {
        let body: Value = serde_json::from_slice(body)
            .map_err(|error| format!("a body that is no JSON: {error}"))?;
        if body["stream"] != Value::Bool(true) {
            return Err("a completion request that does not ask for a stream".to_owned());
        }
        let messages = body["messages"]
            .as_array()
            .ok_or("a completion request without messages")?
            .clone();
        let tools = body["tools"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let tools = tools.iter().map(ToolSeen::read).collect();
        Ok(Self {
            authorization: authorization.map(str::to_owned),
            messages,
            tools,
            body,
        })
    }

    /// Names of the tools offered, in order.
    #[must_use]
    pub fn tool_names(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    /// The system prompt; empty without one.
    #[must_use]
    pub fn system(&self) -> String {
        self.of_role("system")
            .next()
            .map(text_of)
            .unwrap_or_default()
    }

    /// Texts of the user's messages, oldest first.
    #[must_use]
    pub fn user_texts(&self) -> Vec<String> {
        self.of_role("user").map(text_of).collect()
    }

    /// Results of tool calls, oldest first.
    #[must_use]
    pub fn tool_results(&self) -> Vec<String> {
        self.of_role("tool").map(text_of).collect()
    }

    /// The result this request brings back, when its last message is one.
    #[must_use]
    pub fn fresh_result(&self) -> Option<String> {
        let last = self.messages.last()?;
        (last["role"] == "tool").then(|| text_of(last))
    }

    fn of_role<'a>(&'a self, role: &'a str) -> impl Iterator<Item = &'a Value> {
        self.messages
            .iter()
            .filter(move |message| message["role"] == role)
    }
}

impl ToolSeen {
    fn read(tool: &Value) -> Self {
        let function = &tool["function"];
        let text = |name: &str| function[name].as_str().unwrap_or_default().to_owned();
        Self {
            name: text("name"),
            description: text("description"),
            parameters: function["parameters"].clone(),
        }
    }
}

/// The text of a message whose content is a string or a list of parts.
fn text_of(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}
