//! `list_dir`: what is in a folder, by name, kind and size.

use mosaic_proto::v1::ListDirRequest;

use super::{Outcome, Tool, optional_path, with_any_root};
use crate::facts::Facts;
use crate::fence::Reach;
use crate::fence::folder::{Entry, Folder, Kind};
use crate::limits;
use crate::refusal::Refusal;

pub(super) const TOOL: Tool = Tool {
    name: "list_dir",
    description: "Lists one folder of a root: the kind, the size in bytes and the name of each entry, sorted by name, \
                  up to 500. Hidden names are left out. Entries that cannot be read are shown with the reason; \
                  characters that do not print are written as \\u{…}.",
    json_schema: r#"{
        "type": "object",
        "properties": {
            "root": {"type": "string", "description": "Name of a root."},
            "path": {"type": "string", "description": "Folder below the root, such as notes/2026. Leave it out for the top of the root."}
        },
        "required": ["root"],
        "additionalProperties": false
    }"#,
    rpc_path: "/mosaic.broker.v1.Tools/ListDir",
    offered: with_any_root,
};

/// A folder that passed.
#[derive(Debug)]
pub(super) struct Listable {
    folder: Folder,
}

pub(super) fn clear(request: &ListDirRequest, reach: &Reach) -> Result<Listable, Refusal> {
    let root = reach.root(&request.root)?;
    let path = optional_path(request.path.as_deref())?;
    Ok(Listable {
        folder: Folder::open(&root, path.as_ref())?,
    })
}

impl Listable {
    pub(super) fn perform(self, mut facts: Facts) -> Outcome {
        let listing = match self.folder.list(limits::LISTED_ENTRIES) {
            Ok(listing) => listing,
            Err(refusal) => return Outcome::Refused(refusal, facts),
        };
        facts.count("entries", listing.entries.len());
        facts.number("left_out", listing.left_out);
        let mut text: String = listing.entries.iter().map(line).collect();
        if listing.entries.is_empty() {
            text.push_str("The folder is empty.\n");
        }
        if listing.left_out > 0 {
            text += &format!("{} more entries are not shown.\n", listing.left_out);
        }
        Outcome::Done { text, facts }
    }
}

fn line(entry: &Entry) -> String {
    match &entry.kind {
        Kind::Folder => format!("folder {}/\n", entry.name),
        Kind::File(size) => format!("file {size} {}\n", entry.name),
        Kind::OutOfReach(refusal) => {
            format!("other {} (not readable: {})\n", entry.name, refusal.code())
        }
    }
}
