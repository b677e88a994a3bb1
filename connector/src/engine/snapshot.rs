//! The record of a launch: what pi was told and how it was started, written before it starts. It also writes the file
//! pi reads its system prompt from, so that the record and the prompt cannot differ.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::{agent_folder::write_new, install::Install, launch::EngineSpec};

/// What `launches/<time>.json` holds. It is a record of the operator's, 0600: the context texts are in it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Launch<'a> {
    version: u32,
    launched_at: String,
    connector: &'static str,
    binding: &'a str,
    install: &'a Install,
    prompt: Prompt<'a>,
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
    tools: &'a [String],
    policy_digest: &'a str,
    sandbox: &'a str,
}

/// The system prompt, whole and by parts.
#[derive(Serialize)]
struct Prompt<'a> {
    sha256: String,
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
struct Part<'a> {
    name: &'a str,
    sha256: String,
    text: &'a str,
}

/// Where the files of a launch are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LaunchFiles {
    pub(super) prompt: PathBuf,
    record: PathBuf,
}

impl LaunchFiles {
    /// Names for a launch at `now`, to the millisecond.
    pub(super) fn at(launches: &Path, now: Timestamp) -> Self {
        let time = now.strftime("%Y-%m-%dT%H-%M-%S-%3fZ").to_string();
        Self {
            prompt: launches.join(format!("{time}.prompt.md")),
            record: launches.join(format!("{time}.json")),
        }
    }

    /// Writes both, prompt first.
    pub(super) fn write(&self, spec: &EngineSpec, now: Timestamp) -> io::Result<()> {
        let text = spec.prompt.text();
        write_new(&self.prompt, text.as_bytes())?;
        let launch = Launch {
            version: 1,
            launched_at: format!("{now:.3}"),
            connector: env!("CARGO_PKG_VERSION"),
            binding: &spec.binding,
            install: &spec.install,
            prompt: Prompt {
                sha256: sha256(text.as_bytes()),
                parts: spec
                    .prompt
                    .parts()
                    .iter()
                    .map(|part| Part {
                        name: &part.name,
                        sha256: sha256(part.text.as_bytes()),
                        text: &part.text,
                    })
                    .collect(),
            },
            arguments: spec.arguments(&self.prompt).iter().map(shown).collect(),
            environment: spec
                .environment()
                .into_iter()
                .map(|(name, value)| (name, shown(&value)))
                .collect(),
            tools: &spec.tools,
            policy_digest: &spec.policy_digest,
            sandbox: &spec.sandbox,
        };
        let mut record = serde_json::to_vec_pretty(&launch)?;
        record.push(b'\n');
        write_new(&self.record, &record)
    }
}

fn shown(word: &OsString) -> String {
    word.to_string_lossy().into_owned()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;
    use crate::engine::launch::tests::spec;

    #[test]
    fn a_launch_leaves_the_prompt_and_its_record_private() {
        let folder = tempfile::tempdir().unwrap();
        let now: Timestamp = "2026-11-30T22:01:02.345Z".parse().unwrap();
        let files = LaunchFiles::at(folder.path(), now);

        files.write(&spec(), now).unwrap();

        let names = [
            "2026-11-30T22-01-02-345Z.prompt.md",
            "2026-11-30T22-01-02-345Z.json",
        ];
        for name in names {
            let mode = fs::metadata(folder.path().join(name))
                .unwrap()
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        let prompt = fs::read_to_string(&files.prompt).unwrap();
        let record: serde_json::Value =
            serde_json::from_slice(&fs::read(&files.record).unwrap()).unwrap();
        assert_eq!(record["launchedAt"], "2026-11-30T22:01:02.345Z");
        assert_eq!(record["prompt"]["sha256"], sha256(prompt.as_bytes()));
        assert_eq!(record["prompt"]["parts"][1]["text"], "One root.");
        assert_eq!(
            record["tools"],
            serde_json::json!(["list_dir", "read_file"])
        );
    }

    #[test]
    fn two_launches_in_one_millisecond_do_not_share_a_record() {
        let folder = tempfile::tempdir().unwrap();
        let now = Timestamp::UNIX_EPOCH;
        let files = LaunchFiles::at(folder.path(), now);
        files.write(&spec(), now).unwrap();

        assert_eq!(
            files.write(&spec(), now).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
    }
}
