//! The connector: Discord and time on one side, the engine and the broker on the other. It holds no tool, no root and no
//! word for what the model may touch; that is the broker's.

#![forbid(unsafe_code)]

pub mod admission;
pub mod binding;
pub mod broker;
pub mod commands;
pub mod confinement;
pub mod daemon;
pub mod delivery;
pub mod discord;
pub mod engine;
pub mod exit;
pub mod fixed;
pub mod history;
pub mod journal;
pub mod logs;
pub mod owner;
pub mod paths;
pub mod prompt;
pub mod seat;
pub mod visible;
