//! The reader of the ledger with bytes somebody made up. Compiled for tests and fuzzing only; it writes nothing.

use super::{
    Hash,
    chain::{self, Chain},
    history::History,
    line::{self, MARK},
};

/// Reads the bytes as they are, and then each of their lines as the members of an entry, with the number, the link and the
/// hash it would need: nobody finds a SHA-256 by trying.
///
/// # Panics
/// When a line that is accepted does not read the same once it is written again, or is lost in the chain.
pub(crate) fn read_as_ledger(bytes: &[u8]) {
    let _ = chain::follow(bytes, |_| {});

    let mut chain = Chain::EMPTY;
    let mut ledger = Vec::new();
    for members in bytes.split(|byte| *byte == b'\n') {
        let text = dressed(chain, members);
        let Ok(read) = line::parse(&text) else {
            continue;
        };
        let (again, _) = line::seal(read.seq, read.prev, read.time, &read.entry);
        let again = line::parse(again.strip_suffix(b"\n").unwrap_or(&again));
        assert_eq!(
            again.map(|line| line.entry).as_ref(),
            Ok(&read.entry),
            "an entry reads otherwise once it is written again"
        );
        if read.seq != chain.seq + 1 || read.prev != chain.head || text.len() > line::MAX_LINE {
            // The members spoke for themselves twice; a second name in an object is the reader's to choose.
            continue;
        }
        chain = Chain {
            seq: read.seq,
            head: read.hash,
        };
        ledger.extend_from_slice(&text);
        ledger.push(b'\n');
    }

    let mut history = History::default();
    match chain::follow(&ledger[..], |line| history.note(line)) {
        Ok(followed) => assert_eq!((followed.chain, followed.torn), (chain, Vec::new())),
        Err(error) => panic!("a sound chain is refused: {error}"),
    }
    let _ = history.unfinished();
}

fn dressed(chain: Chain, members: &[u8]) -> Vec<u8> {
    let head = format!(
        "{{\"seq\":{},\"prev\":\"{}\",\"time\":\"2026-09-16T10:11:12.345Z\",",
        chain.seq + 1,
        chain.head
    );
    let body = [head.as_bytes(), members].concat();
    let hash = Hash::of(&body);
    [&body, format!("{MARK}{hash}\"}}").as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_kept_is_read_or_refused() {
        for (name, bytes) in kept() {
            println!("ledger/{name}");
            read_as_ledger(&bytes);
        }
    }

    #[test]
    fn what_is_kept_holds_a_line_of_every_kind() {
        let mut kinds = std::collections::BTreeSet::new();
        for (_, bytes) in kept() {
            for members in bytes.split(|byte| *byte == b'\n') {
                if let Ok(line) = line::parse(&dressed(Chain::EMPTY, members)) {
                    let entry = serde_json::to_value(&line.entry).expect("JSON");
                    kinds.insert(entry["kind"].as_str().unwrap_or_default().to_owned());
                }
            }
        }
        let kinds: Vec<_> = kinds.iter().map(String::as_str).collect();
        assert_eq!(
            kinds,
            [
                "cancelled",
                "done",
                "failed",
                "intent",
                "interrupted",
                "kernel-denied",
                "recovered",
                "refused",
                "start",
                "stop",
                "turn-abort",
                "turn-close",
                "turn-open",
            ]
        );
    }

    #[expect(clippy::disallowed_methods, reason = "reads the saved corpus")]
    fn kept() -> Vec<(String, Vec<u8>)> {
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/ledger");
        let entries = std::fs::read_dir(corpus).expect("the corpus is there");
        entries
            .map(|entry| {
                let entry = entry.expect("an entry can be read");
                let bytes = std::fs::read(entry.path()).expect("a file can be read");
                (entry.file_name().to_string_lossy().into_owned(), bytes)
            })
            .collect()
    }
}
