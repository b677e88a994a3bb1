//! The tree as something to hold rules against: its sources, its pages and what cargo says of it. It knows where files lie
//! and nothing of what any of them must look like; the rules are the tests.

#![forbid(unsafe_code)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// Folders that are not ours: what was built and what was installed.
const FOREIGN: &[&str] = &["target", "node_modules", ".git", "corpus", "artifacts"];

/// What the programs are built for; `deny.toml` names the same.
pub const PLATFORMS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// One text file of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Where it lies, from the top of the tree.
    pub path: String,
    /// All of it.
    pub text: String,
}

impl Source {
    /// What runs in production: without items that are compiled for tests only and without lines that are comments. String
    /// literals stay, since a word in one is a word the program says. Relies on rustfmt: an item ends at the margin.
    #[must_use]
    pub fn code(&self) -> String {
        if self.path.ends_with("/tests.rs") || self.path.contains("/tests/") {
            return String::new();
        }
        let mut kept = String::new();
        let mut in_test = false;
        for line in self.text.lines() {
            in_test |= line.starts_with("#[cfg(test)]");
            if !in_test && !line.trim_start().starts_with("//") {
                kept += line;
                kept.push('\n');
            }
            let item_ends = line == "}" || (line.ends_with(';') && !line.starts_with(' '));
            in_test &= !item_ends;
        }
        kept
    }
}

/// The top of the tree.
#[must_use]
pub fn top() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("this crate lies two folders below the top")
        .to_owned()
}

/// Every text file below a folder of the tree, in order; `""` is the whole tree. What git ignores and bytes that are no
/// text are left out.
///
/// # Panics
/// When the folder cannot be read or holds nothing: a rule over nothing would always hold.
#[must_use]
pub fn sources(below: &str) -> Vec<Source> {
    let mut found = Vec::new();
    let mut folders = vec![top().join(below)];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{} cannot be listed: {error}", folder.display()));
        for entry in entries {
            let path = entry.expect("an entry that was listed can be read").path();
            let name = path.file_name().and_then(|name| name.to_str());
            if name.is_some_and(|name| FOREIGN.contains(&name)) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                let path = relative(&path);
                found.push(Source { path, text });
            }
        }
    }
    assert!(!found.is_empty(), "there is nothing below {below:?}");
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// The Rust sources below a folder.
///
/// # Panics
/// As [`sources`].
#[must_use]
pub fn rust(below: &str) -> Vec<Source> {
    let mut found = sources(below);
    found.retain(|source| source.path.ends_with(".rs"));
    assert!(!found.is_empty(), "there is no Rust below {below:?}");
    found
}

/// One file of the tree.
///
/// # Panics
/// When it is not there.
#[must_use]
pub fn page(path: &str) -> String {
    fs::read_to_string(top().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A path of this machine as one of the tree.
///
/// # Panics
/// When it lies elsewhere.
#[must_use]
pub fn relative(path: &Path) -> String {
    let below = path.strip_prefix(top());
    let below = below.unwrap_or_else(|_| panic!("{} is not of this tree", path.display()));
    below.to_string_lossy().into_owned()
}

/// Where a word stands in a text as a word of its own: not as a part of a longer name.
#[must_use]
pub fn has_word(text: &str, word: &str) -> bool {
    let of_a_name = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        let longer_before = word.starts_with(of_a_name) && before.is_some_and(of_a_name);
        let longer_after = word.ends_with(of_a_name) && after.is_some_and(of_a_name);
        !longer_before && !longer_after
    })
}

/// What `cargo metadata` says, for the platforms served, without asking a registry.
///
/// # Panics
/// When cargo fails, with its words.
#[must_use]
pub fn metadata() -> Value {
    let told = Command::new(env!("CARGO"))
        .current_dir(top())
        .args(["metadata", "--format-version=1", "--locked", "--offline"])
        .args(PLATFORMS.map(|platform| format!("--filter-platform={platform}")))
        .output()
        .expect("the cargo that built this can be started");
    assert!(
        told.status.success(),
        "{}",
        String::from_utf8_lossy(&told.stderr)
    );
    serde_json::from_slice(&told.stdout).expect("cargo writes JSON")
}

/// The packages of the workspace.
#[must_use]
pub fn members(metadata: &Value) -> Vec<&Value> {
    list(&metadata["packages"])
        .iter()
        .filter(|package| package["source"].is_null())
        .collect()
}

/// A JSON list; nothing where there is none.
#[must_use]
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A JSON text; empty where there is none.
#[must_use]
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_what_is_left_without_tests_and_comments() {
        let source = Source {
            path: "broker/src/x.rs".to_owned(),
            text: "// no\nmod a;\n#[cfg(test)]\nmod b;\nfn c() {\n    d(); // e\n}\n#[cfg(test)]\n#[expect(f)]\nfn g() {\n    h();\n}\nmod i;\n"
                .to_owned(),
        };
        assert_eq!(
            source.code(),
            "mod a;\nfn c() {\n    d(); // e\n}\nmod i;\n"
        );
    }

    #[test]
    fn a_word_is_not_a_part_of_a_longer_name() {
        for (line, word, expected) in [
            ("let pi = 3;", "pi", true),
            ("spin", "pi", false),
            ("fs::read", "fs::", true),
            ("dfs::read", "fs::", false),
            ("\"git\"", "\"git\"", true),
        ] {
            assert_eq!(has_word(line, word), expected, "{word} in {line}");
        }
    }
}
