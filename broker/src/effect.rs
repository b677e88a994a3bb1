//! The effects: they touch and decide nothing. Each takes a value that only a fence can make, and says what became of it;
//! what that means for the call is said in `tools`.

pub mod read;
pub mod replace;
mod sweep;

pub use self::sweep::{Swept, sweep};

/// What came between an effect and its end. Nothing of the act is left, unless it says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// What stood at the target is not what was checked; it was kept.
    Changed,
    /// The caller went away.
    Cancelled,
    /// The disk is full.
    NoSpace,
    /// The operating system failed it.
    Storage,
    /// A hidden file could not be taken away, or holds a version that somebody may want back.
    LeftBehind,
}

impl From<rustix::io::Errno> for Trouble {
    fn from(errno: rustix::io::Errno) -> Trouble {
        match errno {
            rustix::io::Errno::NOSPC | rustix::io::Errno::DQUOT => Trouble::NoSpace,
            _ => Trouble::Storage,
        }
    }
}
