//! The engine and its keeper, as far as the seat can notice them: orders are taken one after the other, an engine runs one
//! prompt, and it may die at any time.

use std::{collections::VecDeque, time::Duration};

use mosaic_connector::discord::Snowflake;

#[derive(Debug)]
pub(crate) enum Order {
    Start(Duration),
    Prompt(Snowflake),
}

#[derive(Debug, Default)]
pub(crate) struct Keeper {
    pub(crate) orders: VecDeque<Order>,
    /// An engine is being started.
    pub(crate) starting: bool,
    pub(crate) alive: bool,
    /// The message the engine works on.
    pub(crate) running: Option<Snowflake>,
    /// Counts engines and runs, so that the end of an earlier one is not taken for that of the present.
    pub(crate) run: u64,
}

impl Keeper {
    /// What is left of the engine is thrown away.
    pub(crate) fn discard(&mut self) {
        self.alive = false;
        self.running = None;
        self.run += 1;
    }
}
