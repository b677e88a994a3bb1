//! What must hold whatever the bytes: one function for each parser that stands before something worth having. Fuzz targets
//! call them with bytes they make up, `broker/tests/corpus.rs` with the bytes that were kept.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::PathBuf,
};

use mosaic_broker::{
    cancel::Cancel,
    fence::{
        Reach, RelPath,
        content::{NewText, Text},
        credential,
    },
    policy::Policy,
    tools::{self, Outcome, Request},
};
use mosaic_proto::v1;
use prost::Message as _;

/// Bytes a text may have in these properties.
const LIMIT: u64 = 4096;

/// An accepted path is spelled as it was given, in plain segments, and comes apart where its last slash is.
pub(crate) fn relpath(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(path) = RelPath::parse(text) else {
        return;
    };
    assert_eq!(path.as_str(), text);
    assert!(text.len() <= 1024);
    for segment in text.split('/') {
        assert!(!segment.is_empty() && !segment.starts_with('.') && segment.len() <= 255);
        assert!(!segment.chars().any(|c| c.is_control() || c == '\\'));
    }
    let (folder, name) = path.split_last();
    let joined = folder.map_or(name.to_owned(), |folder| {
        format!("{}/{name}", folder.as_str())
    });
    assert_eq!(joined, text);
    // Judged by the same letters, whatever stands on the disk.
    let _ = path.may_be_created();
}

/// What is found is found again on a line of its own, wherever that line stands in a text.
pub(crate) fn credential(bytes: &[u8]) {
    let Some(shape) = credential::find(bytes) else {
        return;
    };
    let amid = [b"before\n".as_slice(), bytes, b"\nafter".as_slice()].concat();
    let found = credential::find(&amid);
    assert!(found.is_some(), "{shape} is lost between two lines");
}

/// An edit is what replacing the only occurrence would be, or a refusal; what comes out passes what a read demands.
pub(crate) fn edit(bytes: &[u8]) {
    let parts: Vec<_> = bytes.splitn(3, |byte| *byte == 0xff).collect();
    let [text, old, new] = parts[..] else { return };
    let Ok(text) = Text::judge(text.to_vec(), LIMIT) else {
        return;
    };
    let (Ok(old), Ok(new)) = (std::str::from_utf8(old), std::str::from_utf8(new)) else {
        return;
    };
    let edited = NewText::edit(&text, old, new, LIMIT);
    let occurrences = (0..text.as_str().len())
        .filter(|at| !old.is_empty() && text.as_str().as_bytes()[*at..].starts_with(old.as_bytes()))
        .count();
    let Ok(edited) = edited else {
        return;
    };
    assert_eq!(occurrences, 1);
    assert_eq!(
        edited.as_bytes(),
        text.as_str().replacen(old, new, 1).as_bytes()
    );
    let read_back = Text::judge(edited.as_bytes().to_vec(), LIMIT);
    assert!(read_back.is_ok(), "written and not readable: {read_back:?}");
}

/// A request that decodes is answered; it leaves everything outside the writable root as it was, no hidden file inside, and
/// tells nothing of the host.
pub(crate) fn request(bytes: &[u8]) {
    let Some(request) = decode(bytes) else { return };
    GROUND.with_borrow_mut(|kept| {
        if kept
            .as_ref()
            .is_none_or(|ground| ground.calls >= CALLS_A_GROUND)
        {
            *kept = Some(Ground::new());
        }
        let ground = kept.as_mut().expect("it was just laid");
        ground.calls += 1;
        ground.answer(request, bytes);
    });
}

fn decode(bytes: &[u8]) -> Option<Request> {
    let (kind, message) = bytes.split_first()?;
    Some(match kind % 5 {
        0 => v1::ListDirRequest::decode(message).ok()?.into(),
        1 => v1::ReadFileRequest::decode(message).ok()?.into(),
        2 => v1::SearchRequest::decode(message).ok()?.into(),
        3 => v1::WriteFileRequest::decode(message).ok()?.into(),
        _ => v1::EditFileRequest::decode(message).ok()?.into(),
    })
}

/// Calls before the ground is laid anew, so that what was written does not slow the next million.
const CALLS_A_GROUND: u32 = 1_000;

/// What no answer may hold.
const SECRET: &str = "a secret outside 5f0c2e";

thread_local! {
    static GROUND: RefCell<Option<Ground>> = const { RefCell::new(None) };
}

/// A writable root with ways out of it, a root for reading, and what must stay as it is.
struct Ground {
    folder: tempfile::TempDir,
    reach: Reach,
    untouched: BTreeMap<PathBuf, Vec<u8>>,
    calls: u32,
}

impl Ground {
    fn new() -> Ground {
        let prefix = tempfile::Builder::new().prefix("fuzz-").tempdir();
        let folder = prefix.expect("a temporary folder can be made");
        let place = |name: &str| folder.path().join(name);
        for name in ["vault", "vault/sub", "docs", "outside", "data"] {
            fs::create_dir(place(name)).expect("a folder can be made");
        }
        for name in ["vault/a.md", "vault/sub/b.md", "docs/a.md"] {
            fs::write(place(name), "alpha\nbeta\n").expect("a file can be written");
        }
        fs::write(place("outside/secret.md"), SECRET).expect("a file can be written");
        symlink(place("outside"), place("vault/way")).expect("a link can be made");
        symlink(place("outside/secret.md"), place("vault/link.md")).expect("a link can be made");
        fs::hard_link(place("outside/secret.md"), place("vault/twin.md"))
            .expect("a link can be made");
        let tools = serde_json::json!({
            "roots": [
                { "name": "vault", "path": place("vault"), "write": true },
                { "name": "docs", "path": place("docs") },
            ],
            "maxFileBytes": LIMIT,
        });
        let binding = place("data/b.json");
        fs::write(&binding, serde_json::json!({ "tools": tools }).to_string())
            .expect("a file can be written");
        fs::set_permissions(&binding, fs::Permissions::from_mode(0o600))
            .expect("a mode can be set");
        let policy = Policy::read(&binding, &place("data"), None).expect("the binding is good");
        let reach = Reach::open(policy).expect("the roots are there");
        let untouched = contents(&[place("outside"), place("docs")]);
        Ground {
            folder,
            reach,
            untouched,
            calls: 0,
        }
    }

    fn answer(&self, request: Request, bytes: &[u8]) {
        let cancel = Cancel::default();
        let said = match tools::clear(request, &self.reach, &cancel) {
            Ok(cleared) => match cleared.perform(&cancel) {
                Outcome::Done { text, .. } => text,
                Outcome::Refused(refusal, _) | Outcome::Failed(refusal, _) => refusal.text(),
            },
            Err(denied) => denied.refusal.text(),
        };

        let place = |name: &str| self.folder.path().join(name);
        assert_eq!(
            contents(&[place("outside"), place("docs")]),
            self.untouched,
            "something outside was changed"
        );
        let hidden = contents(&[place("vault")]).into_keys().find(|path| {
            path.file_name()
                .is_some_and(|name| name.as_encoded_bytes()[0] == b'.')
        });
        assert_eq!(hidden, None, "a temp file was left behind");
        let given = String::from_utf8_lossy(bytes);
        for unsaid in [SECRET, &self.folder.path().to_string_lossy()] {
            assert!(!said.contains(unsaid) || given.contains(unsaid), "{said}");
        }
    }
}

/// Every file below some folders with its bytes, links as what they name.
fn contents(folders: &[PathBuf]) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut next = folders.to_vec();
    while let Some(folder) = next.pop() {
        for entry in fs::read_dir(&folder).expect("the folder is there") {
            let path = entry.expect("an entry can be read").path();
            let kind = fs::symlink_metadata(&path)
                .expect("it is there")
                .file_type();
            if kind.is_dir() {
                next.push(path);
            } else if kind.is_symlink() {
                let target = fs::read_link(&path).expect("a link can be read");
                found.insert(path, target.into_os_string().into_encoded_bytes());
            } else {
                let bytes = fs::read(&path).expect("a file can be read");
                found.insert(path, bytes);
            }
        }
    }
    found
}
