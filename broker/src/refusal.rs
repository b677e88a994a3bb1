//! Every way a call can be refused: one closed list, each with a stable code for programs and one text for the model
//! that says what was refused and what would be accepted. No text holds a host path, an errno or content.

use crate::limits;

/// Why a call was not done, or was begun and undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    // The turn.
    /// No turn is open, or it was closed or aborted.
    NoOpenTurn,
    /// The turn has spent its calls.
    CallsSpent {
        /// `tools.maxCallsPerTurn` of the binding.
        limit: u32,
    },
    /// The binding does not offer this verb.
    VerbNotOffered,
    /// An approval was to be bound or submitted, and the binding names no record service.
    RecordsNotOffered,
    /// The ledger could not be written, so nothing was done.
    LedgerUnwritable,
    /// The caller went away before the act.
    Cancelled,

    // The root.
    /// No root has this name, letter for letter.
    RootUnknown,
    /// The root is for reading only.
    RootReadOnly,
    /// The root's folder was moved, removed or replaced since start (DESIGN, section 7, row 17).
    RootGone,

    // The path, by its letters alone.
    /// Nothing was named.
    PathEmpty,
    /// A NUL byte in the path.
    PathNul,
    /// A path from the top of the host.
    PathAbsolute,
    /// A backslash, which is no separator here.
    PathBackslash,
    /// Two slashes in a row, or one at the end.
    PathEmptySegment,
    /// A segment that begins with a dot: `.`, `..` or a hidden name.
    PathDotSegment,
    /// The whole path is too long.
    PathTooLong,
    /// One segment is too long.
    PathSegmentTooLong,
    /// Control or direction characters in the path.
    PathControlCharacter,
    /// A new name that would look like another one.
    NameDeceptive,

    // What is there.
    /// Nothing has this name.
    NotFound,
    /// The folder to write into does not exist.
    FolderMissing,
    /// A symbolic link on the way or at its end.
    Symlink,
    /// Another file system is mounted on the way.
    Mount,
    /// The operating system does not let the broker in.
    NotPermitted,
    /// A folder where a file was asked for.
    IsFolder,
    /// No folder where a folder was asked for, or a file in the middle of the path.
    NotAFolder,
    /// A pipe, socket or device.
    NotAFile,
    /// The file has a second name somewhere.
    ManyLinks,
    /// The file is larger than the binding allows.
    TooLarge {
        /// `tools.maxFileBytes` of the binding.
        limit: u64,
    },

    // What is in it.
    /// A NUL byte near the beginning.
    Binary,
    /// Not UTF-8.
    NotText,
    /// The content looks like it holds a credential.
    Credential {
        /// Name of the row in the table of shapes.
        shape: &'static str,
    },

    // Arguments.
    /// `from_line` or `lines` is zero.
    LinesZero,
    /// `from_line` lies behind the last line.
    LinesPastEnd {
        /// How many lines the file has.
        lines: u64,
    },
    /// The search query is empty.
    QueryEmpty,
    /// The search query is too long or spans lines.
    QueryTooLong,
    /// The regular expression does not compile within its bounds.
    QueryPattern,
    /// Too many context lines.
    ContextLines,
    /// The query itself looks like a credential (DESIGN, section 7, row 5).
    QueryCredential {
        /// Name of the row in the table of shapes.
        shape: &'static str,
    },

    // Writing.
    /// The binding protects this path.
    Protected,
    /// The text to write is larger than the binding allows.
    TextTooLarge {
        /// `tools.maxFileBytes` of the binding.
        limit: u64,
    },
    /// The text to write holds a NUL byte.
    TextNul,
    /// The text to write looks like it holds a credential.
    TextCredential {
        /// Name of the row in the table of shapes.
        shape: &'static str,
    },
    /// The target carries a set-id or sticky bit.
    SpecialBits,
    /// The target was changed or replaced by somebody else meanwhile.
    Changed,
    /// `old` is empty.
    EditOldEmpty,
    /// `old` and `new` are the same.
    EditNoChange,
    /// `old` does not occur.
    EditNotFound,
    /// `old` occurs more than once, overlapping occurrences counted.
    EditNotUnique,

    // The host.
    /// The disk is full.
    NoSpace,
    /// The operating system failed the act; nothing of it is left.
    Storage,
    /// The write did not come to a clean end: a hidden file is left beside the target.
    LeftBehind,
    /// A check itself could not be made. Never a pass.
    CheckFailed,
    /// The broker failed inside. Nothing is known to be wrong with the request.
    Internal,
}

impl Refusal {
    /// The stable code, for programs and the ledger.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Refusal::NoOpenTurn => "no_open_turn",
            Refusal::CallsSpent { .. } => "calls_spent",
            Refusal::VerbNotOffered => "verb_not_offered",
            Refusal::RecordsNotOffered => "records_not_offered",
            Refusal::LedgerUnwritable => "ledger_unwritable",
            Refusal::Cancelled => "cancelled",
            Refusal::RootUnknown => "root_unknown",
            Refusal::RootReadOnly => "root_read_only",
            Refusal::RootGone => "root_gone",
            Refusal::PathEmpty => "path_empty",
            Refusal::PathNul => "path_nul",
            Refusal::PathAbsolute => "path_absolute",
            Refusal::PathBackslash => "path_backslash",
            Refusal::PathEmptySegment => "path_empty_segment",
            Refusal::PathDotSegment => "path_dot_segment",
            Refusal::PathTooLong => "path_too_long",
            Refusal::PathSegmentTooLong => "path_segment_too_long",
            Refusal::PathControlCharacter => "path_control_character",
            Refusal::NameDeceptive => "name_deceptive",
            Refusal::NotFound => "not_found",
            Refusal::FolderMissing => "folder_missing",
            Refusal::Symlink => "symlink",
            Refusal::Mount => "mount",
            Refusal::NotPermitted => "not_permitted",
            Refusal::IsFolder => "is_folder",
            Refusal::NotAFolder => "not_a_folder",
            Refusal::NotAFile => "not_a_file",
            Refusal::ManyLinks => "many_links",
            Refusal::TooLarge { .. } => "too_large",
            Refusal::Binary => "binary",
            Refusal::NotText => "not_text",
            Refusal::Credential { .. } => "credential",
            Refusal::LinesZero => "lines_zero",
            Refusal::LinesPastEnd { .. } => "lines_past_end",
            Refusal::QueryEmpty => "query_empty",
            Refusal::QueryTooLong => "query_too_long",
            Refusal::QueryPattern => "query_pattern",
            Refusal::ContextLines => "context_lines",
            Refusal::QueryCredential { .. } => "query_credential",
            Refusal::Protected => "protected",
            Refusal::TextTooLarge { .. } => "text_too_large",
            Refusal::TextNul => "text_nul",
            Refusal::TextCredential { .. } => "text_credential",
            Refusal::SpecialBits => "special_bits",
            Refusal::Changed => "changed",
            Refusal::EditOldEmpty => "edit_old_empty",
            Refusal::EditNoChange => "edit_no_change",
            Refusal::EditNotFound => "edit_not_found",
            Refusal::EditNotUnique => "edit_not_unique",
            Refusal::NoSpace => "no_space",
            Refusal::Storage => "storage",
            Refusal::LeftBehind => "left_behind",
            Refusal::CheckFailed => "check_failed",
            Refusal::Internal => "internal",
        }
    }

    /// What the model reads: what was refused, and what would be accepted.
    #[must_use]
    pub fn text(&self) -> String {
        let fixed = match self {
            Refusal::NoOpenTurn => {
                "Refused: no message is being answered, so nothing may be touched now."
            }
            Refusal::CallsSpent { limit } => {
                return format!(
                    "Refused: all {limit} tool calls of this message are spent. Answer with what you have; calls are \
                     counted anew with the next message."
                );
            }
            Refusal::VerbNotOffered => {
                "Refused: this tool is not offered here. Use one of the listed tools."
            }
            Refusal::RecordsNotOffered => "Refused: this binding names no record service.",
            Refusal::LedgerUnwritable => {
                "Refused: the broker cannot write its record, so nothing was done. The operator has to look."
            }
            Refusal::Cancelled => "Cancelled before anything was changed.",
            Refusal::RootUnknown => {
                "Refused: no root has this name. Use a root from the list, letter for letter."
            }
            Refusal::RootReadOnly => {
                "Refused: this root is for reading only. Only a writable root takes changes."
            }
            Refusal::RootGone => {
                "Refused: the folder of this root was moved or replaced. It can be used again after the operator \
                 restarts the broker."
            }
            Refusal::PathEmpty => {
                "Refused: the path is empty. Name something below the root, such as notes/a.md."
            }
            Refusal::PathNul => {
                "Refused: the path holds a NUL character. Give a plain relative path."
            }
            Refusal::PathAbsolute => {
                "Refused: the path is absolute. Give it relative to the root, such as notes/a.md."
            }
            Refusal::PathBackslash => "Refused: the path holds a backslash. Join segments with /.",
            Refusal::PathEmptySegment => {
                "Refused: the path has an empty segment. Use single slashes, and none at the end."
            }
            Refusal::PathDotSegment => {
                "Refused: a segment begins with a dot. Hidden names, . and .. are out of reach; name the path \
                 straight from the root."
            }
            Refusal::PathTooLong => {
                return format!(
                    "Refused: the path is too long. Up to {} bytes are accepted.",
                    limits::PATH_BYTES
                );
            }
            Refusal::PathSegmentTooLong => {
                return format!(
                    "Refused: one name in the path is too long. Up to {} bytes are accepted.",
                    limits::SEGMENT_BYTES
                );
            }
            Refusal::PathControlCharacter => {
                "Refused: the path holds control or text-direction characters. Use printable names."
            }
            Refusal::NameDeceptive => {
                "Refused: the name holds characters that do not show, or that pass for a dot, a slash or another \
                 name. A new name is made of visible characters, without blanks at its ends."
            }
            Refusal::NotFound => "Refused: nothing has this name. list_dir shows what is there.",
            Refusal::FolderMissing => {
                "Refused: the folder to write into does not exist, and folders are never created. Choose an existing \
                 one."
            }
            Refusal::Symlink => {
                "Refused: the path leads over a symbolic link. Links are never followed; name the real path below \
                 the root."
            }
            Refusal::Mount => {
                "Refused: another file system is mounted on this path. Only the root's own is in reach."
            }
            Refusal::NotPermitted => "Refused: the operating system does not permit this.",
            Refusal::IsFolder => {
                "Refused: this is a folder. Use list_dir for folders; name a file here."
            }
            Refusal::NotAFolder => {
                "Refused: a file stands where a folder is needed. Name a folder, or a file inside folders."
            }
            Refusal::NotAFile => {
                "Refused: this is neither a file nor a folder. Only regular files are in reach."
            }
            Refusal::ManyLinks => {
                "Refused: this file has a second name elsewhere (a hard link), so its place is not certain. Only \
                 files with one name are in reach."
            }
            Refusal::TooLarge { limit } => {
                return format!(
                    "Refused: the file is too large. Files of up to {limit} bytes are read."
                );
            }
            Refusal::Binary => "Refused: the file is binary. Only text is read.",
            Refusal::NotText => "Refused: the file is not UTF-8 text. Only UTF-8 text is read.",
            Refusal::Credential { shape } => {
                return format!(
                    "Refused: the file holds what looks like a credential ({shape}), so no part of it is read. Tell \
                     the person so; a file without credentials is read."
                );
            }
            Refusal::LinesZero => "Refused: from_line and lines are counted from 1.",
            Refusal::LinesPastEnd { lines } => {
                return format!(
                    "Refused: from_line lies behind the end. The file has {lines} lines."
                );
            }
            Refusal::QueryEmpty => "Refused: the query is empty. Give the text to find.",
            Refusal::QueryTooLong => {
                return format!(
                    "Refused: the query is too long or spans lines. One line of up to {} bytes is accepted.",
                    limits::SEARCH_QUERY_BYTES
                );
            }
            Refusal::QueryPattern => {
                "Refused: the query is no regular expression that can be used here. Look-around and back-references \
                 do not exist, and large repetitions are refused. Without regex it is taken literally."
            }
            Refusal::ContextLines => {
                return format!(
                    "Refused: too many context lines. 0 to {} are accepted.",
                    limits::SEARCH_CONTEXT_LINES
                );
            }
            Refusal::QueryCredential { shape } => {
                return format!(
                    "Refused: the query looks like a credential ({shape}). Search for text that is no secret."
                );
            }
            Refusal::Protected => {
                "Refused: this path is protected and is changed by people only. Files that are not protected are \
                 accepted."
            }
            Refusal::TextTooLarge { limit } => {
                return format!(
                    "Refused: the text is too large. A file of up to {limit} bytes is written."
                );
            }
            Refusal::TextNul => {
                "Refused: the text holds a NUL character. Only plain text is written."
            }
            Refusal::TextCredential { shape } => {
                return format!(
                    "Refused: the text holds what looks like a credential ({shape}). Leave it out; the rest is \
                     accepted."
                );
            }
            Refusal::SpecialBits => {
                "Refused: the file carries a set-id or sticky bit. Only files with plain permissions are changed."
            }
            Refusal::Changed => {
                "Refused: somebody else changed this file meanwhile, and their version was kept. Read it again, then \
                 decide."
            }
            Refusal::EditOldEmpty => "Refused: old is empty. Give the exact text to replace.",
            Refusal::EditNoChange => "Refused: old and new are the same, so nothing would change.",
            Refusal::EditNotFound => {
                "Refused: old does not occur in the file. It has to match exactly, blanks and line ends included."
            }
            Refusal::EditNotUnique => {
                "Refused: old occurs more than once. Take in more of the text around it, so that it occurs once."
            }
            Refusal::NoSpace => "Failed: the disk is full. Nothing was changed.",
            Refusal::Storage => {
                "Failed: the operating system could not do it. Nothing was changed."
            }
            Refusal::LeftBehind => {
                "Failed: several writers changed this file at once, or the disk failed on the way, and a hidden file \
                 was left beside it for the operator. Read the file to see what stands there."
            }
            Refusal::CheckFailed => "Refused: a check could not be made, so nothing was done.",
            Refusal::Internal => {
                "Refused: the broker failed on this call. Other calls are not affected."
            }
        };
        fixed.to_owned()
    }

    /// The refusal as the wire carries it.
    #[must_use]
    pub fn to_proto(&self) -> mosaic_proto::v1::Refusal {
        mosaic_proto::v1::Refusal {
            reason: self.code().to_owned(),
            text: self.text(),
        }
    }
}
