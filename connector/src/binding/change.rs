//! What changed between the binding in force and an edited one, and whether a running connector may take it (seeds 002,
//! `reload`). It compares two values and looks nothing up.

use serde::{Deserialize, Serialize};

use super::{Binding, Limits};
use crate::discord::Snowflake;

/// What a reload would swap, by id; no name of a person or channel is in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Changes {
    /// `guildName` is another.
    pub guild_name: bool,
    /// What happened to the listed channels.
    pub channels: ListChanges,
    /// What happened to the listed people.
    pub users: ListChanges,
    /// The limits that have another value, as the file calls them.
    pub limits: Vec<String>,
}

/// What happened to a list of ids.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListChanges {
    /// Ids that are new.
    pub added: Vec<Snowflake>,
    /// Ids that are gone.
    pub removed: Vec<Snowflake>,
    /// Ids that stay with something else about them.
    pub changed: Vec<Snowflake>,
}

impl Changes {
    /// Compares. The new channels of the result must be looked up before it is applied.
    ///
    /// # Errors
    /// The fields that are fixed for the life of the process and differ, as the file calls them: the engine and its prompt
    /// are launched once, the token is read once, and `tools` and `sandbox` are also the broker's.
    pub fn between(old: &Binding, new: &Binding) -> Result<Self, Vec<&'static str>> {
        let fixed = [
            ("name", old.name != new.name),
            ("seat", old.seat != new.seat),
            ("guildId", old.guild != new.guild),
            ("botUserId", old.bot_user != new.bot_user),
            ("tokenFile", old.token_file != new.token_file),
            ("engine", old.engine != new.engine),
            ("context", old.context_files != new.context_files),
            ("tools", old.tools != new.tools),
            ("sandbox", old.required_abi != new.required_abi),
        ];
        let differ = names(&fixed);
        if !differ.is_empty() {
            return Err(differ);
        }
        Ok(Self {
            guild_name: old.guild_name != new.guild_name,
            channels: ListChanges::between(&old.channels, &new.channels, |channel| channel.id),
            users: ListChanges::between(&old.users, &new.users, |user| user.id),
            limits: limits(&old.limits, &new.limits),
        })
    }

    /// Nothing would be swapped.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl ListChanges {
    fn between<T: PartialEq>(old: &[T], new: &[T], id: impl Fn(&T) -> Snowflake) -> Self {
        let find = |list: &[T], wanted: Snowflake| list.iter().position(|item| id(item) == wanted);
        let mut changes = Self::default();
        for item in new {
            match find(old, id(item)) {
                None => changes.added.push(id(item)),
                Some(at) if old[at] != *item => changes.changed.push(id(item)),
                Some(_) => {}
            }
        }
        let gone = old.iter().map(&id).filter(|old| find(new, *old).is_none());
        changes.removed.extend(gone);
        changes
    }
}

fn limits(old: &Limits, new: &Limits) -> Vec<String> {
    let differ = [
        ("turnsPerDay", old.turns_per_day != new.turns_per_day),
        ("turnTimeoutSeconds", old.turn_timeout != new.turn_timeout),
        (
            "replyChunkChars",
            old.reply_chunk_chars != new.reply_chunk_chars,
        ),
        (
            "inboundMaxChars",
            old.inbound_max_chars != new.inbound_max_chars,
        ),
        ("maxAgeSeconds", old.max_age != new.max_age),
    ];
    names(&differ).into_iter().map(str::to_owned).collect()
}

fn names(rows: &[(&'static str, bool)]) -> Vec<&'static str> {
    let differ = rows.iter().filter(|(_, differs)| *differs);
    differ.map(|(name, _)| *name).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn file() -> Value {
        serde_json::from_str(include_str!("../../fixtures/binding.example.json")).unwrap()
    }

    fn read(file: &Value) -> Binding {
        let name = file["name"].as_str().unwrap();
        super::super::file::parse(file.to_string().as_bytes(), name)
            .unwrap_or_else(|fault| panic!("{fault:?}"))
    }

    fn compared(over: &Value) -> Result<Changes, Vec<&'static str>> {
        let mut new = file();
        new.as_object_mut()
            .unwrap()
            .extend(over.as_object().unwrap().clone());
        Changes::between(&read(&file()), &read(&new))
    }

    fn ids(numbers: &[u64]) -> Vec<Snowflake> {
        numbers
            .iter()
            .map(|number| Snowflake::new(*number).unwrap())
            .collect()
    }

    #[test]
    fn the_same_file_changes_nothing() {
        assert!(compared(&json!({})).unwrap().is_empty());
    }

    #[test]
    fn people_channels_limits_and_the_servers_name_are_swapped_by_id() {
        let mut old = file();
        let list = |rows: &[(&str, &str)]| -> Value {
            rows.iter()
                .map(|(id, name)| json!({ "id": id, "name": name, "mode": "open" }))
                .collect()
        };
        let people = |rows: &[(&str, &str)]| -> Value {
            rows.iter()
                .map(|(id, name)| json!({ "id": id, "name": name }))
                .collect()
        };
        old["channels"] = list(&[("20", "a"), ("21", "b"), ("22", "c")]);
        old["users"] = people(&[("30", "x"), ("31", "y")]);
        let mut new = old.clone();
        new["guildName"] = json!("Another");
        new["channels"] = list(&[("23", "d"), ("20", "a"), ("21", "renamed")]);
        new["users"] = people(&[("31", "y")]);
        new["limits"] = json!({ "turnsPerDay": 7, "maxAgeSeconds": 9 });

        let changes = Changes::between(&read(&old), &read(&new)).unwrap();

        let expected = Changes {
            guild_name: true,
            channels: ListChanges {
                added: ids(&[23]),
                removed: ids(&[22]),
                changed: ids(&[21]),
            },
            users: ListChanges {
                removed: ids(&[30]),
                ..ListChanges::default()
            },
            limits: changes.limits.clone(),
        };
        assert_eq!(changes, expected);
        for limit in ["turnsPerDay", "maxAgeSeconds"] {
            assert!(
                changes.limits.iter().any(|name| name == limit),
                "{:?}",
                changes.limits
            );
        }
    }

    #[test]
    fn each_field_that_is_fixed_for_the_life_of_the_process_refuses() {
        let engine = json!({ "provider": "another", "model": "m", "thinking": "off" });
        let rows = [
            ("seat", json!("another")),
            ("guildId", json!("77")),
            ("botUserId", json!("78")),
            ("tokenFile", json!("/another")),
            ("engine", engine),
            ("context", json!({ "files": ["another.md"] })),
            ("tools", json!({ "roots": [] })),
            ("sandbox", json!({ "landlockAbi": 4 })),
        ];
        for (field, value) in rows {
            assert_eq!(compared(&json!({ field: value })), Err(vec![field]));
        }
    }
}
