//! The journal on a real disk, and on one that fails.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde::Deserialize;

use super::*;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: u64,
}

fn now() -> At {
    "2026-11-30T23:48:27.123Z".parse().unwrap()
}

fn folder_with(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inbox.jsonl");
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    (folder, path)
}

fn ids(path: &Path) -> Vec<u64> {
    read::<Line>(path)
        .unwrap()
        .map(|line| line.unwrap().id)
        .collect()
}

#[test]
fn lines_come_back_in_order_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inbox.jsonl");

    let mut journal = Journal::open(&path, now()).unwrap().journal;
    journal.append(&Line { id: 1 }).unwrap();
    journal.append_unsynced(&Line { id: 2 }).unwrap();
    drop(journal);
    let mut journal = Journal::open(&path, now()).unwrap().journal;
    journal.append(&Line { id: 3 }).unwrap();

    assert_eq!(ids(&path), [1, 2, 3]);
    assert_eq!(journal.bytes(), fs::metadata(&path).unwrap().len());
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
}

#[test]
fn a_journal_that_is_not_there_has_no_lines() {
    let folder = tempfile::tempdir().unwrap();

    assert!(ids(&folder.path().join("inbox.jsonl")).is_empty());
}

#[test]
fn a_torn_last_line_is_set_aside_under_a_name_that_says_when() {
    for (whole, torn) in [
        ("{\"id\":1}\n", "{\"id\""),
        ("", "{\"id\":2}"),
        ("{\"id\":1}\n", "\0\0\0"),
    ] {
        let (_folder, path) = folder_with(format!("{whole}{torn}").as_bytes());

        let opened = Journal::<Line>::open(&path, now()).unwrap();

        let aside = opened.torn.unwrap();
        assert_eq!(
            aside.file_name().unwrap(),
            "inbox.jsonl.torn-20261130T234827123Z"
        );
        assert_eq!(fs::read_to_string(aside).unwrap(), torn);
        assert_eq!(fs::read_to_string(&path).unwrap(), whole);
    }
}

#[test]
fn a_torn_line_longer_than_a_block_is_found_whole() {
    let torn = "x".repeat(200_000);
    let (_folder, path) = folder_with(format!("{{\"id\":1}}\n{torn}").as_bytes());

    let opened = Journal::<Line>::open(&path, now()).unwrap();

    assert_eq!(fs::read_to_string(opened.torn.unwrap()).unwrap(), torn);
    assert_eq!(ids(&path), [1]);
}

#[test]
fn a_reader_leaves_a_line_that_is_still_being_written() {
    let (_folder, path) = folder_with(b"{\"id\":1}\n{\"id\":2");

    assert_eq!(ids(&path), [1]);
}

#[test]
fn a_bad_line_is_named_by_file_and_number_and_never_quoted() {
    for bad in [
        "{\"id\":\"hunter2\"}",
        "{\"id\":1,\"hunter2\":1}",
        "",
        "hunter2",
    ] {
        let (_folder, path) =
            folder_with(format!("{{\"id\":1}}\n{bad}\n{{\"id\":3}}\n").as_bytes());

        let error = read::<Line>(&path).unwrap().nth(1).unwrap().unwrap_err();

        assert!(
            matches!(error, JournalError::BadLine { line: 2, .. }),
            "{error}"
        );
        assert!(!error.to_string().contains("hunter2"), "{error}");
        assert!(error.to_string().contains("inbox.jsonl"), "{error}");
    }
}

#[test]
fn nothing_is_read_past_a_bad_line() {
    let (_folder, path) = folder_with(b"bad\n{\"id\":3}\n");

    assert_eq!(read::<Line>(&path).unwrap().count(), 1);
}

#[test]
fn a_journal_others_may_read_is_refused() {
    let (_folder, path) = folder_with(b"");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();

    assert!(matches!(
        Journal::<Line>::open(&path, now()),
        Err(JournalError::NotPrivate { .. })
    ));
}

#[test]
fn a_symlink_and_a_fifo_in_place_of_a_journal_are_refused() {
    let (folder, path) = folder_with(b"");
    let link = folder.path().join("link");
    let fifo = folder.path().join("fifo");
    symlink(&path, &link).unwrap();
    nix::unistd::mkfifo(
        &fifo,
        nix::sys::stat::Mode::S_IRUSR | nix::sys::stat::Mode::S_IWUSR,
    )
    .unwrap();

    assert!(matches!(
        Journal::<Line>::open(&link, now()),
        Err(JournalError::Open { .. })
    ));
    assert!(matches!(
        Journal::<Line>::open(&fifo, now()),
        Err(JournalError::NotPrivate { .. })
    ));
}

/// A disk in memory that can be told to fail.
#[derive(Default)]
struct Faulty {
    content: Vec<u8>,
    /// Bytes it still has room for.
    room: Option<usize>,
    sync_fails: bool,
    cut_fails: bool,
}

impl Disk for Faulty {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let taken = self.room.unwrap_or(bytes.len()).min(bytes.len());
        self.content.extend(&bytes[..taken]);
        if taken < bytes.len() {
            Err(io::ErrorKind::StorageFull.into())
        } else {
            Ok(())
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.sync_fails {
            Err(io::Error::from_raw_os_error(nix::libc::EIO))
        } else {
            Ok(())
        }
    }

    fn cut(&mut self, len: u64) -> io::Result<()> {
        if self.cut_fails {
            return Err(io::ErrorKind::ReadOnlyFilesystem.into());
        }
        self.content.truncate(usize::try_from(len).unwrap());
        Ok(())
    }
}

fn on(disk: Faulty) -> Journal<Line, Faulty> {
    let len = disk.content.len() as u64;
    Journal {
        disk,
        path: PathBuf::from("/d/inbox.jsonl"),
        len,
        poisoned: false,
        line: PhantomData,
    }
}

#[test]
fn a_full_disk_leaves_no_half_line_and_the_journal_usable() {
    let mut journal = on(Faulty {
        room: Some(4),
        ..Faulty::default()
    });

    let error = journal.append(&Line { id: 1 }).unwrap_err();
    assert!(matches!(error, JournalError::NotWritten { .. }) && error.is_disk_full());
    assert_eq!(journal.disk.content, b"");

    journal.disk.room = None;
    journal.append(&Line { id: 2 }).unwrap();
    assert_eq!(journal.disk.content, b"{\"id\":2}\n");
}

#[test]
fn a_half_line_that_cannot_be_taken_back_poisons_the_journal() {
    let mut journal = on(Faulty {
        room: Some(4),
        cut_fails: true,
        ..Faulty::default()
    });

    journal.append(&Line { id: 1 }).unwrap_err();
    journal.disk.room = None;

    assert!(matches!(
        journal.append(&Line { id: 2 }),
        Err(JournalError::Poisoned { .. })
    ));
    assert_eq!(journal.disk.content, b"{\"id");
}

#[test]
fn a_failed_sync_is_never_taken_for_a_later_success() {
    let mut journal = on(Faulty {
        sync_fails: true,
        ..Faulty::default()
    });

    assert!(matches!(
        journal.append(&Line { id: 1 }),
        Err(JournalError::NotSynced { .. })
    ));
    journal.disk.sync_fails = false;

    assert!(matches!(
        journal.append(&Line { id: 2 }),
        Err(JournalError::Poisoned { .. })
    ));
}
