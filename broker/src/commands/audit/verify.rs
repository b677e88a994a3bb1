//! `audit verify`: is the ledger what was written?

use std::{thread, time::Duration};

use serde_json::json;

use super::folder;
use crate::{
    audit::{Chain, Hash, History, OpenError, Verified, verify},
    commands::{Code, Place, PlaceArgs, Stop, Surroundings, out},
    private::Folder,
};

/// Checks that no line was changed, removed, added or moved.
///
/// Follows the chain of hashes and names the first line where it does not hold. Lines cut off the end are missed when
/// they belonged to a closed turn (ledger.head notes its last line), or with --head: a hash from the broker's log or
/// its status, written down elsewhere. Lines of a turn still open can be cut without a trace in the ledger itself.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: PlaceArgs,

    /// A line with this hash must be there.
    #[arg(long, value_name = "HASH", value_parser = parse_hash)]
    head: Option<Hash>,

    /// Print the result as one JSON object.
    #[arg(long)]
    json: bool,
}

/// A line being written is whole a moment later; one that stays torn is torn.
const PATIENCE: [Duration; 3] = [
    Duration::from_millis(20),
    Duration::from_millis(100),
    Duration::from_millis(300),
];

fn parse_hash(text: &str) -> Result<Hash, String> {
    Hash::parse(text).ok_or_else(|| "a hash is 64 digits of 0-9 a-f".to_owned())
}

/// Prints the verdict; a ledger that does not hold is exit 2.
pub(crate) fn run(args: &Args, around: &Surroundings) -> Result<(), Stop> {
    let folder = folder(&Place::of(&args.place, around)?)?;
    let (verdict, history, head_found) = read(&folder, args.head)?;
    let broken = match verdict {
        Ok(Verified { torn, chain }) if torn > 0 => Some(format!(
            "line {} is incomplete ({torn} bytes): cut short by a crash, or altered. The next start sets it aside.",
            chain.seq + 1
        )),
        Ok(_) if !head_found => Some("no line has the hash given with --head: the end was cut off, or it is another ledger's.".to_owned()),
        Ok(Verified { chain, .. }) => {
            print_sound(args.json, chain, &history);
            None
        }
        Err(OpenError::Broken(broken)) => Some(format!("{broken}.")),
        Err(other) => return Err(other.into()),
    };
    let Some(broken) = broken else { return Ok(()) };
    if args.json {
        out::line(json!({ "sound": false, "broken": broken }));
    }
    Err(Stop::new(
        Code::Invalid,
        format!("the ledger is broken: {broken}"),
    ))
}

type Reading = (Result<Verified, OpenError>, History, bool);

fn read(folder: &Folder, head: Option<Hash>) -> Result<Reading, Stop> {
    let mut waits = PATIENCE.into_iter();
    loop {
        let mut history = History::default();
        let mut head_found = head.is_none();
        let verdict = verify(folder, |line| {
            head_found |= head == Some(line.hash);
            history.note(line);
        });
        let torn = matches!(verdict, Ok(Verified { torn, .. }) if torn > 0);
        match waits.next() {
            Some(wait) if torn => thread::sleep(wait),
            _ => return Ok((verdict, history, head_found)),
        }
    }
}

fn print_sound(as_json: bool, chain: Chain, history: &History) {
    let notes: Vec<_> = history.notes().iter().map(ToString::to_string).collect();
    if as_json {
        let head = chain.head.to_string();
        out::line(json!({ "sound": true, "lines": chain.seq, "head": head, "notes": notes }));
        return;
    }
    out::text(format!(
        "{} lines, each following the one before. Head: {}",
        chain.seq, chain.head
    ));
    for note in notes {
        out::text(format!("note: {note}"));
    }
}
