//! Small honest servers that stand where Discord, a model and the rest of the world stand. Each keeps what it was sent
//! and misbehaves when told to; none knows the programs under test.

#![forbid(unsafe_code)]

pub mod discord;
pub mod model;
pub mod openapi;
