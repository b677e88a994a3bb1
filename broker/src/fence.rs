//! The fences: they look and decide, and change nothing. What they hand out (an open file, a folder, a target to write)
//! has private fields and is made here only, so an effect without a fence before it does not compile.
//!
//! ```compile_fail,E0451
//! // A relative path cannot be made up; it is parsed.
//! let path = mosaic_broker::fence::RelPath { text: "../x".to_owned() };
//! ```
//! ```compile_fail,E0451
//! // A target cannot be made up; it is checked.
//! fn forge(checked: mosaic_broker::fence::target::Target) -> mosaic_broker::fence::target::Target {
//!     mosaic_broker::fence::target::Target { name: "other.md".to_owned(), ..checked }
//! }
//! ```
//! ```compile_fail,E0423
//! // Nor can the text that is written into one.
//! let text = mosaic_broker::fence::content::NewText("token".to_owned());
//! ```

pub mod content;
pub mod credential;
pub mod file;
pub mod folder;
mod reach;
mod relpath;
pub(crate) mod shown;
pub mod stale;
pub mod target;
pub(crate) mod tree;
pub mod walk;

pub use self::reach::{Reach, Root, RootState, WritableRoot};
pub use self::relpath::RelPath;
