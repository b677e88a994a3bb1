//! `check`: would `run` start, and would Discord let it work? It reads, looks and connects; it writes nothing and nothing is
//! sent to a channel. Each thing that is looked at is one row of a table.

mod broker;
mod discord;
mod gateway;
mod table;

use std::path::PathBuf;

use clap::Args;

use super::place::{Setup, api};
use super::{Surroundings, say};
use crate::binding::{Binding, read_context, read_token};
use crate::discord::{ApiBase, Token};
use crate::engine::{credential, model_endpoint};
use crate::exit::{Code, Exit};
use crate::owner::{Brake, Lock, Standing};
use crate::paths::{Paths, RuntimeDir};
use table::Table;

/// Look at everything a run needs, and at Discord, without sending anything
///
/// The binding, the token file, the context files, the installed pi, the broker's own check, the bot, the server, every
/// listed channel with what the bot may do there, the message-content intent, the identify budget, and one gateway
/// connection until READY. Prints a table; each line that FAILED ends with the next step. Costs one IDENTIFY of the day's
/// budget.
#[derive(Debug, Args)]
pub(super) struct Check {
    #[command(flatten)]
    setup: Setup,

    /// Print the table as JSON
    #[arg(long)]
    json: bool,
}

/// What the binding and the files around it gave, for the rows that need it.
struct Ground {
    binding: Binding,
    binding_file: PathBuf,
    paths: Paths,
    runtime: RuntimeDir,
    api: ApiBase,
}

impl Check {
    pub(super) fn run(&self, around: &Surroundings) -> Result<(), Exit> {
        let paths = self.setup.place.paths(around)?;
        let mut table = Table::default();

        if let Some(ground) = self.ground(&mut table, paths, around)? {
            let token = table.row("token file", token(&ground));
            table.row("context files", self.contexts(&ground, around));
            table.row("pi", self.pi(around));
            table.row("model", model(&ground));
            table.row("lock", Ok(lock(&ground.paths)));
            table.row("broker", broker::check(&ground, around));
            match token {
                Some(token) => ask_discord(&mut table, &ground, &token)?,
                None => table.skip("Discord", "not asked without a token"),
            }
        }
        table.print(self.json)?;
        table.verdict()
    }

    /// The binding and everything it says where to find. Without it there is nothing to look at.
    fn ground(
        &self,
        table: &mut Table,
        paths: Paths,
        around: &Surroundings,
    ) -> Result<Option<Ground>, Exit> {
        let binding_file = self.setup.binding_file(&paths, around);
        let read = Binding::read(&binding_file, self.setup.place.binding.as_str());
        let binding = table.row("binding", read.map(described).map_err(Exit::invalid));
        let runtime = table.row(
            "sockets",
            self.setup
                .runtime(&paths, around)
                .map(placed)
                .map_err(Exit::invalid),
        );
        let api = api(around)?;
        Ok(match (binding, runtime) {
            (Some(binding), Some(runtime)) => Some(Ground {
                binding,
                binding_file,
                paths,
                runtime,
                api,
            }),
            _ => None,
        })
    }

    fn contexts(&self, ground: &Ground, around: &Surroundings) -> Result<((), String), Exit> {
        let repo = self.setup.repo(around)?;
        let texts = read_context(&repo, &ground.binding.context_files).map_err(Exit::invalid)?;
        let bytes: usize = texts.iter().map(|(_, text)| text.len()).sum();
        Ok((
            (),
            format!(
                "{}, {bytes} bytes, in {}",
                count(texts.len(), "file"),
                repo.display()
            ),
        ))
    }

    fn pi(&self, around: &Surroundings) -> Result<((), String), Exit> {
        let install = self.setup.install(around)?;
        Ok((
            (),
            format!("pi {} on node {}", install.pi_version, install.node_version),
        ))
    }
}

fn described(binding: Binding) -> (Binding, String) {
    let tools = if binding.tools.is_some() {
        "with tools"
    } else {
        "without tools"
    };
    let detail = format!(
        "{} for {}: {}, {}, {tools}",
        binding.seat,
        binding.guild_name,
        count(binding.channels.len(), "channel"),
        count(binding.users.len(), "user")
    );
    (binding, detail)
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn placed(runtime: RuntimeDir) -> (RuntimeDir, String) {
    let detail = format!("in {}", runtime.folder().display());
    (runtime, detail)
}

fn token(ground: &Ground) -> Result<(Token, String), Exit> {
    let binding = &ground.binding;
    let token = read_token(&binding.token_file, binding.bot_user).map_err(Exit::invalid)?;
    Ok((token, "private, and of the bound bot".to_owned()))
}

/// Where the model answers, and that there is a key; whether the provider takes it is found out by the first turn.
fn model(ground: &Ground) -> Result<((), String), Exit> {
    let engine = &ground.binding.engine;
    let agent = ground.paths.agent();
    let endpoint = model_endpoint(&agent, &engine.provider, &engine.model)
        .and_then(|endpoint| credential(&agent, &engine.provider).map(|()| endpoint))
        .map_err(|error| Exit::invalid(format_args!("{error}.")))?;
    Ok((
        (),
        format!(
            "{} of {}, on port {}, with a key",
            engine.model, engine.provider, endpoint.port
        ),
    ))
}

/// A brake or a lock is no fault: a check may well be made while the connector runs.
fn lock(paths: &Paths) -> ((), String) {
    let brake = Brake::new(paths);
    let detail = match Lock::new(paths).standing() {
        _ if brake.is_on() => format!(
            "STOP is there; a run needs it removed: {}",
            brake.path().display()
        ),
        Standing::Free => "free, and no STOP".to_owned(),
        standing => standing.refusal(paths.name()),
    };
    ((), detail)
}

fn ask_discord(table: &mut Table, ground: &Ground, token: &Token) -> Result<(), Exit> {
    say("Asking Discord. The gateway may take half a minute.");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| {
            Exit::failed(format_args!(
                "The asynchronous runtime does not start: {error}."
            ))
        })?;
    runtime.block_on(async {
        if let Some(rest) = discord::check(table, ground, token).await {
            gateway::check(table, ground, token, rest).await;
        }
    });
    Ok(())
}

/// Exit 2 for what an operator has to change, exit 1 for what may pass by itself.
fn code_of(error: &crate::discord::RestError) -> Code {
    use crate::discord::RestError::{
        Blocked, Body, Limited, NotSent, Refused, Unauthorized, Unknown,
    };
    match error {
        Refused { .. } | Unauthorized | Blocked => Code::Invalid,
        NotSent(_) | Unknown(_) | Limited { .. } | Body(_) => Code::Failed,
    }
}
