//! The server, the bot's application and the gateway's budget, as REST gives them.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

use crate::discord::json::null_as_default;
use crate::discord::snowflake::Snowflake;

/// A server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Guild {
    /// Its id, which is also the id of the role every member has.
    pub id: Snowflake,
    /// What people call it.
    #[serde(default, deserialize_with = "null_as_default")]
    pub name: String,
    /// Who may do everything.
    #[serde(default)]
    pub owner_id: Option<Snowflake>,
    /// Its roles.
    #[serde(default, deserialize_with = "null_as_default")]
    pub roles: Vec<Role>,
}

/// A role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Role {
    /// Its id.
    pub id: Snowflake,
    /// What it permits.
    #[serde(default, deserialize_with = "permission_bits")]
    pub permissions: u64,
}

/// The bot's application (`GET /applications/@me`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Application {
    /// Its id.
    pub id: Snowflake,
    /// The bits as Discord sends them.
    #[serde(default, deserialize_with = "null_as_default")]
    pub flags: u64,
    /// Where Discord would send interactions instead of the gateway. Must be empty for buttons to reach us.
    #[serde(default)]
    pub interactions_endpoint_url: Option<String>,
}

impl Application {
    /// The two bits that say that message content is granted: in a verified application, and in a small one.
    const MESSAGE_CONTENT: u64 = 1 << 18 | 1 << 19;

    /// Whether flags (also READY's) say that the message-content intent is granted in the developer portal.
    #[must_use]
    pub fn grants_message_content(flags: u64) -> bool {
        flags & Self::MESSAGE_CONTENT != 0
    }
}

/// Where the gateway is and how often one may still identify (`GET /gateway/bot`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct GatewayBot {
    /// The first address, not yet checked.
    pub url: String,
    /// The budget.
    pub session_start_limit: SessionStartLimit,
}

/// How often one may still IDENTIFY. Beyond it Discord ends all sessions and resets the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct SessionStartLimit {
    /// In a day.
    pub total: u64,
    /// Left of it.
    pub remaining: u64,
    /// Milliseconds until it is whole again.
    pub reset_after: u64,
}

impl SessionStartLimit {
    /// The time until the budget is whole again.
    #[must_use]
    pub fn resets_in(&self) -> Duration {
        Duration::from_millis(self.reset_after)
    }
}

/// Permission bits, which Discord sends as decimal text because they outgrow 53 bits.
pub(super) fn permission_bits<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let text = String::deserialize(deserializer)?;
    // Bits beyond 64 would not be ours to read; unreadable bits permit nothing.
    text.parse().map_err(serde::de::Error::custom)
}
