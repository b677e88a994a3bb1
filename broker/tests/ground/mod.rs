//! Ground to stand on for the tests of the verbs: a folder with a binding, a writable root, a root for reading and a
//! place outside of both. Verbs are called as the desk calls them, without a desk.

#![allow(
    dead_code,
    clippy::allow_attributes,
    reason = "each test file takes what it needs of this"
)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use mosaic_broker::cancel::Cancel;
use mosaic_broker::facts::{Facts, Value};
use mosaic_broker::fence::Reach;
use mosaic_broker::policy::{Policy, PolicyError};
use mosaic_broker::tools::{self, Outcome, Request};
use mosaic_proto::v1;
use serde_json::json;

pub(crate) struct Ground {
    dir: tempfile::TempDir,
    pub(crate) reach: Reach,
}

/// How a call ended, flattened for comparing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// `done`, or the code of the refusal.
    pub(crate) code: &'static str,
    pub(crate) text: String,
    pub(crate) facts: Facts,
}

/// What stands at a path: type and mode, and the bytes or the target of a link.
pub(crate) type Tree = BTreeMap<PathBuf, (u32, Vec<u8>)>;

impl Ground {
    /// Root `vault` for writing, root `docs` for reading, files of up to 4,096 bytes.
    pub(crate) fn new() -> Ground {
        Ground::with(|dir| {
            json!({
                "roots": [
                    {"name": "vault", "path": dir.join("vault"), "write": true},
                    {"name": "docs", "path": dir.join("docs")},
                ],
                "maxFileBytes": 4096,
            })
        })
    }

    pub(crate) fn with(tools: impl FnOnce(&Path) -> serde_json::Value) -> Ground {
        let dir = folder();
        for name in ["vault", "docs", "outside"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let tools = tools(dir.path());
        let policy = policy(
            dir.path(),
            &json!({"bindingVersion": 1, "tools": tools}).to_string(),
        )
        .unwrap();
        Ground {
            reach: Reach::open(policy).unwrap(),
            dir,
        }
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn vault(&self, below: &str) -> PathBuf {
        self.dir().join("vault").join(below)
    }

    pub(crate) fn outside(&self, below: &str) -> PathBuf {
        self.dir().join("outside").join(below)
    }

    /// Puts a file below the writable root, with its folders.
    pub(crate) fn put(&self, below: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.vault(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Everything that is there, so that a test can say: nothing changed.
    pub(crate) fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        let mut folders = vec![self.dir().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let meta = fs::symlink_metadata(&path).unwrap();
                let content = if meta.is_symlink() {
                    fs::read_link(&path)
                        .unwrap()
                        .into_os_string()
                        .into_encoded_bytes()
                } else if meta.is_file() && meta.len() < 1_000_000 {
                    fs::read(&path).unwrap()
                } else {
                    Vec::new()
                };
                if meta.is_dir() {
                    folders.push(path.clone());
                }
                tree.insert(path, (meta.mode(), content));
            }
        }
        tree
    }

    /// Hidden names anywhere below the writable root: a temp file that was left would be one.
    pub(crate) fn hidden(&self) -> Vec<PathBuf> {
        self.tree()
            .into_keys()
            .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with('.'))
            .collect()
    }

    pub(crate) fn call(&self, request: impl Into<Request>) -> Answer {
        self.call_with(request, &Cancel::default())
    }

    pub(crate) fn call_with(&self, request: impl Into<Request>, cancel: &Cancel) -> Answer {
        call(&self.reach, request, cancel)
    }

    pub(crate) fn list(&self, root: &str, path: Option<&str>) -> Answer {
        self.call(v1::ListDirRequest {
            root: root.into(),
            path: path.map(Into::into),
        })
    }

    pub(crate) fn read(&self, root: &str, path: &str) -> Answer {
        self.call(v1::ReadFileRequest {
            root: root.into(),
            path: path.into(),
            ..Default::default()
        })
    }

    pub(crate) fn search(&self, root: &str, query: &str) -> Answer {
        self.call(v1::SearchRequest {
            root: root.into(),
            query: query.into(),
            ..Default::default()
        })
    }

    pub(crate) fn write(&self, root: &str, path: &str, text: &str) -> Answer {
        self.call(v1::WriteFileRequest {
            root: root.into(),
            path: path.into(),
            text: text.into(),
        })
    }

    pub(crate) fn edit(&self, root: &str, path: &str, old: &str, new: &str) -> Answer {
        self.call(v1::EditFileRequest {
            root: root.into(),
            path: path.into(),
            old: old.into(),
            new: new.into(),
        })
    }

    /// A refusal leaves no trace on the disk and tells nothing of the host.
    #[track_caller]
    pub(crate) fn refuses(&self, code: &str, attempt: impl FnOnce(&Ground) -> Answer) -> Answer {
        let answer = self.refuses_any(attempt);
        assert_eq!(answer.code, code, "{answer:?}");
        answer
    }

    /// The same for any reason.
    #[track_caller]
    pub(crate) fn refuses_any(&self, attempt: impl FnOnce(&Ground) -> Answer) -> Answer {
        let before = self.tree();
        let answer = attempt(self);
        assert_ne!(answer.code, "done", "{answer:?}");
        assert_eq!(self.tree(), before, "a refusal changes nothing");
        let told = format!("{} {:?}", answer.text, answer.facts);
        assert!(
            !told.contains(self.dir().to_str().unwrap()),
            "no host path: {told}"
        );
        assert!(!told.contains("os error"), "no errno: {told}");
        answer
    }
}

impl Answer {
    /// What a search found, without the sentence every search ends with.
    #[track_caller]
    pub(crate) fn found(&self) -> &str {
        let always = "Files that hold what looks like a credential are withheld, whether they match or not.\n";
        self.text
            .strip_suffix(always)
            .expect("every search says so")
    }

    pub(crate) fn number(&self, name: &str) -> u64 {
        match self.facts.get(name) {
            Some(Value::Number(number)) => *number,
            other => panic!("{name} is {other:?} in {self:?}"),
        }
    }

    pub(crate) fn fact(&self, name: &str) -> &str {
        match self.facts.get(name) {
            Some(Value::Text(text)) => text,
            other => panic!("{name} is {other:?} in {self:?}"),
        }
    }
}

/// Clears and performs, as the desk does.
pub(crate) fn call(reach: &Reach, request: impl Into<Request>, cancel: &Cancel) -> Answer {
    match tools::clear(request.into(), reach, cancel) {
        Err(denied) => Answer {
            code: denied.refusal.code(),
            text: denied.refusal.text(),
            facts: denied.facts,
        },
        Ok(cleared) => answer(cleared.perform(cancel)),
    }
}

pub(crate) fn answer(outcome: Outcome) -> Answer {
    match outcome {
        Outcome::Done { text, facts } => Answer {
            code: "done",
            text,
            facts,
        },
        Outcome::Refused(refusal, facts) | Outcome::Failed(refusal, facts) => Answer {
            code: refusal.code(),
            text: refusal.text(),
            facts,
        },
    }
}

/// A fresh folder whose path no rule about roots objects to.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::Builder::new()
        .prefix("mosaic-ground-")
        .tempdir_in("/tmp")
        .unwrap()
}

/// Writes a binding with this text below `dir` and reads it as the broker does, `dir/data` being the data root.
pub(crate) fn policy(dir: &Path, binding: &str) -> Result<Policy, PolicyError> {
    let data_root = dir.join("data");
    fs::create_dir_all(data_root.join("discord")).unwrap();
    let path = data_root.join("discord/seat.json");
    let _ = fs::remove_file(&path);
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .unwrap();
    std::io::Write::write_all(&mut file, binding.as_bytes()).unwrap();
    Policy::read(&path, &data_root, Some(&dir.join("home/me")))
}
