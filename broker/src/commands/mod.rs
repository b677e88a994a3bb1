//! The operator's commands, one file each: arguments, then `run`. Reading arguments does nothing; doing happens after
//! all are read. Data goes to stdout, talk to stderr.

mod audit;
mod check;
mod confined;
mod lock;
mod notify;
mod out;
mod place;
mod policy;
mod run;
mod selftest;
mod stop;

use std::{ffi::OsString, process::ExitCode};

use clap::{Parser, Subcommand};

pub(crate) use place::{Place, PlaceArgs, RuntimeArgs, Surroundings};
pub(crate) use stop::{Code, Stop};

/// Lets a model touch what one binding permits, and writes down each time it does.
///
/// The broker reads the `tools` key of a binding, confines itself to exactly that, proves it, and then serves the
/// binding's connector on two local sockets. Every call is judged, written to a ledger, and only then done.
#[derive(Debug, Parser)]
#[command(name = "mosaic-broker", version, max_term_width = 80, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str =
    "Exit codes: 0 ok, 1 failed, 2 invalid binding or data, 3 held by another broker,\n4 usage.";

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Check(check::Args),
    Selftest(selftest::Args),
    Policy(policy::Args),
    Audit(audit::Args),
}

/// Reads `arguments`, does what they say, and maps the outcome to an exit code.
#[must_use]
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers, not errors. A closed pipe leaves nobody to tell.
            let _ = error.print();
            return if error.use_stderr() {
                Code::Usage.into()
            } else {
                Code::Ok.into()
            };
        }
    };
    let around = Surroundings::read();
    let done = match cli.command {
        Command::Run(args) => run::run(&args, &around),
        Command::Check(args) => check::run(&args, &around),
        Command::Selftest(args) => selftest::run(&args, &around),
        Command::Policy(args) => policy::run(&args, &around),
        Command::Audit(args) => audit::run(&args, &around),
    };
    match done {
        Ok(()) => Code::Ok.into(),
        Err(stop) => {
            eprintln!("{}", out::wrap(&format!("mosaic-broker: {stop}"), 0));
            stop.code().into()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn help_reads_well() {
        let mut cli = Cli::command();
        let mut help = cli.render_long_help().to_string();
        cli.build();
        let mut pages = vec![
            ("audit", None),
            ("check", None),
            ("policy", None),
            ("run", None),
            ("selftest", None),
        ];
        pages.extend(["list", "show", "verify"].map(|sub| ("audit", Some(sub))));
        for (name, sub) in pages {
            let page = cli.find_subcommand_mut(name).expect("a command");
            let page = match sub {
                Some(sub) => page.find_subcommand_mut(sub).expect("a command"),
                None => page,
            };
            help.push_str(&format!("\n────────\n\n{}", page.render_long_help()));
        }
        insta::assert_snapshot!("help", help);
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    #[test]
    fn arguments_that_are_none_are_usage_errors_with_exit_4() {
        for line in [
            "mosaic-broker",
            "mosaic-broker fly",
            "mosaic-broker run",
            "mosaic-broker run b --what",
        ] {
            let arguments = line.split(' ').map(OsString::from);
            let error = Cli::try_parse_from(arguments).expect_err("refused");
            assert!(error.use_stderr() || line == "mosaic-broker", "{line}");
        }
    }
}
