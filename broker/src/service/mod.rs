//! The two services of the wire, one per socket: they translate between messages and the desk, and decide nothing.

pub(crate) mod control;
mod status;
pub(crate) mod tools;
