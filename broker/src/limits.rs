//! Every number a fence compares with, in one table: the figure, its unit and why it is that one. What a binding may
//! change stands with its bounds; the rest is fixed.

use std::time::Duration;

/// Longest path below a root, in bytes (abuse case A-13). Far under `PATH_MAX`, so that the kernel never decides.
pub const PATH_BYTES: usize = 1_024;

/// Longest segment of a path, in bytes: `NAME_MAX` of every common file system.
pub const SEGMENT_BYTES: usize = 255;

/// A NUL byte in this many first bytes makes a file binary (seeds 002, File tools).
pub const NUL_WINDOW_BYTES: usize = 8 * 1_024;

/// `tools.maxFileBytes` when the binding does not say (seeds 002, The binding).
pub const DEFAULT_MAX_FILE_BYTES: u64 = 262_144;

/// Largest `tools.maxFileBytes` a binding may set: an edit carries two texts in one message, and a model reads neither.
pub const CEILING_MAX_FILE_BYTES: u64 = 8 * 1_024 * 1_024;

/// `tools.maxCallsPerTurn` when the binding does not say (seeds 002, The binding).
pub const DEFAULT_MAX_CALLS_PER_TURN: u32 = 8;

/// Largest `tools.maxCallsPerTurn` a binding may set.
pub const CEILING_MAX_CALLS_PER_TURN: u32 = 1_000;

/// Largest binding file that is read, in bytes.
pub const BINDING_BYTES: u64 = 1_024 * 1_024;

/// Most roots of one binding. Each is a kernel rule and a line of the prompt.
pub const ROOTS: usize = 32;

/// Longest name of a root, in bytes.
pub const ROOT_NAME_BYTES: usize = 64;

/// Most protected patterns of one root.
pub const PROTECTED_PATTERNS: usize = 200;

/// Landlock ABI demanded when the binding does not lower it with `sandbox.landlockAbi` (DESIGN, section 6).
pub const DEFAULT_LANDLOCK_ABI: u32 = 6;

/// Entries `list_dir` shows. The rest is counted.
pub const LISTED_ENTRIES: usize = 500;

/// Entries of one folder that are held and sorted. What lies beyond is counted and neither shown nor searched, so that
/// a folder of millions costs bounded memory.
pub const FOLDER_ENTRIES: usize = 100_000;

/// Lines `search` shows, context included (DESIGN, section 7, row 18).
pub const SEARCH_LINES: usize = 200;

/// Characters shown of one found line. Minified files would fill the answer otherwise.
pub const SEARCH_LINE_CHARS: usize = 400;

/// Longest search query, in bytes.
pub const SEARCH_QUERY_BYTES: usize = 1_000;

/// Most context lines on each side of a hit.
pub const SEARCH_CONTEXT_LINES: u32 = 5;

/// Folders deep that a search goes.
pub const SEARCH_DEPTH: usize = 64;

/// Bytes one search reads in all.
pub const SEARCH_BYTES: u64 = 4 * 1_024 * 1_024 * 1_024;

/// Wall time of one search, looked at before each file.
pub const SEARCH_TIME: Duration = Duration::from_secs(20);

/// Memory a compiled search expression may take, in bytes: `a{1000}{1000}` is refused at compile time.
pub const SEARCH_PATTERN_BYTES: usize = 1_024 * 1_024;

/// Tries of an `openat2` that answers EAGAIN because something was renamed meanwhile.
pub const OPEN_TRIES: u32 = 8;

/// Tries to put back a file that turned out to be somebody else's. One is enough unless further writers keep racing.
pub const SWAP_BACK_TRIES: u32 = 16;

/// Characters of a refused argument that the ledger keeps.
pub const SHOWN_ARGUMENT_CHARS: usize = 300;
