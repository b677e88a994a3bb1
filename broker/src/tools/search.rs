//! `search`: finds lines in the text files below a folder. It walks by descriptors, shows nothing of a file that
//! `read_file` would refuse, and says what it did not look into.
//!
//! One reason is never counted: that a file holds a credential. Only files with hits are scanned for one, so a count would
//! tell, query by query, what the credential reads. The answer is the same whether such a file matches or not, and every
//! answer says that such files are withheld.

mod excerpt;
mod look;
mod pattern;
mod report;

use mosaic_proto::v1::SearchRequest;

use self::look::look;
use self::pattern::Pattern;
use self::report::Report;
use super::{Outcome, Tool, optional_path, with_any_root};
use crate::cancel::Cancel;
use crate::facts::Facts;
use crate::fence::walk::Walk;
use crate::fence::{Reach, credential};
use crate::limits;
use crate::policy::hex_digest;
use crate::refusal::Refusal;

pub(super) const TOOL: Tool = Tool {
    name: "search",
    description: "Finds lines in the text files of a root, up to 200, with their file and line number. The query is a \
                  literal unless regex is true; a match never spans lines. Files that read_file would refuse are \
                  withheld; hidden names are left out.",
    json_schema: r#"{
        "type": "object",
        "properties": {
            "root": {"type": "string", "description": "Name of a root."},
            "query": {"type": "string", "minLength": 1, "description": "Text to find, within one line."},
            "path": {"type": "string", "description": "Folder or file to search. Leave it out for the whole root."},
            "regex": {"type": "boolean", "description": "Read the query as a regular expression, without look-around and back-references."},
            "ignore_case": {"type": "boolean", "description": "Let a match A."},
            "context_lines": {"type": "integer", "minimum": 0, "maximum": 5, "description": "Lines to show before and after each hit."}
        },
        "required": ["root", "query"],
        "additionalProperties": false
    }"#,
    rpc_path: "/mosaic.broker.v1.Tools/Search",
    offered: with_any_root,
};

/// A search that passed, standing at its first file.
#[derive(Debug)]
pub(super) struct Searchable {
    walk: Walk,
    pattern: Pattern,
    context: usize,
}

pub(super) fn clear(
    request: &SearchRequest,
    reach: &Reach,
    facts: &mut Facts,
) -> Result<Searchable, Refusal> {
    let query = &request.query;
    facts.count("query_bytes", query.len());
    facts.text("query_sha256", hex_digest(query.as_bytes()));
    let root = reach.root(&request.root)?;
    let path = optional_path(request.path.as_deref())?;
    if let Some(shape) = credential::find(query.as_bytes()) {
        return Err(Refusal::QueryCredential { shape });
    }
    let context = request.context_lines.unwrap_or(0);
    if context > limits::SEARCH_CONTEXT_LINES {
        return Err(Refusal::ContextLines);
    }
    let pattern = Pattern::new(
        query,
        request.regex.unwrap_or(false),
        request.ignore_case.unwrap_or(false),
    )?;
    let walk = Walk::begin(&root, path.as_ref())?;
    Ok(Searchable {
        walk,
        pattern,
        context: usize::try_from(context).unwrap_or(0),
    })
}

impl Searchable {
    pub(super) fn perform(self, mut facts: Facts, cancel: &Cancel) -> Outcome {
        let looked = look(self.walk, &self.pattern, self.context, cancel);
        if cancel.is_cancelled() {
            return Outcome::Refused(Refusal::Cancelled, facts);
        }
        let report = Report::make(looked);
        report.count(&mut facts);
        Outcome::Done {
            text: report.into_text(),
            facts,
        }
    }
}
