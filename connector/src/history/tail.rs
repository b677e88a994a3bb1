//! What is new in the journals since the last look, for `turns follow`. It looks when it is asked and never waits.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{HistoryError, fate::outcome, record, recorded};
use crate::discord::Snowflake;
use crate::journal::lines::{Admission, Drop};
use crate::journal::{CallOutcome, TurnRecord};
use crate::paths::Paths;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Happening {
    /// A turn began.
    Admitted(Admission),
    /// A message was turned away.
    Dropped(Drop),
    /// A turn ended.
    Recorded(Box<TurnRecord>),
}

/// A place in the journals.
#[derive(Debug)]
pub struct Tail {
    paths: Paths,
    admissions: u64,
    drops: u64,
    recorded: HashSet<Snowflake>,
}

impl Tail {
    /// A place at the end of what there is now.
    ///
    /// # Errors
    /// When the folder of records cannot be listed.
    pub fn at_end(paths: &Paths) -> Result<Self, HistoryError> {
        let length = |path: PathBuf| path.metadata().map_or(0, |found| found.len());
        Ok(Self {
            admissions: length(paths.admissions()),
            drops: length(paths.drops()),
            recorded: recorded(paths)?.into_iter().collect(),
            paths: paths.clone(),
        })
    }

    /// What came since the last look: turns that began, messages turned away, turns that ended.
    ///
    /// # Errors
    /// When a file cannot be read or a whole line does not parse.
    pub fn look(&mut self) -> Result<Vec<Happening>, HistoryError> {
        let mut happened = Vec::new();
        let admitted = new_lines(self.paths.admissions(), &mut self.admissions)?;
        happened.extend(admitted.into_iter().map(Happening::Admitted));
        let dropped = new_lines(self.paths.drops(), &mut self.drops)?;
        happened.extend(dropped.into_iter().map(Happening::Dropped));
        for message in recorded(&self.paths)? {
            if self.recorded.insert(message)
                && let Some(record) = record(&self.paths, message)?
            {
                happened.push(Happening::Recorded(Box::new(record)));
            }
        }
        Ok(happened)
    }
}

/// The whole lines behind `from`, which moves behind them. A line that is being written is left for the next look.
fn new_lines<T: DeserializeOwned>(path: PathBuf, from: &mut u64) -> Result<Vec<T>, HistoryError> {
    let mut bytes = Vec::new();
    let read = File::open(&path).and_then(|mut file| {
        // Shorter than before: a torn last line was set aside by a start.
        let end = file.seek(SeekFrom::End(0))?;
        *from = (*from).min(end);
        file.seek(SeekFrom::Start(*from))?;
        file.read_to_end(&mut bytes)
    });
    match read {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(HistoryError::Unreachable { path, source }),
    }
    let whole = bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    *from += whole as u64;
    bytes[..whole]
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| {
            serde_json::from_slice(line).map_err(|_| HistoryError::Damaged { path: path.clone() })
        })
        .collect()
}

impl fmt::Display for Happening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Admitted(line) => write!(f, "{} {} admitted", line.at, line.id),
            Self::Dropped(drop) => {
                let reason = serde_json::to_value(drop.reason).unwrap_or_default();
                write!(
                    f,
                    "{} {} dropped: {}",
                    drop.at,
                    drop.id,
                    reason.as_str().unwrap_or("unknown")
                )
            }
            Self::Recorded(record) => {
                let at = record.times.delivered.unwrap_or(record.times.admitted);
                write!(f, "{at} {} {}", record.id, outcome(record.outcome))?;
                if let Some(error) = &record.error {
                    write!(f, ": {error}")?;
                }
                let refused = record
                    .tools
                    .iter()
                    .filter(|call| call.outcome == CallOutcome::Refused)
                    .count();
                match (record.tools.len(), refused) {
                    (0, _) => Ok(()),
                    (calls, 0) => write!(f, ", {calls} calls"),
                    (calls, refused) => write!(f, ", {calls} calls, {refused} refused"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use super::*;
    use crate::paths::BindingName;

    #[test]
    fn only_what_came_since_the_last_look_is_told_and_half_a_line_waits() {
        let root = tempfile::tempdir().unwrap();
        let paths = Paths::new(root.path(), BindingName::parse("sage").unwrap());
        paths.create_folders().unwrap();
        let line = |id: u64| {
            format!(
                "{{\"id\":\"{id}\",\"channel\":\"2\",\"author\":\"3\",\"at\":\"2026-11-30T23:48:27.123Z\"}}\n"
            )
        };
        fs::write(paths.admissions(), line(1)).unwrap();
        let mut tail = Tail::at_end(&paths).unwrap();
        let append = |text: &str| {
            let mut file = fs::OpenOptions::new()
                .append(true)
                .open(paths.admissions())
                .unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        let mut look = || {
            let told = tail.look().unwrap();
            told.iter().map(ToString::to_string).collect::<Vec<_>>()
        };

        assert_eq!(look(), Vec::<String>::new());
        let third = line(3);
        let (begun, rest) = third.split_at(20);
        append(&(line(2) + begun));
        assert_eq!(look(), ["2026-11-30T23:48:27.123Z 2 admitted"]);
        append(rest);
        assert_eq!(look(), ["2026-11-30T23:48:27.123Z 3 admitted"]);
        assert_eq!(look(), Vec::<String>::new());
    }
}
