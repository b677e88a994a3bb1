//! The gateway: one connection that is kept alive, resumed and renewed, and what it says as typed events.
//! Consumers see only what is in this file; what an event means to the seat is not known here.

mod backoff;
mod close_code;
mod driver;
mod event;
mod heartbeat;
mod loss;
mod machine;
mod send_limit;
mod socket;
mod step;
mod wire;

pub use driver::{GatewayHandle, Health, spawn};
pub use event::{ChannelChange, Event, ThreadChange};
pub use loss::{Down, Loss, OpenFault};
pub use wire::Malformed;

use super::address::ApiBase;
use super::model::User;
use super::token::Token;

/// Servers and channels, their messages, and what the messages say: the bits of GUILDS, GUILD_MESSAGES and MESSAGE_CONTENT.
pub const INTENTS: u64 = 1 | 1 << 9 | 1 << 15;

/// What a connection needs.
#[derive(Clone, Debug)]
pub struct GatewayConfig {
    /// The bot.
    pub token: Token,
    /// What Discord shall send; [`INTENTS`].
    pub intents: u64,
    /// Decides which gateway addresses are believed; the same as that of [`Rest`](super::Rest).
    pub base: ApiBase,
}

/// What the gateway tells its consumer, in the order it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GatewayEvent {
    /// A new session began. What happened before it and after the last session is not replayed.
    Ready {
        /// The bot.
        user: User,
        /// Its application's flags; see [`Application::grants_message_content`](super::model::Application::grants_message_content).
        application_flags: u64,
    },
    /// The session goes on; all that was missed has been delivered.
    Resumed,
    /// Something happened on Discord.
    Dispatch(Event),
    /// A connection was lost or could not be made. Another follows by itself.
    Down {
        /// What happened and when the next try is.
        reason: Down,
    },
    /// The gateway stopped for good; nothing follows. No restart can help before a person has changed something.
    Fatal {
        /// The gateway's close code, or 401 when REST refused the token.
        code: u16,
        /// What happened and what to do.
        sentence: &'static str,
    },
    /// Something arrived that cannot be read. The connection lives on.
    Malformed {
        /// What was wrong with it.
        reason: Malformed,
    },
}
