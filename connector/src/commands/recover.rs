//! `recover`: the supervised pre-start. Clears a dead lock the way `unlock` does and lifts the STOP it wrote for that; it
//! never touches anything else, and never a brake of an operator.

use std::io;

use clap::Args;

use super::{Place, Surroundings, say};
use crate::exit::Exit;
use crate::journal::At;
use crate::owner::{Brake, ClearError, Cleared, Fate, Kernel, Lock, Processes, Standing};
use crate::paths::Paths;

/// Supervised pre-start: clear the lock of a dead connector, or refuse
///
/// Exits 3, touching nothing, while STOP is there or the binding is held by a living process, by one that cannot be
/// identified, or by an unreadable record. `run --supervised` does this first, in the same process.
#[derive(Debug, Args)]
pub(super) struct Recover {
    #[command(flatten)]
    place: Place,
}

impl Recover {
    pub(super) fn run(&self, around: &Surroundings) -> Result<(), Exit> {
        let paths = self.place.known_paths(around)?;
        let done = match recover(&paths, Kernel)? {
            Cleared::Nothing => "There was no lock; nothing had to be recovered.".to_owned(),
            Cleared::Unpublished => "Cleared the lock of an interrupted start.".to_owned(),
            Cleared::Gone { pid, how } => format!("Cleared the lock of pid {pid}: {how}."),
        };
        say(&done);
        Ok(())
    }
}

/// Clears the lock of an owner that is gone, and says what it was.
///
/// # Errors
/// Exit 3 with everything untouched when a brake is on; exit 1 when the system refuses.
pub(super) fn recover(paths: &Paths, processes: impl Processes) -> Result<Cleared, Exit> {
    let brake = Brake::new(paths);
    let lock = Lock::seen_by(paths, processes);
    if brake.is_on() {
        return Err(braked(&brake));
    }
    match lock.standing() {
        Standing::Free => return Ok(Cleared::Nothing),
        Standing::Unpublished
        | Standing::Held {
            fate: Fate::Gone(_),
            ..
        } => {}
        held => return Err(Exit::brake(held.refusal(paths.name()))),
    }

    // From here on a start that publishes its record finds STOP and releases itself.
    let own = match brake.pull_own(&format!("recover {} pid {}", At::now(), std::process::id())) {
        Ok(own) => own,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(braked(&brake)),
        Err(error) => {
            let path = brake.path().display();
            return Err(Exit::failed(format_args!(
                "{path} could not be written: {error}."
            )));
        }
    };
    let cleared = lock.clear();
    let lifted = own.lift().map_err(|error| {
        Exit::failed(format_args!(
            "{} could not be lifted: {error}.",
            brake.path().display()
        ))
    })?;

    match cleared {
        Ok(_) if !lifted => Err(braked(&brake)),
        Ok(cleared) => Ok(cleared),
        Err(ClearError::Kept(standing)) => Err(Exit::brake(standing.refusal(paths.name()))),
        Err(ClearError::Io { path, source }) => Err(Exit::failed(format_args!(
            "The lock {} could not be removed: {source}.",
            path.display()
        ))),
    }
}

/// The refusal of a start while STOP is there.
pub(super) fn braked(brake: &Brake) -> Exit {
    Exit::brake(format_args!(
        "STOP is there; nothing was started. To run again, remove {}",
        brake.path().display()
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::exit::Code;
    use crate::owner::Life;
    use crate::paths::BindingName;

    const DEAD: &str = r#"{"pid":7,"start":1,"boot":"0f8fad5b-d9cb-469f-a165-70867728950e"}"#;

    /// A kernel without processes, in whose answer something happens.
    struct Empty<F: Fn()>(F);

    impl<F: Fn()> Processes for Empty<F> {
        fn boot_id(&self) -> io::Result<String> {
            Err(io::ErrorKind::PermissionDenied.into())
        }

        fn life(&self, _: u32) -> Life {
            (self.0)();
            Life::Ended
        }
    }

    fn dead_lock() -> (tempfile::TempDir, Paths) {
        let root = tempfile::tempdir().unwrap();
        let paths = Paths::new(root.path(), BindingName::parse("sage").unwrap());
        paths.create_data().unwrap();
        fs::create_dir(paths.run_lock()).unwrap();
        fs::write(paths.run_lock().join("owner.json"), DEAD).unwrap();
        (root, paths)
    }

    #[test]
    fn a_dead_lock_is_cleared_and_no_stop_is_left() {
        let (_root, paths) = dead_lock();

        let cleared = recover(&paths, Empty(|| ())).unwrap();

        assert!(matches!(cleared, Cleared::Gone { pid: 7, .. }));
        assert_eq!(fs::read_dir(paths.data()).unwrap().count(), 0);
    }

    #[test]
    fn an_operators_stop_refuses_the_recovery_and_nothing_is_touched() {
        let (_root, paths) = dead_lock();
        Brake::new(&paths).pull("operator").unwrap();

        assert_eq!(recover(&paths, Empty(|| ())).unwrap_err().code, Code::Brake);

        assert_eq!(fs::read_to_string(paths.stop()).unwrap(), "operator\n");
        assert_eq!(
            fs::read_to_string(paths.run_lock().join("owner.json")).unwrap(),
            DEAD
        );
    }

    #[test]
    fn a_brake_pulled_while_the_lock_is_cleared_stays_and_refuses_the_start() {
        let (_root, paths) = dead_lock();
        let brake = Brake::new(&paths);

        // The kernel is asked once before the own STOP and once under it: the second time the operator is quicker.
        let meanwhile = || {
            if brake.is_on() {
                brake.pull("operator").unwrap();
            }
        };
        let exit = recover(&paths, Empty(meanwhile)).unwrap_err();

        assert_eq!(exit.code, Code::Brake);
        assert!(
            fs::read_to_string(paths.stop())
                .unwrap()
                .ends_with("operator\n")
        );
        assert!(!paths.run_lock().exists());
    }

    #[test]
    fn an_unreadable_record_refuses_with_everything_untouched() {
        let (_root, paths) = dead_lock();
        fs::write(paths.run_lock().join("owner.json"), "garbage").unwrap();

        assert_eq!(recover(&paths, Empty(|| ())).unwrap_err().code, Code::Brake);

        assert_eq!(
            fs::read_to_string(paths.run_lock().join("owner.json")).unwrap(),
            "garbage"
        );
        assert!(!paths.stop().exists());
    }
}
