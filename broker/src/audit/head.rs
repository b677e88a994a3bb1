//! `ledger.head`: number and hash of the last line of the turn closed last, kept beside the ledger so that lines cut
//! off its end are missed. Overwritten in place; 86 bytes lie in one sector, so a crash leaves the old note or the new.

use std::{fs::File, io, os::unix::fs::FileExt};

use super::{
    Hash,
    chain::{Break, Broken, Chain},
};

/// Name of the note in the broker's state folder.
pub(crate) const HEAD: &str = "ledger.head";

/// Notes that the ledger is on disk up to `chain`.
pub(crate) fn write(file: &File, chain: Chain) -> io::Result<()> {
    file.write_all_at(format!("{:020} {}\n", chain.seq, chain.head).as_bytes(), 0)?;
    file.sync_data()
}

/// Reads the note. `None` when it was never written or is not one.
pub(crate) fn read(file: &File) -> io::Result<Option<Chain>> {
    let mut bytes = [0; 87];
    let length = file.read_at(&mut bytes, 0)?;
    let note = std::str::from_utf8(&bytes[..length]).ok().and_then(|text| {
        let (seq, head) = text.strip_suffix('\n')?.split_once(' ')?;
        Some(Chain {
            seq: seq.parse().ok()?,
            head: Hash::parse(head)?,
        })
    });
    Ok(note)
}

/// Compares a followed ledger with the note. `at_note` is the hash of the line that the note names, if it was met.
pub(crate) fn compare(
    note: Option<Chain>,
    at_note: Option<Hash>,
    end: Chain,
) -> Result<(), Broken> {
    let Some(note) = note else {
        return match end.seq {
            0 => Ok(()),
            line => Err(Broken {
                line,
                what: Break::NoHead,
            }),
        };
    };
    match at_note {
        _ if note.seq == 0 => Ok(()),
        None => Err(Broken {
            line: end.seq + 1,
            what: Break::Cut { noted: note.seq },
        }),
        Some(hash) if hash != note.head => Err(Broken {
            line: note.seq,
            what: Break::Rewritten,
        }),
        Some(_) => Ok(()),
    }
}
