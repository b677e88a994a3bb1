//! Where everything of one binding lies: the table "Runtime data" of seeds 002 as methods, so that no other file spells
//! a name. It makes the connector's own folders and knows nothing of what is inside them; the broker's are not here.

use std::fmt;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// The longest path a Unix socket can be bound to: `sun_path` holds 108 bytes, one of them the closing zero.
const SOCKET_PATH_MAX: usize = 107;

/// The name of a binding: 1 to 64 of `A-Z a-z 0-9 _ -`, beginning with a letter or digit.
///
/// It becomes a file name, a folder name, part of a socket path and of a unit name. A dot is left out because
/// `x.json` as a name would put its folder where the file of `x` lies.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BindingName(String);

impl BindingName {
    /// Reads a name.
    ///
    /// # Errors
    /// When it is not made as the type says.
    pub fn parse(text: &str) -> Result<Self, PathsError> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let first = text
            .chars()
            .next()
            .is_some_and(|c| c.is_ascii_alphanumeric());
        if first && text.len() <= 64 && text.chars().all(allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(PathsError::Name)
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BindingName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a name, folder or socket path cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PathsError {
    /// The text is no binding name.
    #[error("A binding name is 1 to 64 of A-Z a-z 0-9 _ - and begins with a letter or digit.")]
    Name,
    /// A folder could not be made or looked at.
    #[error("The folder {} cannot be used: {source}.", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something else stands where a folder should be, or somebody else's.
    #[error("{} is {found}. It must be a folder of the user who runs this.", path.display())]
    NotOurs {
        /// The path.
        path: PathBuf,
        /// What is there.
        found: &'static str,
    },
    /// Others may look into a folder of ours.
    #[error("The folder {0} is open to others (mode {1:04o}). Close it: chmod 700 {0}", path.display(), mode)]
    Open {
        /// The folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The path is longer than the system's limit for sockets.
    #[error(
        "The socket path {} has {} bytes, more than the {SOCKET_PATH_MAX} the system allows. \
         Name a shorter folder with --runtime-dir.",
        path.display(), path.as_os_str().len()
    )]
    SocketTooLong {
        /// The path.
        path: PathBuf,
    },
}

/// The files and folders of one binding below one data root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    data_root: PathBuf,
    name: BindingName,
}

impl Paths {
    /// Names the files of `name` below `data_root`; touches nothing.
    pub fn new(data_root: impl Into<PathBuf>, name: BindingName) -> Self {
        Self {
            data_root: data_root.into(),
            name,
        }
    }

    /// The data root itself.
    pub fn data_root(&self) -> &Path {
        &self.data_root
    }

    /// The binding's name.
    pub fn name(&self) -> &BindingName {
        &self.name
    }

    /// `<dataRoot>/discord/<binding>.json`, the binding, 0600.
    pub fn binding_file(&self) -> PathBuf {
        self.data_root
            .join("discord")
            .join(format!("{}.json", self.name))
    }

    /// `<dataRoot>/discord/<binding>/`, the folder of everything below.
    pub fn data(&self) -> PathBuf {
        self.data_root.join("discord").join(self.name.as_str())
    }

    /// `inbox.jsonl`: accepted message ids ([`crate::journal::lines::Inbox`]).
    pub fn inbox(&self) -> PathBuf {
        self.data().join("inbox.jsonl")
    }

    /// `outbox.jsonl`: delivery intent and receipts, by nonce ([`crate::journal::lines::Outbox`]).
    pub fn outbox(&self) -> PathBuf {
        self.data().join("outbox.jsonl")
    }

    /// `outbox/`: the text of chunks whose delivery is not settled ([`crate::journal::Spool`]).
    pub fn spool(&self) -> PathBuf {
        self.data().join("outbox")
    }

    /// `drops.jsonl`: one line per dropped or refused message ([`crate::journal::lines::Drop`]).
    pub fn drops(&self) -> PathBuf {
        self.data().join("drops.jsonl")
    }

    /// `admissions.jsonl`: one line per admitted turn, before the engine runs ([`crate::journal::lines::Admission`]).
    pub fn admissions(&self) -> PathBuf {
        self.data().join("admissions.jsonl")
    }

    /// `turns/`: write-once turn records.
    pub fn turns(&self) -> PathBuf {
        self.data().join("turns")
    }

    /// `turns/<id>.json`: the record of the turn that answered message `id` ([`crate::journal::TurnRecord`]).
    pub fn turn(&self, id: impl fmt::Display) -> PathBuf {
        self.turns().join(format!("{id}.json"))
    }

    /// `launches/`: context snapshot and digests per engine start.
    pub fn launches(&self) -> PathBuf {
        self.data().join("launches")
    }

    /// `STOP`: the stop switch ([`crate::owner::Brake`]).
    pub fn stop(&self) -> PathBuf {
        self.data().join("STOP")
    }

    /// `notices.jsonl`: once-per-day fixed lines already attempted ([`crate::journal::lines::Notice`]).
    pub fn notices(&self) -> PathBuf {
        self.data().join("notices.jsonl")
    }

    /// `reloads.jsonl`: one line per reload attempt.
    pub fn reloads(&self) -> PathBuf {
        self.data().join("reloads.jsonl")
    }

    /// `reload/`: where a running connector and `reload` hand bindings to each other.
    pub fn reload(&self) -> PathBuf {
        self.data().join("reload")
    }

    /// `reload/next.json`: a binding that was checked and waits to be applied.
    pub fn handed_binding(&self) -> PathBuf {
        self.reload().join("next.json")
    }

    /// `reload/in-force.json`: the binding a running connector goes by. It is there as soon as one can be reloaded.
    pub fn binding_in_force(&self) -> PathBuf {
        self.reload().join("in-force.json")
    }

    /// `approvals.jsonl`: open approval requests, binds and approvals.
    pub fn approvals(&self) -> PathBuf {
        self.data().join("approvals.jsonl")
    }

    /// `run.lock/`: the ownership folder with `owner.json` ([`crate::owner`]).
    pub fn run_lock(&self) -> PathBuf {
        self.data().join("run.lock")
    }

    /// `pi/`: the engine's private agent folder; `auth.json` and `models.json` in it are the operator's.
    pub fn agent(&self) -> PathBuf {
        self.data().join("pi")
    }

    /// `<dataRoot>/sessions/discord-<binding>/`: the engine's session, continued across runs.
    pub fn sessions(&self) -> PathBuf {
        self.data_root
            .join("sessions")
            .join(format!("discord-{}", self.name))
    }

    /// Whether anything of this binding is below the data root: its file or its folder.
    pub fn known(&self) -> bool {
        self.binding_file().symlink_metadata().is_ok() || self.data().symlink_metadata().is_ok()
    }

    /// Makes the connector's folders that are missing, 0700, and checks those that are there.
    ///
    /// # Errors
    /// When one cannot be made, is not a folder, belongs to somebody else or is open to others.
    pub fn create_folders(&self) -> Result<(), PathsError> {
        private_folder(&self.data())?;
        for folder in [
            self.spool(),
            self.turns(),
            self.launches(),
            self.reload(),
            self.agent(),
            self.sessions(),
        ] {
            private_folder(&folder)?;
        }
        Ok(())
    }

    /// Makes `<dataRoot>/discord/<binding>/` alone, for commands that write nothing but the stop switch.
    ///
    /// # Errors
    /// As [`Paths::create_folders`].
    pub fn create_data(&self) -> Result<(), PathsError> {
        private_folder(&self.data())
    }
}

/// Where the sockets of one binding lie (DESIGN section 3). The broker binds them; the connector only connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeDir(PathBuf);

impl RuntimeDir {
    /// Chooses the folder: the one named on the command line, else `mosaic-discord/<binding>` below the user's runtime
    /// folder (`$XDG_RUNTIME_DIR`), else `run/` in the binding's data folder.
    ///
    /// # Errors
    /// When a socket in it would have a path too long to bind.
    pub fn choose(
        named: Option<&Path>,
        user_runtime: Option<&Path>,
        paths: &Paths,
    ) -> Result<Self, PathsError> {
        let folder = match (named, user_runtime) {
            (Some(named), _) => named.to_owned(),
            (None, Some(user)) => user.join("mosaic-discord").join(paths.name().as_str()),
            (None, None) => paths.data().join("run"),
        };
        let chosen = Self(folder);
        let longest = chosen.control_socket();
        if longest.as_os_str().as_bytes().len() > SOCKET_PATH_MAX {
            return Err(PathsError::SocketTooLong { path: longest });
        }
        Ok(chosen)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// `control.sock`: held by the connector for as long as it lives.
    pub fn control_socket(&self) -> PathBuf {
        self.0.join("control.sock")
    }

    /// `tools.sock`: opened once, for the engine.
    pub fn tools_socket(&self) -> PathBuf {
        self.0.join("tools.sock")
    }
}

/// Makes a folder 0700 with its parents, or checks that the one there is private and ours.
fn private_folder(path: &Path) -> Result<(), PathsError> {
    let failed = |source| PathsError::Folder {
        path: path.to_owned(),
        source,
    };

    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(failed)?;

    let found = path.symlink_metadata().map_err(failed)?;
    let not_ours = |found| PathsError::NotOurs {
        path: path.to_owned(),
        found,
    };
    if found.file_type().is_symlink() {
        return Err(not_ours("a symbolic link"));
    }
    if found.uid() != nix::unistd::geteuid().as_raw() {
        return Err(not_ours("another user's folder"));
    }
    let mode = found.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(PathsError::Open {
            path: path.to_owned(),
            mode,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn paths(root: &Path) -> Paths {
        Paths::new(root, BindingName::parse("sage").unwrap())
    }

    #[test]
    fn a_name_is_a_plain_word() {
        for good in ["sage", "a", "Team-2_x", &"a".repeat(64)] {
            assert!(BindingName::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "-a",
            "_a",
            ".",
            "..",
            "a/b",
            "a.json",
            "a b",
            "a\n",
            "é",
            &"a".repeat(65),
        ] {
            assert!(BindingName::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn every_file_lies_where_the_seeds_say() {
        let paths = paths(Path::new("/d"));

        let all = [
            (paths.binding_file(), "/d/discord/sage.json"),
            (paths.inbox(), "/d/discord/sage/inbox.jsonl"),
            (paths.outbox(), "/d/discord/sage/outbox.jsonl"),
            (paths.drops(), "/d/discord/sage/drops.jsonl"),
            (paths.admissions(), "/d/discord/sage/admissions.jsonl"),
            (paths.turn(42), "/d/discord/sage/turns/42.json"),
            (paths.launches(), "/d/discord/sage/launches"),
            (paths.stop(), "/d/discord/sage/STOP"),
            (paths.notices(), "/d/discord/sage/notices.jsonl"),
            (paths.reloads(), "/d/discord/sage/reloads.jsonl"),
            (paths.approvals(), "/d/discord/sage/approvals.jsonl"),
            (paths.run_lock(), "/d/discord/sage/run.lock"),
            (paths.sessions(), "/d/sessions/discord-sage"),
        ];

        for (path, expected) in all {
            assert_eq!(path, Path::new(expected));
        }
    }

    #[test]
    fn folders_are_made_private_and_the_brokers_is_not_made() {
        let root = tempfile::tempdir().unwrap();
        let paths = paths(root.path());

        paths.create_folders().unwrap();
        paths.create_folders().unwrap();

        for folder in [
            paths.data(),
            paths.spool(),
            paths.turns(),
            paths.launches(),
            paths.agent(),
            paths.sessions(),
        ] {
            assert_eq!(
                folder.metadata().unwrap().mode() & 0o7777,
                0o700,
                "{}",
                folder.display()
            );
        }
        assert!(!paths.data().join("broker").exists());
    }

    #[test]
    fn a_folder_open_to_others_is_refused_with_the_command_that_closes_it() {
        let root = tempfile::tempdir().unwrap();
        let paths = paths(root.path());
        paths.create_folders().unwrap();
        fs::set_permissions(paths.turns(), fs::Permissions::from_mode(0o750)).unwrap();

        let error = paths.create_folders().unwrap_err().to_string();

        assert!(
            error.contains("mode 0750") && error.contains("chmod 700"),
            "{error}"
        );
    }

    #[test]
    fn a_symlink_in_place_of_the_data_folder_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let paths = paths(root.path());
        fs::create_dir_all(root.path().join("elsewhere")).unwrap();
        fs::create_dir_all(root.path().join("discord")).unwrap();
        symlink(root.path().join("elsewhere"), paths.data()).unwrap();

        assert!(matches!(
            paths.create_data(),
            Err(PathsError::NotOurs { .. })
        ));
    }

    #[test]
    fn the_named_runtime_folder_wins_over_the_users_and_the_users_over_ours() {
        let paths = paths(Path::new("/d"));
        let choose = |named: Option<&str>, user: Option<&str>| {
            RuntimeDir::choose(named.map(Path::new), user.map(Path::new), &paths)
                .unwrap()
                .control_socket()
        };

        assert_eq!(choose(Some("/n"), Some("/u")), Path::new("/n/control.sock"));
        assert_eq!(
            choose(None, Some("/u")),
            Path::new("/u/mosaic-discord/sage/control.sock")
        );
        assert_eq!(
            choose(None, None),
            Path::new("/d/discord/sage/run/control.sock")
        );
    }

    #[test]
    fn a_socket_path_over_the_systems_limit_is_refused() {
        let paths = paths(Path::new("/d"));
        let folder = |bytes: usize| PathBuf::from(format!("/{}", "x".repeat(bytes - 1)));
        let fits = SOCKET_PATH_MAX - "/control.sock".len();

        assert!(RuntimeDir::choose(Some(&folder(fits)), None, &paths).is_ok());
        let error = RuntimeDir::choose(Some(&folder(fits + 1)), None, &paths).unwrap_err();

        assert!(error.to_string().contains("--runtime-dir"), "{error}");
    }
}
