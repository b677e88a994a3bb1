//! What the journals and records say, for the commands that tell it: read-only, from the files alone, also while the
//! connector writes them. Nothing here asks Discord, the broker or a process.

mod fate;
mod tail;
mod usage;

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::discord::Snowflake;
use crate::journal::{self, JournalError, RECORD_VERSION, TurnRecord, lines};
use crate::paths::Paths;

pub use fate::Fate;
pub(crate) use fate::outcome;
pub use tail::{Happening, Tail};
pub use usage::{By, Sum, sum};

/// Why the files do not tell.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// A journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A record or the folder of records.
    #[error("{} cannot be read: {source}.", path.display())]
    Unreachable {
        /// What could not be read.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The record is not one this version reads.
    #[error("{} does not read as a turn record. Nothing was changed; inspect it by hand.", path.display())]
    Damaged {
        /// The record.
        path: PathBuf,
    },
    /// A later version of the program wrote it.
    #[error("{} was written by a later version (recordVersion {version}). Read it with that one.", path.display())]
    Later {
        /// The record.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
}

/// The journals of one binding as they stood when they were read.
#[derive(Debug, Default)]
pub struct History {
    /// `inbox.jsonl`.
    pub inbox: Vec<lines::Inbox>,
    /// `admissions.jsonl`.
    pub admissions: Vec<lines::Admission>,
    /// `drops.jsonl`.
    pub drops: Vec<lines::Drop>,
    /// `outbox.jsonl`.
    pub outbox: Vec<lines::Outbox>,
    /// The messages that have a record, oldest first.
    pub recorded: Vec<Snowflake>,
}

impl History {
    /// Reads the journals. Records are listed last, so that a turn that ends meanwhile is not taken for one that was cut off.
    ///
    /// # Errors
    /// When a file cannot be read or holds what does not parse.
    pub fn read(paths: &Paths) -> Result<Self, HistoryError> {
        Ok(Self {
            inbox: all(&paths.inbox())?,
            admissions: all(&paths.admissions())?,
            drops: all(&paths.drops())?,
            outbox: all(&paths.outbox())?,
            recorded: recorded(paths)?,
        })
    }

    /// Admitted turns without a record: the one under way, or one that was cut off.
    pub fn open_turns(&self) -> impl Iterator<Item = &lines::Admission> {
        self.admissions
            .iter()
            .filter(|line| self.recorded.binary_search(&line.id).is_err())
    }

    /// Messages that were received and neither admitted nor dropped: they wait for their turn.
    pub fn held(&self) -> impl Iterator<Item = &lines::Inbox> {
        let begun = self.admissions.iter().map(|line| line.id);
        let turned_away = self
            .drops
            .iter()
            .filter(|drop| drop.reason != lines::DropReason::Duplicate);
        let done: HashSet<Snowflake> = begun.chain(turned_away.map(|drop| drop.id)).collect();
        self.inbox
            .iter()
            .filter(move |line| !done.contains(&line.id))
    }
}

fn all<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, HistoryError> {
    Ok(journal::read(path)?.collect::<Result<_, _>>()?)
}

/// The messages that have a record, oldest first.
///
/// # Errors
/// When the folder is there and cannot be listed.
pub fn recorded(paths: &Paths) -> Result<Vec<Snowflake>, HistoryError> {
    let folder = paths.turns();
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => {
            return Err(HistoryError::Unreachable {
                path: folder,
                source,
            });
        }
    };
    let mut ids = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|source| HistoryError::Unreachable {
            path: folder.clone(),
            source,
        })?;
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.strip_suffix(".json"));
        ids.extend(id.and_then(|id| Snowflake::parse(id).ok()));
    }
    ids.sort_unstable();
    Ok(ids)
}

/// The record of the turn for a message; nothing when there is none.
///
/// # Errors
/// When it cannot be read, or not by this version.
pub fn record(paths: &Paths, message: Snowflake) -> Result<Option<TurnRecord>, HistoryError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Version {
        record_version: u32,
    }

    let path = paths.turn(message);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(HistoryError::Unreachable { path, source }),
    };
    match serde_json::from_slice::<Version>(&bytes) {
        Ok(Version { record_version }) if record_version > RECORD_VERSION => {
            return Err(HistoryError::Later {
                path,
                version: record_version,
            });
        }
        _ => {}
    }
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|_| HistoryError::Damaged { path })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::BindingName;

    #[test]
    fn a_record_of_a_later_version_says_so_and_a_damaged_one_is_not_guessed_at() {
        let root = tempfile::tempdir().unwrap();
        let paths = Paths::new(root.path(), BindingName::parse("sage").unwrap());
        paths.create_folders().unwrap();
        let id = Snowflake::new(7).unwrap();

        assert!(record(&paths, id).unwrap().is_none());
        fs::write(paths.turn(id), r#"{"recordVersion":2,"more":true}"#).unwrap();
        assert!(matches!(
            record(&paths, id),
            Err(HistoryError::Later { version: 2, .. })
        ));
        fs::write(paths.turn(id), r#"{"recordVersion":1}"#).unwrap();
        assert!(matches!(
            record(&paths, id),
            Err(HistoryError::Damaged { .. })
        ));
    }

    #[test]
    fn a_binding_that_never_ran_has_an_empty_history() {
        let root = tempfile::tempdir().unwrap();
        let paths = Paths::new(root.path(), BindingName::parse("sage").unwrap());

        let history = History::read(&paths).unwrap();

        assert_eq!((history.inbox.len(), history.recorded.len()), (0, 0));
    }
}
