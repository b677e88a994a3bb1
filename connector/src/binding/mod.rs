//! The binding: deployment policy for one seat on one server (seeds 002, "The binding"). Reading it gives a [`Binding`] in
//! which every rule of the file holds; what the `tools` key means is the broker's business and not known here.

mod change;
mod context;
mod file;
mod private_file;
#[cfg(test)]
mod schema;
mod token;
mod value;

use std::path::{Path, PathBuf};
use std::time::Duration;

use mosaic_sandbox::RequiredAbi;

use crate::discord::Snowflake;
use crate::journal::Digest;

pub use change::{Changes, ListChanges};
pub use context::{ContextPath, read_context};
pub use private_file::FileProblem;
pub use token::read_token;
pub use value::Misfit;

/// One seat on one server. Everything in it was checked when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The binding's name, the one of its file.
    pub name: String,
    /// The seat it serves.
    pub seat: String,
    /// The one server.
    pub guild: Snowflake,
    /// The server's name, for people and the envelope.
    pub guild_name: String,
    /// The bot that is used; never one of `users`.
    pub bot_user: Snowflake,
    /// Absolute path to the bot token.
    pub token_file: PathBuf,
    /// The listed channels; at least one, each id once.
    pub channels: Vec<Channel>,
    /// The only authors that get a turn; at least one, each id once.
    pub users: Vec<User>,
    /// What pi is started with.
    pub engine: Engine,
    /// Numbers a turn is held to.
    pub limits: Limits,
    /// Files of the repository that open the system prompt, in order.
    pub context_files: Vec<ContextPath>,
    /// The `tools` key, unread. `None`: no tools.
    pub tools: Option<OpaqueTools>,
    /// What the kernel must offer: the default, or what `sandbox.landlockAbi` lowers it to. The broker reads the same key.
    pub required_abi: RequiredAbi,
}

/// A channel the seat listens in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// Its id.
    pub id: Snowflake,
    /// Its name, for people.
    pub name: String,
    /// Which messages are answered; threads inherit it.
    pub mode: Mode,
}

/// Which messages of a channel are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Every message.
    Open,
    /// Those that mention the bot itself.
    Mention,
}

/// A person who may speak to the seat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The person's id.
    pub id: Snowflake,
    /// The role this binding gives them, which they cannot change.
    pub name: String,
    /// Where they may speak: these listed channels and their threads. `None`: in every listed channel.
    pub channels: Option<Vec<Snowflake>>,
}

/// What pi is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engine {
    /// pi's name of the provider.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
    /// pi's thinking level.
    pub thinking: String,
}

/// Numbers a turn is held to. `Default` is what a binding that leaves them out gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Turns admitted per UTC day.
    pub turns_per_day: u32,
    /// How long the engine may work on one turn.
    pub turn_timeout: Duration,
    /// Length of one posted message in code points.
    pub reply_chunk_chars: usize,
    /// Length of a message that is still answered, in code points.
    pub inbound_max_chars: usize,
    /// Age at which a message that was held up is recorded as missed instead of answered (DESIGN 7.25).
    pub max_age: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            turns_per_day: 200,
            turn_timeout: Duration::from_secs(180),
            reply_chunk_chars: 1900,
            inbound_max_chars: 4000,
            max_age: Duration::from_secs(900),
        }
    }
}

/// The `tools` value exactly as it stands in the file. The broker alone understands it; the connector can only tell
/// whether the broker read the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpaqueTools {
    /// The bytes.
    pub raw: Vec<u8>,
    /// Their digest.
    pub sha256: Digest,
}

/// Why there is no binding. Always exit 2: trying again cannot help.
#[derive(Debug, thiserror::Error)]
pub enum BindingError {
    /// The file itself is not acceptable.
    #[error("The binding {} {problem}.", path.display())]
    File {
        /// The binding file.
        path: PathBuf,
        /// What is wrong with it.
        problem: FileProblem,
    },
    /// The file is not one JSON value, or a key stands twice.
    #[error("The binding {} is not JSON at line {line} column {column}, or a key stands twice there.", path.display())]
    Syntax {
        /// The binding file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// A value does not fit its field.
    #[error("{misfit} (In {}.)", path.display())]
    Field {
        /// The binding file.
        path: PathBuf,
        /// The field and what it takes.
        misfit: Misfit,
    },
    /// A context file is not acceptable.
    #[error("context.files[{index}] ({name}) {problem}. Looked for in {} (the current folder, or --repo).", repo.display())]
    Context {
        /// Position in the list.
        index: usize,
        /// The path as listed.
        name: String,
        /// The repository.
        repo: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The token file is not acceptable. Nothing of its content is said.
    #[error("The token file {} {problem}.", path.display())]
    Token {
        /// The token file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

impl Binding {
    /// Reads and checks the binding at `path`, which must call itself `name`.
    ///
    /// # Errors
    /// The first rule that does not hold, with the field, the class of its value and what is accepted.
    pub fn read(path: &Path, name: &str) -> Result<Self, BindingError> {
        Self::read_with_bytes(path, name).map(|(binding, _)| binding)
    }

    /// As [`Binding::read`], with the bytes that were read: whoever hands the file on hands on what was checked.
    ///
    /// # Errors
    /// As [`Binding::read`].
    pub fn read_with_bytes(path: &Path, name: &str) -> Result<(Self, Vec<u8>), BindingError> {
        let bytes =
            private_file::read(path, file::MAX_BYTES).map_err(|problem| BindingError::File {
                path: path.to_owned(),
                problem,
            })?;
        let parsed = file::parse(&bytes, name).map_err(|fault| match fault {
            file::Fault::Syntax { line, column } => BindingError::Syntax {
                path: path.to_owned(),
                line,
                column,
            },
            file::Fault::Field(misfit) => BindingError::Field {
                path: path.to_owned(),
                misfit,
            },
        });
        parsed.map(|binding| (binding, bytes))
    }

    /// The listed channel with this id.
    pub fn channel(&self, id: Snowflake) -> Option<&Channel> {
        self.channels.iter().find(|channel| channel.id == id)
    }

    /// The listed person with this id.
    pub fn user(&self, id: Snowflake) -> Option<&User> {
        self.users.iter().find(|user| user.id == id)
    }

    /// Digest of the `tools` value as it stands in the file; of no bytes without one. The broker's must be the same.
    pub fn tools_digest(&self) -> Digest {
        self.tools
            .as_ref()
            .map_or_else(|| Digest::of(b""), |tools| tools.sha256.clone())
    }
}

/// The published example, for tests that need a binding and say what they change.
#[cfg(test)]
impl Binding {
    pub(crate) fn example() -> Self {
        let bytes = include_bytes!("../../fixtures/binding.example.json");
        file::parse(bytes, "sage").unwrap_or_else(|fault| panic!("{fault:?}"))
    }
}
