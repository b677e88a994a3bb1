//! `reload`: checks an edited binding, hands it to the connector that runs, and says what came of it. The connector decides.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Args;

use super::place::absolute;
use super::{Place, Surroundings, say};
use crate::binding::{Binding, Changes, ListChanges};
use crate::exit::Exit;
use crate::journal::lines::{Refused, Reload as Line};
use crate::journal::{self, durable};
use crate::owner::{Fate, Lock, Standing};
use crate::paths::Paths;

/// How long the outcome is waited for; a look-up of new channels may take a few seconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Apply an edited binding to the running connector without a restart
///
/// Swaps guildName, channels, users and limits; a channel that is new must be in the bound server. Any other change refuses,
/// and the old binding stays. The turn in flight finishes under the limits it started with. Each try is a line in
/// reloads.jsonl. An invalid file exits 2 and nothing is signaled; without a running connector it exits 1, and the file
/// applies at the next start.
#[derive(Debug, Args)]
pub(super) struct Reload {
    #[command(flatten)]
    place: Place,

    /// Binding file [default: <data root>/discord/<binding>.json]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Say what would change, and signal nobody; new channels are not looked up
    #[arg(long)]
    dry_run: bool,
}

impl Reload {
    pub(super) fn run(&self, around: &Surroundings) -> Result<(), Exit> {
        let paths = self.place.known_paths(around)?;
        let file = self.config.as_ref().map(|config| absolute(config, around));
        let file = file.unwrap_or_else(|| paths.binding_file());
        let (edited, bytes) =
            Binding::read_with_bytes(&file, paths.name().as_str()).map_err(Exit::invalid)?;
        let in_force = self.in_force(&paths)?;
        if self.dry_run {
            let changes = Changes::between(&in_force, &edited)
                .map_err(|fields| Exit::invalid(fixed(&fields)))?;
            say(&format!("Would change: {}", told(&changes)));
            return Ok(());
        }

        let before = lines(&paths)?.len();
        durable::write_over(&paths.handed_binding(), &bytes).map_err(Exit::failed)?;
        let standing = Lock::new(&paths)
            .hang_up()
            .map_err(|error| Exit::failed(format_args!("Nobody was signaled: {error}.")))?;
        if !runs(&standing) {
            // It ended meanwhile. Nobody may find the copy later.
            let _ = fs::remove_file(paths.handed_binding());
            return Err(self.nobody(&standing));
        }
        outcome(&paths, before)
    }

    /// The binding of the running connector.
    fn in_force(&self, paths: &Paths) -> Result<Binding, Exit> {
        let standing = Lock::new(paths).standing();
        if !runs(&standing) {
            return Err(self.nobody(&standing));
        }
        let copy = paths.binding_in_force();
        if copy.symlink_metadata().is_err() {
            return Err(Exit::failed(format_args!(
                "The connector of {} is starting and read its binding a moment ago. Try again when it is ready.",
                self.place.binding
            )));
        }
        Binding::read(&copy, paths.name().as_str()).map_err(Exit::failed)
    }

    fn nobody(&self, standing: &Standing) -> Exit {
        let binding = &self.place.binding;
        match standing {
            Standing::Free => Exit::failed(format_args!(
                "No connector runs for {binding}. The file is valid and applies at the next start."
            )),
            other => Exit::failed(format_args!(
                "Nobody was signaled. {} The file is valid and applies at the next start.",
                other.refusal(binding)
            )),
        }
    }
}

fn runs(standing: &Standing) -> bool {
    matches!(
        standing,
        Standing::Held {
            fate: Fate::Runs,
            ..
        }
    )
}

fn lines(paths: &Paths) -> Result<Vec<Line>, Exit> {
    let lines = journal::read(&paths.reloads()).map_err(Exit::failed)?;
    lines.collect::<Result<_, _>>().map_err(Exit::failed)
}

/// Waits for the line of this try.
fn outcome(paths: &Paths, before: usize) -> Result<(), Exit> {
    let asked = Instant::now();
    while asked.elapsed() < PATIENCE {
        match lines(paths)?.get(before) {
            Some(Line::Applied { changes, .. }) => {
                say(&format!("Applied: {}", told(changes)));
                return Ok(());
            }
            Some(Line::Refused { why, .. }) => {
                return Err(Exit::failed(format_args!(
                    "Refused; the binding from before stays. {}",
                    why_not(why)
                )));
            }
            None => sleep(LOOK_EVERY),
        }
    }
    Err(Exit::failed(format_args!(
        "The connector was signaled and wrote no line to {} in {} s. Its log says more.",
        paths.reloads().display(),
        PATIENCE.as_secs()
    )))
}

fn fixed(fields: &[impl AsRef<str>]) -> String {
    let fields: Vec<&str> = fields.iter().map(AsRef::as_ref).collect();
    format!(
        "Fixed for the life of the process, and changed in the file: {}. Undo that, or restart the connector (and the broker, \
         for tools and sandbox).",
        fields.join(", ")
    )
}

fn why_not(why: &Refused) -> String {
    match why {
        Refused::NothingHandedOver => {
            "Another reload took the file that this one handed over. Try again.".to_owned()
        }
        Refused::Invalid { field: Some(field) } => format!("{field} does not fit."),
        Refused::Invalid { field: None } => {
            "The file that was handed over is no binding.".to_owned()
        }
        Refused::FixedFields { fields } => fixed(fields),
        Refused::ChannelElsewhere { channel } => {
            format!("Channel {channel} is not in the bound server.")
        }
        Refused::ChannelNotSeen { channel } => {
            format!("Discord does not show the bot channel {channel}. Give it View Channel there.")
        }
        Refused::LookUpFailed { channel } => {
            format!("Discord could not be asked about channel {channel}. Try again.")
        }
    }
}

fn told(changes: &Changes) -> String {
    if changes.is_empty() {
        return "nothing.".to_owned();
    }
    let mut parts = Vec::new();
    if changes.guild_name {
        parts.push("guildName".to_owned());
    }
    for (name, list) in [("channels", &changes.channels), ("users", &changes.users)] {
        if *list != ListChanges::default() {
            parts.push(list_told(name, list));
        }
    }
    if !changes.limits.is_empty() {
        parts.push(format!("limits {}", changes.limits.join(", ")));
    }
    parts.join("; ") + "."
}

/// `channels: 1 new (20), 1 gone (21)`.
fn list_told(name: &str, list: &ListChanges) -> String {
    let mut text = format!("{name}: ");
    let kinds = [
        (&list.added, "new"),
        (&list.removed, "gone"),
        (&list.changed, "changed"),
    ];
    let some = kinds.iter().filter(|(ids, _)| !ids.is_empty());
    for (at, (ids, kind)) in some.enumerate() {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let before = if at == 0 { "" } else { ", " };
        let _ = write!(text, "{before}{} {kind} ({})", ids.len(), ids.join(" "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discord::Snowflake;

    #[test]
    fn changes_are_told_by_id() {
        let id = |number| Snowflake::new(number).unwrap();
        let changes = Changes {
            guild_name: true,
            channels: ListChanges {
                added: vec![id(20), id(21)],
                changed: vec![id(22)],
                ..ListChanges::default()
            },
            users: ListChanges {
                removed: vec![id(30)],
                ..ListChanges::default()
            },
            limits: vec!["turnsPerDay".into()],
        };

        assert_eq!(
            told(&changes),
            "guildName; channels: 2 new (20 21), 1 changed (22); users: 1 gone (30); limits turnsPerDay."
        );
        assert_eq!(told(&Changes::default()), "nothing.");
    }
}
