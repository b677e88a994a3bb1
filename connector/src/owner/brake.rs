//! `STOP`, the switch that keeps a binding from running. Anybody may pull it, anything under the name counts, and nothing
//! automatic ever lifts one that an operator pulled: only `recover` lifts its own, and only while it is nothing but that.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

use crate::paths::Paths;

/// The stop switch of one binding.
#[derive(Debug, Clone)]
pub struct Brake {
    path: PathBuf,
}

/// A STOP that this process wrote as a gate for the time of a recovery.
#[derive(Debug)]
pub(crate) struct OwnBrake {
    path: PathBuf,
    file: File,
    line: String,
    written: Stamp,
}

/// What changes when anybody touches a file.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    dev: u64,
    ino: u64,
    size: u64,
    mtime: (i64, i64),
}

impl Brake {
    /// The switch of the binding; touches nothing.
    pub fn new(paths: &Paths) -> Self {
        Self { path: paths.stop() }
    }

    /// Whether the brake is on: something has the name, of whatever kind, or it cannot be told.
    pub fn is_on(&self) -> bool {
        !matches!(self.path.symlink_metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Pulls the brake for an operator: adds a line to STOP, whatever stands there, and returns when it is on disk.
    ///
    /// # Errors
    /// When the brake is not on afterwards.
    pub fn pull(&self, line: &str) -> io::Result<()> {
        loop {
            let mut file = match open(&self.path, OpenOptions::new().append(true).create(true)) {
                Ok(file) => file,
                // A folder or a link under the name brakes as well as a file does.
                Err(_) if self.is_on() => return Ok(()),
                Err(error) => return Err(error),
            };
            writeln!(file, "{line}")?;
            file.sync_all()?;
            // A recovery may have lifted its own STOP between opening and writing: then the line is nowhere, and is
            // written again.
            let written = file.metadata()?.ino();
            if self
                .path
                .symlink_metadata()
                .is_ok_and(|there| there.ino() == written)
            {
                return Ok(());
            }
        }
    }

    /// Pulls the brake as a gate, with one line of this process's own.
    ///
    /// # Errors
    /// `AlreadyExists` when the brake is on.
    pub(crate) fn pull_own(&self, line: &str) -> io::Result<OwnBrake> {
        let line = format!("{line}\n");
        let mut file = open(
            &self.path,
            OpenOptions::new().read(true).append(true).create_new(true),
        )?;
        file.write_all(line.as_bytes())?;
        file.sync_all()?;
        let written = Stamp::of(&file.metadata()?);
        Ok(OwnBrake {
            path: self.path.clone(),
            file,
            line,
            written,
        })
    }
}

impl OwnBrake {
    /// Lifts the brake if it is still nothing but the line of this process. `false`: somebody else pulled it too, and it
    /// stays.
    pub(crate) fn lift(self) -> io::Result<bool> {
        let there = match open(&self.path, OpenOptions::new().read(true)) {
            Ok(mut there) => {
                let mut content = String::new();
                let ours = Stamp::of(&there.metadata()?) == self.written;
                ours && there.read_to_string(&mut content).is_ok() && content == self.line
            }
            Err(_) => false,
        };
        if !there {
            return Ok(false);
        }
        fs::remove_file(&self.path)?;

        // Whoever had the file open may have written between the look and the removal: their brake is put back.
        let mut after = vec![0; self.line.len() + 4096];
        let length = self.file.read_at(&mut after, 0)?;
        if after[..length] == *self.line.as_bytes() {
            return Ok(true);
        }
        let mut again = open(&self.path, OpenOptions::new().append(true).create(true))?;
        again.write_all(&after[..length])?;
        again.sync_all()?;
        Ok(false)
    }
}

impl Stamp {
    fn of(found: &fs::Metadata) -> Self {
        Self {
            dev: found.dev(),
            ino: found.ino(),
            size: found.size(),
            mtime: (found.mtime(), found.mtime_nsec()),
        }
    }
}

fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options
        .mode(0o600)
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
        .open(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::paths::BindingName;

    fn brake() -> (tempfile::TempDir, Brake) {
        let root = tempfile::tempdir().unwrap();
        let paths = Paths::new(root.path(), BindingName::parse("sage").unwrap());
        paths.create_data().unwrap();
        (root, Brake::new(&paths))
    }

    #[test]
    fn anything_under_the_name_is_a_brake() {
        let (_root, brake) = brake();
        assert!(!brake.is_on());

        fs::write(brake.path(), "").unwrap();
        assert!(brake.is_on());

        fs::remove_file(brake.path()).unwrap();
        symlink("nowhere", brake.path()).unwrap();
        assert!(brake.is_on(), "a link to nothing");
        brake.pull("stop").unwrap();
        assert!(
            !brake.path().with_file_name("nowhere").exists(),
            "a brake is never written through a link"
        );

        fs::remove_file(brake.path()).unwrap();
        fs::create_dir(brake.path()).unwrap();
        assert!(brake.is_on(), "a folder");
        brake.pull("stop").unwrap();
    }

    #[test]
    fn pulling_adds_to_what_stands_there() {
        let (_root, brake) = brake();

        brake.pull("one").unwrap();
        brake.pull("two").unwrap();

        assert_eq!(fs::read_to_string(brake.path()).unwrap(), "one\ntwo\n");
        assert_eq!(brake.path().metadata().unwrap().mode() & 0o7777, 0o600);
    }

    #[test]
    fn an_own_brake_is_lifted_while_it_is_nothing_but_the_own_line() {
        let (_root, brake) = brake();

        let own = brake.pull_own("recovery").unwrap();
        assert!(brake.is_on());

        assert!(own.lift().unwrap());
        assert!(!brake.is_on());
    }

    #[test]
    fn an_own_brake_is_never_put_over_another() {
        let (_root, brake) = brake();
        brake.pull("operator").unwrap();

        assert_eq!(
            brake.pull_own("recovery").unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        assert_eq!(fs::read_to_string(brake.path()).unwrap(), "operator\n");
    }

    #[test]
    fn whatever_an_operator_does_to_the_brake_during_a_recovery_keeps_it_on() {
        type Act = fn(&Brake);
        let acts: [(&str, Act); 6] = [
            ("a second line", |brake| brake.pull("operator").unwrap()),
            ("an emptied file", |brake| {
                fs::write(brake.path(), "").unwrap();
            }),
            ("other words", |brake| {
                fs::write(brake.path(), "recoverY\n").unwrap();
            }),
            ("a new file with the same words", |brake| {
                fs::write(brake.path().with_file_name("new"), "recovery\n").unwrap();
                fs::rename(brake.path().with_file_name("new"), brake.path()).unwrap();
            }),
            ("a folder", |brake| {
                fs::remove_file(brake.path()).unwrap();
                fs::create_dir(brake.path()).unwrap();
            }),
            ("touch", |brake| {
                let later = std::time::SystemTime::now() + std::time::Duration::from_secs(1);
                File::options()
                    .write(true)
                    .open(brake.path())
                    .unwrap()
                    .set_modified(later)
                    .unwrap();
            }),
        ];
        for (what, act) in acts {
            let (_root, brake) = brake();
            let own = brake.pull_own("recovery").unwrap();

            act(&brake);

            assert!(!own.lift().unwrap(), "{what}");
            assert!(brake.is_on(), "{what}");
        }
    }

    #[test]
    fn a_brake_that_was_removed_by_hand_stays_removed() {
        let (_root, brake) = brake();
        let own = brake.pull_own("recovery").unwrap();
        fs::remove_file(brake.path()).unwrap();

        assert!(!own.lift().unwrap());
        assert!(!brake.is_on());
    }
}
