//! What each close code asks for (`reference/discord-api.md` section 6.3), one row and one reason each.

use Next::{Fatal, Identify, Resume, ResumeOnce};

/// Closing without a code.
pub(super) const NO_CODE: u16 = 1005;
/// Our close that ends the session.
pub(super) const GOODBYE: u16 = 1000;
/// Our close that keeps it: 1000 and 1001 would end it (D-28).
pub(super) const COMING_BACK: u16 = 4000;

/// Also said when REST answers 401.
pub(super) const TOKEN_REFUSED: &str = "Discord does not accept the bot token. Put a valid token in the binding's tokenFile, then start again.";

/// What to do about the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// It should still be there.
    Resume,
    /// It may be; one try.
    ResumeOnce,
    /// It is not.
    Identify,
    /// Nothing ever again; the sentence is for the operator.
    Fatal(&'static str),
}

struct Row {
    code: u16,
    next: Next,
    meaning: &'static str,
}

const ROWS: &[Row] = &[
    Row {
        code: 1000,
        next: ResumeOnce,
        meaning: "normal end; a session often survives a server's restart",
    },
    Row {
        code: 1001,
        next: ResumeOnce,
        meaning: "going away; as 1000",
    },
    Row {
        code: NO_CODE,
        next: Resume,
        meaning: "no code; says nothing about the session",
    },
    Row {
        code: 1006,
        next: Resume,
        meaning: "cut; says nothing about the session",
    },
    Row {
        code: 4000,
        next: Resume,
        meaning: "unknown error at Discord",
    },
    Row {
        code: 4001,
        next: Resume,
        meaning: "unknown opcode; a fault in this program",
    },
    Row {
        code: 4002,
        next: Resume,
        meaning: "undecodable payload; a fault in this program",
    },
    Row {
        code: 4003,
        next: Identify,
        meaning: "not authenticated; the session is not there",
    },
    Row {
        code: 4005,
        next: Identify,
        meaning: "identified twice; the session is not to be trusted",
    },
    Row {
        code: 4007,
        next: Identify,
        meaning: "invalid sequence; the session cannot be continued",
    },
    Row {
        code: 4008,
        next: Resume,
        meaning: "sent too fast; a fault in this program",
    },
    Row {
        code: 4009,
        next: Identify,
        meaning: "session timed out",
    },
    Row {
        code: 4004,
        next: Fatal(TOKEN_REFUSED),
        meaning: "authentication failed",
    },
    Row {
        code: 4010,
        next: Fatal(
            "Discord refused the shard of this connection. This is a fault in the program; report it.",
        ),
        meaning: "invalid shard",
    },
    Row {
        code: 4011,
        next: Fatal(
            "The bot is on too many servers for one connection. This connector serves one server; use a bot of its own.",
        ),
        meaning: "sharding required",
    },
    Row {
        code: 4012,
        next: Fatal("Discord no longer speaks gateway version 10. A newer connector is needed."),
        meaning: "invalid API version",
    },
    Row {
        code: 4013,
        next: Fatal(
            "Discord does not know the intents asked for. This is a fault in the program; report it.",
        ),
        meaning: "invalid intents",
    },
    Row {
        code: 4014,
        next: Fatal(
            "The message-content intent is not granted. Turn on \"Message Content Intent\" for this bot in the Discord developer portal, then start again.",
        ),
        meaning: "intent not granted",
    },
];

pub(super) fn next(code: u16) -> Next {
    match ROWS.iter().find(|row| row.code == code) {
        Some(row) => row.next,
        // Newer than this table: the session deserves one try.
        None if (4000..5000).contains(&code) => ResumeOnce,
        None => Resume,
    }
}

pub(super) fn meaning(code: u16) -> &'static str {
    ROWS.iter()
        .find(|row| row.code == code)
        .map_or("not in our table", |row| row.meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d_32_exactly_the_codes_no_retry_can_help_are_fatal() {
        let fatal: Vec<u16> = (0..=u16::MAX)
            .filter(|&code| matches!(next(code), Fatal(_)))
            .collect();

        assert_eq!(fatal, [4004, 4010, 4011, 4012, 4013, 4014]);
    }

    #[test]
    fn an_unknown_code_of_discords_gets_one_resume() {
        assert_eq!(
            (next(4099), next(1011), next(1012)),
            (ResumeOnce, Resume, Resume)
        );
    }

    #[test]
    fn the_close_that_keeps_a_session_is_not_one_that_ends_it() {
        assert!(![1000, 1001].contains(&COMING_BACK));
    }

    #[test]
    fn each_code_has_one_row() {
        for (at, row) in ROWS.iter().enumerate() {
            assert!(
                ROWS[at + 1..].iter().all(|other| other.code != row.code),
                "{}",
                row.code
            );
        }
    }
}
