//! Who may speak to the broker, and for how long: the two sockets, the peers behind them, and one session at a time.
//! Knows connections, not what is said on them.

mod admission;
mod connection;
mod serve;
mod sockets;

pub(crate) use serve::{Served, serve};
pub(crate) use sockets::{BindError, Sockets, bind, check_length};
