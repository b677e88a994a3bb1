//! Whether the other side still acknowledges. It sends nothing and knows no clock but the times it is given.

use std::time::Duration;

/// The beats of one connection.
#[derive(Clone, Debug)]
pub(super) struct Heartbeat {
    interval: Duration,
    /// The last sign of life that counts: an acknowledgement, at first the hello.
    acked_at: Duration,
    /// A beat is out and not acknowledged.
    waiting: bool,
    /// Something was read since the last beat.
    heard: bool,
    /// One beat was missed and excused because something was heard.
    excused: bool,
}

/// What the interval's end means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tick {
    Alive,
    Dead,
}

impl Heartbeat {
    /// A fresh connection owes nothing: the state of the one before must not kill it.
    pub(super) fn new(interval: Duration, now: Duration) -> Self {
        Self {
            interval,
            acked_at: now,
            waiting: false,
            heard: false,
            excused: false,
        }
    }

    pub(super) fn interval(&self) -> Duration {
        self.interval
    }

    pub(super) fn acked_at(&self) -> Duration {
        self.acked_at
    }

    pub(super) fn heard(&mut self) {
        self.heard = true;
    }

    pub(super) fn acked(&mut self, now: Duration) {
        self.acked_at = now;
        self.waiting = false;
        self.excused = false;
    }

    pub(super) fn sent(&mut self) {
        self.waiting = true;
        self.heard = false;
    }

    /// A missing acknowledgement counts unless it may lie in what was not read yet (`unread`), or, once, behind what was read
    /// meanwhile (D-30). Silence is never excused (D-29).
    pub(super) fn tick(&mut self, unread: bool) -> Tick {
        if !self.waiting || unread {
            return Tick::Alive;
        }
        if self.heard && !self.excused {
            self.excused = true;
            return Tick::Alive;
        }
        Tick::Dead
    }
}
