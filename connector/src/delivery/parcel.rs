//! What answers one message: its chunks, and the record that is written once they are delivered. It lies in the spool from
//! before its first chunk is posted until its record is written, so that a crash in between loses neither.

use serde::{Deserialize, Serialize};

use crate::{
    delivery::nonce::nonce,
    discord::Snowflake,
    journal::{At, TurnRecord},
};

/// One answer on its way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parcel {
    /// The inbound message it answers; also its name in the spool, since one message has one answer.
    pub message: Snowflake,
    /// The channel or thread it is posted in.
    pub place: Snowflake,
    /// When it was packed.
    pub packed: At,
    /// What is posted, in order. Never empty.
    pub chunks: Vec<String>,
    /// The turn's record, all but the delivery. `None` for a line that answers no turn.
    pub record: Option<Box<TurnRecord>>,
}

impl Parcel {
    /// The nonce of one of its chunks.
    pub fn nonce(&self, part: usize) -> String {
        nonce(self.message, part)
    }
}
