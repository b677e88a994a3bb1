//! `audit list`: calls and how they ended.

use jiff::{SignedDuration, Timestamp};

use super::{folder, sentence};
use crate::{
    audit::{Line, verify},
    commands::{Place, PlaceArgs, Stop, Surroundings, out},
};

/// Lists calls as they ended: done, refused, failed or cancelled.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: PlaceArgs,

    /// Only calls that ended since then: 2026-09-16, 2026-09-16T10:00:00Z, or 36h and 90m for how long ago.
    #[arg(long, value_name = "TIME", value_parser = Since::parse)]
    since: Option<Since>,

    /// Only calls of this tool.
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,

    /// Only calls that were refused.
    #[arg(long)]
    refused: bool,

    /// Print the lines as they stand in the ledger.
    #[arg(long)]
    json: bool,
}

/// A point in time, or how long ago.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Since {
    At(Timestamp),
    Ago(SignedDuration),
}

impl Since {
    fn parse(text: &str) -> Result<Since, String> {
        if let Ok(time) = text.parse() {
            return Ok(Since::At(time));
        }
        if let Ok(start) = format!("{text}T00:00:00Z").parse() {
            return Ok(Since::At(start));
        }
        match text.parse::<SignedDuration>() {
            Ok(ago) if !ago.is_negative() => Ok(Since::Ago(ago)),
            _ => Err("expected a day, a time with its zone, or a duration such as 36h".to_owned()),
        }
    }

    fn timestamp(self, now: Timestamp) -> Timestamp {
        match self {
            Since::At(time) => time,
            Since::Ago(ago) => now.checked_sub(ago).unwrap_or(Timestamp::MIN),
        }
    }
}

/// Prints them.
pub(crate) fn run(args: &Args, around: &Surroundings) -> Result<(), Stop> {
    let folder = folder(&Place::of(&args.place, around)?)?;
    let since = args.since.map(|since| since.timestamp(Timestamp::now()));
    verify(&folder, |line| {
        if wanted(args, since, line) {
            out::line(if args.json {
                line.text.clone()
            } else {
                sentence(line)
            });
        }
    })?;
    Ok(())
}

fn wanted(args: &Args, since: Option<Timestamp>, line: &Line) -> bool {
    let Some((word, end)) = line.entry.call_end() else {
        return false;
    };
    since.is_none_or(|since| line.time >= since)
        && args.tool.as_ref().is_none_or(|tool| *tool == end.tool)
        && (!args.refused || word == "refused")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_takes_a_day_a_time_or_a_duration() {
        let now: Timestamp = "2026-09-16T12:00:00Z".parse().expect("a time");
        let since = |text| Since::parse(text).map(|since| since.timestamp(now).to_string());
        assert_eq!(since("2026-09-15").as_deref(), Ok("2026-09-15T00:00:00Z"));
        assert_eq!(
            since("2026-09-15T08:00:00+02:00").as_deref(),
            Ok("2026-09-15T06:00:00Z")
        );
        assert_eq!(since("36h").as_deref(), Ok("2026-09-15T00:00:00Z"));
        for bad in ["yesterday", "-1h", "", "2026-13-01"] {
            assert!(Since::parse(bad).is_err(), "{bad}");
        }
    }
}
