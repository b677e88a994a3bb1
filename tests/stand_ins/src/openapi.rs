//! Discord's own word on shapes: the published OpenAPI file, trimmed to the operations in use, and a check of one exchange
//! against it. It knows the subset of JSON Schema that file uses and refuses to be built on any other.

use std::collections::HashMap;

use regex::Regex;
use serde_json::{Map, Value};

/// Says where it was taken from in its `info`.
const PUBLISHED: &str = include_str!("../openapi/discord.json");
/// Every keyword of the schemas. The check covers all but the two without consequence for a value.
const KEYWORDS: &[&str] = &[
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "enum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "oneOf",
    "pattern",
    "properties",
    "required",
    "type",
    "uniqueItems",
];

/// One request and the answer it got.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// The verb.
    pub method: String,
    /// The path, from `/api/v10/` on.
    pub path: String,
    /// What was sent; null without a body.
    pub sent: Value,
    /// The answer's status.
    pub status: u16,
    /// The answer's body; null when it had none, or none in JSON.
    pub answered: Value,
}

/// The published file, ready to be asked.
#[derive(Debug)]
pub struct Oracle {
    document: Value,
    patterns: HashMap<String, Regex>,
}

impl Oracle {
    /// Reads the file of this crate.
    ///
    /// # Panics
    /// When the file is no JSON or uses a keyword this check does not know: then it would pass what it must not.
    #[must_use]
    pub fn published() -> Self {
        let document: Value = serde_json::from_str(PUBLISHED).expect("the trimmed file is JSON");
        let mut patterns = HashMap::new();
        let schemas = document["components"]["schemas"].as_object();
        for schema in schemas.expect("it has schemas").values() {
            prepare(schema, &mut patterns);
        }
        Self { document, patterns }
    }

    /// Everything in an exchange that the file does not allow; nothing when all is well.
    #[must_use]
    pub fn objections(&self, exchange: &Exchange) -> Vec<String> {
        let Exchange {
            method,
            path,
            sent,
            status,
            answered,
        } = exchange;
        let Some(operation) = self.operation(method, path) else {
            return vec![format!(
                "{method} {path} is not among the published operations in use"
            )];
        };
        let mut found = Vec::new();
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        match (body.is_null(), sent.is_null()) {
            (true, false) => found.push(format!("{method} {path} takes no body")),
            (false, true) if operation["requestBody"]["required"] == true => {
                found.push(format!("{method} {path} needs a body"));
            }
            (false, false) => self.check(body, sent, "sent", &mut found),
            (true, true) | (false, true) => {}
        }
        let answers = &operation["responses"];
        let class = format!("{}XX", status / 100);
        match answers
            .get(status.to_string())
            .or_else(|| answers.get(class))
        {
            None => found.push(format!("{method} {path} never answers {status}")),
            Some(answer) => {
                let schema = &answer["content"]["application/json"]["schema"];
                if !schema.is_null() {
                    self.check(schema, answered, "answered", &mut found);
                } else if !answered.is_null() {
                    found.push(format!("{method} {path} with {status} has no body"));
                }
            }
        }
        found
            .into_iter()
            .map(|objection| format!("{method} {path} {status}: {objection}"))
            .collect()
    }

    /// The operation with the most literal path.
    fn operation(&self, method: &str, path: &str) -> Option<&Value> {
        let asked: Vec<&str> = path.trim_start_matches("/api/v10/").split('/').collect();
        let paths = self.document["paths"].as_object()?;
        let matching = paths.iter().filter(|(template, _)| {
            let steps: Vec<&str> = template.trim_start_matches('/').split('/').collect();
            steps.len() == asked.len()
                && steps
                    .iter()
                    .zip(&asked)
                    .all(|(step, asked)| step.starts_with('{') || step == asked)
        });
        let (_, operations) = matching.min_by_key(|(template, _)| template.matches('{').count())?;
        operations.get(method.to_ascii_lowercase())
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
        let Some(schema) = schema.as_object() else {
            return;
        };
        let mut object = |what: String| found.push(format!("{at} {what}"));
        if let Some(known) = schema.get("const")
            && known != value
        {
            object(format!("is {value}, not {known}"));
        }
        if let Some(known) = schema.get("enum").and_then(Value::as_array)
            && !known.contains(value)
        {
            object(format!("is {value}, which is none of the known values"));
        }
        let kinds = match schema.get("type") {
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            Some(kind) => kind.as_str().into_iter().collect(),
            None => vec![],
        };
        if !kinds.is_empty() && !kinds.iter().any(|kind| is_of(kind, value)) {
            object(format!("is {}, not {}", kind_of(value), kinds.join(" or ")));
            return;
        }
        match value {
            Value::String(text) => self.check_text(schema, text, &mut object),
            Value::Number(_) => check_number(schema, value, &mut object),
            Value::Array(list) => self.check_list(schema, list, at, found),
            Value::Object(map) => self.check_map(schema, map, at, found),
            Value::Null | Value::Bool(_) => {}
        }
        self.check_combined(schema, value, at, found);
    }

    fn check_combined(
        &self,
        schema: &Map<String, Value>,
        value: &Value,
        at: &str,
        found: &mut Vec<String>,
    ) {
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let name = reference.trim_start_matches("#/components/schemas/");
            self.check(
                &self.document["components"]["schemas"][name],
                value,
                at,
                found,
            );
        }
        for part in schema
            .get("allOf")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            self.check(part, value, at, found);
        }
        // The file writes `oneOf` also where its alternatives overlap, as the kinds of channels do: one or more it is.
        for choice in ["oneOf", "anyOf"] {
            let Some(choices) = schema.get(choice).and_then(Value::as_array) else {
                continue;
            };
            let tries = choices.iter().map(|choice| {
                let mut objections = Vec::new();
                self.check(choice, value, at, &mut objections);
                objections
            });
            // What the nearest alternative objects to tells the most; one of another kind is not near.
            let here = format!("{at} is ");
            let nearest = tries.min_by_key(|objections| {
                let other_kind = objections.iter().any(|said| said.starts_with(&here));
                (other_kind, objections.len())
            });
            let nearest = nearest.unwrap_or_default();
            found.extend(nearest);
        }
    }

    fn check_text(&self, schema: &Map<String, Value>, text: &str, object: &mut impl FnMut(String)) {
        let length = text.chars().count() as u64;
        if !within(schema, "minLength", "maxLength", length) {
            object(format!("has {length} characters"));
        }
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
            && !self.patterns[pattern].is_match(text)
        {
            object(format!("does not match {pattern}"));
        }
        let is_time = schema
            .get("format")
            .is_some_and(|format| format == "date-time");
        if is_time && text.parse::<jiff::Timestamp>().is_err() {
            object("is no time".into());
        }
    }

    fn check_list(
        &self,
        schema: &Map<String, Value>,
        list: &[Value],
        at: &str,
        found: &mut Vec<String>,
    ) {
        if !within(schema, "minItems", "maxItems", list.len() as u64) {
            found.push(format!("{at} has {} items", list.len()));
        }
        let unique = schema.get("uniqueItems") == Some(&Value::Bool(true));
        if unique
            && list
                .iter()
                .enumerate()
                .any(|(index, item)| list[..index].contains(item))
        {
            found.push(format!("{at} holds something twice"));
        }
        if let Some(items) = schema.get("items") {
            for (index, item) in list.iter().enumerate() {
                self.check(items, item, &format!("{at}[{index}]"), found);
            }
        }
    }

    fn check_map(
        &self,
        schema: &Map<String, Value>,
        map: &Map<String, Value>,
        at: &str,
        found: &mut Vec<String>,
    ) {
        let required = schema.get("required").and_then(Value::as_array);
        for key in required.into_iter().flatten().filter_map(Value::as_str) {
            if !map.contains_key(key) {
                found.push(format!("{at} lacks {key}"));
            }
        }
        if !within(schema, "minProperties", "maxProperties", map.len() as u64) {
            found.push(format!("{at} has {} keys", map.len()));
        }
        let known = schema.get("properties").and_then(Value::as_object);
        for (key, value) in map {
            let below = format!("{at}.{key}");
            match (
                known.and_then(|known| known.get(key)),
                schema.get("additionalProperties"),
            ) {
                (Some(schema), _) => self.check(schema, value, &below, found),
                (None, Some(Value::Bool(false))) => found.push(format!("{below} is not known")),
                (None, Some(other)) => self.check(other, value, &below, found),
                (None, None) => {}
            }
        }
    }
}

fn check_number(schema: &Map<String, Value>, value: &Value, object: &mut impl FnMut(String)) {
    let number = value.as_f64().unwrap_or(f64::NAN);
    let bound = |key| schema.get(key).and_then(Value::as_f64);
    let narrow = schema.get("format").is_some_and(|format| format == "int32");
    let outside = bound("minimum").is_some_and(|least| number < least)
        || bound("maximum").is_some_and(|most| number > most)
        || (narrow
            && value
                .as_i64()
                .is_none_or(|number| i32::try_from(number).is_err()));
    if outside {
        object(format!("is {value}, which is out of bounds"));
    }
}

fn within(schema: &Map<String, Value>, least: &str, most: &str, count: u64) -> bool {
    let bound = |key: &str| schema.get(key).and_then(Value::as_u64);
    bound(least).is_none_or(|least| count >= least) && bound(most).is_none_or(|most| count <= most)
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "integer" => value.is_i64() || value.is_u64(),
        other => kind_of(value) == other,
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Compiles every pattern below a schema and meets every keyword.
fn prepare(schema: &Value, patterns: &mut HashMap<String, Regex>) {
    let Some(schema) = schema.as_object() else {
        return;
    };
    for (keyword, value) in schema {
        assert!(
            KEYWORDS.contains(&keyword.as_str()),
            "the check does not know {keyword}"
        );
        match keyword.as_str() {
            "pattern" => {
                let pattern = value.as_str().expect("a pattern is text");
                let compiled = Regex::new(pattern).expect("a pattern of the file compiles");
                patterns.insert(pattern.to_owned(), compiled);
            }
            "properties" => value
                .as_object()
                .into_iter()
                .flat_map(Map::values)
                .for_each(|property| prepare(property, patterns)),
            "allOf" | "anyOf" | "oneOf" => value
                .as_array()
                .into_iter()
                .flatten()
                .for_each(|part| prepare(part, patterns)),
            "items" | "additionalProperties" => prepare(value, patterns),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn posted(sent: Value) -> Vec<String> {
        let exchange = Exchange {
            method: "POST".into(),
            path: "/api/v10/channels/2/messages".into(),
            sent,
            status: 404,
            answered: json!({ "message": "Unknown Channel", "code": 10_003 }),
        };
        Oracle::published().objections(&exchange)
    }

    #[test]
    fn a_body_as_published_passes_and_each_other_is_told_by_its_place() {
        let good = json!({
            "content": "hello", "nonce": "1-0", "enforce_nonce": true,
            "allowed_mentions": { "parse": [], "replied_user": false },
            "message_reference": { "message_id": "1", "fail_if_not_exists": false },
        });
        assert_eq!(posted(good.clone()), [""; 0]);

        for (key, bad, told) in [
            ("content", json!(5), "sent.content is number"),
            (
                "content",
                json!("x".repeat(4001)),
                "sent.content has 4001 characters",
            ),
            (
                "nonce",
                json!("x".repeat(26)),
                "sent.nonce has 26 characters",
            ),
            (
                "allowed_mentions",
                json!({ "parse": ["all"] }),
                "sent.allowed_mentions.parse[0] is",
            ),
            (
                "message_reference",
                json!({ "message_id": "01" }),
                "sent.message_reference.message_id does not match",
            ),
        ] {
            let mut body = good.clone();
            body[key] = bad;
            let objections = posted(body);
            assert!(
                objections.iter().any(|objection| objection.contains(told)),
                "{key}: {objections:?}"
            );
        }
    }

    #[test]
    fn an_operation_nobody_published_a_status_it_never_gives_and_a_body_it_does_not_take_are_told()
    {
        let oracle = Oracle::published();
        let exchange = |method: &str, path: &str, sent: Value, status| Exchange {
            method: method.into(),
            path: path.into(),
            sent,
            status,
            answered: Value::Null,
        };
        for (exchange, told) in [
            (
                exchange("GET", "/api/v10/nothing", Value::Null, 200),
                "not among",
            ),
            (
                exchange("POST", "/api/v10/channels/2/typing", Value::Null, 302),
                "never answers 302",
            ),
            (
                exchange("POST", "/api/v10/channels/2/typing", json!({}), 204),
                "takes no body",
            ),
            (
                exchange("POST", "/api/v10/channels/2/messages", Value::Null, 200),
                "needs a body",
            ),
        ] {
            let objections = oracle.objections(&exchange);
            assert!(
                objections.iter().any(|objection| objection.contains(told)),
                "{objections:?}"
            );
        }
        let typing = exchange("POST", "/api/v10/channels/2/typing", Value::Null, 204);
        assert_eq!(oracle.objections(&typing), [""; 0]);
    }
}
