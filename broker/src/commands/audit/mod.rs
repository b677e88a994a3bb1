//! `audit`: reads the ledger, also while a broker writes it. Nothing here changes a byte of it.

mod list;
mod show;
mod verify;

use std::io;

use clap::Subcommand;

use super::{Code, Place, Stop, Surroundings, out};
use crate::{
    audit::{LEDGER, Line},
    private::{Folder, PrivateError},
};

/// Reads what was asked of the broker and what came of it.
///
/// The ledger is broker/ledger.jsonl in the binding's data folder: one JSON object a line, each carrying the hash of
/// the line before. It holds names, sizes and digests, never content.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Verify(verify::Args),
    Show(show::Args),
    List(list::Args),
}

/// Does what the sub-command says.
pub(crate) fn run(args: &Args, around: &Surroundings) -> Result<(), Stop> {
    match &args.command {
        Command::Verify(args) => verify::run(args, around),
        Command::Show(args) => show::run(args, around),
        Command::List(args) => list::run(args, around),
    }
}

/// The folder of the binding's ledger, if it has one.
fn folder(place: &Place) -> Result<Folder, Stop> {
    let none = || {
        let binding = &place.binding;
        let data_root = place.data_root.display();
        let why = format!(
            "the binding {binding} has no ledger below {data_root}; a broker begins it when it runs."
        );
        Stop::new(Code::Failed, why)
    };
    let folder = match Folder::open(&place.state()) {
        Err(PrivateError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Err(none());
        }
        opened => opened?,
    };
    if folder.has(LEDGER)? {
        Ok(folder)
    } else {
        Err(none())
    }
}

/// One line of the ledger for people: number, time, kind and what it says.
fn sentence(line: &Line) -> String {
    use crate::audit::Entry;
    let what = match &line.entry {
        Entry::Start {
            version,
            pid,
            policy,
            abi,
            required_abi,
            attempts,
        } => format!(
            "start        version {version}, pid {pid}, policy {policy}, landlock {abi} ({required_abi} required), {attempts} attempts denied"
        ),
        Entry::Recovered {
            bytes,
            sha256,
            kept_in,
        } => {
            format!("recovered    {bytes} bytes of a torn line, kept in {kept_in}, sha256 {sha256}")
        }
        Entry::Interrupted {
            turn,
            call,
            tool,
            found,
        } => {
            format!("interrupted  turn {turn}, call {call}, {tool}: {found}")
        }
        Entry::TurnOpen {
            turn,
            event,
            requester: Some(who),
        } => {
            format!(
                "turn-open    turn {turn}, event {event}, for {} ({})",
                who.name, who.id
            )
        }
        Entry::TurnOpen {
            turn,
            event,
            requester: None,
        } => format!("turn-open    turn {turn}, event {event}"),
        Entry::TurnAbort { turn } => format!("turn-abort   turn {turn}"),
        Entry::TurnClose {
            turn,
            calls,
            unlisted: 0,
            ..
        } => format!("turn-close   turn {turn}, calls: {calls}"),
        Entry::TurnClose {
            turn,
            calls,
            unlisted,
            ..
        } => {
            format!("turn-close   turn {turn}, calls: {calls}, and {unlisted} more refused")
        }
        Entry::Stop => "stop".to_owned(),
        Entry::Intent(call) => {
            format!(
                "intent       turn {}, call {}, {} {}",
                call.turn, call.call, call.tool, call.facts
            )
        }
        Entry::KernelDenied(call) => {
            format!(
                "kernel-denied turn {}, call {}, {} {}",
                call.turn, call.call, call.tool, call.facts
            )
        }
        Entry::Done(_) | Entry::Refused(_) | Entry::Failed(_) | Entry::Cancelled(_) => {
            let (word, end) = line.entry.call_end().expect("the four ends of a call");
            let reason = end
                .reason
                .as_deref()
                .map_or_else(String::new, |reason| format!("{reason}, "));
            format!(
                "{word:12} turn {}, call {}, {} ({reason}{} ms) {}",
                end.turn, end.call, end.tool, end.ms, end.facts
            )
        }
    };
    let number = line.seq.to_string();
    let sentence = format!("{number:>6}  {:.3}  {}", line.time, what.trim_end());
    // What does not fit goes on below the time, so that the numbers stand alone in their column.
    out::wrap(&sentence, number.len() + 2)
}
