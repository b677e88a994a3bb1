//! `turns`: the turn records for people: a table of the last ones, one in full, or each as it happens.

use std::fmt::Write as _;
use std::thread::sleep;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::message::MessageName;
use super::{Place, Surroundings, print};
use crate::exit::Exit;
use crate::history::{self, Fate, History, Tail};
use crate::journal::{At, Reaction, ToolCall, TurnRecord};

/// How often the journals are looked at for something new.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Read the turn records: list the last ones, show one, follow new ones
#[derive(Debug, Args)]
pub(super) struct Turns {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(List),
    Show(Show),
    Follow(Follow),
}

/// Print a table of the last turns, oldest first
#[derive(Debug, Args)]
struct List {
    #[command(flatten)]
    place: Place,

    /// How many
    #[arg(long, value_name = "N", default_value_t = 20)]
    last: usize,

    /// Print the records instead, one JSON object a line
    #[arg(long)]
    json: bool,
}

/// Print what one turn was: times, tools, delivery, confinement
#[derive(Debug, Args)]
struct Show {
    #[command(flatten)]
    place: Place,

    /// The inbound message: its id or its link
    message: MessageName,

    /// Print the record as it is
    #[arg(long)]
    json: bool,
}

/// Print a line for each turn that begins or ends and each message that is dropped, until interrupted
#[derive(Debug, Args)]
struct Follow {
    #[command(flatten)]
    place: Place,

    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
}

impl Turns {
    pub(super) fn run(&self, around: &Surroundings) -> Result<(), Exit> {
        match &self.action {
            Action::List(list) => list.run(around),
            Action::Show(show) => show.run(around),
            Action::Follow(follow) => follow.run(around),
        }
    }
}

impl List {
    fn run(&self, around: &Surroundings) -> Result<(), Exit> {
        let paths = self.place.known_paths(around)?;
        let ids = history::recorded(&paths).map_err(Exit::failed)?;
        let mut records = Vec::new();
        for id in &ids[ids.len().saturating_sub(self.last)..] {
            records.extend(history::record(&paths, *id).map_err(Exit::failed)?);
        }
        let text = if self.json {
            let lines: Result<Vec<String>, _> = records.iter().map(serde_json::to_string).collect();
            lines
                .map_err(Exit::failed)?
                .into_iter()
                .map(|line| line + "\n")
                .collect()
        } else {
            table(&records)
        };
        let _ = print(&text);
        Ok(())
    }
}

fn table(records: &[TurnRecord]) -> String {
    let mut text = format!(
        "{:<20} {:<19} {:<13} {:<11} {:>5} {:>6}\n",
        "MESSAGE", "RECEIVED (UTC)", "ASKED BY", "OUTCOME", "CALLS", "SECS"
    );
    for record in records {
        let requester: String = record.requester.chars().take(13).collect();
        let _ = writeln!(
            text,
            "{:<20} {:<19} {requester:<13} {:<11} {:>5} {:>6}",
            record.id.to_string(),
            to_the_second(record.times.received),
            history::outcome(record.outcome),
            record.tools.len(),
            seconds(record.times.received, record.times.delivered),
        );
    }
    text
}

fn to_the_second(at: At) -> String {
    at.to_string().replace('T', " ").chars().take(19).collect()
}

fn seconds(from: At, to: Option<At>) -> String {
    to.map_or_else(String::new, |to| {
        let ms = to.ms().saturating_sub(from.ms());
        format!("{}.{}", ms / 1000, ms % 1000 / 100)
    })
}

impl Show {
    fn run(&self, around: &Surroundings) -> Result<(), Exit> {
        let paths = self.place.known_paths(around)?;
        let MessageName(message) = self.message;
        let Some(record) = history::record(&paths, message).map_err(Exit::failed)? else {
            let history = History::read(&paths).map_err(Exit::failed)?;
            let fate = Fate::of(message, &history, None);
            return Err(Exit::failed(format_args!(
                "There is no record of {message}. {fate}"
            )));
        };
        let text = if self.json {
            serde_json::to_string_pretty(&record).map_err(Exit::failed)? + "\n"
        } else {
            whole(&record)
        };
        let _ = print(&text);
        Ok(())
    }
}

fn whole(record: &TurnRecord) -> String {
    let mut rows: Vec<(&str, String)> = Vec::new();
    let times = &record.times;
    rows.push(("message", record.id.to_string()));
    rows.push((
        "asked by",
        format!("{} ({})", record.requester, record.author),
    ));
    let thread = record
        .thread
        .map(|thread| format!(", thread {thread}"))
        .unwrap_or_default();
    rows.push(("channel", format!("{}{thread}", record.channel)));
    let error = record
        .error
        .as_ref()
        .map(|error| format!(": {error}"))
        .unwrap_or_default();
    rows.push((
        "outcome",
        format!("{}{error}", history::outcome(record.outcome)),
    ));
    rows.push(("received", times.received.to_string()));
    for (step, at) in [
        ("admitted", Some(times.admitted)),
        ("prompted", times.prompted),
        ("settled", times.settled),
        ("delivered", times.delivered),
    ] {
        if let Some(at) = at {
            rows.push((
                step,
                format!("{at} (+{} s)", seconds(times.received, Some(at))),
            ));
        }
    }
    let receipt = match &record.receipt {
        Reaction::Added => "added".to_owned(),
        Reaction::Refused { reason } => format!("refused: {reason}"),
        Reaction::NotTried => "not tried".to_owned(),
    };
    rows.push(("read receipt", receipt));
    let engine = &record.engine;
    let cut = if engine.cut {
        ", cut by the length limit"
    } else {
        ""
    };
    rows.push((
        "engine",
        format!(
            "{}/{}, {} model calls, {} retries{cut}",
            engine.provider, engine.model, engine.turns, engine.retries
        ),
    ));
    let usage = engine.usage;
    rows.push((
        "tokens",
        format!(
            "{} in, {} out, {} from cache, {} to cache; ${:.4}",
            usage.input, usage.output, usage.cache_read, usage.cache_write, usage.cost
        ),
    ));
    for call in &record.tools {
        rows.push(("call", call_line(call)));
    }
    let delivery = &record.delivery;
    let stopped = delivery
        .stopped_by
        .as_ref()
        .map(|why| format!(", stopped by {why}"))
        .unwrap_or_default();
    rows.push((
        "delivery",
        format!(
            "{} of {} parts stand{stopped}",
            delivery.standing, delivery.chunks
        ),
    ));
    for posted in &delivery.posted {
        rows.push((
            "posted",
            posted.map_or_else(|| "deleted since".to_owned(), |id| id.to_string()),
        ));
    }
    let sandbox = record.sandbox;
    rows.push((
        "sandbox",
        format!(
            "Landlock ABI {} ({} demanded), {} of {} attempts denied",
            sandbox.landlock_abi, sandbox.required_abi, sandbox.denied, sandbox.attempts
        ),
    ));
    if let Some(digest) = &record.policy_digest {
        rows.push(("policy", digest.clone()));
    }
    rows.into_iter()
        .fold(String::new(), |mut text, (name, value)| {
            let _ = writeln!(text, "{name:<13} {value}");
            text
        })
}

/// `1 read_file done in 3 ms; path=a.md root=docs`.
fn call_line(call: &ToolCall) -> String {
    let outcome = serde_json::to_value(call.outcome).unwrap_or_default();
    let reason = if call.reason.is_empty() {
        String::new()
    } else {
        format!(": {}", call.reason)
    };
    let mut line = format!(
        "{} {} {}{reason} in {} ms",
        call.index,
        call.name,
        outcome.as_str().unwrap_or_default(),
        call.duration_ms
    );
    for (at, (name, value)) in call.facts.iter().enumerate() {
        let before = if at == 0 { "; " } else { " " };
        let _ = match value.as_str() {
            Some(text) => write!(line, "{before}{name}={text}"),
            None => write!(line, "{before}{name}={value}"),
        };
    }
    line
}

impl Follow {
    fn run(&self, around: &Surroundings) -> Result<(), Exit> {
        let paths = self.place.known_paths(around)?;
        let mut tail = Tail::at_end(&paths).map_err(Exit::failed)?;
        loop {
            for happening in tail.look().map_err(Exit::failed)? {
                let line = if self.json {
                    serde_json::to_string(&happening).map_err(Exit::failed)?
                } else {
                    happening.to_string()
                };
                if print(&(line + "\n")).is_err() {
                    return Ok(());
                }
            }
            sleep(LOOK_EVERY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_reads_as_written() {
        insta::assert_snapshot!(whole(&TurnRecord::example()));
    }

    #[test]
    fn the_table_fits_the_screen_with_the_longest_id_and_name() {
        let mut record = TurnRecord::example();
        record.id = crate::discord::Snowflake::new(u64::MAX).unwrap();
        record.requester = "A very long name of a role".into();
        record.times.delivered = Some(At::from_ms(record.times.received.ms() + 3_599_900));

        let table = table(&[record]);

        insta::assert_snapshot!(table);
        assert!(table.lines().all(|line| line.chars().count() <= 80));
    }
}
