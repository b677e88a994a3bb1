//! Numbers that look random and are the same for the same seed on every machine: what makes a failing schedule replayable.

use std::ops::Range;

/// SplitMix64, whose whole state is one number.
#[derive(Debug, Clone)]
pub(crate) struct Dice {
    state: u64,
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number of the range, which must not be empty.
    pub(crate) fn within(&mut self, range: Range<u64>) -> u64 {
        range.start + self.next() % (range.end - range.start)
    }

    /// Whether a thing of this likelihood happens.
    pub(crate) fn happens(&mut self, per_mille: u64) -> bool {
        self.within(0..1000) < per_mille
    }

    /// One of them, which must not be none.
    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.next() as usize % choices.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_throws_the_same_numbers_for_ever() {
        let mut dice = Dice::new(7);

        let thrown: Vec<u64> = (0..4).map(|_| dice.within(0..1000)).collect();

        assert_eq!(thrown, [487, 804, 346, 203]);
    }
}
