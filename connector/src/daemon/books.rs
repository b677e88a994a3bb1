//! The journals, the spool and the records of one binding, open for writing: the seat's lines on disk. It reads them back
//! once, at start, and decides nothing.

use std::{collections::HashSet, fs, io, path::Path};

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    delivery::Parcel,
    discord::Snowflake,
    journal::{
        self, At, Journal, JournalError, Spool, SpoolError, TurnRecord,
        lines::{Admission, Drop, Inbox, Notice, Outbox, Reload},
    },
    paths::Paths,
    seat::Past,
};

/// Why the books could not be kept.
#[derive(Debug, thiserror::Error)]
pub(super) enum BookError {
    /// A journal or a record.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The spool.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// The folder of records.
    #[error("The turn records cannot be listed: {0}.")]
    Records(io::Error),
}

/// The open books.
#[derive(Debug)]
pub(super) struct Books {
    paths: Paths,
    inbox: Journal<Inbox>,
    admissions: Journal<Admission>,
    drops: Journal<Drop>,
    notices: Journal<Notice>,
    outbox: Journal<Outbox>,
    reloads: Journal<Reload>,
    spool: Spool<Parcel>,
}

impl Books {
    /// Opens every journal, setting torn last lines aside, and reads what the last process left.
    ///
    /// # Errors
    /// When one cannot be opened or holds a line that does not parse.
    pub(super) fn open(paths: &Paths, now: At) -> Result<(Self, Past), BookError> {
        let books = Self {
            inbox: open(&paths.inbox(), now)?,
            admissions: open(&paths.admissions(), now)?,
            drops: open(&paths.drops(), now)?,
            notices: open(&paths.notices(), now)?,
            outbox: open(&paths.outbox(), now)?,
            reloads: open(&paths.reloads(), now)?,
            spool: Spool::new(paths.spool()),
            paths: paths.clone(),
        };
        let mut parcels = Vec::new();
        for message in books.spool.messages()? {
            parcels.extend(books.spool.load(message)?);
        }
        let past = Past {
            inbox: lines(&paths.inbox())?,
            admissions: lines(&paths.admissions())?,
            drops: lines(&paths.drops())?,
            notices: lines(&paths.notices())?,
            outbox: lines(&paths.outbox())?,
            records: books.records()?,
            parcels,
        };
        Ok((books, past))
    }

    fn records(&self) -> Result<HashSet<Snowflake>, BookError> {
        let mut records = HashSet::new();
        for entry in fs::read_dir(self.paths.turns()).map_err(BookError::Records)? {
            let name = entry.map_err(BookError::Records)?.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(".json"));
            records.extend(id.and_then(|id| Snowflake::parse(id).ok()));
        }
        Ok(records)
    }

    pub(super) fn inbox(&mut self, line: &Inbox) -> Result<(), BookError> {
        Ok(self.inbox.append(line)?)
    }

    pub(super) fn admission(&mut self, line: &Admission) -> Result<(), BookError> {
        Ok(self.admissions.append(line)?)
    }

    /// Synced only when something that happens later relies on it.
    pub(super) fn drop(&mut self, line: &Drop) -> Result<(), BookError> {
        if line.reason.ends_what_was_taken() {
            self.drops.append(line)?;
        } else {
            self.drops.append_unsynced(line)?;
        }
        Ok(())
    }

    pub(super) fn notice(&mut self, line: &Notice) -> Result<(), BookError> {
        Ok(self.notices.append(line)?)
    }

    pub(super) fn outbox(&mut self, line: &Outbox) -> Result<(), BookError> {
        Ok(self.outbox.append(line)?)
    }

    pub(super) fn reload(&mut self, line: &Reload) -> Result<(), BookError> {
        Ok(self.reloads.append(line)?)
    }

    /// Leaves the binding that is in force for `reload` to compare with.
    pub(super) fn in_force(&self, bytes: &[u8]) -> Result<(), BookError> {
        Ok(journal::durable::write_over(
            &self.paths.binding_in_force(),
            bytes,
        )?)
    }

    pub(super) fn keep(&self, parcel: &Parcel) -> Result<(), BookError> {
        Ok(self.spool.keep(parcel.message, parcel)?)
    }

    pub(super) fn forget(&self, message: Snowflake) -> Result<(), BookError> {
        Ok(self.spool.remove(message)?)
    }

    /// Writes, syncs and removes a file beside the journals, as the watchdog's proof that lines can be written.
    pub(super) fn probe(&self) -> Result<(), BookError> {
        Ok(self.spool.probe()?)
    }

    pub(super) fn record(&self, record: &TurnRecord) -> Result<(), BookError> {
        Ok(journal::write_once(&self.paths.turn(record.id), record)?)
    }
}

fn open<T: Serialize>(path: &Path, now: At) -> Result<Journal<T>, JournalError> {
    let opened = Journal::open(path, now)?;
    if let Some(torn) = opened.torn {
        tracing::warn!(set_aside = %torn.display(), "the last line of a journal was half written; its action never began");
    }
    Ok(opened.journal)
}

fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, JournalError> {
    journal::read(path)?.collect()
}
