//! The self-test: tries from inside what must fail and what must work. "Installed" is not "in force"; a start is refused
//! unless [`Report::holds`] (DESIGN section 6). Which attempts there are follows from the rows of the profile, so that a row
//! nobody tries cannot exist.

mod ground;
mod outside;
mod probe;
mod report;
mod rows;

pub use ground::Ground;
pub use probe::Probe;
pub use report::{Report, Row};

use crate::fence::Entered;

/// Runs every attempt the profile's rows call for, then the caller's own. Works from any thread; attempts leave nothing
/// behind when they are denied, and clean up what they can when they are not.
///
/// Without a `ground` the attempts that need something of ours outside the fence (cutting, removing or making files there,
/// an abstract socket) are left out.
#[must_use]
pub fn run(entered: &Entered, ground: Option<&Ground>, extra: &[Probe]) -> Report {
    let own = rows::probes(&entered.profile, ground);
    Report::new(
        entered.profile(),
        own.iter().chain(extra).map(Probe::attempt).collect(),
    )
}
