//! The rules a root must pass before the broker starts (seeds 002, The binding): what it may be called, where it may lie,
//! and that it is there. They are checked once; [`crate::fence::Reach`] holds what was found.

use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::protect::Protection;
use super::{PolicyError, shape};
use crate::fence;
use crate::limits;

/// One checked root.
#[derive(Clone, Debug)]
pub struct RootPolicy {
    name: String,
    path: PathBuf,
    writable: bool,
    protection: Protection,
}

impl RootPolicy {
    /// The name a request uses. Compared letter for letter.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The real path of the folder on the host. For the operator, the kernel's rules and the start; never for the model.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether `write_file` and `edit_file` may change files here.
    #[must_use]
    pub fn writable(&self) -> bool {
        self.writable
    }

    /// What stays as it is even though the root is writable.
    #[must_use]
    pub fn protection(&self) -> &Protection {
        &self.protection
    }
}

const PLACE: &str = "an absolute path of an existing folder, written without links, dots and double or final slashes";

pub(super) fn check_all(
    shapes: &[shape::Root],
    data_root: &Path,
    home: Option<&Path>,
) -> Result<Vec<RootPolicy>, PolicyError> {
    let mut roots: Vec<RootPolicy> = Vec::with_capacity(shapes.len());
    for shape in shapes {
        let root = RootPolicy {
            name: check_name(shape)?,
            path: check_path(shape, data_root, home)?,
            writable: shape.write,
            protection: check_protection(shape)?,
        };
        for earlier in &roots {
            apart(shape, &root, earlier)?;
        }
        roots.push(root);
    }
    Ok(roots)
}

/// The vault protocol says what writers must leave alone, so it is a statement about a root that is written.
fn check_protection(shape: &shape::Root) -> Result<Protection, PolicyError> {
    let vault = match shape.protocol.as_deref() {
        None => false,
        Some("vault") if shape.write => true,
        Some("vault") => {
            return Err(PolicyError::new(
                format!("{}.protocol", shape.at),
                "stands on a root without write",
                "protocol only beside \"write\": true",
            ));
        }
        Some(_) => {
            return Err(PolicyError::new(
                format!("{}.protocol", shape.at),
                "is no protocol",
                "\"vault\", or no protocol key at all",
            ));
        }
    };
    Protection::parse(&format!("{}.protect", shape.at), vault, &shape.protect)
}

fn check_name(shape: &shape::Root) -> Result<String, PolicyError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let name = shape.name.as_bytes();
    let fits = name.len() <= limits::ROOT_NAME_BYTES
        && name.first().is_some_and(u8::is_ascii_alphanumeric)
        && name.iter().copied().all(plain);
    if fits {
        return Ok(shape.name.clone());
    }
    Err(PolicyError::new(
        format!("{}.name", shape.at),
        "is no plain name",
        "1 to 64 letters, digits, dots, dashes and underscores, beginning with a letter or a digit",
    ))
}

fn check_path(
    shape: &shape::Root,
    data_root: &Path,
    home: Option<&Path>,
) -> Result<PathBuf, PolicyError> {
    let refuse = |found: &str, accepted: &str| {
        Err(PolicyError::new(
            format!("{}.path", shape.at),
            found,
            accepted,
        ))
    };
    let Some(below_top) = shape.path.strip_prefix('/') else {
        return refuse("is not absolute", PLACE);
    };
    if below_top.is_empty() {
        return refuse("is the top of the host", "a folder of its own");
    }
    if shape.path.chars().any(char::is_control) {
        return refuse("holds control characters", PLACE);
    }
    if below_top.split('/').any(str::is_empty) {
        return refuse("has an empty segment", PLACE);
    }
    if below_top.split('/').any(|segment| segment.starts_with('.')) {
        return refuse(
            "has a segment that begins with a dot",
            "a folder that is not hidden and lies in none",
        );
    }
    let path = PathBuf::from(&shape.path);
    for kernel in ["/proc", "/sys", "/dev"] {
        if path.starts_with(kernel) {
            return refuse(
                "lies in a file system of the kernel",
                "a folder of ordinary files",
            );
        }
    }
    if home.is_some_and(|home| forms(home).iter().any(|home| home.starts_with(&path))) {
        return refuse(
            "is the home directory or lies above it",
            "a folder inside the home directory, or outside it",
        );
    }
    if forms(data_root)
        .iter()
        .any(|data| path.starts_with(data) || data.starts_with(&path))
    {
        return refuse(
            "is the data root, lies in it or above it",
            "a folder apart from the data root",
        );
    }
    // Last, because it is the first look at the host.
    match fence::tree::open_root(&path) {
        Ok(_) => Ok(path),
        Err(Errno::LOOP) => refuse(
            "is a symbolic link, or is reached over one",
            "its real path",
        ),
        Err(Errno::NOENT) => refuse("does not exist", PLACE),
        Err(Errno::NOTDIR) => refuse("is not a folder", PLACE),
        Err(errno) => refuse(&format!("cannot be opened ({errno})"), PLACE),
    }
}

/// Two roots may not overlap: what the narrower one forbids could be reached through the wider one.
fn apart(shape: &shape::Root, root: &RootPolicy, earlier: &RootPolicy) -> Result<(), PolicyError> {
    if root.name.eq_ignore_ascii_case(&earlier.name) {
        return Err(PolicyError::new(
            format!("{}.name", shape.at),
            "is the name of an earlier root",
            "a name of its own, different in more than case",
        ));
    }
    if root.path.starts_with(&earlier.path) || earlier.path.starts_with(&root.path) {
        return Err(PolicyError::new(
            format!("{}.path", shape.at),
            format!("overlaps with root {:?}", earlier.name),
            "roots that lie apart, so that one rule holds for each file",
        ));
    }
    Ok(())
}

/// A place as it was given and as it really is; one of the two may be reached over links.
fn forms(path: &Path) -> Vec<PathBuf> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where a host path is resolved, before anything runs"
    )]
    let real = std::fs::canonicalize(path).ok();
    std::iter::once(path.to_path_buf()).chain(real).collect()
}
