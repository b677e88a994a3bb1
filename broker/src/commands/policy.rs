//! `policy`: what a binding permits, in plain words.

use serde_json::json;

use super::{Place, PlaceArgs, Stop, Surroundings, out};
use crate::tools;

/// Prints in plain words what this binding permits.
///
/// Reads the binding as `run` would, and touches nothing else.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: PlaceArgs,

    /// Print names and digests as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Prints it.
pub(crate) fn run(args: &Args, around: &Surroundings) -> Result<(), Stop> {
    let policy = Place::of(&args.place, around)?.policy()?;
    if !args.json {
        out::text(&policy);
        return Ok(());
    }
    let tools: Vec<_> = tools::enabled(&policy)
        .into_iter()
        .map(|tool| tool.name)
        .collect();
    let object = json!({
        "tools": tools,
        "maxCallsPerTurn": policy.max_calls_per_turn(),
        "maxFileBytes": policy.max_file_bytes(),
        "requiredAbi": policy.required_abi(),
        "toolsDigest": policy.tools_digest(),
        "policyDigest": policy.policy_digest(),
    });
    out::line(object);
    Ok(())
}
