//! Discord's limit on what we send: 120 frames in 60 s per connection, the next one closes it (4008).

use std::collections::VecDeque;
use std::time::Duration;

const WINDOW: Duration = Duration::from_secs(60);
const FRAMES: usize = 120;
/// Kept free of answers to requests, for the beats that keep the connection.
const RESERVE: usize = 10;

/// What a frame is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Urgency {
    /// The timer's own beat.
    Heartbeat,
    /// IDENTIFY or RESUME.
    Ours,
    /// A beat Discord asked for out of turn.
    OnRequest,
}

/// The times of the last frames.
#[derive(Clone, Debug, Default)]
pub(super) struct SendLimit {
    sent: VecDeque<Duration>,
}

impl SendLimit {
    /// Whether one more may go out now; if so it is counted.
    pub(super) fn allow(&mut self, urgency: Urgency, now: Duration) -> bool {
        while self.sent.front().is_some_and(|&sent| sent + WINDOW <= now) {
            self.sent.pop_front();
        }
        let room = match urgency {
            Urgency::Heartbeat | Urgency::Ours => FRAMES,
            Urgency::OnRequest => FRAMES - RESERVE,
        };
        let allowed = self.sent.len() < room;
        if allowed {
            self.sent.push_back(now);
        }
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_cannot_use_up_what_the_beats_need() {
        let mut limit = SendLimit::default();
        let at = Duration::from_secs(1);

        let answered = (0..1000)
            .filter(|_| limit.allow(Urgency::OnRequest, at))
            .count();
        let beats = (0..1000)
            .filter(|_| limit.allow(Urgency::Heartbeat, at))
            .count();

        assert_eq!((answered, beats), (110, 10));
        assert!(!limit.allow(Urgency::Heartbeat, at + WINDOW - Duration::from_millis(1)));
        assert!(limit.allow(Urgency::OnRequest, at + WINDOW));
    }
}
