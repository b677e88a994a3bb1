//! Follows a ledger line by line and names the first place where the chain does not hold. Decides only; reads what it
//! is given.

use std::{
    fmt,
    io::{self, BufRead, Read},
};

use super::{
    Hash, Line,
    line::{self, LineFault, MAX_LINE},
};

/// How far the chain has been followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chain {
    /// Sequence number of the last line, 0 before the first.
    pub(crate) seq: u64,
    /// Its hash.
    pub(crate) head: Hash,
}

impl Chain {
    pub(crate) const EMPTY: Chain = Chain {
        seq: 0,
        head: Hash::NONE,
    };
}

/// The first place where a ledger is not what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    /// The line of the file, from 1. In a sound ledger it is also the sequence number.
    pub(crate) line: u64,
    pub(crate) what: Break,
}

/// What is wrong there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Break {
    /// Not the shape of a line, or of a newer version.
    NotALine,
    /// Its bytes do not give the hash it carries.
    Altered,
    /// The lines from here up to this one are gone.
    Missing { until: u64 },
    /// This line and the next stand in each other's place.
    Swapped,
    /// A line that belongs elsewhere.
    Misplaced { seq: u64 },
    /// Sound by itself, but not written after the line before it.
    Unlinked,
    /// The file ends before a line that was on record.
    Cut { noted: u64 },
    /// The line is not the one that was on record under this number.
    Rewritten,
    /// Lines are there, the note of the last closed turn is not, or cannot be read.
    NoHead,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line;
        match self.what {
            Break::NotALine => write!(
                f,
                "line {line} is not a line of a ledger this version can read"
            ),
            Break::Altered => write!(
                f,
                "line {line} was altered: its bytes do not give the hash it carries"
            ),
            Break::Missing { until } if until == line => write!(f, "line {line} is missing"),
            Break::Missing { until } => write!(f, "lines {line} to {until} are missing"),
            Break::Swapped => write!(
                f,
                "lines {line} and {} stand in each other's place",
                line + 1
            ),
            Break::Misplaced { seq } => write!(f, "line {line} carries the number {seq}"),
            Break::Unlinked => write!(f, "line {line} was not written after the line before it"),
            Break::Cut { noted } => {
                write!(
                    f,
                    "line {line} is missing, and all up to line {noted} that was on record: the end was cut off"
                )
            }
            Break::Rewritten => write!(
                f,
                "line {line} is not the one that was on record under this number"
            ),
            Break::NoHead => write!(
                f,
                "ledger.head is missing or unreadable, so a cut end could not be seen"
            ),
        }
    }
}

/// A whole ledger followed to its end.
#[derive(Debug)]
pub(crate) struct Followed {
    pub(crate) chain: Chain,
    /// Bytes of whole lines.
    pub(crate) length: u64,
    /// Bytes after the last newline: a line cut short, or one being written right now.
    pub(crate) torn: Vec<u8>,
}

/// Why a ledger could not be followed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FollowError {
    #[error("the ledger cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("the ledger is broken: {0}")]
    Broken(Broken),
}

/// Follows the ledger in `file`, handing each sound line to `each`.
pub(crate) fn follow(
    mut file: impl BufRead,
    mut each: impl FnMut(&Line),
) -> Result<Followed, FollowError> {
    let mut chain = Chain::EMPTY;
    let mut length = 0;
    loop {
        let bytes = next_line(&mut file)?;
        let Some(text) = bytes.strip_suffix(b"\n") else {
            if bytes.len() > MAX_LINE {
                return Err(broken(chain.seq + 1, Break::NotALine));
            }
            return Ok(Followed {
                chain,
                length,
                torn: bytes,
            });
        };
        let line = match step(chain, text) {
            Ok(line) => line,
            Err(what) => {
                return Err(broken(
                    chain.seq + 1,
                    look_ahead(what, chain.seq + 1, &mut file)?,
                ));
            }
        };
        each(&line);
        chain = Chain {
            seq: line.seq,
            head: line.hash,
        };
        length += bytes.len() as u64;
    }
}

fn next_line(file: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_LINE as u64 + 1)
        .read_until(b'\n', &mut bytes)?;
    Ok(bytes)
}

fn step(chain: Chain, text: &[u8]) -> Result<Line, Break> {
    let line = line::parse(text).map_err(|fault| match fault {
        LineFault::NotALine => Break::NotALine,
        LineFault::Altered => Break::Altered,
    })?;
    let expected = chain.seq + 1;
    if line.seq > expected {
        return Err(Break::Missing {
            until: line.seq - 1,
        });
    }
    if line.seq < expected {
        return Err(Break::Misplaced { seq: line.seq });
    }
    if line.prev != chain.head {
        return Err(Break::Unlinked);
    }
    Ok(line)
}

/// A line that comes too early means a gap, unless the line that belongs here follows it.
fn look_ahead(what: Break, expected: u64, file: &mut impl BufRead) -> io::Result<Break> {
    let Break::Missing { until } = what else {
        return Ok(what);
    };
    let next = next_line(file)?;
    match line::parse(next.strip_suffix(b"\n").unwrap_or(&next)) {
        Ok(line) if line.seq == expected && until == expected => Ok(Break::Swapped),
        Ok(line) if line.seq == expected => Ok(Break::Misplaced { seq: until + 1 }),
        _ => Ok(what),
    }
}

fn broken(line: u64, what: Break) -> FollowError {
    FollowError::Broken(Broken { line, what })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::Entry;

    fn ledger(lines: u64) -> Vec<Vec<u8>> {
        let mut prev = Hash::NONE;
        (1..=lines)
            .map(|seq| {
                let entry = Entry::TurnAbort {
                    turn: format!("t-{seq}"),
                };
                let (bytes, hash) = line::seal(seq, prev, jiff::Timestamp::UNIX_EPOCH, &entry);
                prev = hash;
                bytes
            })
            .collect()
    }

    fn first_break(lines: &[Vec<u8>]) -> Option<String> {
        match follow(lines.concat().as_slice(), |_| {}) {
            Ok(_) => None,
            Err(FollowError::Broken(broken)) => Some(broken.to_string()),
            Err(FollowError::Io(error)) => panic!("{error}"),
        }
    }

    #[test]
    fn a_whole_ledger_is_followed_to_its_head() {
        let lines = ledger(5);
        let mut seen = Vec::new();
        let followed =
            follow(lines.concat().as_slice(), |line| seen.push(line.seq)).expect("sound");
        assert_eq!(seen, [1, 2, 3, 4, 5]);
        assert_eq!((followed.chain.seq, followed.torn.len()), (5, 0));
        assert_eq!(followed.length, lines.concat().len() as u64);
    }

    #[test]
    fn one_flipped_byte_anywhere_is_found_in_its_line() {
        let sound = ledger(3);
        for number in 0..2 {
            for at in 0..sound[number].len() {
                let mut lines = sound.clone();
                lines[number][at] ^= 1;
                let found = first_break(&lines).expect("found");
                assert!(
                    found.starts_with(&format!("line {} ", number + 1)),
                    "byte {at}: {found}"
                );
            }
        }
    }

    #[test]
    fn a_dropped_line_is_named() {
        let mut lines = ledger(5);
        lines.remove(2);
        assert_eq!(first_break(&lines).as_deref(), Some("line 3 is missing"));
        let mut lines = ledger(6);
        lines.drain(0..2);
        assert_eq!(
            first_break(&lines).as_deref(),
            Some("lines 1 to 2 are missing")
        );
    }

    #[test]
    fn two_swapped_lines_are_named() {
        let mut lines = ledger(5);
        lines.swap(1, 2);
        assert_eq!(
            first_break(&lines).as_deref(),
            Some("lines 2 and 3 stand in each other's place")
        );
        let mut lines = ledger(5);
        lines.swap(1, 3);
        assert_eq!(
            first_break(&lines).as_deref(),
            Some("lines 2 to 3 are missing")
        );
    }

    #[test]
    fn a_repeated_line_and_a_line_of_another_ledger_are_named() {
        let mut lines = ledger(4);
        lines.insert(2, lines[1].clone());
        assert_eq!(
            first_break(&lines).as_deref(),
            Some("line 3 carries the number 2")
        );
        let mut lines = ledger(4);
        let entry = Entry::TurnAbort {
            turn: "forged".to_owned(),
        };
        lines[2] = line::seal(
            3,
            Hash::of(b"elsewhere"),
            jiff::Timestamp::UNIX_EPOCH,
            &entry,
        )
        .0;
        assert_eq!(
            first_break(&lines).as_deref(),
            Some("line 3 was not written after the line before it")
        );
    }

    #[test]
    fn a_cut_at_any_byte_leaves_the_whole_lines_and_names_the_rest_torn() {
        let bytes = ledger(3).concat();
        for cut in 0..bytes.len() {
            let followed = follow(&bytes[..cut], |_| {}).expect("the whole lines are sound");
            let whole = bytes[..cut].iter().filter(|&&b| b == b'\n').count() as u64;
            assert_eq!(followed.chain.seq, whole, "cut at {cut}");
            assert_eq!(followed.length as usize + followed.torn.len(), cut);
        }
    }

    #[test]
    fn an_endless_line_is_refused_without_reading_it_whole() {
        let endless = io::BufReader::new(io::repeat(b'x'));
        let Err(FollowError::Broken(found)) = follow(endless, |_| {}) else {
            panic!("followed an endless line")
        };
        assert_eq!(
            found,
            Broken {
                line: 1,
                what: Break::NotALine
            }
        );
    }
}
