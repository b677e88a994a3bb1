//! The Discord client: ids, messages, REST and the gateway connection of one bot.
//! It deliberately knows nothing of bindings, admission, turns or journals: it reports what Discord says and does what it is told once.

pub mod address;
pub mod gateway;
pub mod json;
pub mod model;
#[cfg(test)]
mod origin;
pub mod permissions;
pub mod rest;
pub mod snowflake;
pub mod threads;
pub mod token;

pub use address::ApiBase;
pub use gateway::{Event, GatewayConfig, GatewayEvent, GatewayHandle};
pub use json::parse_json;
pub use rest::{CreateMessage, Rest, RestError};
pub use snowflake::Snowflake;
pub use threads::Threads;
pub use token::Token;

/// What this program calls itself, in the form Discord requires. Anything else is blocked at its edge
/// (`reference/discord-api.md` section 2), on REST as JSON 40333 or an HTML 403.
pub const USER_AGENT: &str = concat!(
    "DiscordBot (https://example.org/mosaic-discord, ",
    env!("CARGO_PKG_VERSION"),
    ")"
);

/// Makes *ring* the process's TLS provider. Repeating it is harmless: the first provider stays.
///
/// [`Rest::new`] and [`gateway::spawn`] call it themselves, because a TLS client built without a provider panics.
pub fn install_tls() {
    // An `Err` says that a provider is already there, which is what is wanted.
    let _already_there = rustls::crypto::ring::default_provider().install_default();
}
