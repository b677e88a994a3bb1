//! Paths that stay as they are in a writable root (DESIGN, section 7, row 3; ): those every binding protects,
//! and those a root names in `protect`. Reading them is not its business.

use super::PolicyError;
use crate::fence::RelPath;
use crate::limits;

/// Names that are protected at any depth of every writable root: agents read these files as instructions, so
/// the model could otherwise write its own.
pub(super) const PROTECTED_NAMES: &[&str] = &["AGENTS.md", "CLAUDE.md"];

/// The protected paths of one root. Compared without regard to case, so that a file system that folds case offers no
/// way around.
#[derive(Clone, Debug)]
pub struct Protection {
    patterns: Vec<Pattern>,
    /// The root's own patterns as the binding spells them.
    own: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    /// A file name in any folder.
    Name(String),
    /// One path below the root.
    Exact(String),
    /// Everything below a folder; ends with a slash.
    Below(String),
    /// Every file with this ending, dot included.
    Ending(String),
}

impl Protection {
    /// Parses the patterns of one root: `docs/REGISTRY.txt`, `tools/`, `*.pyc`.
    pub(super) fn parse(at: &str, patterns: &[String]) -> Result<Protection, PolicyError> {
        if patterns.len() > limits::PROTECTED_PATTERNS {
            return Err(PolicyError::new(
                at,
                "is too long",
                format!("up to {}", limits::PROTECTED_PATTERNS),
            ));
        }
        let defaults = PROTECTED_NAMES
            .iter()
            .map(|name| Ok(Pattern::Name(fold(name))));
        let own = patterns.iter().enumerate().map(|(index, pattern)| {
            Pattern::parse(pattern).ok_or_else(|| {
                PolicyError::new(
                    format!("{at}[{index}]"),
                    "is no path below the root",
                    "a relative path such as \"docs/a.txt\", a folder with a final slash such as \"tools/\", or an \
                     ending such as \"*.pyc\"",
                )
            })
        });
        Ok(Protection {
            patterns: defaults.chain(own).collect::<Result<_, _>>()?,
            own: patterns.to_vec(),
        })
    }

    /// Whether a path may not be changed.
    #[must_use]
    pub fn covers(&self, path: &RelPath) -> bool {
        let whole = fold(path.as_str());
        let name = whole.rsplit('/').next().unwrap_or(&whole);
        self.patterns.iter().any(|pattern| match pattern {
            Pattern::Name(protected) => name == protected,
            Pattern::Exact(protected) => whole == *protected,
            Pattern::Below(folder) => whole.starts_with(folder.as_str()),
            Pattern::Ending(ending) => name.ends_with(ending.as_str()),
        })
    }

    /// The root's own patterns as the binding spells them, without the defaults.
    pub(super) fn own(&self) -> &[String] {
        &self.own
    }
}

impl Pattern {
    fn parse(text: &str) -> Option<Pattern> {
        if let Some(ending) = text.strip_prefix('*') {
            let plain = ending.len() > 1
                && ending.starts_with('.')
                && ending
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
            return plain.then(|| Pattern::Ending(fold(ending)));
        }
        match text.strip_suffix('/') {
            Some(folder) => RelPath::parse(folder)
                .ok()
                .map(|folder| Pattern::Below(fold(folder.as_str()) + "/")),
            None => RelPath::parse(text)
                .ok()
                .map(|path| Pattern::Exact(fold(path.as_str()))),
        }
    }
}

fn fold(text: &str) -> String {
    text.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protection(patterns: &[&str]) -> Protection {
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        Protection::parse("tools.roots[0].protect", &patterns).unwrap()
    }

    #[test]
    fn a_29_instructions_for_agents_are_protected_at_any_depth_and_in_any_case() {
        let protection = protection(&[]);

        let covered = [
            "AGENTS.md",
            "a/b/CLAUDE.md",
            "agents.MD",
            "notes/AGENTS.md.bak",
            "AGENTS.markdown",
        ]
        .map(|path| protection.covers(&RelPath::parse(path).unwrap()));

        assert_eq!(covered, [true, true, true, false, false]);
    }

    #[test]
    fn a_27_a_root_protects_a_file_a_folder_and_an_ending() {
        let protection = protection(&["docs/ID-REGISTRY.txt", "tools/", "*.pyc", "Makefile"]);

        let rows = [
            ("docs/ID-REGISTRY.txt", true),
            ("docs/id-registry.txt", true),
            ("other/ID-REGISTRY.txt", false),
            ("tools/validate_vault.py", true),
            ("tools/deep/json.py", true),
            ("toolshed/a.md", false),
            ("a/x.pyc", true),
            ("a/x.py", false),
            ("Makefile", true),
            ("sub/Makefile", false),
        ];

        for (path, expected) in rows {
            assert_eq!(
                protection.covers(&RelPath::parse(path).unwrap()),
                expected,
                "{path}"
            );
        }
    }

    #[test]
    fn a_pattern_that_leaves_the_root_or_is_a_glob_is_refused() {
        for pattern in [
            "", "/", "/etc/x", "../x", "a//b", ".git/", "*", "*pyc", "*.p*c", "*./x", "a\\b",
        ] {
            let refused = Protection::parse("p", &[pattern.to_owned()]).unwrap_err();
            assert_eq!(refused.field, "p[0]", "{pattern}");
        }
    }
}
