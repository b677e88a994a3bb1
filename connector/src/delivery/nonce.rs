//! The nonce of a chunk: made from the inbound message and the part, so that a retry after any crash forms the same one.

use crate::discord::{Snowflake, rest::NONCE_MAX};

/// The nonce of part `part` (from 0) of what is posted in answer to `message`.
///
/// One message is answered by one parcel in one channel, so the pair is unique for the author (discord-api 3.2, D-67).
pub fn nonce(message: Snowflake, part: usize) -> String {
    let nonce = format!("{message}-{part}");
    debug_assert!(
        nonce.len() <= NONCE_MAX,
        "a reply has fewer than 1,000 parts"
    );
    nonce
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d_67_the_largest_id_and_part_999_fit() {
        let id = Snowflake::parse(&u64::MAX.to_string()).unwrap();
        assert_eq!(nonce(id, 999), "18446744073709551615-999");
        assert!(nonce(id, 999).len() <= NONCE_MAX);
    }
}
