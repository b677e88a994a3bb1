//! Times of one contestant, and what is said of them: the median, and how far the middle eight tenths are spread.

use std::time::{Duration, Instant};

use crate::unmeasured::Unmeasured;

/// What one contestant took, call by call.
#[derive(Debug, Default, Clone)]
pub(crate) struct Samples(Vec<f64>);

/// Microseconds, summed up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Figures {
    /// Half of the calls took no longer.
    pub(crate) median: f64,
    /// One call in ten took less.
    pub(crate) low: f64,
    /// One call in ten took more.
    pub(crate) high: f64,
}

impl Samples {
    pub(crate) fn add(&mut self, took: Duration) {
        self.add_us(took.as_secs_f64() * 1e6);
    }

    pub(crate) fn add_us(&mut self, microseconds: f64) {
        self.0.push(microseconds);
    }

    /// Times one call and keeps it; a call that failed is not a time but the end of the measurement.
    pub(crate) fn time<T>(
        &mut self,
        call: impl FnOnce() -> Result<T, Unmeasured>,
    ) -> Result<T, Unmeasured> {
        let began = Instant::now();
        let outcome = call()?;
        self.add(began.elapsed());
        Ok(outcome)
    }

    /// As [`Samples::time`], for a call that is awaited.
    pub(crate) async fn time_async<T>(
        &mut self,
        call: impl Future<Output = Result<T, Unmeasured>>,
    ) -> Result<T, Unmeasured> {
        let began = Instant::now();
        let outcome = call.await?;
        self.add(began.elapsed());
        Ok(outcome)
    }

    /// The figures.
    ///
    /// # Panics
    /// Without a sample.
    pub(crate) fn figures(&self) -> Figures {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |tenth: usize| sorted[(sorted.len() - 1) * tenth / 10];
        Figures {
            median: at(5),
            low: at(1),
            high: at(9),
        }
    }
}

impl Figures {
    /// The same without a fixed cost that both ends of it carry.
    pub(crate) fn less(self, fixed: f64) -> Self {
        Self {
            median: self.median - fixed,
            low: self.low - fixed,
            high: self.high - fixed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_the_spread_do_not_depend_on_the_order_and_ignore_the_ends() {
        let mut samples = Samples::default();
        for us in [9.0, 1.0, 5.0, 1000.0, 3.0, 7.0, 2.0, 8.0, 4.0, 6.0, 0.0] {
            samples.add_us(us);
        }

        assert_eq!(
            samples.figures(),
            Figures {
                median: 5.0,
                low: 1.0,
                high: 9.0
            }
        );
    }
}
