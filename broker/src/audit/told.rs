//! Facts of a call as a ledger line holds them: a JSON object in the order they were learnt. Reads back names it has
//! never heard of, since an old ledger outlives the verbs of its day.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
    ser::SerializeMap,
};

use crate::facts::{Facts, Value};

/// Facts as told by a line.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Told(Vec<(String, Said)>);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Said {
    Flag(bool),
    Number(u64),
    Text(String),
}

impl From<&Facts> for Told {
    fn from(facts: &Facts) -> Told {
        let said = |value: &Value| match value {
            Value::Text(text) => Said::Text(text.clone()),
            Value::Number(number) => Said::Number(*number),
            Value::Flag(flag) => Said::Flag(*flag),
        };
        Told(
            facts
                .iter()
                .map(|(name, value)| (name.to_owned(), said(value)))
                .collect(),
        )
    }
}

impl Told {
    /// The text of one fact.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find_map(|(known, said)| match said {
            Said::Text(text) if known == name => Some(text.as_str()),
            _ => None,
        })
    }
}

/// `root=vault path=notes/a.md bytes=12`
impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, said)) in self.0.iter().enumerate() {
            let blank = if at == 0 { "" } else { " " };
            match said {
                Said::Flag(flag) => write!(f, "{blank}{name}={flag}")?,
                Said::Number(number) => write!(f, "{blank}{name}={number}")?,
                Said::Text(text) => write!(f, "{blank}{name}={text}")?,
            }
        }
        Ok(())
    }
}

impl Serialize for Told {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, said) in &self.0 {
            map.serialize_entry(name, said)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Told {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Told, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Told;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of facts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Told, A::Error> {
                let mut told = Vec::new();
                while let Some(fact) = map.next_entry()? {
                    told.push(fact);
                }
                Ok(Told(told))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_keep_their_order_and_kinds_through_a_line() {
        let mut facts = Facts::new();
        facts.text("root", "vault");
        facts.number("bytes", 12);
        facts.flag("created", true);
        let told = Told::from(&facts);

        let json = serde_json::to_string(&told).expect("json");

        assert_eq!(json, r#"{"root":"vault","bytes":12,"created":true}"#);
        assert_eq!(serde_json::from_str::<Told>(&json).expect("read"), told);
        assert_eq!(told.to_string(), "root=vault bytes=12 created=true");
    }
}
