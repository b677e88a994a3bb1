//! The nonce of a chunk: made from the inbound message and the part, so that a retry after any crash forms the same one.

use crate::discord::{Snowflake, rest::NONCE_MAX};

/// The most parts one reply may have: what the nonce of any message can number, and far more than anybody reads.
pub const PARTS_MAX: usize = 1000;

/// The nonce of part `part` (from 0) of what is posted in answer to `message`.
///
/// One message is answered by one parcel in one channel, so the pair is unique for the author (discord-api 3.2, D-67).
pub fn nonce(message: Snowflake, part: usize) -> String {
    let nonce = format!("{message}-{part}");
    debug_assert!(
        nonce.len() <= NONCE_MAX,
        "a reply has at most a thousand parts"
    );
    nonce
}

/// The message that a chunk with this nonce answers; nothing when the nonce is not of this shape.
pub fn answered_by(nonce: &str) -> Option<Snowflake> {
    let (message, part) = nonce.split_once('-')?;
    let part_is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    part_is_number.then_some(message.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_names_the_message_it_answers_and_others_name_none() {
        let id = Snowflake::parse("7").unwrap();

        assert_eq!(answered_by(&nonce(id, 12)), Some(id));
        for foreign in ["", "7", "7-", "-1", "7-x", "07-1", "7-1-1"] {
            assert_eq!(answered_by(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn d_67_the_largest_id_and_part_999_fit() {
        let id = Snowflake::parse(&u64::MAX.to_string()).unwrap();
        assert_eq!(nonce(id, PARTS_MAX - 1), "18446744073709551615-999");
        assert!(nonce(id, PARTS_MAX - 1).len() <= NONCE_MAX);
    }
}
