//! `status`: how a binding stands, from its files alone: who holds it, what is in hand, what the day was. It asks no process,
//! so it tells as much of a connector that hangs as of one that runs.

use std::fmt::Write as _;
use std::thread::sleep;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::{Place, Surroundings, print};
use crate::binding::Binding;
use crate::delivery::Parcel;
use crate::discord::Snowflake;
use crate::exit::{Exit, wrap};
use crate::history::{self, History};
use crate::journal::lines::{DropReason, Reload};
use crate::journal::{self, At, Outcome, Sandbox, Spool};
use crate::owner::{Brake, Fate, Lock, Standing};
use crate::paths::Paths;

/// How often `--watch` looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Show how a binding stands: who holds it, what is in hand, the day so far
///
/// From the files alone, so it tells as much of a connector that hangs as of one that runs. How the gateway and the units
/// stand: systemctl --user status, or mosaic-discord service status
#[derive(Debug, Args)]
pub(super) struct Status {
    #[command(flatten)]
    place: Place,

    /// Look every second, and print again what has changed, until interrupted
    #[arg(long)]
    watch: bool,

    /// Print JSON; with --watch one object a line
    #[arg(long)]
    json: bool,
}

/// What there is to tell.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Picture {
    connector: Connector,
    /// The stop switch is on.
    stop: bool,
    /// The turn under way, or the one the process died in.
    turn: Option<InHand>,
    /// Messages that wait for their turn.
    held: usize,
    /// Answers that are not delivered yet.
    outgoing: usize,
    turns_today: usize,
    /// The ceiling, as far as a binding can be read.
    turns_per_day: Option<u32>,
    /// Messages turned away today; what we posted ourselves does not count.
    drops_today: usize,
    last_turn: Option<LastTurn>,
    last_reload: Option<Reload>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Connector {
    /// `running`, `stopped`, or `unclear`.
    state: &'static str,
    pid: Option<u32>,
    since: Option<At>,
    /// What keeps a start from going ahead, with the next step.
    problem: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct InHand {
    message: Snowflake,
    since: At,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct LastTurn {
    message: Snowflake,
    outcome: Outcome,
    error: Option<String>,
    at: At,
    sandbox: Sandbox,
}

impl Status {
    pub(super) fn run(&self, around: &Surroundings) -> Result<(), Exit> {
        let paths = self.place.known_paths(around)?;
        let mut last = None;
        loop {
            let picture = Picture::take(&paths, At::now())?;
            if last.as_ref() != Some(&picture) {
                if print(&self.shown(&picture, last.is_some())?).is_err() {
                    return Ok(());
                }
                last = Some(picture);
            }
            if !self.watch {
                return Ok(());
            }
            sleep(LOOK_EVERY);
        }
    }

    fn shown(&self, picture: &Picture, again: bool) -> Result<String, Exit> {
        if self.json {
            return Ok(serde_json::to_string(picture).map_err(Exit::failed)? + "\n");
        }
        let gap = if again { "\n" } else { "" };
        Ok(format!("{gap}{}", picture.text()))
    }
}

impl Picture {
    /// The lock is looked at last: a turn that seems open while nobody holds the binding was cut off.
    fn take(paths: &Paths, now: At) -> Result<Self, Exit> {
        let history = History::read(paths).map_err(Exit::failed)?;
        let today = now.day();
        let last = history.recorded.last().copied();
        let last = last
            .map(|message| history::record(paths, message))
            .transpose()
            .map_err(Exit::failed)?
            .flatten();
        let reloads: Result<Vec<Reload>, _> = journal::read(&paths.reloads())
            .map_err(Exit::failed)?
            .collect();
        let name = paths.name().as_str();
        let binding = Binding::read(&paths.binding_in_force(), name)
            .or_else(|_| Binding::read(&paths.binding_file(), name));
        Ok(Self {
            turn: history.open_turns().last().map(|line| InHand {
                message: line.id,
                since: line.at,
            }),
            held: history.held().count(),
            outgoing: outgoing(paths)?,
            turns_today: history
                .admissions
                .iter()
                .filter(|line| line.at.day() == today)
                .count(),
            turns_per_day: binding.ok().map(|binding| binding.limits.turns_per_day),
            drops_today: history
                .drops
                .iter()
                .filter(|drop| drop.at.day() == today && drop.reason != DropReason::OwnMessage)
                .count(),
            last_turn: last.map(|record| LastTurn {
                message: record.id,
                outcome: record.outcome,
                error: record.error,
                at: record.times.delivered.unwrap_or(record.times.admitted),
                sandbox: record.sandbox,
            }),
            last_reload: reloads.map_err(Exit::failed)?.pop(),
            stop: Brake::new(paths).is_on(),
            connector: Connector::of(&Lock::new(paths).standing(), paths),
        })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let mut row = |name: &str, detail: String| {
            let detail = wrap(&detail, 65).replace('\n', "\n               ");
            let _ = writeln!(text, "{name:<14} {detail}");
        };
        row("connector", self.connector.text());
        if self.stop {
            row("STOP", "there; nothing starts before it is removed".into());
        }
        row("turn", self.turn_text());
        if self.outgoing > 0 {
            row("outgoing", format!("{} not delivered yet", self.outgoing));
        }
        let ceiling = self
            .turns_per_day
            .map(|turns| format!(" of {turns}"))
            .unwrap_or_default();
        row(
            "today (UTC)",
            format!(
                "{}{ceiling} turns, {} messages dropped",
                self.turns_today, self.drops_today
            ),
        );
        if let Some(last) = &self.last_turn {
            let error = last
                .error
                .as_ref()
                .map(|error| format!(": {error}"))
                .unwrap_or_default();
            row(
                "last turn",
                format!(
                    "{} {}{error} at {}",
                    last.message,
                    history::outcome(last.outcome),
                    last.at
                ),
            );
            let Sandbox {
                landlock_abi,
                required_abi,
                denied,
                attempts,
            } = last.sandbox;
            row(
                "broker's fence",
                format!(
                    "Landlock ABI {landlock_abi} ({required_abi} demanded), {denied} of {attempts} attempts denied"
                ),
            );
        }
        match &self.last_reload {
            None => {}
            Some(Reload::Applied { at, .. }) => row("last reload", format!("applied at {at}")),
            Some(Reload::Refused { at, .. }) => {
                row(
                    "last reload",
                    format!("refused at {at}; the binding from before stayed"),
                );
            }
        }
        text
    }

    fn turn_text(&self) -> String {
        let running = self.connector.state == "running";
        let mut text = match &self.turn {
            Some(InHand { message, since }) if running => {
                format!("answering {message} since {since}")
            }
            Some(InHand { message, since }) => {
                format!(
                    "{message}, begun at {since}, was cut off; the next start says so in the channel"
                )
            }
            None => "none in hand".to_owned(),
        };
        if self.held > 0 {
            let _ = write!(text, ", {} held", self.held);
        }
        text
    }
}

/// Answers in the spool, without touching what a crash left there.
fn outgoing(paths: &Paths) -> Result<usize, Exit> {
    Spool::<Parcel>::new(paths.spool())
        .count()
        .map_err(Exit::failed)
}

impl Connector {
    fn of(standing: &Standing, paths: &Paths) -> Self {
        let (state, pid, since) = match standing {
            Standing::Held {
                pid,
                since,
                fate: Fate::Runs,
                ..
            } => ("running", Some(*pid), *since),
            Standing::Held {
                fate: Fate::InDoubt(_),
                ..
            }
            | Standing::Unreadable { .. } => ("unclear", None, None),
            Standing::Free | Standing::Unpublished | Standing::Held { .. } => {
                ("stopped", None, None)
            }
        };
        let problem = match standing {
            Standing::Free => None,
            _ if state == "running" => None,
            other => Some(other.refusal(paths.name())),
        };
        Self {
            state,
            pid,
            since,
            problem,
        }
    }

    fn text(&self) -> String {
        let mut text = self.state.to_owned();
        if let Some(pid) = self.pid {
            let _ = write!(text, ", pid {pid}");
        }
        if let Some(since) = self.since {
            let _ = write!(text, " since {since}");
        }
        if let Some(problem) = &self.problem {
            let _ = write!(text, ". {problem}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at() -> At {
        "2026-11-30T23:48:27.123Z".parse().unwrap()
    }

    fn busy() -> Picture {
        let id = |number| Snowflake::new(number).unwrap();
        Picture {
            connector: Connector {
                state: "running",
                pid: Some(4121),
                since: Some(at()),
                problem: None,
            },
            stop: false,
            turn: Some(InHand {
                message: id(7),
                since: at(),
            }),
            held: 2,
            outgoing: 1,
            turns_today: 14,
            turns_per_day: Some(200),
            drops_today: 3,
            last_turn: Some(LastTurn {
                message: id(6),
                outcome: Outcome::Failed,
                error: Some("timed-out".into()),
                at: at(),
                sandbox: Sandbox {
                    landlock_abi: 7,
                    required_abi: 6,
                    denied: 12,
                    attempts: 12,
                },
            }),
            last_reload: Some(Reload::Applied {
                changes: crate::binding::Changes::default(),
                at: at(),
            }),
        }
    }

    #[test]
    fn a_binding_reads_as_written_while_it_runs_and_after_a_crash() {
        let crashed = Picture {
            connector: Connector {
                state: "stopped",
                pid: None,
                since: None,
                problem: Some("The binding sage is still locked by pid 7, which is gone: it has ended. Clear the lock: mosaic-discord unlock sage".into()),
            },
            stop: true,
            last_turn: None,
            last_reload: None,
            turns_per_day: None,
            ..busy()
        };

        insta::assert_snapshot!([busy().text(), crashed.text()].join("\n"));
    }

    #[test]
    fn a_binding_that_never_ran_is_stopped_and_has_nothing_in_hand() {
        let root = tempfile::tempdir().unwrap();
        let name = crate::paths::BindingName::parse("sage").unwrap();
        let paths = Paths::new(root.path(), name);
        paths.create_data().unwrap();

        let picture = Picture::take(&paths, at()).unwrap();

        assert_eq!(
            picture.text(),
            "connector      stopped\nturn           none in hand\ntoday (UTC)    0 turns, 0 messages dropped\n"
        );
    }
}
