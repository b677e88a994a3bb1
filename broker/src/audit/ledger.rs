//! The ledger as its one writer holds it: opened and repaired once at start, then append only. A line that cannot be
//! written whole is taken back, and the caller hears of it before it acts.

use std::{
    fs::File,
    io::{self, BufReader, Write},
    sync::{Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;

use super::{
    Entry, Hash, History, LEDGER, Unfinished,
    chain::{self, Broken, Chain, FollowError, Followed},
    head::{self, HEAD},
    line,
};
use crate::private::{Access, Folder, PrivateError};

/// The broker's append-only record. One writer per file: the lock on the binding sees to it.
pub(crate) struct Ledger {
    tail: Mutex<Tail>,
}

struct Tail {
    file: File,
    note: File,
    chain: Chain,
    /// Bytes of the file that are whole lines.
    length: u64,
    /// Set once what is on disk is no longer known; nothing is written after.
    lost: bool,
}

/// When a line must be on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durable {
    /// With the next line that is synced.
    Soon,
    /// Before the call returns: an act follows that changes something.
    Now,
}

/// A line could not be written; what it was to precede must not happen.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LedgerFault {
    /// The file is as it was; a later line may succeed.
    #[error("a ledger line was not written: {0}")]
    Unwritten(io::Error),
    /// What is on disk is unknown; no line is written until the broker restarts.
    #[error("the state of the ledger on disk is unknown; restart the broker to have it checked")]
    Lost,
}

/// Why a ledger was not opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error(transparent)]
    Private(#[from] PrivateError),
    #[error("the ledger cannot be opened: {0}")]
    Io(#[from] io::Error),
    #[error("the ledger is broken: {0}")]
    Broken(Broken),
}

impl From<FollowError> for OpenError {
    fn from(error: FollowError) -> Self {
        match error {
            FollowError::Io(error) => OpenError::Io(error),
            FollowError::Broken(broken) => OpenError::Broken(broken),
        }
    }
}

/// A ledger ready for writing, and what its past left to do.
pub(crate) struct Opened {
    pub(crate) ledger: Ledger,
    /// Calls whose broker died in them.
    pub(crate) unfinished: Vec<Unfinished>,
    /// Bytes of a torn last line that were set aside.
    pub(crate) recovered: Option<u64>,
}

/// A ledger that was read and found sound.
pub(crate) struct Verified {
    pub(crate) chain: Chain,
    pub(crate) torn: u64,
}

/// Reads the ledger of `folder`, hands each line to `each`, and checks its end against the note of its head.
pub(crate) fn verify(
    folder: &Folder,
    each: impl FnMut(&super::Line),
) -> Result<Verified, OpenError> {
    // The note first: a broker at work may add lines in between, never take some away.
    let note = match folder.has(HEAD)? {
        true => head::read(&folder.file(HEAD, Access::Read)?)?,
        false => None,
    };
    let followed = check(&folder.file(LEDGER, Access::Read)?, note, each)?;
    Ok(Verified {
        chain: followed.chain,
        torn: followed.torn.len() as u64,
    })
}

fn check(
    file: &File,
    note: Option<Chain>,
    mut each: impl FnMut(&super::Line),
) -> Result<Followed, OpenError> {
    let mut at_note = None;
    let followed = chain::follow(BufReader::new(file), |line| {
        if note.is_some_and(|note| note.seq == line.seq) {
            at_note = Some(line.hash);
        }
        each(line);
    })?;
    head::compare(note, at_note, followed.chain).map_err(OpenError::Broken)?;
    Ok(followed)
}

impl Ledger {
    /// Opens the ledger of `folder`, creating it at need. A torn last line is moved to a file of its own and a line
    /// says so; a break anywhere else is an error that names the line.
    pub(crate) fn open(folder: &Folder, now: Timestamp) -> Result<Opened, OpenError> {
        let is_new = !folder.has(LEDGER)?;
        let note_file = folder.file(HEAD, Access::Write)?;
        if is_new && head::read(&note_file)?.is_none() {
            head::write(&note_file, Chain::EMPTY)?;
        }
        let file = folder.file(LEDGER, Access::Append)?;
        folder.sync()?;

        let mut history = History::default();
        let followed = check(&file, head::read(&note_file)?, |line| history.note(line))?;
        let tail = Tail {
            file,
            note: note_file,
            chain: followed.chain,
            length: followed.length,
            lost: false,
        };
        let ledger = Ledger {
            tail: Mutex::new(tail),
        };
        let recovered = (!followed.torn.is_empty()).then_some(followed.torn.len() as u64);
        if recovered.is_some() {
            ledger.set_aside(folder, &followed.torn, now)?;
        }
        Ok(Opened {
            ledger,
            unfinished: history.unfinished(),
            recovered,
        })
    }

    fn set_aside(&self, folder: &Folder, torn: &[u8], now: Timestamp) -> Result<(), OpenError> {
        let mut tail = self.tail();
        let kept_in = format!("ledger.torn-{}", tail.chain.seq + 1);
        let mut aside = folder.file(&kept_in, Access::Append)?;
        aside.write_all(torn)?;
        aside.sync_all()?;
        folder.sync()?;
        tail.file.set_len(tail.length)?;
        let entry = Entry::Recovered {
            bytes: torn.len() as u64,
            sha256: Hash::of(torn).to_string(),
            kept_in,
        };
        tail.append(now, &entry)
            .and_then(|()| tail.sync())
            .map_err(|fault| OpenError::Io(io::Error::other(fault)))
    }

    /// Adds one line.
    ///
    /// # Errors
    /// When the line is not there (or, with [`Durable::Now`], not on disk): the act it precedes must not happen.
    pub(crate) fn write(
        &self,
        now: Timestamp,
        entry: &Entry,
        durable: Durable,
    ) -> Result<(), LedgerFault> {
        let mut tail = self.tail();
        tail.append(now, entry)?;
        match durable {
            Durable::Soon => Ok(()),
            Durable::Now => tail.sync(),
        }
    }

    /// Adds one line, syncs, and notes it as the head: the end of a turn, or of the broker.
    ///
    /// # Errors
    /// As [`Ledger::write`].
    pub(crate) fn seal(&self, now: Timestamp, entry: &Entry) -> Result<Chain, LedgerFault> {
        let mut tail = self.tail();
        tail.append(now, entry)?;
        tail.sync()?;
        // The ledger itself is on disk; a note that lags only makes a later cut harder to see.
        if let Err(error) = head::write(&tail.note, tail.chain) {
            tracing::error!(%error, "ledger.head could not be written");
        }
        Ok(tail.chain)
    }

    /// Number and hash of the last line.
    pub(crate) fn head(&self) -> Chain {
        self.tail().chain
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        // Each change of the tail is complete or marks it lost, so a panic elsewhere in a holder leaves it sound.
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tail {
    fn append(&mut self, now: Timestamp, entry: &Entry) -> Result<(), LedgerFault> {
        if self.lost {
            return Err(LedgerFault::Lost);
        }
        let (bytes, hash) = line::seal(self.chain.seq + 1, self.chain.head, now, entry);
        if let Err(error) = self.file.write_all(&bytes) {
            // A full disk may have taken half of it.
            self.lost = self.file.set_len(self.length).is_err();
            return Err(LedgerFault::Unwritten(error));
        }
        self.length += bytes.len() as u64;
        self.chain = Chain {
            seq: self.chain.seq + 1,
            head: hash,
        };
        Ok(())
    }

    fn sync(&mut self) -> Result<(), LedgerFault> {
        // After a failed fsync the kernel may have dropped the pages: neither "written" nor "not written" is known.
        self.file.sync_data().map_err(|error| {
            tracing::error!(%error, "the ledger could not be synced");
            self.lost = true;
            LedgerFault::Lost
        })
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests damage files by path")]
mod tests {
    use std::fs;

    use super::*;
    use crate::audit::{CallEnd, CallStart, Line, Told};

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    struct State {
        dir: tempfile::TempDir,
    }

    impl State {
        fn new() -> State {
            State {
                dir: tempfile::tempdir().expect("a folder for the test"),
            }
        }

        fn folder(&self) -> Folder {
            Folder::open(self.dir.path()).expect("private")
        }

        fn open(&self) -> Opened {
            Ledger::open(&self.folder(), NOW).expect("opened")
        }

        fn refusal(&self) -> String {
            match Ledger::open(&self.folder(), NOW) {
                Ok(_) => panic!("the ledger was opened"),
                Err(error) => error.to_string(),
            }
        }

        fn bytes(&self) -> Vec<u8> {
            fs::read(self.dir.path().join(LEDGER)).expect("read")
        }

        fn put(&self, bytes: &[u8]) {
            fs::write(self.dir.path().join(LEDGER), bytes).expect("written");
        }

        fn lines(&self) -> Vec<Line> {
            let mut lines = Vec::new();
            verify(&self.folder(), |line| lines.push(line.clone())).expect("sound");
            lines
        }
    }

    fn abort(turn: &str) -> Entry {
        Entry::TurnAbort {
            turn: turn.to_owned(),
        }
    }

    fn intent(call: u32) -> CallStart {
        CallStart {
            turn: "t1".to_owned(),
            call,
            tool: "write_file".to_owned(),
            facts: Told::default(),
        }
    }

    #[test]
    fn a_reopened_ledger_goes_on_where_it_ended() {
        let state = State::new();
        for turn in ["a", "b"] {
            state
                .open()
                .ledger
                .seal(NOW, &abort(turn))
                .expect("written");
        }
        let lines = state.lines();
        assert_eq!(
            lines.iter().map(|line| line.seq).collect::<Vec<_>>(),
            [1, 2]
        );
        assert_eq!((lines[0].prev, lines[1].prev), (Hash::NONE, lines[0].hash));
    }

    #[test]
    fn a_torn_last_line_is_set_aside_wherever_it_was_cut_and_a_line_says_so() {
        let state = State::new();
        let ledger = state.open().ledger;
        ledger.seal(NOW, &abort("whole")).expect("written");
        let whole = state.bytes().len();
        ledger
            .write(NOW, &abort("torn"), Durable::Now)
            .expect("written");
        let bytes = state.bytes();
        for cut in whole + 1..bytes.len() {
            state.put(&bytes[..cut]);
            let opened = state.open();
            assert_eq!(opened.recovered, Some((cut - whole) as u64));
            let lines = state.lines();
            assert_eq!((lines.len(), &lines[0].entry), (2, &abort("whole")));
            let Entry::Recovered { kept_in, .. } = &lines[1].entry else {
                panic!("{:?}", lines[1])
            };
            let kept = state.dir.path().join(kept_in);
            assert_eq!(fs::read(&kept).expect("kept"), &bytes[whole..cut]);
            fs::remove_file(kept).expect("removed");
        }
    }

    #[test]
    fn a_broken_middle_refuses_the_start_and_names_the_line() {
        let state = State::new();
        let ledger = state.open().ledger;
        for turn in ["a", "b", "c"] {
            ledger.seal(NOW, &abort(turn)).expect("written");
        }
        let text = String::from_utf8(state.bytes()).expect("text");
        state.put(text.replacen("\"b\"", "\"x\"", 1).as_bytes());
        let why =
            "the ledger is broken: line 2 was altered: its bytes do not give the hash it carries";
        assert_eq!(state.refusal(), why);
    }

    #[test]
    fn lines_cut_off_the_end_of_a_closed_turn_are_missed() {
        let state = State::new();
        let ledger = state.open().ledger;
        for turn in ["a", "b", "c"] {
            ledger.seal(NOW, &abort(turn)).expect("written");
        }
        let bytes = state.bytes();
        let first = bytes.iter().position(|&b| b == b'\n').expect("a line") + 1;
        state.put(&bytes[..first]);
        assert!(
            state
                .refusal()
                .contains("line 2 is missing, and all up to line 3"),
            "{}",
            state.refusal()
        );
    }

    #[test]
    fn a_ledger_rewritten_from_scratch_is_not_the_one_on_record() {
        let state = State::new();
        state
            .open()
            .ledger
            .seal(NOW, &abort("true"))
            .expect("written");
        let forged = State::new();
        forged
            .open()
            .ledger
            .seal(NOW, &abort("forged"))
            .expect("written");
        state.put(&forged.bytes());
        assert!(
            state
                .refusal()
                .contains("line 1 is not the one that was on record"),
            "{}",
            state.refusal()
        );
    }

    #[test]
    fn lines_without_a_note_of_their_head_are_refused() {
        let state = State::new();
        state.open().ledger.seal(NOW, &abort("a")).expect("written");
        fs::remove_file(state.dir.path().join(HEAD)).expect("removed");
        assert!(
            state.refusal().contains("ledger.head is missing"),
            "{}",
            state.refusal()
        );
    }

    #[test]
    fn a_call_without_an_end_is_unfinished_until_a_line_says_what_was_found() {
        let state = State::new();
        let ledger = state.open().ledger;
        let ended = CallEnd {
            turn: "t1".to_owned(),
            call: 1,
            tool: "write_file".to_owned(),
            reason: None,
            ms: 1,
            facts: Told::default(),
        };
        for entry in [
            Entry::Intent(intent(1)),
            Entry::Intent(intent(2)),
            Entry::Done(ended),
        ] {
            ledger.write(NOW, &entry, Durable::Soon).expect("written");
        }
        let opened = state.open();
        assert_eq!(
            opened.unfinished,
            [Unfinished {
                seq: 2,
                call: intent(2)
            }]
        );
        let found = Entry::Interrupted {
            turn: "t1".to_owned(),
            call: 2,
            tool: "write_file".to_owned(),
            found: "none".to_owned(),
        };
        opened
            .ledger
            .write(NOW, &found, Durable::Now)
            .expect("written");
        assert_eq!(state.open().unfinished, []);
    }

    #[test]
    fn a_line_that_cannot_be_written_is_an_error_and_none_follows_it_into_the_unknown() {
        let state = State::new();
        let full = fs::OpenOptions::new()
            .append(true)
            .open("/dev/full")
            .expect("the device");
        let note = state.folder().file(HEAD, Access::Write).expect("a note");
        let tail = Tail {
            file: full,
            note,
            chain: Chain::EMPTY,
            length: 0,
            lost: false,
        };
        let ledger = Ledger {
            tail: Mutex::new(tail),
        };
        // A device cannot be cut back to its last whole line, so what it holds is unknown from here on.
        assert!(matches!(
            ledger.write(NOW, &abort("a"), Durable::Soon),
            Err(LedgerFault::Unwritten(_))
        ));
        assert!(matches!(
            ledger.write(NOW, &abort("b"), Durable::Soon),
            Err(LedgerFault::Lost)
        ));
        assert_eq!(ledger.head(), Chain::EMPTY);
    }
}
