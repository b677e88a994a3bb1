//! The lock on a binding: one broker at a time, for as long as its process lives. The kernel lets go of it when the
//! process ends, however it ends, so there is nothing to unlock by hand.

use std::{
    fs::File,
    io::{Read, Write},
    os::fd::AsFd,
    process,
};

use jiff::Timestamp;
use rustix::fs::FlockOperation;

use super::{Code, Stop};
use crate::private::{Access, Folder};

const NAME: &str = "lock";

/// Held until the process ends.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of the binding whose state lies in `folder`, or says who has it.
    pub(crate) fn take(folder: &Folder, binding: &str, now: Timestamp) -> Result<Lock, Stop> {
        let mut file = folder.file(NAME, Access::Write)?;
        match rustix::fs::flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut holder = String::new();
                // What it says is a courtesy; that it is held is what counts.
                let _ = file.take(100).read_to_string(&mut holder);
                let holder: String = holder.chars().filter(|c| !c.is_control()).collect();
                let holder = if holder.is_empty() {
                    "another broker".to_owned()
                } else {
                    holder
                };
                let why =
                    format!("the binding {binding} is held by {holder}. Stop that broker first.");
                return Err(Stop::new(Code::Held, why));
            }
            Err(error) => {
                return Err(Stop::new(
                    Code::Failed,
                    format!("the binding cannot be locked: {error}."),
                ));
            }
        }
        let written = file
            .set_len(0)
            .and_then(|()| write!(file, "pid {} since {now:.0}", process::id()));
        written.map_err(|error| {
            Stop::new(
                Code::Failed,
                format!("the lock cannot be written: {error}."),
            )
        })?;
        Ok(Lock { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_95_a_second_broker_hears_who_holds_the_binding_and_the_lock_ends_with_its_holder() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(dir.path()).expect("private");
        let first = Lock::take(&folder, "sage", Timestamp::UNIX_EPOCH).expect("taken");

        let second = Lock::take(&folder, "sage", Timestamp::UNIX_EPOCH).expect_err("held");

        assert_eq!(second.code(), Code::Held);
        let pid = process::id();
        let why = format!(
            "the binding sage is held by pid {pid} since 1970-01-01T00:00:00Z. Stop that broker first."
        );
        assert_eq!(second.to_string(), why);
        drop(first);
        Lock::take(&folder, "sage", Timestamp::UNIX_EPOCH).expect("free again");
    }
}
