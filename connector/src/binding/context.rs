//! The files of the repository that open the system prompt. A path is checked as text when the binding is read, and again
//! by the kernel when the file is opened: no step may leave the repository or pass a symbolic link.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};

use super::{BindingError, private_file};

/// More than this is no context, it is an archive: the model reads every byte of it with every turn.
const MAX_BYTES: u64 = 256 * 1024;

/// A path below the repository: relative, without empty, `.` or `..` segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextPath(String);

impl ContextPath {
    /// Reads a path as listed in the binding.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        let fits =
            text.len() <= 1024 && !text.chars().any(char::is_control) && text.split('/').all(plain);
        fits.then(|| Self(text.to_owned()))
    }

    /// The path as listed.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Reads the context files in order: each path as listed with its text.
///
/// # Errors
/// The first file that is missing, not regular, reached through a symbolic link, too large or not UTF-8 text.
pub fn read_context(
    repo: &Path,
    files: &[ContextPath],
) -> Result<Vec<(String, String)>, BindingError> {
    let refused = |index: usize, problem: String| BindingError::Context {
        index,
        name: files[index].0.clone(),
        repo: repo.to_owned(),
        problem,
    };
    if files.is_empty() {
        return Ok(Vec::new());
    }

    let folder = File::open(repo)
        .map_err(|error| refused(0, format!("has no repository to be in: {error}")))?;
    let mut texts = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let text = read_one(&folder, file).map_err(|problem| refused(index, problem))?;
        texts.push((file.0.clone(), text));
    }
    Ok(texts)
}

fn read_one(repo: impl AsFd, path: &ContextPath) -> Result<String, String> {
    let how = OpenHow::new()
        .flags(OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY)
        .resolve(
            ResolveFlag::RESOLVE_BENEATH
                | ResolveFlag::RESOLVE_NO_SYMLINKS
                | ResolveFlag::RESOLVE_NO_MAGICLINKS,
        );
    let opened = openat2(repo, path.as_str(), how).map_err(|errno| match errno {
        Errno::ENOENT | Errno::ENOTDIR => "does not exist".to_owned(),
        Errno::ELOOP | Errno::EXDEV => {
            "is reached through a symbolic link; accepted is a plain path".to_owned()
        }
        errno => format!("cannot be opened: {}", errno.desc()),
    })?;
    let file = File::from(opened);
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        return Err("is not a regular file".to_owned());
    }
    let bytes =
        private_file::read_at_most(file, MAX_BYTES).map_err(|problem| problem.to_string())?;
    String::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'))
        .ok_or_else(|| "is not UTF-8 text".to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn path(text: &str) -> ContextPath {
        ContextPath::parse(text).unwrap()
    }

    #[test]
    fn a_path_that_could_leave_the_repository_does_not_parse() {
        for good in ["a", "docs/a.md", ".hidden/a", "a..b"] {
            assert!(ContextPath::parse(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "/etc/passwd",
            "../a",
            "a/../b",
            "a/..",
            "./a",
            "a//b",
            "a/",
            "a\nb",
            "a\0",
        ] {
            assert!(ContextPath::parse(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn files_come_in_the_order_of_the_list() {
        let repo = tempfile::tempdir().unwrap();
        fs::create_dir(repo.path().join("docs")).unwrap();
        fs::write(repo.path().join("docs/b.md"), "second").unwrap();
        fs::write(repo.path().join("a.md"), "first\n").unwrap();

        let texts = read_context(repo.path(), &[path("docs/b.md"), path("a.md")]).unwrap();

        assert_eq!(
            texts,
            [
                ("docs/b.md".into(), "second".into()),
                ("a.md".into(), "first\n".into())
            ]
        );
    }

    #[test]
    fn a_symlink_anywhere_in_the_path_is_refused() {
        let repo = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("a.md"), "outside").unwrap();
        fs::write(repo.path().join("real.md"), "inside").unwrap();
        symlink(outside.path(), repo.path().join("folder")).unwrap();
        symlink("real.md", repo.path().join("link.md")).unwrap();

        for listed in ["folder/a.md", "link.md"] {
            let error = read_context(repo.path(), &[path(listed)])
                .unwrap_err()
                .to_string();
            assert!(
                error.contains("symbolic link") && error.contains(listed),
                "{error}"
            );
        }
    }

    #[test]
    fn a_folder_a_pipe_a_large_file_and_bytes_that_are_no_text_are_refused() {
        let repo = tempfile::tempdir().unwrap();
        let at = |name: &str| repo.path().join(name);
        fs::create_dir(at("folder")).unwrap();
        nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRUSR).unwrap();
        fs::write(
            at("large"),
            vec![b'x'; usize::try_from(MAX_BYTES).unwrap() + 1],
        )
        .unwrap();
        fs::write(at("latin1"), b"gr\xfc\xdfe").unwrap();
        fs::write(at("nul"), b"a\0b").unwrap();
        fs::write(at("fits"), vec![b'x'; usize::try_from(MAX_BYTES).unwrap()]).unwrap();

        for (listed, problem) in [
            ("folder", "is not a regular file"),
            ("pipe", "is not a regular file"),
            ("large", "is larger than 262144 bytes"),
            ("latin1", "is not UTF-8 text"),
            ("nul", "is not UTF-8 text"),
            ("gone", "does not exist"),
        ] {
            let error = read_context(repo.path(), &[path("fits"), path(listed)])
                .unwrap_err()
                .to_string();
            assert!(
                error.starts_with(&format!("context.files[1] ({listed}) {problem}.")),
                "{error}"
            );
        }
    }
}
