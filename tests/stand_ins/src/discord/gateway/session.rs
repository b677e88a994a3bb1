//! A gateway session: what it was sent, so that a resume can send it again (H8). It outlives its connections.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{sync::mpsc::UnboundedSender, time::Instant};

use super::Order;

/// Events kept for a replay. A session that missed more than this cannot be resumed; a flood must not fill the memory.
const LOG_LIMIT: usize = 20_000;

/// One identified client.
#[derive(Debug)]
pub(in crate::discord) struct Session {
    pub(in crate::discord) id: String,
    pub(in crate::discord) intents: u64,
    seq: u64,
    log: VecDeque<(u64, Arc<str>)>,
    line: Option<UnboundedSender<Order>>,
    connection: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Connected,
    LostSince(Instant),
    Ended,
}

/// Why a session does not go on.
#[derive(Debug, PartialEq)]
pub(super) enum CannotResume {
    /// Ended, expired, or its log no longer reaches back: op 9.
    Gone,
    /// The client claims an event that was never sent: 4007.
    NeverSent,
}

impl Session {
    pub(super) fn begin(
        id: String,
        intents: u64,
        connection: usize,
        line: UnboundedSender<Order>,
    ) -> Self {
        Session {
            id,
            intents,
            seq: 0,
            log: VecDeque::new(),
            line: Some(line),
            connection,
            state: State::Connected,
        }
    }

    pub(in crate::discord) fn is_connected(&self) -> bool {
        self.state == State::Connected
    }

    /// Numbers an event, remembers it, and sends it when somebody is there.
    pub(in crate::discord) fn dispatch(&mut self, name: &str, data: &Value) {
        if self.state == State::Ended {
            return;
        }
        self.seq += 1;
        let frame: Arc<str> = json!({ "op": 0, "t": name, "s": self.seq, "d": data })
            .to_string()
            .into();
        if self.log.len() == LOG_LIMIT {
            self.log.pop_front();
        }
        self.log.push_back((self.seq, Arc::clone(&frame)));
        self.send(frame);
    }

    /// Sends the newest event once more, under its old number.
    pub(in crate::discord) fn repeat_last(&self) {
        if let Some((_, frame)) = self.log.back() {
            self.send(Arc::clone(frame));
        }
    }

    /// Carries the session on over a new connection: sends everything after `seq` again and says how much that was.
    pub(super) fn resume(
        &mut self,
        seq: u64,
        connection: usize,
        line: UnboundedSender<Order>,
        life: Duration,
        now: Instant,
    ) -> Result<usize, CannotResume> {
        let expired =
            matches!(self.state, State::LostSince(since) if now.duration_since(since) >= life);
        if expired {
            self.state = State::Ended;
        }
        let forgotten = self.log.front().is_some_and(|(first, _)| *first > seq + 1);
        if self.state == State::Ended || forgotten {
            return Err(CannotResume::Gone);
        }
        if seq > self.seq {
            return Err(CannotResume::NeverSent);
        }
        if let Some(stale) = self.line.replace(line) {
            // The old connection may not know yet that it is dead.
            let _ = stale.send(Order::Drop);
        }
        (self.connection, self.state) = (connection, State::Connected);
        let missed = self
            .log
            .iter()
            .filter(|(number, _)| *number > seq)
            .map(|(_, frame)| Arc::clone(frame));
        let missed: Vec<_> = missed.collect();
        let count = missed.len();
        missed.into_iter().for_each(|frame| self.send(frame));
        Ok(count)
    }

    /// Its connection is gone. One that was taken over since is no longer the session's affair.
    pub(super) fn lose(&mut self, connection: usize, for_good: bool, now: Instant) {
        if self.connection == connection && self.state == State::Connected {
            self.line = None;
            self.state = if for_good {
                State::Ended
            } else {
                State::LostSince(now)
            };
        }
    }

    pub(in crate::discord) fn end(&mut self) {
        self.state = State::Ended;
        self.line = None;
    }

    fn send(&self, frame: Arc<str>) {
        if let Some(line) = &self.line {
            // A receiver that is gone means a connection that is just ending: the event stays in the log for the resume.
            let _ = line.send(Order::Frame(frame));
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use super::*;

    const LIFE: Duration = Duration::from_secs(180);

    fn sent(orders: &mut UnboundedReceiver<Order>) -> Vec<u64> {
        let mut numbers = Vec::new();
        while let Ok(Order::Frame(frame)) = orders.try_recv() {
            let frame: Value = serde_json::from_str(&frame).expect("frames are JSON");
            numbers.push(frame["s"].as_u64().expect("a dispatch is numbered"));
        }
        numbers
    }

    #[test]
    fn a_resume_sends_exactly_what_came_after() {
        let (first, mut first_orders) = unbounded_channel();
        let (second, mut second_orders) = unbounded_channel();
        let (mut session, now) = (Session::begin("s".into(), 0, 0, first), Instant::now());
        for _ in 0..3 {
            session.dispatch("X", &json!({}));
        }
        session.lose(0, false, now);
        session.dispatch("X", &json!({}));

        assert_eq!(session.resume(2, 1, second, LIFE, now), Ok(2));
        assert_eq!(
            (sent(&mut first_orders), sent(&mut second_orders)),
            (vec![1, 2, 3], vec![3, 4])
        );
    }

    #[test]
    fn a_session_that_ended_or_expired_is_gone() {
        let (line, _orders) = unbounded_channel();
        let now = Instant::now();
        for (for_good, later) in [(true, now), (false, now + LIFE)] {
            let mut session = Session::begin("s".into(), 0, 0, line.clone());
            session.lose(0, for_good, now);
            assert_eq!(
                session.resume(0, 1, line.clone(), LIFE, later),
                Err(CannotResume::Gone)
            );
        }
    }

    #[test]
    fn an_event_that_was_never_sent_cannot_be_resumed_from() {
        let (line, _orders) = unbounded_channel();
        let mut session = Session::begin("s".into(), 0, 0, line.clone());
        assert_eq!(
            session.resume(1, 1, line, LIFE, Instant::now()),
            Err(CannotResume::NeverSent)
        );
    }
}
