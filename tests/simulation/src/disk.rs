//! The binding's data folder as bytes: what is synced survives a loss of power, what is only written survives the death of
//! the process.

use std::collections::{BTreeMap, HashSet};

use mosaic_connector::{
    delivery::Parcel,
    discord::Snowflake,
    journal::{
        TurnRecord,
        lines::{Admission, Drop, Inbox, Notice, Outbox},
    },
    seat::Past,
};
use serde::{Serialize, de::DeserializeOwned};

use crate::dice::Dice;

#[derive(Debug, Default)]
pub(crate) struct Disk {
    pub(crate) inbox: Paper,
    pub(crate) admissions: Paper,
    pub(crate) drops: Paper,
    pub(crate) notices: Paper,
    pub(crate) outbox: Paper,
    pub(crate) spool: BTreeMap<Snowflake, Vec<u8>>,
    pub(crate) records: BTreeMap<Snowflake, Vec<u8>>,
    /// Taken out of the spool, which no sync has made certain.
    removed: BTreeMap<Snowflake, Vec<u8>>,
}

/// One journal.
#[derive(Debug, Default)]
pub(crate) struct Paper {
    bytes: Vec<u8>,
    synced: usize,
}

impl Paper {
    pub(crate) fn append(&mut self, line: &impl Serialize, synced: bool) {
        serde_json::to_writer(&mut self.bytes, line).expect("a line is plain data");
        self.bytes.push(b'\n');
        if synced {
            self.synced = self.bytes.len();
        }
    }

    /// The process died while it wrote this line: part of it stands there.
    pub(crate) fn tear(&mut self, line: &impl Serialize, dice: &mut Dice) {
        let line = serde_json::to_vec(line).expect("a line is plain data");
        let written = dice.within(0..line.len() as u64 + 1) as usize;
        self.bytes.extend_from_slice(&line[..written]);
    }

    fn lose_power(&mut self, dice: &mut Dice) {
        let left = dice.within(self.synced as u64..self.bytes.len() as u64 + 1);
        self.bytes.truncate(left as usize);
    }

    /// As the journal does at start: a last line without its line break is set aside.
    fn open(&mut self) {
        let whole = self.bytes.iter().rposition(|byte| *byte == b'\n');
        self.bytes.truncate(whole.map_or(0, |at| at + 1));
        self.synced = self.bytes.len();
    }

    pub(crate) fn lines<T: DeserializeOwned>(&self) -> Result<Vec<T>, String> {
        let lines = self.bytes.split(|byte| *byte == b'\n');
        lines
            .filter(|line| !line.is_empty())
            .map(|line| {
                serde_json::from_slice(line)
                    .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(line)))
            })
            .collect()
    }
}

impl Disk {
    pub(crate) fn keep(&mut self, parcel: &Parcel) {
        let bytes = serde_json::to_vec(parcel).expect("a parcel is plain data");
        self.removed.remove(&parcel.message);
        self.spool.insert(parcel.message, bytes);
    }

    pub(crate) fn forget(&mut self, message: Snowflake) {
        if let Some(bytes) = self.spool.remove(&message) {
            self.removed.insert(message, bytes);
        }
    }

    /// False when it is there already.
    pub(crate) fn record(&mut self, record: &TurnRecord) -> bool {
        let bytes = serde_json::to_vec(record).expect("a record is plain data");
        self.records.insert(record.id, bytes).is_none()
    }

    pub(crate) fn lose_power(&mut self, dice: &mut Dice) {
        for paper in [
            &mut self.inbox,
            &mut self.admissions,
            &mut self.drops,
            &mut self.notices,
            &mut self.outbox,
        ] {
            paper.lose_power(dice);
        }
        for (message, bytes) in std::mem::take(&mut self.removed) {
            if dice.happens(500) {
                self.spool.insert(message, bytes);
            }
        }
    }

    /// What the next process reads.
    pub(crate) fn open(&mut self) -> Result<Past, String> {
        for paper in [
            &mut self.inbox,
            &mut self.admissions,
            &mut self.drops,
            &mut self.notices,
            &mut self.outbox,
        ] {
            paper.open();
        }
        let parcel = |bytes: &Vec<u8>| {
            serde_json::from_slice::<Parcel>(bytes).map_err(|error| error.to_string())
        };
        Ok(Past {
            inbox: self.inbox.lines::<Inbox>()?,
            admissions: self.admissions.lines::<Admission>()?,
            drops: self.drops.lines::<Drop>()?,
            notices: self.notices.lines::<Notice>()?,
            outbox: self.outbox.lines::<Outbox>()?,
            records: self.records.keys().copied().collect::<HashSet<_>>(),
            parcels: self.spool.values().map(parcel).collect::<Result<_, _>>()?,
        })
    }
}
