//! A whole house on a throwaway folder: a data root, a root the seat may write, a secret it may not see, and the real broker
//! and connector with the real pi between a stand-in Discord and a stand-in model. For the stories and the demo.

#![forbid(unsafe_code)]

mod discretion;
mod house;
mod program;
mod units;

pub use house::{BINDING, House, Layout, PATIENCE, SECRET_TEXT, start_stand_ins};
pub use program::{Notify, Program, Programs};
pub use units::UserManager;
