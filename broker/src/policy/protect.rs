//! Paths that stay as they are in a writable root (DESIGN, section 7, row 3; ): those every binding protects,
//! those the vault protocol protects, and those a root names in `protect`. Reading them is not its business.

use super::PolicyError;
use crate::fence::RelPath;
use crate::limits;

/// Names that are protected at any depth of every writable root: agents read these files as instructions, so
/// the model could otherwise write its own.
pub(super) const PROTECTED_NAMES: &[&str] = &["AGENTS.md", "CLAUDE.md"];

/// What a root with `protocol: "vault"` protects beside them, and why.
const VAULT: &[(&str, &str)] = &[
    (
        "tools/",
        "scripts that judge what the writer commits (A-27)",
    ),
    (
        "docs/ID-REGISTRY.txt",
        "append-only: a record is reserved there, not written (A-28)",
    ),
    (
        "*.pyc",
        "would run in place of the script beside it (A-106)",
    ),
];

/// The protected paths of one root. Compared without regard to case, so that a file system that folds case offers no
/// way around.
#[derive(Clone, Debug)]
pub struct Protection {
    patterns: Vec<Pattern>,
    /// The patterns of the protocol, then the root's own as the binding spells them.
    named: Vec<String>,
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
    /// Parses the patterns of one root: `docs/REGISTRY.txt`, `tools/`, `*.pyc`. A vault has its own before them.
    pub(super) fn parse(
        at: &str,
        vault: bool,
        patterns: &[String],
    ) -> Result<Protection, PolicyError> {
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
        let of_protocol: Vec<String> = VAULT
            .iter()
            .filter(|_| vault)
            .map(|(pattern, _why)| (*pattern).to_owned())
            .collect();
        let shared = of_protocol.iter().map(|pattern| {
            Ok(Pattern::parse(pattern).expect("a test parses every row of the table"))
        });
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
            patterns: defaults
                .chain(shared)
                .chain(own)
                .collect::<Result<_, _>>()?,
            named: of_protocol.iter().chain(patterns).cloned().collect(),
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

    /// The patterns of the protocol and the root's own, without the names every root protects.
    pub(super) fn named(&self) -> &[String] {
        &self.named
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
        Protection::parse("tools.roots[0].protect", false, &patterns).unwrap()
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
    fn a_vault_protects_its_scripts_its_registry_and_compiled_python_unasked() {
        let covered = |vault, path| {
            let protection = Protection::parse("tools.roots[0].protect", vault, &[]).unwrap();
            protection.covers(&RelPath::parse(path).unwrap())
        };

        for path in [
            "tools/validate_vault.py",
            "tools/json.py",
            "docs/ID-REGISTRY.txt",
            "a/b.pyc",
        ] {
            assert_eq!(
                (covered(true, path), covered(false, path)),
                (true, false),
                "{path}"
            );
        }
        assert!(!covered(true, "docs/RECORDS.md"));
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
            let refused = Protection::parse("p", false, &[pattern.to_owned()]).unwrap_err();
            assert_eq!(refused.field, "p[0]", "{pattern}");
        }
    }
}
