//! The pauses between connections: doubling, at random below the double, with an end.

use std::time::Duration;

const FIRST: Duration = Duration::from_secs(1);
/// With failing IDENTIFYs this spends about 576 of the 1000 a day.
const CAP: Duration = Duration::from_secs(300);
/// Not even a lucky throw may hammer.
const FLOOR: Duration = Duration::from_millis(500);

/// How often it failed in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The next pause: `chance` (in `0..1`) of 1 s, 2 s, 4 s … 300 s.
    pub(super) fn next(&mut self, chance: f64) -> Duration {
        let ceiling = FIRST
            .saturating_mul(2_u32.saturating_pow(self.failures))
            .min(CAP);
        self.failures = self.failures.saturating_add(1);
        ceiling.mul_f64(chance).max(FLOOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(count: usize, chance: f64) -> Vec<f64> {
        let mut backoff = Backoff::default();
        (0..count)
            .map(|_| backoff.next(chance).as_secs_f64())
            .collect()
    }

    #[test]
    fn pauses_double_up_to_five_minutes() {
        assert_eq!(
            first(11, 0.5),
            [
                0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 150.0, 150.0
            ]
        );
    }

    #[test]
    fn no_luck_makes_a_pause_vanish_and_no_count_overflows() {
        assert_eq!(first(3, 0.0), [0.5; 3]);
        assert_eq!(
            Backoff { failures: u32::MAX }.next(0.999_999_999).as_secs(),
            299
        );
    }
}
