//! What can be known after one attempt. The words carry ids, codes and times, never an address, a message or a page.

use std::time::Duration;

use crate::discord::json::JsonError;

/// Why a call gave no answer that can be used, named by what is known of its outcome (`reference/discord-api.md` section 2.3).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestError {
    /// The request did not arrive. It may be repeated freely.
    #[error("Discord was not reached: {0}")]
    NotSent(Unreached),
    /// The request was sent and its outcome is not known. A create may be repeated with the same nonce only.
    #[error("sent, outcome not known: {0}")]
    Unknown(Doubt),
    /// Nothing was done: a rate limit, met now or known from before (then nothing was sent).
    #[error("rate limited for {:.1} s{}", .retry_after.as_secs_f64(), if *.html { " (no API answer; Discord's edge blocks this address)" } else if *.global { " (all routes)" } else { "" })]
    Limited {
        /// How long to wait.
        retry_after: Duration,
        /// Whether every route has to wait.
        global: bool,
        /// Whether the answer was not the API's own: the ban for too many invalid requests looks like this.
        html: bool,
    },
    /// Nothing was done, and the same request will be refused again.
    #[error("refused: HTTP {status}{}{}", .code.map_or(String::new(), |code| format!(", code {code}")), if .leaf.is_empty() { String::new() } else { format!(", {}", .leaf.join(" ")) })]
    Refused {
        /// The HTTP status.
        status: u16,
        /// Discord's own code, when the answer held one.
        code: Option<u64>,
        /// The names under a form error (50035), in no order.
        leaf: Vec<String>,
    },
    /// The token is dead. This client sends nothing any more.
    #[error("Discord does not accept the bot token (HTTP 401); nothing more is sent")]
    Unauthorized,
    /// Discord's edge blocks this program: an HTML 403, or code 40333. A fault of configuration (mostly the User-Agent), not of the request.
    #[error(
        "blocked by Discord's edge (403/40333): the User-Agent or this host's address is not accepted"
    )]
    Blocked,
    /// The answer came whole, says success, and cannot be read. A create was posted.
    #[error("answered, but not readable: {0}")]
    Body(BodyFault),
}

/// Why a request did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreached {
    /// Name resolution, TCP or TLS failed.
    #[error("no connection")]
    Connect,
    /// No connection in time.
    #[error("no connection in time")]
    Timeout,
    /// The request could not be formed.
    #[error("the request could not be formed")]
    Form,
}

/// Why the outcome of a sent request is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// No whole answer in time.
    #[error("no answer in time")]
    Timeout,
    /// The connection ended before an answer began.
    #[error("connection lost")]
    Reset,
    /// The connection ended inside the answer.
    #[error("answer cut")]
    CutBody,
    /// Discord, or what stands before it, failed: a 5xx or 408.
    #[error("HTTP {0}")]
    Status(u16),
}

/// Why an answer cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyFault {
    /// The content type is not JSON.
    #[error("not declared as JSON")]
    NotJson,
    /// Longer than this program keeps.
    #[error("too large")]
    TooLarge,
    /// Not the JSON that was expected.
    #[error("{0}")]
    Shape(JsonError),
}
