//! `why`: one sentence on what became of one message.

use clap::Args;

use super::message::MessageName;
use super::{Place, Surroundings, print};
use crate::exit::{Exit, wrap};
use crate::history::{self, Fate, History};

/// Say what became of one message
///
/// Answered, failed, under way, held behind another, dropped by which rule and which field of the binding, one of our own,
/// or never received. From the journals alone, also while the connector runs.
#[derive(Debug, Args)]
pub(super) struct Why {
    #[command(flatten)]
    place: Place,

    /// The message: its id or its link
    message: MessageName,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Why {
    pub(super) fn run(&self, around: &Surroundings) -> Result<(), Exit> {
        let paths = self.place.known_paths(around)?;
        let MessageName(message) = self.message;
        let history = History::read(&paths).map_err(Exit::failed)?;
        // Read after the journals: a turn that ended meanwhile has its record by now.
        let record = history::record(&paths, message).map_err(Exit::failed)?;
        let fate = Fate::of(message, &history, record);
        let text = if self.json {
            fate.to_json(message).to_string()
        } else {
            wrap(&fate.to_string(), 80)
        };
        let _ = print(&(text + "\n"));
        Ok(())
    }
}
