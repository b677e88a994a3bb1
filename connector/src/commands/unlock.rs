//! `unlock`: clears the lock of an owner that is gone, behind STOP as a gate.

use clap::Args;

use super::stop::pull;
use super::{Place, Surroundings, say};
use crate::exit::Exit;
use crate::owner::{Brake, ClearError, Cleared, Lock};

/// Clear the lock of a connector that is gone: crash, reboot, interrupted start
///
/// Writes STOP first, so that nothing which starts meanwhile can hold the binding. Refuses, removing nothing, while the
/// owner runs, when a living process cannot be identified, and when the record does not read as one. Remove STOP to run
/// again.
#[derive(Debug, Args)]
pub(super) struct Unlock {
    #[command(flatten)]
    place: Place,
}

impl Unlock {
    pub(super) fn run(&self, around: &Surroundings) -> Result<(), Exit> {
        let paths = self.place.known_paths(around)?;
        let binding = &self.place.binding;
        pull(&paths, "unlock")?;

        let again = format!(
            "STOP is there; to run again, remove {}",
            Brake::new(&paths).path().display()
        );
        let done = match Lock::new(&paths).clear() {
            Ok(Cleared::Nothing) => format!("There is no lock on {binding}."),
            Ok(Cleared::Unpublished) => {
                format!("Cleared the lock of an interrupted start of {binding}.")
            }
            Ok(Cleared::Gone { pid, how }) => {
                format!("Cleared the lock of pid {pid} on {binding}: {how}.")
            }
            Err(ClearError::Kept(standing)) => {
                return Err(Exit::brake(format_args!(
                    "{}\n{again}",
                    standing.refusal(binding)
                )));
            }
            Err(ClearError::Io { path, source }) => {
                return Err(Exit::failed(format_args!(
                    "The lock {} could not be removed: {source}.\n{again}",
                    path.display()
                )));
            }
        };
        say(&format!("{done} {again}"));
        Ok(())
    }
}
