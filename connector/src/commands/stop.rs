//! `stop`: pulls the brake, then tells the one process that holds the binding to end, if it is that process beyond doubt.

use clap::Args;

use super::{Place, Surroundings, say};
use crate::exit::Exit;
use crate::journal::At;
use crate::owner::{Brake, Fate, Lock, Standing};
use crate::paths::Paths;

/// Brake: write STOP and tell the running connector to end
///
/// The turn in flight finishes or times out, then the process exits. A process is signaled only when its id, its start and
/// the boot all match the record; one that cannot be identified is never signaled. Remove STOP to run again.
#[derive(Debug, Args)]
pub(super) struct Stop {
    #[command(flatten)]
    place: Place,
}

impl Stop {
    pub(super) fn run(&self, around: &Surroundings) -> Result<(), Exit> {
        let paths = self.place.known_paths(around)?;
        let binding = &self.place.binding;
        pull(&paths, "stop")?;

        let brake = Brake::new(&paths);
        let again = format!("To run again, remove {}", brake.path().display());
        let standing = Lock::new(&paths).terminate().map_err(|error| {
            Exit::failed(format_args!(
                "STOP is there, but the process was not signaled: {error}."
            ))
        })?;
        match &standing {
            Standing::Held {
                pid,
                fate: Fate::Runs,
                ..
            } => say(&format!(
                "STOP is there, and pid {pid} was told to end. The turn in flight finishes or times out first. {again}"
            )),
            Standing::Free => say(&format!(
                "STOP is there. No connector held {binding}. {again}"
            )),
            Standing::Unpublished
            | Standing::Held {
                fate: Fate::Gone(_),
                ..
            } => {
                say(&format!(
                    "STOP is there. {} {again}",
                    standing.refusal(binding)
                ));
            }
            Standing::Held {
                fate: Fate::InDoubt(_),
                ..
            }
            | Standing::Unreadable { .. } => {
                return Err(Exit::failed(format_args!(
                    "STOP is there, but nobody was signaled. {}",
                    standing.refusal(binding)
                )));
            }
        }
        Ok(())
    }
}

/// Writes STOP in the name of a command.
pub(super) fn pull(paths: &Paths, command: &str) -> Result<(), Exit> {
    paths.create_data().map_err(Exit::invalid)?;
    let brake = Brake::new(paths);
    let line = format!("{command} {} uid {}", At::now(), nix::unistd::getuid());
    brake.pull(&line).map_err(|error| {
        Exit::failed(format_args!(
            "{} could not be written: {error}. Nothing was done.",
            brake.path().display()
        ))
    })
}
