//! `write_file`: creates or replaces one file of a writable root. Its act is that of `edit_file` too.

use mosaic_proto::v1::WriteFileRequest;

use super::{Outcome, Tool, after_trouble};
use crate::cancel::Cancel;
use crate::effect;
use crate::facts::Facts;
use crate::fence::content::NewText;
use crate::fence::target::{Standing, Target};
use crate::fence::{Reach, RelPath};
use crate::policy::{Policy, hex_digest};
use crate::refusal::Refusal;

pub(super) const TOOL: Tool = Tool {
    name: "write_file",
    description: "Creates one text file in a writable root, or replaces it whole. The folder must exist; none is \
                  created. Refused are hidden and protected names, links, text over the size limit, and text that \
                  holds what looks like a credential. The file is changed and not committed.",
    json_schema: r#"{
        "type": "object",
        "properties": {
            "root": {"type": "string", "description": "Name of a writable root."},
            "path": {"type": "string", "description": "File below the root, in an existing folder."},
            "text": {"type": "string", "description": "The whole new content."}
        },
        "required": ["root", "path", "text"],
        "additionalProperties": false
    }"#,
    rpc_path: "/mosaic.broker.v1.Tools/WriteFile",
    offered: Policy::has_writable_root,
};

/// A target and a text that passed.
#[derive(Debug)]
pub(super) struct Writable {
    target: Target,
    text: NewText,
}

pub(super) fn clear(
    request: WriteFileRequest,
    reach: &Reach,
    facts: &mut Facts,
) -> Result<Writable, Refusal> {
    let root = reach.writable_root(&request.root)?;
    let path = RelPath::parse(&request.path)?;
    let text = NewText::judge(request.text, root.reading().max_file_bytes())?;
    let target = Target::check(&root, &path, nonce()?)?;
    Ok(Writable::new(&path, target, text, facts))
}

impl Writable {
    pub(super) fn new(
        path: &RelPath,
        target: Target,
        text: NewText,
        facts: &mut Facts,
    ) -> Writable {
        // Whole and as it is, because a start after a crash looks for the temp file there. A parsed path has no
        // character that ends a line or turns it.
        facts.text("path", path.as_str());
        facts.count("bytes", text.as_bytes().len());
        facts.text("sha256", hex_digest(text.as_bytes()));
        facts.text("temp", target.temp().as_str());
        match target.standing() {
            Standing::Absent => facts.flag("created", true),
            Standing::Present { identity, .. } => {
                facts.flag("created", false);
                facts.text("replaces", identity.place());
            }
        }
        Writable { target, text }
    }

    pub(super) fn perform(self, mut facts: Facts, cancel: &Cancel) -> Outcome {
        let replaced = match effect::replace::replace(&self.target, &self.text, cancel) {
            Ok(replaced) => replaced,
            Err(trouble) => return after_trouble(trouble, facts),
        };
        facts.flag("synced", replaced.synced);
        let did = match self.target.standing() {
            Standing::Absent => "Created",
            Standing::Present { .. } => "Replaced",
        };
        let mut text = format!(
            "{did}: {} bytes. The file is changed in its folder and not committed.",
            self.text.as_bytes().len()
        );
        if !replaced.synced {
            text += " The disk did not confirm it; it may be lost when the host loses power now.";
        }
        Outcome::Done { text, facts }
    }
}

/// Sixteen random bytes for the name of a temp file.
pub(super) fn nonce() -> Result<[u8; 16], Refusal> {
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce).map_err(|_| Refusal::CheckFailed)?;
    Ok(nonce)
}
