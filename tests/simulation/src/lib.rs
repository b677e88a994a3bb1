//! The connector's machines in a world of dice: the seat, the courier, the recovery and the search of a channel, run against
//! simulated journals, Discord, engine and broker, with every kind of fault at any step. It knows nothing of sockets, files
//! or clocks; the drivers have tests of their own.

#![forbid(unsafe_code)]

mod dice;
mod discord;
mod disk;
mod faults;
mod keeper;
mod rules;
mod world;

pub use world::Ran;

/// Runs the schedule of this seed to its end. The same seed runs the same schedule on every machine.
#[must_use]
pub fn run(seed: u64) -> Ran {
    world::World::new(seed, false).run()
}

/// As [`run`], and tells each step.
#[must_use]
pub fn replay(seed: u64) -> Ran {
    world::World::new(seed, true).run()
}
