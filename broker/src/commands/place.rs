//! Where a binding and everything that belongs to it lie. The environment is read here once and nowhere else.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use clap::Args;

use super::{Code, Stop};
use crate::policy::Policy;

/// What the process finds around it.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    pub(crate) home: Option<PathBuf>,
    pub(crate) data_root: Option<PathBuf>,
    pub(crate) runtime_dir: Option<PathBuf>,
    pub(crate) notify_socket: Option<OsString>,
}

impl Surroundings {
    /// Reads the environment. An empty value is none.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the environment"
    )]
    pub(crate) fn read() -> Surroundings {
        let value = |name| env::var_os(name).filter(|value| !value.is_empty());
        Surroundings {
            home: value("HOME").map(PathBuf::from),
            data_root: value("MOSAIC_DATA_ROOT").map(PathBuf::from),
            runtime_dir: value("XDG_RUNTIME_DIR").map(PathBuf::from),
            notify_socket: value("NOTIFY_SOCKET"),
        }
    }
}

/// Which binding, and where.
#[derive(Debug, Args)]
pub(crate) struct PlaceArgs {
    /// Name of the binding
    binding: String,

    /// Data root [default: $MOSAIC_DATA_ROOT, else ~/.mosaic]
    #[arg(long, value_name = "DIR")]
    data_root: Option<PathBuf>,

    /// Binding file [default: <data root>/discord/<binding>.json]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Where the sockets go.
#[derive(Debug, Args)]
pub(crate) struct RuntimeArgs {
    /// Folder of the two sockets [default: mosaic-discord/<binding> in
    /// $XDG_RUNTIME_DIR, else run/ in the binding's folder]
    #[arg(long, value_name = "DIR")]
    runtime_dir: Option<PathBuf>,
}

/// Absolute paths of one binding.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) binding: String,
    pub(crate) data_root: PathBuf,
    pub(crate) home: Option<PathBuf>,
    pub(crate) config: PathBuf,
}

impl Place {
    /// Works out the paths; looks at no file.
    pub(crate) fn of(args: &PlaceArgs, around: &Surroundings) -> Result<Place, Stop> {
        let binding = args.binding.clone();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if binding.len() > 64
            || !binding.starts_with(|c: char| c.is_ascii_alphanumeric())
            || !binding.chars().all(plain)
        {
            return Err(Stop::new(
                Code::Usage,
                "a binding name is 1 to 64 of A-Z a-z 0-9 _ - and begins with a letter or digit.",
            ));
        }
        let by_home = || around.home.as_ref().map(|home| home.join(".mosaic"));
        let data_root = args
            .data_root
            .clone()
            .or_else(|| around.data_root.clone())
            .or_else(by_home);
        let data_root = data_root.ok_or_else(|| {
            Stop::new(
                Code::Usage,
                "there is no home folder to find the data in. Name it with --data-root.",
            )
        })?;
        let data_root = absolute(&data_root)?;
        let config = match &args.config {
            Some(config) => absolute(config)?,
            None => data_root.join("discord").join(format!("{binding}.json")),
        };
        Ok(Place {
            binding,
            data_root,
            home: around.home.clone(),
            config,
        })
    }

    /// The broker's own folder: ledger and lock.
    pub(crate) fn state(&self) -> PathBuf {
        self.of_binding("broker")
    }

    /// The folder of the sockets.
    pub(crate) fn runtime(
        &self,
        args: &RuntimeArgs,
        around: &Surroundings,
    ) -> Result<PathBuf, Stop> {
        match (&args.runtime_dir, &around.runtime_dir) {
            (Some(given), _) => absolute(given),
            (None, Some(base)) => absolute(&base.join("mosaic-discord").join(&self.binding)),
            (None, None) => Ok(self.of_binding("run")),
        }
    }

    /// Reads what the binding permits.
    pub(crate) fn policy(&self) -> Result<Policy, Stop> {
        Policy::read(&self.config, &self.data_root, self.home.as_deref())
            .map_err(|error| Stop::new(Code::Invalid, error))
    }

    fn of_binding(&self, name: &str) -> PathBuf {
        self.data_root
            .join("discord")
            .join(&self.binding)
            .join(name)
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Stop> {
    std::path::absolute(path)
        .map_err(|error| Stop::new(Code::Usage, format!("{}: {error}.", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(binding: &str) -> PlaceArgs {
        PlaceArgs {
            binding: binding.to_owned(),
            data_root: None,
            config: None,
        }
    }

    #[test]
    fn a_flag_goes_before_the_environment_and_that_before_home() {
        let around = Surroundings {
            home: Some("/home/o".into()),
            data_root: Some("/data".into()),
            runtime_dir: Some("/run/user/7".into()),
            notify_socket: None,
        };
        let place = Place::of(&args("sage"), &around).expect("a place");
        assert_eq!(place.config, Path::new("/data/discord/sage.json"));
        assert_eq!(place.state(), Path::new("/data/discord/sage/broker"));
        let runtime = |dir: Option<&str>| {
            place.runtime(
                &RuntimeArgs {
                    runtime_dir: dir.map(Into::into),
                },
                &around,
            )
        };
        assert_eq!(
            runtime(None).expect("a folder"),
            Path::new("/run/user/7/mosaic-discord/sage")
        );
        assert_eq!(runtime(Some("/r")).expect("a folder"), Path::new("/r"));

        let flagged = PlaceArgs {
            data_root: Some("/flag".into()),
            ..args("sage")
        };
        assert_eq!(
            Place::of(&flagged, &around).expect("a place").data_root,
            Path::new("/flag")
        );

        let bare = Surroundings {
            home: Some("/home/o".into()),
            ..Surroundings::default()
        };
        let place = Place::of(&args("sage"), &bare).expect("a place");
        assert_eq!(place.data_root, Path::new("/home/o/.mosaic"));
        let runtime = place
            .runtime(&RuntimeArgs { runtime_dir: None }, &bare)
            .expect("a folder");
        assert_eq!(runtime, Path::new("/home/o/.mosaic/discord/sage/run"));
    }

    #[test]
    fn a_binding_is_named_by_a_plain_word() {
        let around = Surroundings {
            home: Some("/home/o".into()),
            ..Surroundings::default()
        };
        for bad in [
            "",
            ".hidden",
            "..",
            "a.b",
            "-a",
            "a/b",
            "a b",
            "ä",
            &"x".repeat(65),
        ] {
            assert_eq!(
                Place::of(&args(bad), &around).expect_err("refused").code(),
                Code::Usage,
                "{bad}"
            );
        }
    }
}
