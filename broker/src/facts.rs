//! What the ledger and the answer may say about a call: named sizes, names and digests, in the order they were learnt.
//! Content never becomes a fact, and neither does a host path.

use mosaic_proto::v1;

/// One value of a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A name or a digest. One printable line: whoever adds it has escaped it.
    Text(String),
    /// A size or a count.
    Number(u64),
    /// A yes or no.
    Flag(bool),
}

/// Ordered facts of one call. Names are stable `snake_case`; adding a name again replaces its value in place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts(Vec<(&'static str, Value)>);

impl Facts {
    /// Starts without a fact.
    #[must_use]
    pub fn new() -> Facts {
        Facts::default()
    }

    /// Adds a name or a digest.
    pub fn text(&mut self, name: &'static str, value: impl Into<String>) {
        self.put(name, Value::Text(value.into()));
    }

    /// Adds a size or a count.
    pub fn number(&mut self, name: &'static str, value: u64) {
        self.put(name, Value::Number(value));
    }

    /// Adds a count of things in memory.
    pub fn count(&mut self, name: &'static str, value: usize) {
        self.number(name, u64::try_from(value).unwrap_or(u64::MAX));
    }

    /// Adds a yes or no.
    pub fn flag(&mut self, name: &'static str, value: bool) {
        self.put(name, Value::Flag(value));
    }

    /// The value of one fact.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }

    /// The facts in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    /// The facts as the wire carries them.
    #[must_use]
    pub fn to_proto(&self) -> Vec<v1::Fact> {
        self.iter()
            .map(|(name, value)| v1::Fact {
                name: name.to_owned(),
                value: Some(match value {
                    Value::Text(text) => v1::fact::Value::Text(text.clone()),
                    Value::Number(number) => v1::fact::Value::Number(*number),
                    Value::Flag(flag) => v1::fact::Value::Flag(*flag),
                }),
            })
            .collect()
    }

    fn put(&mut self, name: &'static str, value: Value) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_keep_their_order_and_a_repeated_name_replaces_its_value() {
        let mut facts = Facts::new();
        facts.text("root", "vault");
        facts.number("bytes", 3);
        facts.text("root", "notes");

        let seen: Vec<_> = facts.iter().collect();

        assert_eq!(
            seen,
            [
                ("root", &Value::Text("notes".into())),
                ("bytes", &Value::Number(3))
            ]
        );
    }
}
