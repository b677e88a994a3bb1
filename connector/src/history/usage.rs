//! Tokens and cost of turns, summed by person, channel or day. It adds up records and reads nothing.

use std::collections::BTreeMap;

use clap::ValueEnum;
use serde::Serialize;

use crate::journal::{TurnRecord, Usage};

/// What turns are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Who asked.
    User,
    /// The listed channel; threads count for their parent.
    Channel,
    /// The UTC day of the admission.
    Day,
}

/// The sum of some turns.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sum {
    /// The id or the day the turns have in common; `total` for all.
    pub key: String,
    /// The role of the person, as the last of the turns has it; empty otherwise.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// How many turns.
    pub turns: u64,
    /// Their tokens and cost.
    pub usage: Usage,
}

impl Sum {
    fn add(&mut self, record: &TurnRecord) {
        let Usage {
            input,
            output,
            cache_read,
            cache_write,
            cost,
        } = record.engine.usage;
        self.turns += 1;
        self.usage.input += input;
        self.usage.output += output;
        self.usage.cache_read += cache_read;
        self.usage.cache_write += cache_write;
        self.usage.cost += cost;
    }
}

/// Sums `records` (oldest first), one sum per key in the order of the keys, and the sum of all.
pub fn sum<'a>(records: impl IntoIterator<Item = &'a TurnRecord>, by: By) -> (Vec<Sum>, Sum) {
    let mut sums: BTreeMap<(u64, String), Sum> = BTreeMap::new();
    let mut total = Sum {
        key: "total".into(),
        ..Sum::default()
    };
    for record in records {
        // Ids of different lengths do not sort as text.
        let (order, key, name) = match by {
            By::User => (
                record.author.get(),
                record.author.to_string(),
                record.requester.clone(),
            ),
            By::Channel => (
                record.channel.get(),
                record.channel.to_string(),
                String::new(),
            ),
            By::Day => (0, record.times.admitted.day().to_string(), String::new()),
        };
        let sum = sums.entry((order, key.clone())).or_default();
        sum.key = key;
        sum.name = name;
        sum.add(record);
        total.add(record);
    }
    (sums.into_values().collect(), total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discord::Snowflake;

    fn record(author: u64, requester: &str, admitted: &str, output: u64, cost: f64) -> TurnRecord {
        let mut record = TurnRecord::example();
        record.author = Snowflake::new(author).unwrap();
        record.requester = requester.into();
        record.times.admitted = admitted.parse().unwrap();
        record.engine.usage = Usage {
            output,
            cost,
            ..Usage::default()
        };
        record
    }

    #[test]
    fn turns_are_summed_by_person_by_day_and_in_all() {
        let records = [
            record(9, "Jay", "2026-11-30T23:59:59.999Z", 1, 0.25),
            record(10, "Carmen", "2026-12-01T00:00:00.000Z", 10, 0.5),
            record(9, "Jason", "2026-12-01T00:00:01.000Z", 100, 1.0),
        ];
        let told = |by| {
            let (sums, total) = sum(&records, by);
            let told = |sum: &Sum| {
                (
                    sum.key.clone(),
                    sum.name.clone(),
                    sum.turns,
                    sum.usage.output,
                    sum.usage.cost,
                )
            };
            let mut told_all: Vec<_> = sums.iter().map(told).collect();
            told_all.push(told(&total));
            told_all
        };
        let row = |key: &str, name: &str, turns, output, cost| {
            (key.to_owned(), name.to_owned(), turns, output, cost)
        };

        assert_eq!(
            told(By::User),
            [
                row("9", "Jason", 2, 101, 1.25),
                row("10", "Carmen", 1, 10, 0.5),
                row("total", "", 3, 111, 1.75),
            ]
        );
        assert_eq!(
            told(By::Day),
            [
                row("2026-11-30", "", 1, 1, 0.25),
                row("2026-12-01", "", 2, 110, 1.5),
                row("total", "", 3, 111, 1.75),
            ]
        );
        assert_eq!(told(By::Channel)[1..], [row("total", "", 3, 111, 1.75)]);
    }
}
