//! The operator's commands: what the words on the command line mean. Reading them does nothing; each command is one file
//! with its arguments and its `run`.

mod abort;
mod check;
mod message;
mod place;
mod recover;
mod reload;
mod run;
mod service;
mod status;
mod stop;
mod turns;
mod unlock;
mod usage;
mod why;

use clap::{Parser, Subcommand};

use crate::exit::Exit;

pub use place::{Place, Setup, Surroundings};
pub use run::{Prepared, Run};

/// One seat's conversation, reachable from the listed channels of one Discord server.
///
/// A binding is the file <data root>/discord/<binding>.json; everything the connector keeps for it lies in the folder
/// beside it. Commands talk on stderr and print data on stdout.
///
/// Exit codes: 0 ok, 1 the operation failed, 2 invalid data or configuration, 3 refused by a brake (STOP is there or the
/// binding is held; a supervisor must not retry), 4 usage.
#[derive(Debug, Parser)]
#[command(
    name = "mosaic-discord",
    version,
    max_term_width = 80,
    disable_help_subcommand = true
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(check::Check),
    Run(Run),
    Abort(abort::Abort),
    Stop(stop::Stop),
    Unlock(unlock::Unlock),
    Recover(recover::Recover),
    Reload(reload::Reload),
    Status(status::Status),
    Turns(turns::Turns),
    Why(why::Why),
    Usage(usage::Usage),
    Service(service::Service),
}

impl Cli {
    /// Does what the command line says.
    ///
    /// # Errors
    /// The sentence for the operator and the exit code.
    pub fn run(self, around: &Surroundings) -> Result<(), Exit> {
        match self.command {
            Command::Check(check) => check.run(around),
            Command::Run(run) => crate::daemon::run(run.prepare(around)?),
            Command::Abort(abort) => abort.run(around),
            Command::Stop(stop) => stop.run(around),
            Command::Unlock(unlock) => unlock.run(around),
            Command::Recover(recover) => recover.run(around),
            Command::Reload(reload) => reload.run(around),
            Command::Status(status) => status.run(around),
            Command::Turns(turns) => turns.run(around),
            Command::Why(why) => why.run(around),
            Command::Usage(usage) => usage.run(around),
            Command::Service(service) => service.run(around),
        }
    }
}

/// Tells the operator something on stderr, in lines of 80 columns. That nobody listens is no failure.
fn say(sentence: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{}", crate::exit::wrap(sentence, 80));
}

/// Prints data on stdout. That nobody reads it (any more) is no failure, but ends what would go on printing.
fn print(text: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// The help of a command and of all below it.
    fn pages_of(command: &mut clap::Command, pages: &mut Vec<String>) {
        pages.push(command.render_long_help().to_string());
        for below in command.get_subcommands_mut() {
            pages_of(below, pages);
        }
    }

    #[test]
    fn help_reads_as_written() {
        let mut cli = Cli::command();
        cli.build();
        let mut pages = Vec::new();
        pages_of(&mut cli, &mut pages);

        insta::assert_snapshot!(pages.join("\n================\n\n"));
        for line in pages.iter().flat_map(|page| page.lines()) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
