//! `edit_file`: replaces one string that occurs exactly once. The file is read by the rules of `read_file`, and the result
//! is written by those of `write_file` over the very file that was read.

use mosaic_proto::v1::EditFileRequest;

use super::Tool;
use super::write_file::{Writable, nonce};
use crate::effect;
use crate::facts::Facts;
use crate::fence::content::{NewText, Text};
use crate::fence::file::Checked;
use crate::fence::target::Target;
use crate::fence::{Reach, RelPath};
use crate::policy::Policy;
use crate::refusal::Refusal;

pub(super) const TOOL: Tool = Tool {
    name: "edit_file",
    description: "Replaces one string in a text file of a writable root. old must occur exactly once, matched letter \
                  for letter, blanks and line ends included; new is put in its place literally. Refused is whatever \
                  read_file or write_file would refuse. The file is changed and not committed.",
    json_schema: r#"{
        "type": "object",
        "properties": {
            "root": {"type": "string", "description": "Name of a writable root."},
            "path": {"type": "string", "description": "Existing file below the root."},
            "old": {"type": "string", "minLength": 1, "description": "Text that occurs exactly once in the file."},
            "new": {"type": "string", "description": "What stands there afterwards. Empty removes old."}
        },
        "required": ["root", "path", "old", "new"],
        "additionalProperties": false
    }"#,
    rpc_path: "/mosaic.broker.v1.Tools/EditFile",
    offered: Policy::has_writable_root,
};

pub(super) fn clear(
    request: &EditFileRequest,
    reach: &Reach,
    facts: &mut Facts,
) -> Result<Writable, Refusal> {
    let root = reach.writable_root(&request.root)?;
    let path = RelPath::parse(&request.path)?;
    let file = Checked::open(&root.reading(), &path)?;
    let target = Target::check_unchanged(&root, &path, file.identity(), nonce()?)?;

    let mut bytes = Vec::new();
    let length = effect::read::whole(&file, &mut bytes)
        .map_err(|_| Refusal::CheckFailed)?
        .len();
    bytes.truncate(length);
    let text = Text::judge(bytes, file.limit())?;
    let edited = NewText::edit(&text, &request.old, &request.new, file.limit())?;
    Ok(Writable::new(&path, target, edited, facts))
}
