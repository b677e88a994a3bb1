//! `service`: the two user units, rendered for where things lie on this host, put in place, taken away, looked at. It runs
//! `systemctl` and knows nothing of what the units start.

mod manager;
mod render;
mod status;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::place::{self, absolute};
use super::{Surroundings, say};
use crate::exit::Exit;
use crate::journal::durable;
use manager::Manager;
use render::{Layout, Unit};

/// Run under systemd: render, install, uninstall or look at the user units
///
/// Two templates, one instance of each per binding: mosaic-broker@<binding> and mosaic-discord@<binding>. They belong to
/// the user's own manager; to keep them running after logout and start them at boot: loginctl enable-linger
#[derive(Debug, Args)]
pub(super) struct Service {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Render(Render),
    Install(Install),
    Uninstall(Uninstall),
    Status(status::Status),
}

/// Print the two units without writing them
#[derive(Debug, Args)]
struct Render {
    #[command(flatten)]
    lies: Lies,
}

/// Write the two units and tell the manager
#[derive(Debug, Args)]
struct Install {
    #[command(flatten)]
    lies: Lies,

    #[command(flatten)]
    folder: UnitFolder,

    /// Do not run systemctl --user daemon-reload
    #[arg(long)]
    no_reload: bool,
}

/// Remove the two units; refused while an instance of one is active
#[derive(Debug, Args)]
struct Uninstall {
    #[command(flatten)]
    folder: UnitFolder,
}

/// Where the things lie that the units name.
#[derive(Debug, Args)]
struct Lies {
    /// Data root [default: $MOSAIC_DATA_ROOT, else ~/.mosaic]
    #[arg(long, value_name = "DIR")]
    data_root: Option<PathBuf>,

    /// Repository that holds the context files [default: the current folder]
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,

    /// Folder that holds connector/pi and connector/extension
    /// [default: $MOSAIC_INSTALL_DIR, else the nearest one above this program]
    #[arg(long, value_name = "DIR")]
    install_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct UnitFolder {
    /// Folder of the units [default: systemd/user in $XDG_CONFIG_HOME, else
    /// ~/.config/systemd/user]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Service {
    pub(super) fn run(&self, around: &Surroundings) -> Result<(), Exit> {
        match &self.action {
            Action::Render(render) => render.run(around),
            Action::Install(install) => install.run(around),
            Action::Uninstall(uninstall) => uninstall.run(around),
            Action::Status(status) => status.run(around),
        }
    }
}

impl Render {
    fn run(&self, around: &Surroundings) -> Result<(), Exit> {
        let layout = self.lies.layout(around)?;
        let mut text = String::new();
        for unit in Unit::ALL {
            text.push_str(&unit.render(&layout));
            if unit != Unit::ALL[Unit::ALL.len() - 1] {
                text.push('\n');
            }
        }
        // That nobody reads it is no failure.
        let _ = io::stdout().write_all(text.as_bytes());
        Ok(())
    }
}

impl Install {
    fn run(&self, around: &Surroundings) -> Result<(), Exit> {
        let layout = self.lies.layout(around)?;
        let folder = self.folder.path(around)?;
        fs::create_dir_all(&folder).map_err(|error| {
            Exit::failed(format_args!(
                "{} could not be made: {error}.",
                folder.display()
            ))
        })?;
        for unit in Unit::ALL {
            let path = folder.join(unit.file());
            durable::write_over(&path, unit.render(&layout).as_bytes()).map_err(Exit::failed)?;
            say(&format!("Wrote {}", path.display()));
        }
        if !self.no_reload {
            Manager.daemon_reload().map_err(|problem| {
                Exit::failed(format_args!(
                    "The units are written, but the manager was not told: {problem} Then: systemctl --user daemon-reload"
                ))
            })?;
        }
        say(NEXT);
        Ok(())
    }
}

/// What an operator does with installed units.
const NEXT: &str = "\
To start now and at every login:
  systemctl --user enable --now mosaic-broker@<binding> mosaic-discord@<binding>
To keep it running after logout, and start it at boot:
  loginctl enable-linger
To look: mosaic-discord service status <binding>
  journalctl --user -u mosaic-broker@<binding> -u mosaic-discord@<binding> -f
To apply an edited binding: systemctl --user reload mosaic-discord@<binding>
To end it, so that it can be started again:
  systemctl --user stop mosaic-discord@<binding>
The brake, after which nothing starts it before STOP is removed:
  mosaic-discord stop <binding>";

impl Uninstall {
    fn run(&self, around: &Surroundings) -> Result<(), Exit> {
        let folder = self.folder.path(around)?;
        let active = Manager.active_instances().map_err(|problem| {
            Exit::failed(format_args!(
                "Whether an instance is active cannot be told: {problem} Nothing was removed."
            ))
        })?;
        if !active.is_empty() {
            return Err(Exit::failed(format_args!(
                "Nothing was removed: {} would lose its unit. First: systemctl --user disable --now {}",
                active.join(" and "),
                active.join(" ")
            )));
        }
        let mut removed = 0;
        for unit in Unit::ALL {
            let path = folder.join(unit.file());
            match fs::remove_file(&path) {
                Ok(()) => {
                    removed += 1;
                    say(&format!("Removed {}", path.display()));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    return Err(Exit::failed(format_args!(
                        "{} could not be removed: {error}.",
                        path.display()
                    )));
                }
            }
        }
        if removed == 0 {
            say(&format!(
                "There are no units of ours in {}",
                folder.display()
            ));
            return Ok(());
        }
        Manager.daemon_reload().map_err(|problem| {
            Exit::failed(format_args!(
                "The units are gone, but the manager was not told: {problem} Then: systemctl --user daemon-reload"
            ))
        })
    }
}

impl Lies {
    fn layout(&self, around: &Surroundings) -> Result<Layout, Exit> {
        let data_root = place::data_root(self.data_root.as_deref(), around)?;
        let repo = place::repo(self.repo.as_deref(), around)?;
        let install = place::install(self.install_dir.as_deref(), around)?;
        let bin = around.sibling("")?;
        Layout::new(&bin, &install.root, &data_root, &repo)
    }
}

impl UnitFolder {
    fn path(&self, around: &Surroundings) -> Result<PathBuf, Exit> {
        if let Some(dir) = &self.dir {
            return Ok(absolute(dir, around));
        }
        let by_home = || around.home.as_ref().map(|home| home.join(".config"));
        let config = around.config.clone().or_else(by_home);
        config
            .map(|config| absolute(&config, around).join(Path::new("systemd/user")))
            .ok_or_else(|| {
                Exit::usage("There is no home folder. Name the folder of the units with --dir.")
            })
    }
}
