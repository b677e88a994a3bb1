//! One line of the ledger: a JSON object whose last member is the SHA-256 of everything before it, the hash of the
//! previous line included. `sed 's/,"hash":"[0-9a-f]*"}$//' | sha256sum` on one line gives the same digest.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Hash, entry::Entry};

/// Longest line the reader takes, newline excluded. Facts are bounded by the fences far below this.
pub(crate) const MAX_LINE: usize = 64 * 1024;

/// What stands between what is hashed and the hash.
pub(super) const MARK: &str = ",\"hash\":\"";
const SEAL: usize = MARK.len() + 64 + "\"}".len();

/// A line that was read back and whose own hash is right.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) seq: u64,
    pub(crate) prev: Hash,
    pub(crate) time: Timestamp,
    pub(crate) entry: Entry,
    pub(crate) hash: Hash,
    /// The line as it stands in the file.
    pub(crate) text: String,
}

/// What is wrong with a line by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineFault {
    /// It does not have the shape of a line.
    NotALine,
    /// Its bytes do not give the hash it carries.
    Altered,
}

#[derive(Serialize, Deserialize)]
struct Body {
    seq: u64,
    prev: String,
    time: String,
    #[serde(flatten)]
    entry: Entry,
}

/// Writes the line that follows `prev`, newline included, and its hash.
pub(crate) fn seal(seq: u64, prev: Hash, time: Timestamp, entry: &Entry) -> (Vec<u8>, Hash) {
    let body = Body {
        seq,
        prev: prev.to_string(),
        time: format!("{time:.3}"),
        entry: entry.clone(),
    };
    let mut bytes =
        serde_json::to_vec(&body).expect("strings, numbers and flags always have a JSON form");
    bytes.pop();
    let hash = Hash::of(&bytes);
    bytes.extend_from_slice(format!("{MARK}{hash}\"}}\n").as_bytes());
    (bytes, hash)
}

/// Reads a line without its newline, and checks it against its own hash.
pub(crate) fn parse(bytes: &[u8]) -> Result<Line, LineFault> {
    let text = std::str::from_utf8(bytes).map_err(|_| LineFault::NotALine)?;
    let body = text
        .len()
        .checked_sub(SEAL)
        .and_then(|at| text.split_at_checked(at));
    let (body, seal) = body.ok_or(LineFault::NotALine)?;
    let carried = seal
        .strip_prefix(MARK)
        .and_then(|rest| rest.strip_suffix("\"}"))
        .and_then(Hash::parse);
    let carried = carried.ok_or(LineFault::NotALine)?;
    let hash = Hash::of(body.as_bytes());
    if hash != carried {
        return Err(LineFault::Altered);
    }
    let body: Body = serde_json::from_str(&format!("{body}}}")).map_err(|_| LineFault::NotALine)?;
    Ok(Line {
        seq: body.seq,
        prev: Hash::parse(&body.prev).ok_or(LineFault::NotALine)?,
        time: body.time.parse().map_err(|_| LineFault::NotALine)?,
        entry: body.entry,
        hash,
        text: text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line() -> Vec<u8> {
        let time = "2026-09-16T10:11:12.345Z".parse().expect("a time");
        let entry = Entry::TurnAbort {
            turn: "t-1".to_owned(),
        };
        seal(7, Hash::of(b"before"), time, &entry).0
    }

    #[test]
    fn a_line_reads_back_as_it_was_written() {
        let bytes = line();
        let read = parse(bytes.strip_suffix(b"\n").expect("a newline")).expect("a line");
        assert_eq!(read.seq, 7);
        assert_eq!(read.prev, Hash::of(b"before"));
        assert_eq!(read.time.to_string(), "2026-09-16T10:11:12.345Z");
        assert_eq!(
            read.entry,
            Entry::TurnAbort {
                turn: "t-1".to_owned()
            }
        );
    }

    #[test]
    fn every_flipped_bit_of_a_line_is_found() {
        let bytes = line();
        let bytes = bytes.strip_suffix(b"\n").expect("a newline");
        for at in 0..bytes.len() * 8 {
            let mut flipped = bytes.to_vec();
            flipped[at / 8] ^= 1 << (at % 8);
            assert!(parse(&flipped).is_err(), "bit {at} went unnoticed");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes);
        }
    }
}
