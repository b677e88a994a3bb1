//! `search`: finds lines in the text files below a folder. It walks by descriptors, judges every file by the rule of
//! `read_file` before it looks for anything in it, and says what it did not look into.
//!
//! The order matters: a file is withheld because of what it is, whether or not the query occurs in it. If only matching
//! files were judged, the number of withheld ones would tell, question by question, what a credential reads.

mod pattern;
mod report;

use std::time::Instant;

use mosaic_proto::v1::SearchRequest;

use self::pattern::Pattern;
use self::report::{Report, Stop};
use super::{Outcome, Tool, optional_path, with_any_root};
use crate::cancel::Cancel;
use crate::effect;
use crate::facts::Facts;
use crate::fence::content::judge_read;
use crate::fence::walk::{Step, Walk};
use crate::fence::{Reach, credential};
use crate::limits;
use crate::policy::hex_digest;
use crate::refusal::Refusal;

pub(super) const TOOL: Tool = Tool {
    name: "search",
    description: "Finds lines in the text files of a root, up to 200, with their file and line number. The query is a \
                  literal unless regex is true; a match never spans lines. Files that read_file would refuse are \
                  withheld and counted; hidden names are left out.",
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
        let started = Instant::now();
        let mut bytes_read: u64 = 0;
        let mut scratch = Vec::new();
        let mut report = Report::new(limits::SEARCH_LINES, self.context);
        for step in self.walk {
            if cancel.is_cancelled() {
                return Outcome::Refused(Refusal::Cancelled, facts);
            }
            if report.is_full() {
                break;
            }
            if started.elapsed() > limits::SEARCH_TIME || bytes_read > limits::SEARCH_BYTES {
                report.stop(Stop::Budget);
                break;
            }
            let (path, file) = match step {
                Step::File(path, file) => (path, file),
                Step::LeftOut(refusal) => {
                    report.withhold(&refusal);
                    continue;
                }
                Step::Beyond(count) => {
                    report.beyond(count);
                    continue;
                }
            };
            let judged = match effect::read::whole(&file, &mut scratch) {
                Ok(bytes) => {
                    bytes_read += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                    judge_read(bytes, file.limit())
                }
                Err(_) => Err(Refusal::Storage),
            };
            match judged {
                Ok(text) => report.file(&path, text, &self.pattern),
                Err(refusal) => report.withhold(&refusal),
            }
        }
        report.count(&mut facts);
        facts.number("bytes_read", bytes_read);
        Outcome::Done {
            text: report.into_text(),
            facts,
        }
    }
}
