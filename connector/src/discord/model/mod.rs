//! What Discord sends, as far as this program reads it. Unknown keys, kinds and flags pass; a missing key that proves nothing is a default.
//! It decides nothing: which message counts is admission's business.

mod channel;
mod guild;
mod interaction;
mod message;
mod user;

pub use channel::{Channel, ChannelKind, Overwrite, ThreadMetadata};
pub use guild::{Application, GatewayBot, Guild, Role, SessionStartLimit};
pub use interaction::{Interaction, InteractionToken};
pub use message::{Message, MessageKind, MessageReference};
pub use user::{Member, User};
