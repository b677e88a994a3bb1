//! Arguments that several commands share, and what the process was started in. The environment is read here, once, and
//! nowhere else.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use crate::discord::ApiBase;
use crate::engine::Install;
use crate::exit::Exit;
use crate::paths::{BindingName, Paths, PathsError, RuntimeDir};

/// What the process was started in.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// `$MOSAIC_DATA_ROOT`.
    pub data_root: Option<PathBuf>,
    /// `$HOME`.
    pub home: Option<PathBuf>,
    /// `$XDG_RUNTIME_DIR`.
    pub user_runtime: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME`.
    pub config: Option<PathBuf>,
    /// `$NOTIFY_SOCKET`, where a supervisor listens.
    pub notify_socket: Option<OsString>,
    /// `$WATCHDOG_USEC`, when it is meant for this process (`$WATCHDOG_PID`): how often the supervisor wants a sign of life.
    pub watchdog: Option<Duration>,
    /// `$MOSAIC_INSTALL_DIR`.
    pub install: Option<OsString>,
    /// `$MOSAIC_DISCORD_API`, for stand-ins.
    pub api: Option<String>,
    /// The current folder.
    pub current: Option<PathBuf>,
    /// This program's file.
    pub program: Option<PathBuf>,
}

impl Surroundings {
    /// Reads them from the process. An empty variable counts as none.
    pub fn of_process() -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let number = |name: &str| variable(name)?.to_str()?.parse::<u64>().ok();
        Self {
            data_root: variable("MOSAIC_DATA_ROOT").map(PathBuf::from),
            home: variable("HOME").map(PathBuf::from),
            user_runtime: variable("XDG_RUNTIME_DIR").map(PathBuf::from),
            config: variable("XDG_CONFIG_HOME").map(PathBuf::from),
            notify_socket: variable("NOTIFY_SOCKET"),
            watchdog: watchdog(
                number("WATCHDOG_USEC"),
                number("WATCHDOG_PID"),
                std::process::id(),
            ),
            install: variable("MOSAIC_INSTALL_DIR"),
            // What is not UTF-8 must be refused like any other bad address, not passed over.
            api: variable("MOSAIC_DISCORD_API").map(|api| api.to_string_lossy().into_owned()),
            current: std::env::current_dir().ok(),
            program: std::env::current_exe().ok(),
        }
    }
}

/// The watchdog's time, unless it is another process's (sd_watchdog_enabled(3)).
fn watchdog(micros: Option<u64>, of: Option<u64>, pid: u32) -> Option<Duration> {
    let ours = of.is_none_or(|of| of == u64::from(pid));
    micros
        .filter(|micros| ours && *micros > 0)
        .map(Duration::from_micros)
}

impl Surroundings {
    /// The program of this name in the folder of this one: the parts of one build are installed together, and nothing is
    /// looked for anywhere else.
    ///
    /// # Errors
    /// When this program's own file is not known.
    pub(super) fn sibling(&self, name: &str) -> Result<PathBuf, Exit> {
        let folder = self.program.as_deref().and_then(Path::parent);
        let folder = folder.ok_or_else(|| {
            Exit::failed(format_args!(
                "The folder of this program is not known, so {name} cannot be found."
            ))
        })?;
        Ok(folder.join(name))
    }
}

/// Which binding, below which data root.
#[derive(Debug, Clone, Args)]
pub struct Place {
    /// Name of the binding
    #[arg(value_parser = BindingName::parse)]
    pub binding: BindingName,

    /// Data root [default: $MOSAIC_DATA_ROOT, else ~/.mosaic]
    #[arg(long, value_name = "DIR")]
    pub data_root: Option<PathBuf>,
}

impl Place {
    /// The files of the binding.
    ///
    /// # Errors
    /// Usage, when neither the command line nor the environment gives a data root.
    pub fn paths(&self, around: &Surroundings) -> Result<Paths, Exit> {
        let root = data_root(self.data_root.as_deref(), around)?;
        Ok(Paths::new(root, self.binding.clone()))
    }

    /// The files of a binding that is there: its file or its folder exists.
    ///
    /// # Errors
    /// Exit 2 when nothing of it does, so that a misspelt name is not taken for a binding that does not run.
    pub fn known_paths(&self, around: &Surroundings) -> Result<Paths, Exit> {
        let paths = self.paths(around)?;
        if paths.known() {
            return Ok(paths);
        }
        let file = paths.binding_file();
        Err(Exit::invalid(format_args!(
            "There is no binding {}: neither {} nor the folder beside it exists.",
            self.binding,
            file.display()
        )))
    }
}

/// Where everything is that a run or a check needs.
#[derive(Debug, Clone, Args)]
pub struct Setup {
    #[command(flatten)]
    pub(super) place: Place,

    /// Binding file [default: <data root>/discord/<binding>.json]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Repository that holds the context files [default: the current folder]
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,

    /// Folder of the broker's sockets [default: mosaic-discord/<binding> in
    /// $XDG_RUNTIME_DIR, else run/ in the binding's folder]
    #[arg(long, value_name = "DIR")]
    runtime_dir: Option<PathBuf>,

    /// Folder that holds connector/pi and connector/extension
    /// [default: $MOSAIC_INSTALL_DIR, else the nearest one above this program]
    #[arg(long, value_name = "DIR")]
    install_dir: Option<PathBuf>,
}

impl Setup {
    /// The binding file.
    pub(super) fn binding_file(&self, paths: &Paths, around: &Surroundings) -> PathBuf {
        self.config
            .as_ref()
            .map_or_else(|| paths.binding_file(), |config| absolute(config, around))
    }

    /// The repository of the context files.
    pub(super) fn repo(&self, around: &Surroundings) -> Result<PathBuf, Exit> {
        repo(self.repo.as_deref(), around)
    }

    /// The folder of the broker's sockets.
    pub(super) fn runtime(
        &self,
        paths: &Paths,
        around: &Surroundings,
    ) -> Result<RuntimeDir, PathsError> {
        let named = self
            .runtime_dir
            .as_ref()
            .map(|folder| absolute(folder, around));
        RuntimeDir::choose(named.as_deref(), around.user_runtime.as_deref(), paths)
    }

    /// Where node, pi and the extension are.
    pub(super) fn install(&self, around: &Surroundings) -> Result<Install, Exit> {
        install(self.install_dir.as_deref(), around)
    }
}

/// The data root: the one named on the command line, else the variable's, else the home's.
///
/// # Errors
/// Usage, when there is none of them.
pub(super) fn data_root(named: Option<&Path>, around: &Surroundings) -> Result<PathBuf, Exit> {
    let root = named
        .map(Path::to_owned)
        .or_else(|| around.data_root.clone());
    let root = root.or_else(|| around.home.as_ref().map(|home| home.join(".mosaic")));
    let root = root.ok_or_else(|| {
        Exit::usage("There is no data root: name it with --data-root, since neither MOSAIC_DATA_ROOT nor HOME is set.")
    })?;
    Ok(absolute(&root, around))
}

/// The repository of the context files: the one named, else the current folder.
///
/// # Errors
/// Usage, when a relative path has nothing it is relative to.
pub(super) fn repo(named: Option<&Path>, around: &Surroundings) -> Result<PathBuf, Exit> {
    let repo = named.unwrap_or(Path::new(""));
    match (repo.is_absolute(), &around.current) {
        (false, None) => Err(Exit::usage(
            "There is no current folder. Name the repository with --repo.",
        )),
        _ => Ok(absolute(repo, around)),
    }
}

/// Where node, pi and the extension are.
///
/// # Errors
/// Exit 2 when something of it is missing or too old.
pub(super) fn install(named: Option<&Path>, around: &Surroundings) -> Result<Install, Exit> {
    let named = named.map(|folder| absolute(folder, around));
    let program = around.program.as_deref().unwrap_or(Path::new("/"));
    Install::find(named.as_deref(), around.install.as_deref(), program)
        .map_err(|error| Exit::invalid(format_args!("The engine: {error}.")))
}

/// Discord, or the stand-in that the environment names.
pub(super) fn api(around: &Surroundings) -> Result<ApiBase, Exit> {
    ApiBase::from_override(around.api.as_deref())
        .map_err(|error| Exit::invalid(format_args!("{error}.")))
}

/// The path from the root of the file system on: what is written into rules and records must not depend on a folder
/// that may change.
pub(super) fn absolute(path: &Path, around: &Surroundings) -> PathBuf {
    around.current.as_ref().map_or_else(
        || path.to_owned(),
        // By components, since a `.` in the middle reads badly in messages.
        |current| current.join(path).components().collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(data_root: Option<&str>) -> Place {
        Place {
            binding: BindingName::parse("sage").unwrap(),
            data_root: data_root.map(PathBuf::from),
        }
    }

    fn around(data_root: Option<&str>, home: Option<&str>) -> Surroundings {
        Surroundings {
            data_root: data_root.map(PathBuf::from),
            home: home.map(PathBuf::from),
            current: Some("/here".into()),
            ..Surroundings::default()
        }
    }

    #[test]
    fn the_option_wins_over_the_variable_and_the_variable_over_the_home() {
        let root = |option, variable, home| {
            place(option)
                .paths(&around(variable, home))
                .map(|paths| paths.data_root().to_owned())
        };

        assert_eq!(root(Some("/o"), Some("/v"), Some("/h")), Ok("/o".into()));
        assert_eq!(
            root(Some("o"), Some("/v"), Some("/h")),
            Ok("/here/o".into())
        );
        assert_eq!(root(None, Some("/v"), Some("/h")), Ok("/v".into()));
        assert_eq!(root(None, None, Some("/h")), Ok("/h/.mosaic".into()));
        assert_eq!(
            root(None, None, None).unwrap_err().code,
            crate::exit::Code::Usage
        );
    }

    #[test]
    fn a_watchdog_of_another_process_is_not_ours() {
        let minute = Some(60_000_000);

        assert_eq!(watchdog(minute, Some(7), 7), Some(Duration::from_secs(60)));
        assert_eq!(watchdog(minute, None, 7), Some(Duration::from_secs(60)));
        assert_eq!(watchdog(minute, Some(8), 7), None);
        assert_eq!(watchdog(Some(0), None, 7), None);
        assert_eq!(watchdog(None, None, 7), None);
    }

    #[test]
    fn a_misspelt_binding_is_told_from_one_that_does_not_run() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path().to_str());

        let exit = place.known_paths(&around(None, None)).unwrap_err();

        assert_eq!(exit.code, crate::exit::Code::Invalid);
        place
            .paths(&around(None, None))
            .unwrap()
            .create_data()
            .unwrap();
        assert!(place.known_paths(&around(None, None)).is_ok());
    }
}
