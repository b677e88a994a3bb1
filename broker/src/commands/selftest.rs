//! `selftest`: the fence of a binding, tried from inside.

use serde_json::json;

use super::{Code, Place, PlaceArgs, RuntimeArgs, Stop, Surroundings, confined, out};
use crate::private::Folder;

/// Confines itself as `run` would, tries what must fail, and prints each attempt with the kernel's answer.
///
/// Serves nobody, and may be run beside a broker at work. Exit 2 when an attempt did not end as it must.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    runtime: RuntimeArgs,

    /// Print the table as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Prints the table.
pub(crate) fn run(args: &Args, around: &Surroundings) -> Result<(), Stop> {
    let place = Place::of(&args.place, around)?;
    let runtime = place.runtime(&args.runtime, around)?;
    let policy = place.policy()?;
    mosaic_sandbox::harden_process().map_err(|error| Stop::new(Code::Failed, error))?;
    let state = Folder::create(&place.state())?;
    let runtime = Folder::create(&runtime)?;
    let confined = confined::prepare(&policy, &place, &state, &runtime)?.enter()?;
    if args.json {
        let rows = confined.report.rows().iter().map(|row| {
            json!({ "attempt": row.attempt, "expected": row.expected, "answer": row.answer, "held": row.held })
        });
        let rows: Vec<_> = rows.collect();
        let object = json!({
            "holds": confined.report.holds(),
            "landlockAbi": confined.abi,
            "requiredAbi": confined.required.get(),
            "rows": rows,
        });
        out::line(object);
    } else {
        out::text(&confined.report);
    }
    confined.demand()
}
