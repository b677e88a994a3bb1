//! Reading a journal line by line, also while its writer runs. It takes whole lines only and stops at the first that
//! does not parse; setting a torn line aside is the writer's.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader};
use std::marker::PhantomData;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use serde::de::DeserializeOwned;

use super::{JournalError, check_private};

/// The lines of one journal, in order. Ends after the first error.
#[derive(Debug)]
pub struct Lines<T> {
    source: Option<BufReader<File>>,
    path: PathBuf,
    number: u64,
    buffer: Vec<u8>,
    line: PhantomData<fn() -> T>,
}

/// Opens a journal for reading; one that does not exist has no lines.
///
/// # Errors
/// When it cannot be opened, or is not a private regular file of ours.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Lines<T>, JournalError> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
        .open(path);
    let source = match opened {
        Ok(file) => {
            check_private(&file, path)?;
            Some(BufReader::with_capacity(64 * 1024, file))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(source) => {
            return Err(JournalError::Open {
                path: path.to_owned(),
                source,
            });
        }
    };
    Ok(Lines {
        source,
        path: path.to_owned(),
        number: 0,
        buffer: Vec::new(),
        line: PhantomData,
    })
}

impl<T: DeserializeOwned> Iterator for Lines<T> {
    type Item = Result<T, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        let source = self.source.as_mut()?;
        self.buffer.clear();
        self.number += 1;

        if let Err(source) = source.read_until(b'\n', &mut self.buffer) {
            self.source = None;
            return Some(Err(JournalError::Open {
                path: self.path.clone(),
                source,
            }));
        }
        if self.buffer.pop() != Some(b'\n') {
            self.source = None;
            return None;
        }
        let parsed = serde_json::from_slice(&self.buffer).map_err(|error| {
            self.source = None;
            JournalError::BadLine {
                path: self.path.clone(),
                line: self.number,
                column: error.column(),
            }
        });
        Some(parsed)
    }
}
