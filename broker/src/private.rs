//! Folders and files that are the broker's alone: opened only when nobody else could have put them there or could swap
//! them afterwards. Knows modes and owners, not what the files hold.

use std::{
    fs::File,
    io,
    os::fd::OwnedFd,
    path::{Component, Path, PathBuf},
};

use rustix::fs::{FileType, Mode, OFlags, Stat};

/// Why a folder or file is not private enough to be used. Each sentence ends with the next step.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PrivateError {
    /// The path cannot be opened or made.
    #[error("{path} cannot be {verb}: {source}")]
    Io {
        /// What was tried.
        verb: &'static str,
        /// The path as given.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Something else stands where a folder or file of the broker belongs.
    #[error("{path} is {found}, where {expected} belongs. Move it away and try again.")]
    Kind {
        /// The path as given.
        path: PathBuf,
        /// What stands there.
        found: &'static str,
        /// What must stand there.
        expected: &'static str,
    },
    /// Somebody else owns it.
    #[error(
        "{path} belongs to uid {owner}, not to uid {expected} that runs the broker. Use a folder of your own."
    )]
    Owner {
        /// The path as given.
        path: PathBuf,
        /// Who owns it.
        owner: u32,
        /// Who should.
        expected: u32,
    },
    /// Others may write or read it.
    #[error("{path} has mode {mode:04o}, which {danger}. Run: chmod {remedy} {path}")]
    Mode {
        /// The path as given.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
        /// What the mode lets others do.
        danger: &'static str,
        /// Argument of chmod that repairs it.
        remedy: &'static str,
    },
}

/// A folder that is ours and that nobody else can write, and whose parents nobody else can swap.
#[derive(Debug)]
pub(crate) struct Folder {
    descriptor: OwnedFd,
    path: PathBuf,
}

/// How a file of the folder is opened.
#[derive(Clone, Copy)]
pub(crate) enum Access {
    /// For reading; it must be there.
    Read,
    /// For reading and writing in place, created empty at need.
    Write,
    /// For reading, with every write at the end, created empty at need.
    Append,
}

impl Folder {
    /// Opens `path`, creating it and its missing parents with mode 0700.
    ///
    /// # Errors
    /// As [`Folder::open`], and when a folder cannot be made.
    pub(crate) fn create(path: &Path) -> Result<Folder, PrivateError> {
        let mut made = PathBuf::new();
        for part in path.components() {
            made.push(part);
            if matches!(part, Component::RootDir) {
                continue;
            }
            match rustix::fs::mkdir(&made, Mode::RWXU) {
                // A parent we may not write and need not write (`/run`) answers with one of these, existing or not;
                // when it is truly missing, opening it below says so.
                Ok(())
                | Err(
                    rustix::io::Errno::EXIST | rustix::io::Errno::ROFS | rustix::io::Errno::ACCESS,
                ) => {}
                Err(source) => return Err(io_error("created", &made, source)),
            }
        }
        Folder::open(path)
    }

    /// Opens `path` if it is a folder, not a symlink, ours, writable by us only, and below parents that only we or
    /// root can change (sticky folders such as `/tmp` pass).
    ///
    /// # Errors
    /// Names the first folder on the way that fails, and how to repair it.
    pub(crate) fn open(path: &Path) -> Result<Folder, PrivateError> {
        let us = nix::unistd::geteuid().as_raw();
        let leaf = stat_no_follow(path)?;
        expect_kind(path, &leaf, FileType::Directory, "a folder")?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let descriptor = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|e| io_error("opened", path, e))?;
        let opened = rustix::fs::fstat(&descriptor).map_err(|e| io_error("looked at", path, e))?;
        expect_owner(path, &opened, us)?;
        expect_closed(path, &opened, 0o022, "lets others put files there", "go-w")?;
        expect_trusted_parents(path, us)?;
        Ok(Folder {
            descriptor,
            path: path.to_owned(),
        })
    }

    /// Where the folder is.
    #[must_use]
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file `name` of this folder if it is a regular file of ours with one link and mode 0600.
    pub(crate) fn file(&self, name: &str, access: Access) -> Result<File, PrivateError> {
        let path = self.path.join(name);
        let flags = OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let flags = flags
            | match access {
                Access::Read => OFlags::RDONLY,
                Access::Write => OFlags::RDWR | OFlags::CREATE,
                Access::Append => OFlags::RDWR | OFlags::CREATE | OFlags::APPEND,
            };
        let descriptor =
            match rustix::fs::openat(&self.descriptor, name, flags, Mode::RUSR | Mode::WUSR) {
                Ok(descriptor) => descriptor,
                Err(rustix::io::Errno::LOOP) => {
                    return Err(PrivateError::Kind {
                        path,
                        found: "a symlink",
                        expected: "a file",
                    });
                }
                Err(source) => return Err(io_error("opened", &path, source)),
            };
        let stat = rustix::fs::fstat(&descriptor).map_err(|e| io_error("looked at", &path, e))?;
        expect_kind(&path, &stat, FileType::RegularFile, "a file")?;
        if stat.st_nlink != 1 {
            return Err(PrivateError::Kind {
                path,
                found: "a file with a second name",
                expected: "a file with one",
            });
        }
        expect_owner(&path, &stat, nix::unistd::geteuid().as_raw())?;
        expect_closed(&path, &stat, 0o077, "lets others see it", "0600")?;
        Ok(File::from(descriptor))
    }

    /// Whether a file `name` is there, of whatever kind.
    pub(crate) fn has(&self, name: &str) -> Result<bool, PrivateError> {
        match rustix::fs::statat(
            &self.descriptor,
            name,
            rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
        ) {
            Ok(_) => Ok(true),
            Err(rustix::io::Errno::NOENT) => Ok(false),
            Err(source) => Err(io_error("looked at", &self.path.join(name), source)),
        }
    }

    /// Puts the names of this folder on disk, so that a file created in it survives a power cut.
    pub(crate) fn sync(&self) -> Result<(), PrivateError> {
        rustix::fs::fsync(&self.descriptor).map_err(|e| io_error("synced", &self.path, e))
    }
}

/// Whoever can write a parent can put another folder in place of ours, so the whole way down is looked at.
fn expect_trusted_parents(path: &Path, us: u32) -> Result<(), PrivateError> {
    let parent = path
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    #[expect(
        clippy::disallowed_methods,
        reason = "the operator's own path, before the broker is confined"
    )]
    let real = std::fs::canonicalize(parent).map_err(|source| PrivateError::Io {
        verb: "resolved",
        path: parent.to_owned(),
        source,
    })?;
    for folder in real.ancestors() {
        let stat = stat_no_follow(folder)?;
        if stat.st_uid != 0 {
            expect_owner(folder, &stat, us)?;
        }
        let sticky = stat.st_mode & 0o1000 != 0;
        if !sticky {
            expect_closed(
                folder,
                &stat,
                0o022,
                "lets others replace what is below it",
                "go-w",
            )?;
        }
    }
    Ok(())
}

fn stat_no_follow(path: &Path) -> Result<Stat, PrivateError> {
    rustix::fs::lstat(path).map_err(|source| io_error("looked at", path, source))
}

fn expect_kind(
    path: &Path,
    stat: &Stat,
    wanted: FileType,
    expected: &'static str,
) -> Result<(), PrivateError> {
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind == wanted {
        return Ok(());
    }
    Err(PrivateError::Kind {
        path: path.to_owned(),
        found: name_of(kind),
        expected,
    })
}

fn expect_owner(path: &Path, stat: &Stat, us: u32) -> Result<(), PrivateError> {
    if stat.st_uid == us {
        return Ok(());
    }
    Err(PrivateError::Owner {
        path: path.to_owned(),
        owner: stat.st_uid,
        expected: us,
    })
}

fn expect_closed(
    path: &Path,
    stat: &Stat,
    forbidden: u32,
    danger: &'static str,
    remedy: &'static str,
) -> Result<(), PrivateError> {
    let mode = stat.st_mode & 0o7777;
    if mode & forbidden == 0 {
        return Ok(());
    }
    Err(PrivateError::Mode {
        path: path.to_owned(),
        mode,
        danger,
        remedy,
    })
}

/// What stands at a path, for a sentence.
pub(crate) fn name_of(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a file",
        FileType::Directory => "a folder",
        FileType::Symlink => "a symlink",
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "of an unknown kind",
    }
}

fn io_error(verb: &'static str, path: &Path, source: rustix::io::Errno) -> PrivateError {
    PrivateError::Io {
        verb,
        path: path.to_owned(),
        source: source.into(),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out files by path")]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    fn private_dir() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder for the test");
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).expect("chmod");
        dir
    }

    #[test]
    fn missing_parents_are_made_for_us_alone() {
        let dir = private_dir();
        let folder = Folder::create(&dir.path().join("a/b")).expect("created");
        let mode = fs::metadata(folder.path())
            .expect("stat")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn a_94_a_folder_others_can_write_is_refused_with_its_remedy() {
        let dir = private_dir();
        let open = dir.path().join("open");
        fs::create_dir(&open).expect("mkdir");
        fs::set_permissions(&open, fs::Permissions::from_mode(0o770)).expect("chmod");
        let error = Folder::open(&open).expect_err("refused").to_string();
        assert!(
            error.ends_with(&format!("Run: chmod go-w {}", open.display())),
            "{error}"
        );
    }

    #[test]
    fn a_94_a_folder_below_one_that_others_can_write_is_refused() {
        let dir = private_dir();
        let open = dir.path().join("open");
        fs::create_dir_all(open.join("ours")).expect("mkdir");
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).expect("chmod");
        fs::set_permissions(open.join("ours"), fs::Permissions::from_mode(0o700)).expect("chmod");
        let error = Folder::open(&open.join("ours")).expect_err("refused");
        assert!(
            matches!(error, PrivateError::Mode { ref path, .. } if *path == open),
            "{error}"
        );
    }

    #[test]
    fn a_94_a_symlink_in_the_folders_place_is_refused() {
        let dir = private_dir();
        fs::create_dir(dir.path().join("real")).expect("mkdir");
        std::os::unix::fs::symlink(dir.path().join("real"), dir.path().join("link"))
            .expect("symlink");
        let error = Folder::open(&dir.path().join("link")).expect_err("refused");
        assert!(
            matches!(
                error,
                PrivateError::Kind {
                    found: "a symlink",
                    ..
                }
            ),
            "{error}"
        );
    }

    #[test]
    fn a_file_that_is_a_symlink_a_second_name_or_readable_by_others_is_refused() {
        let dir = private_dir();
        let folder = Folder::open(dir.path()).expect("opened");
        drop(folder.file("ours", Access::Append).expect("created 0600"));
        fs::hard_link(dir.path().join("ours"), dir.path().join("twin")).expect("link");
        std::os::unix::fs::symlink("ours", dir.path().join("link")).expect("symlink");
        fs::write(dir.path().join("shared"), "").expect("write");
        fs::set_permissions(dir.path().join("shared"), fs::Permissions::from_mode(0o640))
            .expect("chmod");
        for name in ["ours", "twin", "link", "shared"] {
            assert!(
                folder.file(name, Access::Append).is_err(),
                "{name} was opened"
            );
        }
    }
}
