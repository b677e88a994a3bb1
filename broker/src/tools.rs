//! The verbs: one file each (text for the model, arguments, fences, act) and one line in the table. Everything an engine
//! or an operator sees of a verb is derived from here. A verb joins fences and effects; it knows no turn, no ledger and
//! no wire.

mod edit_file;
mod list_dir;
mod read_file;
mod search;
mod write_file;

use mosaic_proto::v1;

use crate::cancel::Cancel;
use crate::effect::Trouble;
use crate::facts::Facts;
use crate::fence::{Reach, RelPath, shown};
use crate::limits;
use crate::policy::Policy;
use crate::refusal::Refusal;

/// What an engine registers of a verb.
#[derive(Debug)]
pub struct Tool {
    /// The name the model calls it by.
    pub name: &'static str,
    /// What it does and what it refuses, for the model.
    pub description: &'static str,
    /// JSON Schema of the arguments; property names are the field names of the request message.
    pub json_schema: &'static str,
    /// Full rpc path.
    pub rpc_path: &'static str,
    /// Whether a binding offers it.
    pub offered: fn(&Policy) -> bool,
}

/// Every verb there is, in the order an engine lists them.
pub const TABLE: &[Tool] = &[
    list_dir::TOOL,
    read_file::TOOL,
    search::TOOL,
    write_file::TOOL,
    edit_file::TOOL,
];

/// The verbs a binding offers.
#[must_use]
pub fn enabled(policy: &Policy) -> Vec<&'static Tool> {
    TABLE.iter().filter(|tool| (tool.offered)(policy)).collect()
}

fn with_any_root(policy: &Policy) -> bool {
    !policy.roots().is_empty()
}

/// How long a verb may keep its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// A handful of system calls, none of which waits for a disk to confirm.
    Brief,
    /// It searches, or waits until something is on disk.
    Long,
}

/// One call, as the wire typed it.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// `list_dir`
    ListDir(v1::ListDirRequest),
    /// `read_file`
    ReadFile(v1::ReadFileRequest),
    /// `search`
    Search(v1::SearchRequest),
    /// `write_file`
    WriteFile(v1::WriteFileRequest),
    /// `edit_file`
    EditFile(v1::EditFileRequest),
}

impl Request {
    /// The verb that is called.
    #[must_use]
    pub fn tool(&self) -> &'static Tool {
        match self {
            Request::ListDir(_) => &list_dir::TOOL,
            Request::ReadFile(_) => &read_file::TOOL,
            Request::Search(_) => &search::TOOL,
            Request::WriteFile(_) => &write_file::TOOL,
            Request::EditFile(_) => &edit_file::TOOL,
        }
    }

    /// How long the verb may keep its thread.
    pub(crate) fn pace(&self) -> Pace {
        match self {
            Request::ListDir(_) | Request::ReadFile(_) => Pace::Brief,
            Request::Search(_) | Request::WriteFile(_) | Request::EditFile(_) => Pace::Long,
        }
    }

    /// The root and the path as they were given.
    fn place(&self) -> (&str, Option<&str>) {
        match self {
            Request::ListDir(request) => (&request.root, request.path.as_deref()),
            Request::ReadFile(request) => (&request.root, Some(&request.path)),
            Request::Search(request) => (&request.root, request.path.as_deref()),
            Request::WriteFile(request) => (&request.root, Some(&request.path)),
            Request::EditFile(request) => (&request.root, Some(&request.path)),
        }
    }
}

macro_rules! request_from {
    ($($verb:ident($message:ident)),+) => {
        $(impl From<v1::$message> for Request {
            fn from(message: v1::$message) -> Request {
                Request::$verb(message)
            }
        })+
    };
}
request_from!(
    ListDir(ListDirRequest),
    ReadFile(ReadFileRequest),
    Search(SearchRequest),
    WriteFile(WriteFileRequest),
    EditFile(EditFileRequest)
);

/// A call the fences have passed. Nothing has been touched yet.
#[derive(Debug)]
pub struct Cleared {
    facts: Facts,
    act: Act,
}

#[derive(Debug)]
enum Act {
    List(list_dir::Listable),
    Read(read_file::Readable),
    Search(Box<search::Searchable>),
    Write(write_file::Writable),
}

/// A call the fences have refused, with what is known of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Denied {
    /// Why.
    pub refusal: Refusal,
    /// The root and the path as they were given, escaped and cut.
    pub facts: Facts,
}

/// How a cleared call ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was done.
    Done {
        /// What the model reads.
        text: String,
        /// What the ledger holds.
        facts: Facts,
    },
    /// A fence refused it on the way: what was in the file, or what had changed meanwhile. Nothing was changed.
    Refused(Refusal, Facts),
    /// The act was begun and undone.
    Failed(Refusal, Facts),
}

/// Walks the fences of one call. Looks only, and changes nothing; blocks on the disk.
///
/// # Errors
///
/// The refusal, with the facts known so far.
pub fn clear(request: Request, reach: &Reach, cancel: &Cancel) -> Result<Cleared, Denied> {
    let mut facts = Facts::new();
    let (root, path) = request.place();
    facts.text("root", shown::argument(root, limits::SHOWN_ARGUMENT_CHARS));
    if let Some(path) = path {
        facts.text("path", shown::argument(path, limits::SHOWN_ARGUMENT_CHARS));
    }
    match pass(request, reach, cancel, &mut facts) {
        Ok(act) => Ok(Cleared { facts, act }),
        Err(refusal) => Err(Denied { refusal, facts }),
    }
}

fn pass(
    request: Request,
    reach: &Reach,
    cancel: &Cancel,
    facts: &mut Facts,
) -> Result<Act, Refusal> {
    if !(request.tool().offered)(reach.policy()) {
        return Err(Refusal::VerbNotOffered);
    }
    if cancel.is_cancelled() {
        return Err(Refusal::Cancelled);
    }
    match request {
        Request::ListDir(request) => list_dir::clear(&request, reach).map(Act::List),
        Request::ReadFile(request) => read_file::clear(&request, reach, facts).map(Act::Read),
        Request::Search(request) => {
            search::clear(&request, reach, facts).map(|found| Act::Search(Box::new(found)))
        }
        Request::WriteFile(request) => write_file::clear(request, reach, facts).map(Act::Write),
        Request::EditFile(request) => edit_file::clear(&request, reach, facts).map(Act::Write),
    }
}

impl Cleared {
    /// What the ledger writes down before the act. For a write it names the temp file, so that a start after a crash
    /// can tell its own leftovers.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Whether the act changes anything: then the ledger line has to be on disk first.
    #[must_use]
    pub fn changes(&self) -> bool {
        matches!(self.act, Act::Write(_))
    }

    /// Acts. Blocks on the disk.
    #[must_use]
    pub fn perform(self, cancel: &Cancel) -> Outcome {
        match self.act {
            Act::List(listable) => listable.perform(self.facts),
            Act::Read(readable) => readable.perform(self.facts),
            Act::Search(searchable) => searchable.perform(self.facts, cancel),
            Act::Write(writable) => writable.perform(self.facts, cancel),
        }
    }
}

/// An optional path: absent means the root itself, empty is a mistake.
fn optional_path(path: Option<&str>) -> Result<Option<RelPath>, Refusal> {
    path.map(RelPath::parse).transpose()
}

/// What a failed effect means for the call.
fn after_trouble(trouble: Trouble, mut facts: Facts) -> Outcome {
    match trouble {
        Trouble::Changed => Outcome::Refused(Refusal::Changed, facts),
        Trouble::Cancelled => Outcome::Refused(Refusal::Cancelled, facts),
        Trouble::NoSpace => Outcome::Failed(Refusal::NoSpace, facts),
        Trouble::Storage => Outcome::Failed(Refusal::Storage, facts),
        Trouble::LeftBehind => {
            facts.flag("left_behind", true);
            Outcome::Failed(Refusal::LeftBehind, facts)
        }
    }
}
