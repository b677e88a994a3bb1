//! Removes what writes left behind when the broker was killed in the middle. What may go was decided by
//! [`crate::fence::stale`].

use rustix::fs::{AtFlags, fsync, unlinkat};

use crate::fence::Reach;
use crate::fence::stale::{Leftover, Unfinished};

/// What became of the leftover of one unfinished write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swept {
    /// There was none.
    Nothing,
    /// It was ours and is gone.
    Removed,
    /// It may be somebody's version of the target. It was kept under its hidden name, and a person has to look.
    Kept,
    /// It could not be looked for or not removed.
    Failed,
}

impl Swept {
    /// The stable word for the ledger.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Swept::Nothing => "nothing",
            Swept::Removed => "removed",
            Swept::Kept => "kept",
            Swept::Failed => "failed",
        }
    }
}

/// Looks after each unfinished write of the ledger, in its order, and says what became of each.
#[must_use]
pub fn sweep(reach: &Reach, unfinished: &[Unfinished]) -> Vec<Swept> {
    unfinished
        .iter()
        .map(|write| match Leftover::find(reach, write) {
            Ok(Leftover::Nothing) => Swept::Nothing,
            Ok(Leftover::Theirs) => Swept::Kept,
            Ok(Leftover::Ours(stale)) => {
                let gone = unlinkat(stale.parent(), stale.temp().as_str(), AtFlags::empty())
                    .and_then(|()| fsync(stale.parent()));
                if gone.is_ok() {
                    Swept::Removed
                } else {
                    Swept::Failed
                }
            }
            Err(_) => Swept::Failed,
        })
        .collect()
}
