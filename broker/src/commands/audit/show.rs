//! `audit show`: one turn, or one line, in full.

use super::{folder, sentence};
use crate::{
    audit::{Line, verify},
    commands::{Code, Place, PlaceArgs, Stop, Surroundings, out},
};

/// Shows all lines of one turn, or one line by its number.
///
/// Lines are checked as they are read; a broken ledger ends the command with exit 2 after what came before the break.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: PlaceArgs,

    /// Id of a turn. When no turn has it: the number of a line.
    #[arg(value_name = "TURN|LINE")]
    what: String,

    /// Print the lines as they stand in the ledger.
    #[arg(long)]
    json: bool,
}

/// Prints them.
pub(crate) fn run(args: &Args, around: &Surroundings) -> Result<(), Stop> {
    let folder = folder(&Place::of(&args.place, around)?)?;
    let number: Option<u64> = args.what.parse().ok();
    let mut of_turn = Vec::new();
    let mut by_number = None;
    let verdict = verify(&folder, |line| {
        if line.entry.turn() == Some(args.what.as_str()) {
            of_turn.push(print(line, args.json));
        } else if number == Some(line.seq) {
            by_number = Some(print(line, args.json));
        }
    });
    if of_turn.is_empty() {
        of_turn.extend(by_number);
    }
    let nothing = of_turn.is_empty();
    for line in of_turn {
        out::line(line);
    }
    verdict?;
    if nothing {
        return Err(Stop::new(
            Code::Failed,
            format!("the ledger has no turn and no line {}.", args.what),
        ));
    }
    Ok(())
}

fn print(line: &Line, as_json: bool) -> String {
    if as_json {
        line.text.clone()
    } else {
        sentence(line)
    }
}
