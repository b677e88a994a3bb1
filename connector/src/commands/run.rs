//! `run`: reads and checks everything, takes the binding, and hands over to the daemon. Nothing is started before all of
//! it was found good.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::Args;

use super::place::{Setup, api};
use super::recover::{braked, recover};
use super::{Surroundings, say};
use crate::binding::{Binding, read_context, read_token};
use crate::discord::{ApiBase, Token};
use crate::engine::Install;
use crate::exit::Exit;
use crate::owner::{Brake, ClaimError, Cleared, Kernel, Lock, Owned};
use crate::paths::{Paths, RuntimeDir};

/// Serve turns until SIGTERM, SIGINT or `stop`
///
/// Refuses when STOP is there, when the binding is held, or when a delivery of the last run cannot be reconciled. It never
/// clears a lock by itself; with --supervised it performs `recover` first, in the same process.
#[derive(Debug, Args)]
pub struct Run {
    #[command(flatten)]
    setup: Setup,

    /// Perform `recover` first: the form for a service unit
    #[arg(long)]
    supervised: bool,
}

/// Everything a run needs, read and checked, and the hold on the binding. What is in here was read before the process
/// confined itself and cannot be read again.
#[derive(Debug)]
pub struct Prepared {
    /// The binding.
    pub binding: Binding,
    /// The bytes it was read from.
    pub binding_bytes: Vec<u8>,
    /// The file it was read from.
    pub binding_file: PathBuf,
    /// Where its files lie.
    pub paths: Paths,
    /// Where the broker's sockets lie.
    pub runtime: RuntimeDir,
    /// The bot token.
    pub token: Token,
    /// The context files in order: each path as listed with its text.
    pub contexts: Vec<(String, String)>,
    /// Where node, pi and the extension are.
    pub install: Install,
    /// The launcher `confine`.
    pub confine: PathBuf,
    /// Discord's address.
    pub api: ApiBase,
    /// Where a supervisor listens.
    pub notify_socket: Option<OsString>,
    /// How often it wants a sign of life.
    pub watchdog: Option<Duration>,
    /// The hold on the binding, given back when it is released or dropped.
    pub owner: Owned,
}

impl Run {
    /// Reads, checks and claims, in this order: the brake, every file, the folders, the binding.
    ///
    /// # Errors
    /// Exit 3 for a brake, exit 2 for what an operator has to mend, exit 1 when the system refuses. The binding is then not
    /// held.
    pub fn prepare(&self, around: &Surroundings) -> Result<Prepared, Exit> {
        let paths = self.setup.place.paths(around)?;
        if self.supervised {
            if let Cleared::Gone { pid, how } = recover(&paths, Kernel)? {
                say(&format!("Cleared the lock of pid {pid}: {how}."));
            }
        } else if Brake::new(&paths).is_on() {
            return Err(braked(&Brake::new(&paths)));
        }

        let binding_file = self.setup.binding_file(&paths, around);
        let (binding, binding_bytes) =
            Binding::read_with_bytes(&binding_file, paths.name().as_str())
                .map_err(Exit::invalid)?;
        let token = read_token(&binding.token_file, binding.bot_user).map_err(Exit::invalid)?;
        let contexts = read_context(&self.setup.repo(around)?, &binding.context_files)
            .map_err(Exit::invalid)?;
        let runtime = self.setup.runtime(&paths, around).map_err(Exit::invalid)?;
        let install = self.setup.install(around)?;
        let confine = around.sibling("confine")?;
        let api = api(around)?;

        paths.create_folders().map_err(Exit::invalid)?;
        let owner = claim(&paths)?;
        Ok(Prepared {
            binding,
            binding_bytes,
            binding_file,
            paths,
            runtime,
            token,
            contexts,
            install,
            confine,
            api,
            notify_socket: around.notify_socket.clone(),
            watchdog: around.watchdog,
            owner,
        })
    }
}

fn claim(paths: &Paths) -> Result<Owned, Exit> {
    Lock::new(paths)
        .claim(std::process::id())
        .map_err(|error| match error {
            ClaimError::Braked => braked(&Brake::new(paths)),
            ClaimError::Locked(standing) => Exit::brake(standing.refusal(paths.name())),
            ClaimError::Io { path, source } => Exit::failed(format_args!(
                "The binding could not be taken: {}: {source}.",
                path.display()
            )),
        })
}
