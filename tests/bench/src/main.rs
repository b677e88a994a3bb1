//! `make bench`: measures the built programs beside named rivals, interleaved in one run on one machine, and prints the
//! ratios. It judges nothing but whether a measurement could be made: a missed goal is a row, not a failure.

#![forbid(unsafe_code)]

mod bare;
mod broker;
mod ground;
mod groups;
mod mcp;
mod node;
mod report;
mod rivals;
mod samples;
mod unmeasured;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    process::ExitCode,
};

use clap::Parser;

use crate::{
    ground::Ground,
    groups::GROUPS,
    report::{Report, Row},
    unmeasured::Unmeasured,
};

/// Measures the programs of this build beside their rivals.
///
/// Prints a table and writes target/bench/report.json and report.md. Exits with 1 when something could not be measured.
#[derive(Debug, Parser)]
#[command(name = "bench")]
struct Args {
    /// Groups to measure; all of them when none is named.
    groups: Vec<String>,

    /// Serves the bare rival on this socket instead. The bench starts itself with it.
    #[arg(long, hide = true)]
    serve_bare: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let outcome = match &args.serve_bare {
        Some(socket) => bare::serve(socket).map(|()| true),
        None => measure(&args.groups),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench: {error}.");
            ExitCode::FAILURE
        }
    }
}

/// Whether everything asked for was measured.
fn measure(only: &[String]) -> Result<bool, Unmeasured> {
    if let Some(unknown) = only
        .iter()
        .find(|name| GROUPS.iter().all(|group| group.name != name.as_str()))
    {
        let names: Vec<_> = GROUPS.iter().map(|group| group.name).collect();
        return Err(Unmeasured::new(format!(
            "there is no group {unknown}; there are {}",
            names.join(", ")
        )));
    }
    let ground = Ground::lay()?;
    let mut report = Report::default();
    for group in GROUPS
        .iter()
        .filter(|group| only.is_empty() || only.iter().any(|name| name == group.name))
    {
        eprintln!("bench: {}: {}", group.name, group.what);
        // The house panics with what its programs said; that is one group without figures, not the end of the run.
        let rows = catch_unwind(AssertUnwindSafe(|| (group.measure)(&ground)))
            .unwrap_or_else(|_| Err(Unmeasured::new("it panicked; what it said stands above")));
        report.add(rows.unwrap_or_else(|why| vec![Row::unmeasured(group.name, group.what, &why)]));
    }
    print!("{report}");
    report.write(&ground.report_folder())?;
    Ok(report.is_complete())
}
