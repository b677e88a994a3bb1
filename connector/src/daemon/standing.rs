//! How the connector stands, in one line for `systemctl status`. Ids, counts and states; no name and no text.

use std::fmt;

use crate::discord::Snowflake;

/// The gateway as the supervisor is told of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gateway {
    /// No session yet.
    Opening,
    /// READY or RESUMED was the last word.
    Up,
    /// The connection was lost; another is being made.
    Down,
}

/// The line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) gateway: Gateway,
    pub(super) ending: bool,
    pub(super) turn: Option<Snowflake>,
    pub(super) held: usize,
    /// Turns admitted today, and how many may be.
    pub(super) today: u32,
    pub(super) ceiling: u32,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.ending, self.gateway) {
            (true, _) => "Ending after the turn in hand",
            (false, Gateway::Opening) => "Waiting for Discord's gateway",
            (false, Gateway::Up) => "Ready",
            (false, Gateway::Down) => "Reconnecting to Discord",
        })?;
        match self.turn {
            Some(message) => write!(f, "; answering {message}")?,
            None => f.write_str("; no turn")?,
        }
        if self.held > 0 {
            write!(f, ", {} held", self.held)?;
        }
        write!(f, "; {} of {} turns today", self.today, self.ceiling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_is_up_what_is_done_and_what_waits() {
        let idle = Standing {
            gateway: Gateway::Up,
            ending: false,
            turn: None,
            held: 0,
            today: 3,
            ceiling: 200,
        };
        let busy = Standing {
            gateway: Gateway::Down,
            turn: Snowflake::new(7),
            held: 2,
            ..idle.clone()
        };
        let ending = Standing {
            ending: true,
            ..busy.clone()
        };

        let lines = [idle, busy, ending].map(|standing| standing.to_string());

        assert_eq!(
            lines,
            [
                "Ready; no turn; 3 of 200 turns today",
                "Reconnecting to Discord; answering 7, 2 held; 3 of 200 turns today",
                "Ending after the turn in hand; answering 7, 2 held; 3 of 200 turns today",
            ]
        );
    }
}
