//! The text of the units: the two templates of `systemd/` with the paths of this host. It writes nothing.

use std::path::Path;

use crate::exit::Exit;

/// One of the two templates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Broker,
    Connector,
}

impl Unit {
    /// Both, the one that is needed first in front.
    pub(super) const ALL: [Self; 2] = [Self::Broker, Self::Connector];

    /// The name of its file; an instance has the binding's name behind the `@`.
    pub(super) fn file(self) -> &'static str {
        match self {
            Self::Broker => "mosaic-broker@.service",
            Self::Connector => "mosaic-discord@.service",
        }
    }

    fn template(self) -> &'static str {
        match self {
            Self::Broker => include_str!("../../../../systemd/mosaic-broker@.service"),
            Self::Connector => include_str!("../../../../systemd/mosaic-discord@.service"),
        }
    }

    /// The unit for this host.
    pub(super) fn render(self, layout: &Layout) -> String {
        layout
            .words()
            .iter()
            .fold(self.template().to_owned(), |text, (word, path)| {
                text.replace(word, path)
            })
    }
}

/// Paths as they can stand in a unit.
#[derive(Debug)]
pub(super) struct Layout {
    bin: String,
    tree: String,
    data_root: String,
    repo: String,
}

impl Layout {
    /// Checks that the paths mean the same in a unit as they do here.
    ///
    /// # Errors
    /// Exit 2 for a path with a character that systemd reads in its own way.
    pub(super) fn new(
        bin: &Path,
        tree: &Path,
        data_root: &Path,
        repo: &Path,
    ) -> Result<Self, Exit> {
        Ok(Self {
            bin: plain(bin)?,
            tree: plain(tree)?,
            data_root: plain(data_root)?,
            repo: plain(repo)?,
        })
    }

    fn words(&self) -> [(&'static str, &str); 4] {
        [
            ("@BIN@", &self.bin),
            ("@TREE@", &self.tree),
            ("@DATA_ROOT@", &self.data_root),
            ("@REPO@", &self.repo),
        ]
    }
}

/// Quoting would have to be right for three readers (specifiers, variables, words), so such a path is refused instead. An `@`
/// could make a path look like one of the template's own words.
fn plain(path: &Path) -> Result<String, Exit> {
    const READ_BY_SYSTEMD: &str = "\"'\\%$;@";
    let odd = |c: char| c.is_whitespace() || c.is_control() || READ_BY_SYSTEMD.contains(c);
    match path.to_str() {
        Some(text) if path.is_absolute() && !text.chars().any(odd) => {
            let shorter = text.trim_end_matches('/');
            Ok(if shorter.is_empty() { "/" } else { shorter }.to_owned())
        }
        _ => Err(Exit::invalid(format_args!(
            "The path {} cannot stand in a unit: spaces, quotes and the characters \\ % $ ; @ mean something else there. Move \
             it, or name another.",
            path.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn layout() -> Layout {
        let path = Path::new;
        Layout::new(
            path("/opt/mosaic/target/release/"),
            path("/opt/mosaic"),
            path("/home/sage/.mosaic"),
            path("/home/sage/strategy"),
        )
        .unwrap()
    }

    #[test]
    fn the_units_read_as_written() {
        let units = Unit::ALL.map(|unit| unit.render(&layout()));

        insta::assert_snapshot!("broker", units[0]);
        insta::assert_snapshot!("connector", units[1]);
        assert!(!units.concat().contains("/opt/mosaic/target/release//"));
    }

    #[test]
    fn no_word_of_the_template_is_left_unfilled() {
        for unit in Unit::ALL {
            let text = unit.render(&layout());
            let code = text.lines().filter(|line| !line.starts_with('#'));

            for line in code {
                let words = line.replace("mosaic-broker@%i", "");
                assert!(!words.contains('@'), "{line}");
            }
        }
    }

    #[test]
    fn a_path_that_a_unit_would_read_otherwise_is_refused() {
        let refused = |path: &str| {
            Layout::new(
                Path::new(path),
                Path::new("/t"),
                Path::new("/d"),
                Path::new("/r"),
            )
            .is_err()
        };

        for odd in [
            "/a b", "/a%n", "/a$HOME", "/a\"b", "/a'b", "/a\\b", "/a;b", "/a\nb", "/@REPO@", "a",
        ] {
            assert!(refused(odd), "{odd:?}");
        }
        for fine in ["/", "/opt/größe", "/a.b-c_d+e"] {
            assert!(!refused(fine), "{fine:?}");
        }
    }

    #[test]
    fn systemd_finds_nothing_wrong_with_the_units() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        for program in ["mosaic-broker", "mosaic-discord"] {
            std::os::unix::fs::symlink("/bin/true", bin.join(program)).unwrap();
        }
        let layout = Layout::new(&bin, folder.path(), folder.path(), folder.path()).unwrap();
        for unit in Unit::ALL {
            std::fs::write(folder.path().join(unit.file()), unit.render(&layout)).unwrap();
        }

        let verified = Command::new("systemd-analyze")
            .args(["--user", "verify"])
            .args(
                ["mosaic-broker@sage.service", "mosaic-discord@sage.service"]
                    .map(|unit| folder.path().join(unit)),
            )
            .env("XDG_RUNTIME_DIR", folder.path())
            .stdin(Stdio::null())
            .output();
        let Ok(verified) = verified else {
            println!("skipped: there is no systemd-analyze on this machine");
            return;
        };

        // A key that systemd does not know is only a warning with exit 0.
        assert_eq!(String::from_utf8_lossy(&verified.stderr), "");
        assert!(verified.status.success());
    }
}
