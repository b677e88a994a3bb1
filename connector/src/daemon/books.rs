//! The journals, the spool and the records of one binding, open for writing: the seat's lines on disk. It reads them back
//! once, at start, and decides nothing.

use std::{collections::HashSet, fs, io};

use crate::{
    delivery::Parcel,
    journal::{
        self, Journal, JournalError, Spool, SpoolError, TurnRecord,
        lines::{Admission, Drop, Inbox, Notice, Outbox},
    },
    paths::Paths,
    seat::Past,
};

/// Why the books could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
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
pub struct Books {
    paths: Paths,
    inbox: Journal<Inbox>,
    admissions: Journal<Admission>,
    drops: Journal<Drop>,
    notices: Journal<Notice>,
    outbox: Journal<Outbox>,
    spool: Spool<Parcel>,
}

impl Books {
    /// Opens every journal, setting torn last lines aside, and reads what the last process left.
    ///
    /// # Errors
    /// When one cannot be opened or holds a line that does not parse.
    pub fn open(paths: &Paths) -> Result<(Self, Past), BookError> {
        let books = Self {
            inbox: Journal::open(&paths.inbox())?,
            admissions: Journal::open(&paths.admissions())?,
            drops: Journal::open(&paths.drops())?,
            notices: Journal::open(&paths.notices())?,
            outbox: Journal::open(&paths.outbox())?,
            spool: Spool::new(paths.spool()),
            paths: paths.clone(),
        };
        let mut parcels = Vec::new();
        for message in books.spool.messages()? {
            parcels.extend(books.spool.load(message)?);
        }
        let past = Past {
            inbox: journal::read(&paths.inbox())?.collect::<Result<_, _>>()?,
            admissions: journal::read(&paths.admissions())?.collect::<Result<_, _>>()?,
            drops: journal::read(&paths.drops())?.collect::<Result<_, _>>()?,
            notices: journal::read(&paths.notices())?.collect::<Result<_, _>>()?,
            outbox: journal::read(&paths.outbox())?.collect::<Result<_, _>>()?,
            records: books.records()?,
            parcels,
        };
        Ok((books, past))
    }

    fn records(&self) -> Result<HashSet<crate::discord::Snowflake>, BookError> {
        let mut records = HashSet::new();
        for entry in fs::read_dir(self.paths.turns()).map_err(BookError::Records)? {
            let name = entry.map_err(BookError::Records)?.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(".json")).and_then(|id| id.parse().ok());
            records.extend(id);
        }
        Ok(records)
    }

    pub(super) fn inbox(&mut self, line: &Inbox) -> Result<(), BookError> {
        Ok(self.inbox.append(line)?)
    }

    pub(super) fn admission(&mut self, line: &Admission) -> Result<(), BookError> {
        Ok(self.admissions.append(line)?)
    }

    /// Not synced: nothing that happens later relies on it.
    pub(super) fn drop(&mut self, line: &Drop) -> Result<(), BookError> {
        Ok(self.drops.append_unsynced(line)?)
    }

    pub(super) fn notice(&mut self, line: &Notice) -> Result<(), BookError> {
        Ok(self.notices.append(line)?)
    }

    pub(super) fn outbox(&mut self, line: &Outbox) -> Result<(), BookError> {
        Ok(self.outbox.append(line)?)
    }

    pub(super) fn keep(&self, parcel: &Parcel) -> Result<(), BookError> {
        Ok(self.spool.keep(parcel.message, parcel)?)
    }

    pub(super) fn forget(&self, message: crate::discord::Snowflake) -> Result<(), BookError> {
        Ok(self.spool.remove(message)?)
    }

    pub(super) fn record(&self, record: &TurnRecord) -> Result<(), BookError> {
        Ok(journal::write_once(&self.paths.turn(record.id), record)?)
    }
}
