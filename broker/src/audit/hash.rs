//! A SHA-256 digest and its hex form. Knows nothing of what was digested.

use std::fmt;

use sha2::{Digest, Sha256};

/// One SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hash([u8; 32]);

impl Hash {
    /// What the first line of a ledger names as the one before it.
    pub(crate) const NONE: Hash = Hash([0; 32]);

    /// The digest of `bytes`.
    pub(crate) fn of(bytes: &[u8]) -> Hash {
        Hash(Sha256::digest(bytes).into())
    }

    /// Reads 64 lower-case hex digits; anything else is no hash.
    pub(crate) fn parse(text: &str) -> Option<Hash> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = value(pair[0])? << 4 | value(pair[1])?;
        }
        Some(Hash(bytes))
    }
}

fn value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_gives_the_digest_back() {
        let hash = Hash::of(b"abc");
        assert_eq!(
            hash.to_string(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(Hash::parse(&hash.to_string()), Some(hash));
    }

    #[test]
    fn upper_case_short_and_foreign_digits_are_no_hash() {
        let good = Hash::of(b"").to_string();
        for bad in [
            good.to_uppercase(),
            good[1..].to_owned(),
            good.replace('e', "g"),
        ] {
            assert_eq!(Hash::parse(&bad), None, "{bad}");
        }
    }
}
