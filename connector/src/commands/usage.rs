//! `usage`: tokens and cost of the recorded turns, as a table.

use std::fmt::Write as _;
use std::str::FromStr;

use clap::Args;

use super::{Place, Surroundings, print};
use crate::discord::Snowflake;
use crate::exit::Exit;
use crate::history::{self, By, Sum};
use crate::journal::{At, Day};

/// Milliseconds of a day.
const DAY_MS: u64 = 86_400_000;

/// Sum tokens and cost of the recorded turns
///
/// Prices are those of the engine's list at the time of each turn. From the records alone, also while the connector runs.
#[derive(Debug, Args)]
pub(super) struct Usage {
    #[command(flatten)]
    place: Place,

    /// First day: 2026-11-30 (UTC), or 7d for the last seven [default: all]
    #[arg(long, value_name = "DAY")]
    since: Option<Since>,

    /// What turns are summed by
    #[arg(long, value_enum, default_value_t = By::Day)]
    by: By,

    /// Print JSON, one object a line, the total last
    #[arg(long)]
    json: bool,
}

/// The first day that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Since {
    Day(Day),
    /// So many days, today included.
    Last(u64),
}

impl FromStr for Since {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let days = text.strip_suffix('d').and_then(|days| days.parse().ok());
        match days {
            Some(days @ 1..=36_500) => Ok(Self::Last(days)),
            _ => text
                .parse()
                .map(Self::Day)
                .map_err(|_| "a day is 2026-11-30, or 7d for the last seven"),
        }
    }
}

impl Since {
    fn day(self, now: At) -> Day {
        match self {
            Self::Day(day) => day,
            Self::Last(days) => At::from_ms(now.ms().saturating_sub((days - 1) * DAY_MS)).day(),
        }
    }
}

impl Usage {
    pub(super) fn run(&self, around: &Surroundings) -> Result<(), Exit> {
        let paths = self.place.known_paths(around)?;
        let since = self.since.map(|since| since.day(At::now()));
        let mut records = Vec::new();
        for id in history::recorded(&paths).map_err(Exit::failed)? {
            if since.is_some_and(|since| latest_turn(id).day() < since) {
                continue;
            }
            records.extend(history::record(&paths, id).map_err(Exit::failed)?);
        }
        records.retain(|record| since.is_none_or(|since| record.times.admitted.day() >= since));
        let (sums, total) = history::sum(&records, self.by);
        let text = if self.json {
            let lines: Result<Vec<String>, _> = sums
                .iter()
                .chain([&total])
                .map(serde_json::to_string)
                .collect();
            lines
                .map_err(Exit::failed)?
                .into_iter()
                .map(|line| line + "\n")
                .collect()
        } else {
            table(&sums, &total)
        };
        let _ = print(&text);
        Ok(())
    }
}

/// When a message can have got its turn at the latest: limits.maxAgeSeconds is at most a day, and a day for clocks that differ.
fn latest_turn(message: Snowflake) -> At {
    At::from_ms(message.created_ms() + 2 * DAY_MS)
}

fn table(sums: &[Sum], total: &Sum) -> String {
    let mut text = format!(
        "{:<20} {:<13} {:>5} {:>10} {:>9} {:>10} {:>8}\n",
        "", "", "TURNS", "IN", "OUT", "CACHED", "USD"
    );
    for sum in sums.iter().chain([total]) {
        let name: String = sum.name.chars().take(13).collect();
        let usage = sum.usage;
        let _ = writeln!(
            text,
            "{:<20} {name:<13} {:>5} {:>10} {:>9} {:>10} {:>8.2}",
            sum.key,
            sum.turns,
            usage.input + usage.cache_write,
            usage.output,
            usage.cache_read,
            usage.cost
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::TurnRecord;

    #[test]
    fn a_day_is_a_date_or_so_many_days_with_today() {
        let now: At = "2026-12-01T00:30:00.000Z".parse().unwrap();
        let day = |text: &str| {
            text.parse::<Since>()
                .map(|since| since.day(now).to_string())
        };

        assert_eq!(day("2026-11-30"), Ok("2026-11-30".to_owned()));
        assert_eq!(day("1d"), Ok("2026-12-01".to_owned()));
        assert_eq!(day("7d"), Ok("2026-11-25".to_owned()));
        for bad in ["", "d", "0d", "-1d", "yesterday", "2026-13-01"] {
            assert!(day(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_table_reads_as_written() {
        let (sums, total) = history::sum(&[TurnRecord::example(), TurnRecord::example()], By::User);

        insta::assert_snapshot!(table(&sums, &total));
    }
}
