//! Answers on their way out, one private file per inbound message, kept until their record is written: a retry after a
//! crash must send the very same text. Journals hold its digest and length only, so no journal ever holds what was said.

use std::fmt;
use std::fs;
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{JournalError, crash, durable};
use crate::discord::Snowflake;

/// SHA-256 in lower-case hex.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(String);

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(
            Sha256::digest(bytes)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
        )
    }

    /// As 64 hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why the spool or something in it is not to be had.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// It could not be read or removed.
    #[error("{} in the spool cannot be reached: {source}.", path.display())]
    Unreachable {
        /// The file or the folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It does not read as what was kept; it must not be sent. The content is not quoted.
    #[error("{} in the spool does not parse. Inspect it by hand.", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
}

/// The folder `outbox/` ([`crate::paths::Paths::spool`]), holding one `T` per inbound message.
#[derive(Debug, Clone)]
pub struct Spool<T> {
    folder: PathBuf,
    kept: PhantomData<fn() -> T>,
}

impl<T: Serialize + DeserializeOwned> Spool<T> {
    /// Names the folder, which must exist when something is kept.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            kept: PhantomData,
        }
    }

    /// Keeps the answer to `message` and returns when it is on disk. Keep before the intent: something kept without a
    /// line is found at the next start, a line without its text cannot be retried.
    ///
    /// # Errors
    /// When it cannot be written or synced.
    pub fn keep(&self, message: Snowflake, answer: &T) -> Result<(), JournalError> {
        let path = self.file(message);
        let bytes = serde_json::to_vec(answer).map_err(|error| JournalError::NotWritten {
            path: path.clone(),
            source: error.into(),
        })?;
        durable::write_over(&path, &bytes)?;
        crash::line_is_durable();
        Ok(())
    }

    /// Writes, syncs and removes a file in the folder: whether the disk takes anything right now.
    ///
    /// # Errors
    /// When it does not.
    pub fn probe(&self) -> Result<(), JournalError> {
        // A name that the next start removes, should this be cut off in the middle.
        let path = durable::part_of(&self.folder.join("probe"));
        durable::probe(&path).map_err(|source| JournalError::NotWritten { path, source })
    }

    /// The kept answer to `message`; nothing when there is none.
    ///
    /// # Errors
    /// When it cannot be read or does not parse.
    pub fn load(&self, message: Snowflake) -> Result<Option<T>, SpoolError> {
        let path = self.file(message);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|_| SpoolError::Damaged { path }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(SpoolError::Unreachable { path, source }),
        }
    }

    /// The messages whose answers are kept, oldest first. What a crash left half written is removed on the way.
    ///
    /// # Errors
    /// When the folder cannot be read, or holds a file that is not the spool's.
    pub fn messages(&self) -> Result<Vec<Snowflake>, SpoolError> {
        let unreachable = |path: &Path, source| SpoolError::Unreachable {
            path: path.to_owned(),
            source,
        };
        let mut messages = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(|error| unreachable(&self.folder, error))? {
            let path = entry
                .map_err(|error| unreachable(&self.folder, error))?
                .path();
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            if durable::is_part(name) {
                fs::remove_file(&path).map_err(|error| unreachable(&path, error))?;
                continue;
            }
            let message = name.strip_suffix(".json").and_then(|id| id.parse().ok());
            messages.push(message.ok_or(SpoolError::Damaged { path })?);
        }
        messages.sort_unstable();
        Ok(messages)
    }

    /// How many answers are kept, for who only looks: nothing is cleaned up.
    ///
    /// # Errors
    /// When the folder is there and cannot be read.
    pub fn count(&self) -> Result<usize, SpoolError> {
        let unreachable = |source| SpoolError::Unreachable {
            path: self.folder.clone(),
            source,
        };
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(source) => return Err(unreachable(source)),
        };
        let mut count = 0;
        for entry in entries {
            let name = entry.map_err(unreachable)?.file_name();
            count += usize::from(!name.to_str().is_some_and(durable::is_part));
        }
        Ok(count)
    }

    /// Removes an answer whose record is written. One that is gone already is fine.
    ///
    /// # Errors
    /// When it stays.
    pub fn remove(&self, message: Snowflake) -> Result<(), SpoolError> {
        let path = self.file(message);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(SpoolError::Unreachable { path, source })
            }
            _ => Ok(()),
        }
    }

    fn file(&self, message: Snowflake) -> PathBuf {
        self.folder.join(format!("{message}.json"))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    fn id(number: u64) -> Snowflake {
        Snowflake::new(number).unwrap()
    }

    fn spool() -> (tempfile::TempDir, Spool<Vec<String>>) {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::new(folder.path());
        (folder, spool)
    }

    #[test]
    fn an_answer_comes_back_until_it_is_removed() {
        let (folder, spool) = spool();
        let answer = vec!["Grüße\n😀".to_owned(), "rest".to_owned()];

        spool.keep(id(7), &answer).unwrap();

        assert_eq!(spool.load(id(7)).unwrap(), Some(answer));
        assert_eq!(
            fs::metadata(folder.path().join("7.json")).unwrap().mode() & 0o7777,
            0o600
        );

        spool.remove(id(7)).unwrap();
        spool.remove(id(7)).unwrap();
        assert_eq!(spool.load(id(7)).unwrap(), None);
    }

    #[test]
    fn a_probe_leaves_nothing_and_fails_where_nothing_can_be_kept() {
        let (folder, spool) = spool();

        spool.probe().unwrap();

        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        fs::remove_dir(folder.path()).unwrap();
        assert!(spool.probe().is_err());
    }

    #[test]
    fn kept_answers_are_listed_oldest_first_and_half_written_ones_go() {
        let (folder, spool) = spool();
        for number in [10, 9, 100] {
            spool.keep(id(number), &vec![]).unwrap();
        }
        fs::write(folder.path().join(".11.json.part"), "[\"ha").unwrap();

        assert_eq!(spool.messages().unwrap(), [id(9), id(10), id(100)]);

        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_damaged_answer_is_named_and_never_quoted() {
        let (folder, spool) = spool();
        fs::write(folder.path().join("7.json"), "[hunter2").unwrap();

        let error = spool.load(id(7)).unwrap_err().to_string();

        assert!(
            error.contains("7.json") && !error.contains("hunter2"),
            "{error}"
        );
    }

    #[test]
    fn a_file_that_is_not_the_spools_is_not_passed_over() {
        let (folder, spool) = spool();
        fs::write(folder.path().join("notes.txt"), "").unwrap();

        assert!(matches!(spool.messages(), Err(SpoolError::Damaged { .. })));
    }
}
