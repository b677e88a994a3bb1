//! Why there is no connection, in words an operator can use.

use std::fmt;
use std::time::Duration;

use super::machine::HANDSHAKE_TIMEOUT;
use super::machine::HELLO_TIMEOUT;
use super::wire::Malformed;
use crate::discord::rest::RestError;

/// One loss and the wait it causes: one line of the log for each stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Down {
    /// What happened.
    pub loss: Loss,
    /// Until the next try.
    pub next_try: Duration,
}

/// How a connection ended or failed to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// `GET /gateway/bot` failed.
    LookUp(RestError),
    /// Its answer names an address the token must not go to.
    Address,
    /// Too few IDENTIFYs are left; beyond the last Discord resets the token.
    Budget {
        /// How many.
        remaining: u64,
    },
    /// No socket.
    Open(OpenFault),
    /// No hello in time.
    NoHello,
    /// A hello, but then no session in time.
    NoSession,
    /// A heartbeat was not acknowledged.
    NoAck,
    /// Discord asked for a new connection (op 7).
    Asked,
    /// Discord did not take the session (op 9).
    SessionRefused {
        /// Whether it may be resumed later.
        resumable: bool,
    },
    /// A close frame came.
    Closed {
        /// Its code; 1005 when it had none.
        code: u16,
    },
    /// The connection ended without one.
    Cut,
    /// A frame that leaves the stream unreadable: over the size limit, or against the WebSocket protocol.
    Frame(Malformed),
}

/// Why there is no socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenFault {
    /// Not in time.
    Timeout,
    /// Name resolution, TCP or TLS failed.
    Connect,
    /// The answer to the upgrade was no upgrade, but that HTTP status.
    Http(u16),
    /// The upgrade failed otherwise.
    Upgrade,
}

impl fmt::Display for Down {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}; next try in {:.1} s",
            self.loss,
            self.next_try.as_secs_f64()
        )
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LookUp(error) => write!(f, "the gateway's address could not be read: {error}"),
            Self::Address => {
                f.write_str("Discord named a gateway address that is not wss://, nor a stand-in's")
            }
            Self::Budget { remaining } => write!(
                f,
                "only {remaining} session starts are left today, which are kept"
            ),
            Self::Open(OpenFault::Timeout) => f.write_str("the gateway did not answer in time"),
            Self::Open(OpenFault::Connect) => f.write_str("the gateway could not be reached"),
            Self::Open(OpenFault::Http(status)) => write!(
                f,
                "the gateway answered HTTP {status} instead of opening a socket"
            ),
            Self::Open(OpenFault::Upgrade) => f.write_str("the gateway did not open a socket"),
            Self::NoHello => write!(f, "no hello within {} s", HELLO_TIMEOUT.as_secs()),
            Self::NoSession => write!(
                f,
                "no session within {} s of the hello",
                HANDSHAKE_TIMEOUT.as_secs()
            ),
            Self::NoAck => f.write_str("a heartbeat was not acknowledged"),
            Self::Asked => f.write_str("Discord asked for a new connection"),
            Self::SessionRefused { resumable: true } => {
                f.write_str("Discord did not resume the session yet")
            }
            Self::SessionRefused { resumable: false } => f.write_str("Discord ended the session"),
            Self::Closed { code } => write!(
                f,
                "closed by Discord with code {code} ({})",
                super::close_code::meaning(*code)
            ),
            Self::Cut => f.write_str("the connection was cut"),
            Self::Frame(reason) => write!(f, "the stream became unreadable: {reason}"),
        }
    }
}
