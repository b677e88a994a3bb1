//! The body of a create or an edit, read as strictly as Discord reads it (discord-api, sections 3 and 9). Looks at the body alone: what
//! exists and what is permitted is decided where the message is made.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{refusal::Refusal, snowflake::Snowflake};

/// Code points of text in a bot's message.
const CONTENT_LIMIT: usize = 2000;
/// Characters of a nonce.
const NONCE_LIMIT: usize = 25;
/// Action rows in a classic message, and buttons in a row.
const ROW_LIMIT: usize = 5;
const LABEL_LIMIT: usize = 80;
const CUSTOM_ID_LIMIT: usize = 100;

/// A body that may be posted.
#[derive(Debug, PartialEq)]
pub(super) struct Draft {
    pub(super) content: String,
    pub(super) nonce: Option<Value>,
    pub(super) enforce_nonce: bool,
    pub(super) pings: Pings,
    pub(super) reply: Option<Reply>,
    pub(super) components: Value,
    pub(super) embeds: Value,
    pub(super) flags: u64,
}

/// A body that may replace parts of a message: what is `None` stays.
#[derive(Debug, PartialEq)]
pub(super) struct Revision {
    pub(super) content: Option<String>,
    pub(super) pings: Pings,
    pub(super) components: Option<Value>,
    pub(super) embeds: Option<Value>,
    pub(super) flags: Option<u64>,
}

/// What a message points back at.
#[derive(Debug, PartialEq)]
pub(super) struct Reply {
    pub(super) to: Snowflake,
    pub(super) channel: Option<Snowflake>,
    pub(super) fail_if_not_exists: bool,
}

/// `allowed_mentions`. Without the field everything in the text pings: the permissive default that a careless edit falls into.
#[derive(Debug, PartialEq)]
pub(super) struct Pings {
    pub(super) users: Allowed,
    pub(super) roles: Allowed,
    pub(super) everyone: bool,
    pub(super) replied_user: bool,
}

/// Which of the mentioned ids ping.
#[derive(Debug, PartialEq)]
pub(super) enum Allowed {
    All,
    Only(Vec<Snowflake>),
}

impl Allowed {
    pub(super) fn filter(&self, mentioned: Vec<Snowflake>) -> Vec<Snowflake> {
        match self {
            Allowed::All => mentioned,
            Allowed::Only(ids) => mentioned
                .into_iter()
                .filter(|id| ids.contains(id))
                .collect(),
        }
    }
}

impl Draft {
    /// Reads the body of a create.
    pub(super) fn parse(body: &Value) -> Result<Self, Refusal> {
        let body = object(body)?;
        let content = content(body)?.unwrap_or_default();
        let nonce = nonce(body)?;
        let components = components(body)?.unwrap_or_else(|| json!([]));
        let embeds = list(body, "embeds")?.unwrap_or_else(|| json!([]));
        let draft = Draft {
            content,
            nonce,
            enforce_nonce: flag(body, "enforce_nonce")?.unwrap_or(false),
            pings: pings(body)?,
            reply: reply(body)?,
            components,
            embeds,
            flags: number(body, "flags")?.unwrap_or(0),
        };
        let has_more = ["sticker_ids", "poll"]
            .iter()
            .any(|key| body.get(*key).is_some_and(|value| !value.is_null()));
        if draft.content.is_empty()
            && is_empty(&draft.components)
            && is_empty(&draft.embeds)
            && !has_more
        {
            return Err(Refusal::empty_message());
        }
        Ok(draft)
    }

    /// The key under which an enforced nonce is remembered: text and number of the same digits are the same nonce.
    pub(super) fn enforced_nonce(&self) -> Option<String> {
        match self.nonce.as_ref().filter(|_| self.enforce_nonce)? {
            Value::String(text) => Some(text.clone()),
            number => Some(number.to_string()),
        }
    }
}

impl Revision {
    /// Reads the body of an edit.
    pub(super) fn parse(body: &Value) -> Result<Self, Refusal> {
        let body = object(body)?;
        let cleared = |key: &str| body.get(key).is_some_and(Value::is_null);
        Ok(Revision {
            content: content(body)?.or_else(|| cleared("content").then(String::new)),
            pings: pings(body)?,
            components: components(body)?.or_else(|| cleared("components").then(|| json!([]))),
            embeds: list(body, "embeds")?.or_else(|| cleared("embeds").then(|| json!([]))),
            flags: number(body, "flags")?,
        })
    }
}

fn object(body: &Value) -> Result<&Map<String, Value>, Refusal> {
    body.as_object().ok_or_else(|| {
        Refusal::form(
            "",
            "MODEL_TYPE_CONVERT",
            "Only dictionaries may be used in a ModelType",
        )
    })
}

/// The text, trimmed at both ends as Discord does. Counted in code points: not in bytes and not in UTF-16 units.
fn content(body: &Map<String, Value>) -> Result<Option<String>, Refusal> {
    match body.get("content") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.chars().count() > CONTENT_LIMIT => Err(Refusal::form(
            "content",
            "BASE_TYPE_MAX_LENGTH",
            &format!("Must be {CONTENT_LIMIT} or fewer in length."),
        )),
        Some(Value::String(text)) => Ok(Some(text.trim().to_owned())),
        Some(_) => Err(Refusal::form(
            "content",
            "STRING_TYPE_CONVERT",
            "Could not interpret value as string.",
        )),
    }
}

fn nonce(body: &Map<String, Value>) -> Result<Option<Value>, Refusal> {
    match body.get("nonce") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.chars().count() > NONCE_LIMIT => Err(Refusal::form(
            "nonce",
            "NONCE_TYPE_TOO_LONG",
            &format!("Must be {NONCE_LIMIT} or fewer in length."),
        )),
        Some(nonce @ Value::String(_)) => Ok(Some(nonce.clone())),
        Some(nonce) if nonce.is_i64() || nonce.is_u64() => Ok(Some(nonce.clone())),
        Some(_) => Err(Refusal::form(
            "nonce",
            "NONCE_TYPE_INVALID_TYPE",
            "Must be an integer or a string.",
        )),
    }
}

fn flag(body: &Map<String, Value>, key: &str) -> Result<Option<bool>, Refusal> {
    match body.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => Err(Refusal::form(
            key,
            "BOOLEAN_TYPE_CONVERT",
            "Must be either true or false.",
        )),
    }
}

fn number(body: &Map<String, Value>, key: &str) -> Result<Option<u64>, Refusal> {
    match body.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64() {
            Some(number) => Ok(Some(number)),
            None => Err(Refusal::form(
                key,
                "NUMBER_TYPE_COERCE",
                "Value is not int.",
            )),
        },
    }
}

fn list(body: &Map<String, Value>, key: &str) -> Result<Option<Value>, Refusal> {
    match body.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(list @ Value::Array(_)) => Ok(Some(list.clone())),
        Some(_) => Err(Refusal::form(
            key,
            "LIST_TYPE_CONVERT",
            "Only iterables may be used in a ListType",
        )),
    }
}

fn id(value: &Value, path: &str) -> Result<Snowflake, Refusal> {
    let id = match value {
        Value::String(text) => Snowflake::parse(text),
        number => number.as_u64().map(Snowflake),
    };
    id.ok_or_else(|| {
        Refusal::form(
            path,
            "NUMBER_TYPE_COERCE",
            &format!("Value {value} is not snowflake."),
        )
    })
}

fn reply(body: &Map<String, Value>) -> Result<Option<Reply>, Refusal> {
    let reference = match body.get("message_reference") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(reference)) => reference,
        Some(_) => {
            return Err(Refusal::form(
                "message_reference",
                "MODEL_TYPE_CONVERT",
                "Only dictionaries may be used in a ModelType",
            ));
        }
    };
    let Some(to) = reference.get("message_id") else {
        return Err(Refusal::form(
            "message_reference.message_id",
            "BASE_TYPE_REQUIRED",
            "This field is required",
        ));
    };
    if number(reference, "type")?.unwrap_or(0) != 0 {
        // Forwarding is nothing a bot of this project does, so it is not built, and said rather than guessed at.
        return Err(Refusal::form(
            "message_reference.type",
            "BASE_TYPE_CHOICES",
            "This server takes replies only.",
        ));
    }
    Ok(Some(Reply {
        to: id(to, "message_reference.message_id")?,
        channel: reference
            .get("channel_id")
            .map(|channel| id(channel, "message_reference.channel_id"))
            .transpose()?,
        fail_if_not_exists: flag(reference, "fail_if_not_exists")?.unwrap_or(true),
    }))
}

fn pings(body: &Map<String, Value>) -> Result<Pings, Refusal> {
    let allowed = match body.get("allowed_mentions") {
        None | Some(Value::Null) => {
            return Ok(Pings {
                users: Allowed::All,
                roles: Allowed::All,
                everyone: true,
                replied_user: true,
            });
        }
        Some(Value::Object(allowed)) => allowed,
        Some(_) => {
            return Err(Refusal::form(
                "allowed_mentions",
                "MODEL_TYPE_CONVERT",
                "Only dictionaries may be used in a ModelType",
            ));
        }
    };
    let parsed = list(allowed, "parse")?.unwrap_or_else(|| json!([]));
    let parses = |kind: &str| {
        parsed
            .as_array()
            .is_some_and(|kinds| kinds.iter().any(|entry| entry == kind))
    };
    let named = |kind: &str| -> Result<Allowed, Refusal> {
        let ids = list(allowed, kind)?.unwrap_or_else(|| json!([]));
        let ids = ids
            .as_array()
            .into_iter()
            .flatten()
            .map(|value| id(value, &format!("allowed_mentions.{kind}")));
        let ids = ids.collect::<Result<Vec<_>, _>>()?;
        match (parses(kind), ids.is_empty()) {
            (true, false) => Err(Refusal::form(
                "allowed_mentions",
                "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
                &format!("parse:[\"{kind}\"] and {kind}: [ids...] are mutually exclusive."),
            )),
            (true, true) => Ok(Allowed::All),
            (false, _) => Ok(Allowed::Only(ids)),
        }
    };
    Ok(Pings {
        users: named("users")?,
        roles: named("roles")?,
        everyone: parses("everyone"),
        replied_user: flag(allowed, "replied_user")?.unwrap_or(false),
    })
}

/// Action rows of buttons, given back with the integer ids Discord adds (H15).
fn components(body: &Map<String, Value>) -> Result<Option<Value>, Refusal> {
    let Some(mut rows) = list(body, "components")? else {
        return Ok(None);
    };
    let rows_in = rows.as_array_mut().expect("just seen to be a list");
    if rows_in.len() > ROW_LIMIT {
        return Err(Refusal::form(
            "components",
            "BASE_TYPE_BAD_LENGTH",
            "Must be between 1 and 5 in length.",
        ));
    }
    let (mut next_id, mut seen) = (0_u32, HashSet::new());
    for (row_at, row) in rows_in.iter_mut().enumerate() {
        let path = format!("components.{row_at}");
        next_id += 1;
        number_component(row, next_id, 1, &path)?;
        let buttons = row.get_mut("components").and_then(Value::as_array_mut);
        let Some(buttons) = buttons.filter(|buttons| (1..=ROW_LIMIT).contains(&buttons.len()))
        else {
            return Err(Refusal::form(
                &format!("{path}.components"),
                "BASE_TYPE_BAD_LENGTH",
                "Must be between 1 and 5 in length.",
            ));
        };
        for (at, button) in buttons.iter_mut().enumerate() {
            let path = format!("{path}.components.{at}");
            next_id += 1;
            number_component(button, next_id, 2, &path)?;
            check_button(button, &path, &mut seen)?;
        }
    }
    Ok(Some(rows))
}

fn number_component(component: &mut Value, id: u32, kind: u8, path: &str) -> Result<(), Refusal> {
    if component.get("type") != Some(&json!(kind)) {
        return Err(Refusal::form(
            &format!("{path}.type"),
            "UNION_TYPE_CHOICES",
            &format!("Value of field \"type\" must be one of ({kind},)."),
        ));
    }
    let given = component
        .get("id")
        .and_then(Value::as_u64)
        .filter(|id| *id != 0);
    component["id"] = json!(given.unwrap_or(u64::from(id)));
    Ok(())
}

fn check_button(button: &Value, path: &str, seen: &mut HashSet<String>) -> Result<(), Refusal> {
    let style = button.get("style").and_then(Value::as_u64);
    if !style.is_some_and(|style| (1..=5).contains(&style)) {
        return Err(Refusal::form(
            &format!("{path}.style"),
            "BASE_TYPE_CHOICES",
            "Value must be one of {1, 2, 3, 4, 5}.",
        ));
    }
    let label = button
        .get("label")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if label.chars().count() > LABEL_LIMIT {
        return Err(Refusal::form(
            &format!("{path}.label"),
            "BASE_TYPE_MAX_LENGTH",
            &format!("Must be {LABEL_LIMIT} or fewer in length."),
        ));
    }
    if style == Some(5) {
        return Ok(());
    }
    let path = format!("{path}.custom_id");
    let Some(custom_id) = button.get("custom_id").and_then(Value::as_str) else {
        return Err(Refusal::form(
            &path,
            "BASE_TYPE_REQUIRED",
            "A custom id is required",
        ));
    };
    if !(1..=CUSTOM_ID_LIMIT).contains(&custom_id.chars().count()) {
        return Err(Refusal::form(
            &path,
            "BASE_TYPE_BAD_LENGTH",
            &format!("Must be between 1 and {CUSTOM_ID_LIMIT} in length."),
        ));
    }
    if !seen.insert(custom_id.to_owned()) {
        return Err(Refusal::form(
            &path,
            "COMPONENT_CUSTOM_ID_DUPLICATED",
            "Component custom id cannot be duplicated",
        ));
    }
    Ok(())
}

fn is_empty(list: &Value) -> bool {
    list.as_array().is_none_or(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(body: &Value) -> Refusal {
        Draft::parse(body).expect_err("this body is refused")
    }

    #[test]
    fn text_is_counted_in_code_points() {
        let longest = "😀".repeat(2000);
        assert_eq!(
            Draft::parse(&json!({ "content": longest }))
                .expect("2000 code points are legal")
                .content,
            longest
        );
        assert_eq!(
            refused(&json!({ "content": "😀".repeat(2001) })),
            Refusal::form(
                "content",
                "BASE_TYPE_MAX_LENGTH",
                "Must be 2000 or fewer in length."
            )
        );
    }

    #[test]
    fn blank_text_alone_is_an_empty_message() {
        for body in [
            json!({}),
            json!({ "content": " \n\t " }),
            json!({ "content": "", "components": [] }),
        ] {
            assert_eq!(refused(&body), Refusal::empty_message());
        }
    }

    #[test]
    fn a_nonce_is_at_most_25_characters_or_an_integer() {
        let with = |nonce: Value| {
            Draft::parse(&json!({ "content": "x", "nonce": nonce, "enforce_nonce": true }))
        };
        assert_eq!(
            with(json!("n".repeat(25)))
                .expect("25 is legal")
                .enforced_nonce(),
            Some("n".repeat(25))
        );
        assert_eq!(
            with(json!(12))
                .expect("an integer is legal")
                .enforced_nonce(),
            Some("12".into())
        );
        assert_eq!(
            with(json!("n".repeat(26))),
            Err(Refusal::form(
                "nonce",
                "NONCE_TYPE_TOO_LONG",
                "Must be 25 or fewer in length."
            ))
        );
        assert_eq!(
            with(json!(1.5)),
            Err(Refusal::form(
                "nonce",
                "NONCE_TYPE_INVALID_TYPE",
                "Must be an integer or a string."
            ))
        );
    }

    #[test]
    fn without_allowed_mentions_everything_pings_and_with_an_empty_one_nothing() {
        let all = Pings {
            users: Allowed::All,
            roles: Allowed::All,
            everyone: true,
            replied_user: true,
        };
        let none = Pings {
            users: Allowed::Only(vec![]),
            roles: Allowed::Only(vec![]),
            everyone: false,
            replied_user: false,
        };
        assert_eq!(
            Draft::parse(&json!({ "content": "x" }))
                .expect("legal")
                .pings,
            all
        );
        assert_eq!(
            Draft::parse(&json!({ "content": "x", "allowed_mentions": { "parse": [] } }))
                .expect("legal")
                .pings,
            none
        );
    }

    #[test]
    fn parsing_users_and_naming_users_exclude_each_other() {
        let refusal = refused(
            &json!({ "content": "x", "allowed_mentions": { "parse": ["users"], "users": ["7"] } }),
        );
        assert_eq!(refusal.code, 50035);
    }

    #[test]
    fn components_come_back_with_integer_ids() {
        let button = json!({ "type": 2, "style": 3, "label": "Approve", "custom_id": "a" });
        let draft = Draft::parse(&json!({ "components": [{ "type": 1, "components": [button] }] }))
            .expect("legal");
        assert_eq!(
            draft.components,
            json!([{ "type": 1, "id": 1, "components": [{ "type": 2, "style": 3, "label": "Approve", "custom_id": "a", "id": 2 }] }])
        );
    }

    #[test]
    fn a_custom_id_is_there_once_and_has_1_to_100_characters() {
        let row = |ids: &[&str]| {
            let buttons: Vec<Value> = ids
                .iter()
                .map(|id| json!({ "type": 2, "style": 1, "label": "x", "custom_id": id }))
                .collect();
            Draft::parse(&json!({ "components": [{ "type": 1, "components": buttons }] }))
        };
        assert!(row(&[&"c".repeat(100)]).is_ok());
        for ids in [&["c".repeat(101).as_str()][..], &[""], &["same", "same"]] {
            assert_eq!(row(ids).expect_err("refused").code, 50035);
        }
    }
}
