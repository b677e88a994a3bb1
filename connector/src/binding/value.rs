//! JSON as it stands in the binding file, and walking it with the path of every place at hand. Serde's own errors quote
//! the value they stumble over, and a value in the wrong field may be a secret: so the binding is read through this, and
//! errors name a field, a class of value and what is accepted. It knows no field.

use std::fmt;
use std::ops::RangeInclusive;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// One JSON value. Keys keep their order and occur once.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool,
    Whole(u64),
    OtherNumber,
    Text(String),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

/// A value that does not fit its field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {found}; accepted is {accepted}.")]
pub struct Misfit {
    /// The field as a path into the file: `users[2].channels[0]`.
    pub field: String,
    /// The class of the value, never the value.
    pub found: String,
    /// What would be accepted.
    pub accepted: String,
}

/// One place in the file: the value there and the path to it.
#[derive(Debug, Clone)]
pub(super) struct Place<'a> {
    path: String,
    value: &'a Value,
}

/// The keys of one object, all of them known.
#[derive(Debug)]
pub(super) struct Keys<'a> {
    path: String,
    entries: &'a [(String, Value)],
}

impl<'a> Place<'a> {
    /// The whole file.
    pub(super) fn whole_file(value: &'a Value) -> Self {
        Self {
            path: String::new(),
            value,
        }
    }

    /// The refusal of the value at this place.
    pub(super) fn refuse(&self, accepted: impl fmt::Display) -> Misfit {
        let field = if self.path.is_empty() {
            "The binding"
        } else {
            self.path.as_str()
        };
        Misfit {
            field: field.to_owned(),
            found: class(self.value),
            accepted: accepted.to_string(),
        }
    }

    /// The object here, with no key but `known`.
    pub(super) fn keys(&self, known: &[&str]) -> Result<Keys<'a>, Misfit> {
        let Value::Object(entries) = self.value else {
            return Err(self.refuse(format_args!("an object with {}", known.join(", "))));
        };
        if let Some((key, _)) = entries
            .iter()
            .find(|(key, _)| !known.contains(&key.as_str()))
        {
            // The key is somebody's text too: one short printable word of it is enough to find it.
            let shown: String = key.escape_debug().take(40).collect();
            let place = if self.path.is_empty() {
                "the binding".to_owned()
            } else {
                self.path.clone()
            };
            return Err(Misfit {
                field: format!("\"{shown}\" in {place}"),
                found: "an unknown key".to_owned(),
                accepted: known.join(", "),
            });
        }
        Ok(Keys {
            path: self.path.clone(),
            entries,
        })
    }

    /// The elements of the list here; it must have some unless `may_be_empty`.
    pub(super) fn items(
        &self,
        may_be_empty: bool,
        accepted: &str,
    ) -> Result<Vec<Place<'a>>, Misfit> {
        match self.value {
            Value::List(items) if may_be_empty || !items.is_empty() => Ok(items
                .iter()
                .enumerate()
                .map(|(index, value)| Place {
                    path: format!("{}[{index}]", self.path),
                    value,
                })
                .collect()),
            _ => Err(self.refuse(accepted)),
        }
    }

    /// What `read` makes of the string here.
    pub(super) fn text<T>(
        &self,
        accepted: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, Misfit> {
        let Value::Text(text) = self.value else {
            return Err(self.refuse(accepted));
        };
        read(text).ok_or_else(|| self.refuse(accepted))
    }

    /// Whether an object stands here.
    pub(super) fn is_object(&self) -> bool {
        matches!(self.value, Value::Object(_))
    }

    /// The whole number here.
    pub(super) fn number(&self, range: RangeInclusive<u64>, unit: &str) -> Result<u64, Misfit> {
        match self.value {
            Value::Whole(number) if range.contains(number) => Ok(*number),
            _ if range.start() == range.end() => {
                Err(self.refuse(format_args!("{}, {unit}", range.start())))
            }
            _ => Err(self.refuse(format_args!(
                "a number from {} to {}, {unit}",
                range.start(),
                range.end()
            ))),
        }
    }
}

impl<'a> Keys<'a> {
    /// The value of a key that may be left out.
    pub(super) fn optional(&self, key: &str) -> Option<Place<'a>> {
        let (_, value) = self.entries.iter().find(|(name, _)| name == key)?;
        Some(Place {
            path: self.path_of(key),
            value,
        })
    }

    /// The value of a key that must be there.
    pub(super) fn required(&self, key: &str, accepted: &str) -> Result<Place<'a>, Misfit> {
        self.optional(key).ok_or_else(|| Misfit {
            field: self.path_of(key),
            found: "missing".to_owned(),
            accepted: accepted.to_owned(),
        })
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }
}

fn class(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool => "true or false".to_owned(),
        Value::Whole(number) => format!("the number {number}"),
        Value::OtherNumber => "a negative or broken number".to_owned(),
        Value::Text(text) if text.is_empty() => "an empty string".to_owned(),
        Value::Text(_) => "a string that does not fit".to_owned(),
        Value::List(items) if items.is_empty() => "an empty list".to_owned(),
        Value::List(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Value, E> {
        Ok(Value::Bool)
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Whole(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(u64::try_from(number).map_or(Value::OtherNumber, Value::Whole))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Value, E> {
        Ok(Value::OtherNumber)
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut entries: Vec<(String, Value)> = Vec::new();
        while let Some((key, value)) = object.next_entry::<String, Value>()? {
            // Two readers may each take another one of two equal keys: neither is taken.
            if entries.iter().any(|(seen, _)| *seen == key) {
                return Err(de::Error::custom("a key stands twice in one object"));
            }
            entries.push((key, value));
        }
        Ok(Value::Object(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_key_that_stands_twice_is_refused_at_any_depth() {
        for text in [r#"{"a":1,"a":1}"#, r#"[{"b":{"a":1,"a":2}}]"#] {
            assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_error_names_path_class_and_what_is_accepted_but_no_value() {
        let file = parse(r#"{"users":[{"id":"hunter2"}]}"#);
        let keys = Place::whole_file(&file).keys(&["users"]).unwrap();
        let user = keys
            .required("users", "a list")
            .unwrap()
            .items(false, "a list")
            .unwrap()
            .remove(0);
        let id = user.keys(&["id"]).unwrap().required("id", "an id").unwrap();

        let misfit = id.text("an id", |_| None::<()>).unwrap_err();

        assert_eq!(
            misfit.to_string(),
            "users[0].id is a string that does not fit; accepted is an id."
        );
    }

    #[test]
    fn an_unknown_key_is_shown_short_and_printable() {
        let file = parse(&format!(r#"{{"\u001b[2J{}":1}}"#, "x".repeat(100)));

        let misfit = Place::whole_file(&file).keys(&["a", "b"]).unwrap_err();

        assert!(
            misfit.field.len() < 70 && !misfit.field.contains('\u{1b}'),
            "{}",
            misfit.field
        );
        assert_eq!(misfit.accepted, "a, b");
    }
}
