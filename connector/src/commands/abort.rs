//! `abort`: stops the turn in hand, and that alone; the connector goes on with the next message.

use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Args;

use super::{Place, Surroundings, say};
use crate::exit::Exit;
use crate::history::{self, Fate as MessageFate, History};
use crate::owner::{Fate, Lock, Standing};

/// How long the end of the turn is waited for: pi has ten seconds to stop, and a running call may take its time.
const PATIENCE: Duration = Duration::from_secs(90);
/// How often it is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Stop the turn in hand; the connector goes on with the next message
///
/// The broker refuses further calls at once, a running one finishes. One fixed line in the channel says what was already
/// done, and the record says aborted. A message that is held has its turn next.
#[derive(Debug, Args)]
pub(super) struct Abort {
    #[command(flatten)]
    place: Place,
}

impl Abort {
    pub(super) fn run(&self, around: &Surroundings) -> Result<(), Exit> {
        let paths = self.place.known_paths(around)?;
        let binding = &self.place.binding;
        let history = History::read(&paths).map_err(Exit::failed)?;
        // As with a reload: before this file is there, nobody waits for the signal, and it would end the process.
        let listens = paths.binding_in_force().symlink_metadata().is_ok();
        let open = history.open_turns().last().map(|line| line.id);
        let (Some(turn), true) = (open, listens) else {
            say(&format!(
                "No turn of {binding} is in hand; nothing was stopped."
            ));
            return Ok(());
        };
        let standing = Lock::new(&paths)
            .interrupt_turn()
            .map_err(|error| Exit::failed(format_args!("Nobody was signaled: {error}.")))?;
        if !matches!(
            standing,
            Standing::Held {
                fate: Fate::Runs,
                ..
            }
        ) {
            return Err(Exit::failed(format_args!(
                "Nobody was signaled. {}",
                standing.refusal(binding)
            )));
        }
        let asked = Instant::now();
        while asked.elapsed() < PATIENCE {
            if let Some(record) = history::record(&paths, turn).map_err(Exit::failed)? {
                let fate = MessageFate::of(turn, &history, Some(record));
                say(&format!("The turn of {turn} has ended. {fate}"));
                return Ok(());
            }
            sleep(LOOK_EVERY);
        }
        Err(Exit::failed(format_args!(
            "The connector was told to stop the turn of {turn}, which has no record after {} s. See: mosaic-discord why {binding} \
             {turn}",
            PATIENCE.as_secs()
        )))
    }
}
