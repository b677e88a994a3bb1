//! Whether the connector may claim to be alive: heartbeats are acknowledged, the engine's keeper answers, the journals can be
//! written (issue 4, Systemd). It judges and asks the keeper; the claim itself is made by whoever holds the supervisor.

use std::fmt;

use tokio::sync::{
    mpsc::Sender,
    oneshot::{self, error::TryRecvError},
};

use super::keeper::Order;
use crate::discord::gateway::Health;

/// What keeps a sign of life back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// Discord does not acknowledge heartbeats.
    Gateway,
    /// The engine's keeper did not answer since the last look.
    Keeper,
    /// A file could not be written and synced beside the journals.
    Journals,
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gateway => "Discord does not acknowledge heartbeats",
            Self::Keeper => "the engine's keeper does not answer",
            Self::Journals => "the journals cannot be written",
        })
    }
}

/// Looks at the three. The keeper is asked at one look and must have answered by the next, so nothing waits.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    asked: Option<oneshot::Receiver<()>>,
}

impl Pulse {
    /// One look.
    pub(super) fn look(
        &mut self,
        health: Health,
        keeper: &Sender<Order>,
        journals_written: bool,
    ) -> Result<(), Silence> {
        let answer = self.asked.as_mut().map(oneshot::Receiver::try_recv);
        let answered = matches!(answer, None | Some(Ok(())));
        if answer != Some(Err(TryRecvError::Empty)) {
            let (answer, asked) = oneshot::channel();
            // Into a full queue it does not go, and the next look finds no answer.
            let _ = keeper.try_send(Order::Answer(answer));
            self.asked = Some(asked);
        }
        if !(health.live && health.is_acknowledged()) {
            Err(Silence::Gateway)
        } else if !answered {
            Err(Silence::Keeper)
        } else if !journals_written {
            Err(Silence::Journals)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::mpsc;

    use super::*;

    fn health(live: bool, age: u64) -> Health {
        Health {
            live,
            last_ack_age: Some(Duration::from_secs(age)),
            heartbeat_interval: Some(Duration::from_secs(40)),
        }
    }

    fn answer(orders: &mut mpsc::Receiver<Order>) {
        match orders.try_recv() {
            Ok(Order::Answer(answer)) => answer.send(()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn life_is_claimed_while_all_three_are_well() {
        let (keeper, mut orders) = mpsc::channel(4);
        let mut pulse = Pulse::default();

        for _ in 0..3 {
            assert_eq!(pulse.look(health(true, 40), &keeper, true), Ok(()));
            answer(&mut orders);
        }
    }

    #[test]
    fn each_of_the_three_keeps_the_sign_back() {
        let (keeper, mut orders) = mpsc::channel(4);
        let mut pulse = Pulse::default();
        let mut look = |health, written, orders: &mut mpsc::Receiver<Order>| {
            let found = pulse.look(health, &keeper, written);
            answer(orders);
            found
        };

        let rows = [
            (health(false, 1), true, Err(Silence::Gateway)),
            (health(true, 81), true, Err(Silence::Gateway)),
            (health(true, 1), false, Err(Silence::Journals)),
            (health(true, 80), true, Ok(())),
        ];
        for (health, written, expected) in rows {
            assert_eq!(look(health, written, &mut orders), expected);
        }
    }

    #[test]
    fn a_keeper_that_did_not_answer_by_the_next_look_is_not_alive_until_it_does() {
        let (keeper, mut orders) = mpsc::channel(1);
        let mut pulse = Pulse::default();
        let mut look = || pulse.look(health(true, 1), &keeper, true);

        assert_eq!(look(), Ok(()));
        assert_eq!(look(), Err(Silence::Keeper));
        assert_eq!(look(), Err(Silence::Keeper));
        answer(&mut orders);
        assert_eq!(look(), Ok(()));
    }

    #[test]
    fn a_keeper_that_takes_no_orders_is_not_alive() {
        let (keeper, orders) = mpsc::channel(1);
        let mut pulse = Pulse::default();
        drop(orders);

        assert_eq!(pulse.look(health(true, 1), &keeper, true), Ok(()));
        assert_eq!(
            pulse.look(health(true, 1), &keeper, true),
            Err(Silence::Keeper)
        );
    }
}
