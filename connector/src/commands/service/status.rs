//! `service status`: how the two units of a binding stand, and what beside systemd decides whether they can start.

use std::fmt::Write as _;
use std::io::Write as _;

use clap::Args;

use super::manager::Manager;
use super::render::Unit;
use crate::commands::{Place, Surroundings};
use crate::exit::{Exit, wrap};
use crate::owner::{Brake, Fate, Lock, Standing};

/// What is asked of each unit.
const PROPERTIES: [&str; 7] = [
    "LoadState",
    "ActiveState",
    "SubState",
    "Result",
    "MainPID",
    "NRestarts",
    "StatusText",
];

/// Show the state of both units, STOP and run.lock
#[derive(Debug, Args)]
pub(super) struct Status {
    #[command(flatten)]
    place: Place,
}

impl Status {
    pub(super) fn run(&self, around: &Surroundings) -> Result<(), Exit> {
        let paths = self.place.known_paths(around)?;
        let mut text = String::new();
        for unit in Unit::ALL {
            let instance = unit
                .file()
                .replace('@', &format!("@{}", self.place.binding));
            let line = match Manager.show(&instance, &PROPERTIES) {
                Ok(found) => unit_line(&found),
                Err(problem) => format!("not known: {problem}"),
            };
            row(&mut text, &instance, &line);
        }
        let brake = Brake::new(&paths);
        let stop = match brake.is_on() {
            true => format!(
                "there; nothing starts before {} is removed",
                brake.path().display()
            ),
            false => "not there".to_owned(),
        };
        row(&mut text, "STOP", &stop);
        let lock = match Lock::new(&paths).standing() {
            Standing::Held {
                pid,
                since,
                fate: Fate::Runs,
                ..
            } => {
                let since = since.map(|at| format!(" since {at}")).unwrap_or_default();
                format!("held by pid {pid}{since}")
            }
            other => other.refusal(&self.place.binding),
        };
        row(&mut text, "run.lock", &lock);
        // That nobody reads it is no failure.
        let _ = std::io::stdout().write_all(text.as_bytes());
        Ok(())
    }
}

fn row(text: &mut String, name: &str, detail: &str) {
    let _ = writeln!(text, "{name}\n{}", wrap(&format!("  {detail}"), 80));
}

/// One unit in words: `active (running), pid 4121, restarted 2 times; ready`.
fn unit_line(found: &[(String, String)]) -> String {
    let value = |name: &str| {
        let found = found.iter().find(|(found, _)| found == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    };
    if value("LoadState") == "not-found" {
        return "not installed. Install it: mosaic-discord service install".to_owned();
    }
    let mut line = format!("{} ({})", value("ActiveState"), value("SubState"));
    if !matches!(value("Result"), "" | "success") {
        let _ = write!(line, ", last end: {}", value("Result"));
    }
    if !matches!(value("MainPID"), "" | "0") {
        let _ = write!(line, ", pid {}", value("MainPID"));
    }
    match value("NRestarts") {
        "" | "0" => {}
        "1" => line.push_str(", restarted once"),
        times => {
            let _ = write!(line, ", restarted {times} times");
        }
    }
    if !value("StatusText").is_empty() {
        let _ = write!(line, "; {}", value("StatusText"));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_told_in_one_line() {
        let line = |values: [&str; 7]| {
            let found: Vec<(String, String)> = PROPERTIES
                .iter()
                .zip(values)
                .map(|(name, value)| ((*name).to_owned(), value.to_owned()))
                .collect();
            unit_line(&found)
        };
        let rows = [
            (
                [
                    "loaded", "active", "running", "success", "41", "0", "Ready.",
                ],
                "active (running), pid 41; Ready.",
            ),
            (
                ["loaded", "failed", "failed", "exit-code", "0", "5", ""],
                "failed (failed), last end: exit-code, restarted 5 times",
            ),
            (
                ["not-found", "inactive", "dead", "success", "0", "0", ""],
                "not installed. Install it: mosaic-discord service install",
            ),
        ];

        for (values, expected) in rows {
            assert_eq!(line(values), expected);
        }
    }
}
