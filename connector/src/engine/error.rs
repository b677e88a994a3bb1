//! What can go wrong between the connector and pi, in sentences for the operator. No provider's words are in them.

use std::{io, path::PathBuf, time::Duration};

/// pi was not started, or was started and is not what it must be. Nothing was prompted.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A folder or file of the engine cannot be made or is not ours.
    #[error("{path}: {why}", path = .path.display())]
    Folder {
        /// The folder or file.
        path: PathBuf,
        /// What is wrong with it and what would be accepted.
        why: &'static str,
        /// The system's word, where there is one.
        source: Option<io::Error>,
    },
    /// The operator's `models.json` or `auth.json` cannot be used.
    #[error("{path}: {why}", path = .path.display())]
    Models {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// There is no key for the provider that the engine could use.
    #[error(
        "{path}: {why}. Put one in as README.md says under \"Set-up on a host\", or correct engine.provider",
        path = .path.display()
    )]
    NoCredential {
        /// The operator's `auth.json`.
        path: PathBuf,
        /// What is missing.
        why: String,
    },
    /// The launcher or pi could not be started.
    #[error("cannot start the engine ({program})", program = .program.display())]
    Spawn {
        /// The launcher.
        program: PathBuf,
        /// The system's word.
        source: io::Error,
    },
    /// pi did not answer in time.
    #[error("pi did not answer within {} s of its start", .0.as_secs())]
    StartTimedOut(Duration),
    /// pi ended before its first answer.
    #[error("pi ended before it answered ({status}). Its last words: {said}")]
    EndedAtStart {
        /// How the process ended.
        status: String,
        /// The end of its stderr, cleaned; for the terminal of an operator, not for a log.
        said: String,
    },
    /// pi said something that is no record, or lost step, before it was verified.
    #[error("pi does not speak its protocol: {0}")]
    Protocol(#[from] Broken),
    /// The extension did not announce the tools.
    #[error("pi answered before the extension announced its tools; the extension was not loaded")]
    NoAnnouncement,
    /// pi has other tools than the broker lists.
    #[error(
        "pi's tools are not the broker's: missing {missing:?}, foreign {foreign:?}. Nothing was sent to the model"
    )]
    ToolsDiffer {
        /// Listed by the broker, not active in pi.
        missing: Vec<String>,
        /// Active or registered in pi, not listed by the broker.
        foreign: Vec<String>,
    },
    /// The engine's connection leads to another policy than the connector's.
    #[error("the engine reached a broker with another policy than the connector's")]
    PolicyDiffers,
    /// pi runs another model than bound.
    #[error("pi runs model {got}, the binding says {asked}")]
    ModelDiffers {
        /// Provider and model of the binding.
        asked: String,
        /// Provider and model of pi.
        got: String,
    },
    /// pi does not know the model or has no credential for its provider.
    #[error(
        "pi does not offer model {0}: its provider has no key in the seat's auth.json, or does not know \
        this model. `mosaic-discord check` tells which. Correct auth.json, or engine in the binding"
    )]
    ModelNotOffered(String),
    /// pi thinks at another level than bound.
    #[error(
        "pi thinks at level {got}, the binding says {asked}; the model may not support that level"
    )]
    ThinkingDiffers {
        /// The binding's level.
        asked: String,
        /// pi's level.
        got: String,
    },
    /// pi loaded commands, skills or templates from somewhere.
    #[error("pi offers commands it must not have: {0:?}")]
    ForeignCommands(Vec<String>),
    /// pi answered a question at start with an error.
    #[error("pi refused to answer `{0}` at its start")]
    Unanswered(&'static str),
}

impl EngineError {
    /// Whether the operator has to correct a file first, so that trying again cannot help.
    #[must_use]
    pub fn is_to_be_corrected(&self) -> bool {
        matches!(
            self,
            Self::Folder { source: None, .. }
                | Self::Models { .. }
                | Self::NoCredential { .. }
                | Self::ModelNotOffered(_)
                | Self::ModelDiffers { .. }
                | Self::ThinkingDiffers { .. }
        )
    }
}

/// Why a running pi cannot be trusted any more. It is killed and has to be started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Broken {
    /// It settled without a message of the run (DESIGN 7.16).
    #[error("it settled without an answer")]
    FalseSettle,
    /// It did something nobody asked for.
    #[error("it acted without a prompt")]
    OutOfStep,
    /// It did not settle in the grace after an abort.
    #[error("it did not stop when told to")]
    DidNotStop,
    /// One line was longer than anything pi writes.
    #[error("it wrote a line without an end")]
    EndlessLine,
    /// Its output could not be read.
    #[error("its output could not be read")]
    Unreadable,
}

/// A prompt was not given to pi.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// The run before has not ended.
    #[error("a run is still going on")]
    Busy,
    /// pi is gone.
    #[error("the engine is gone")]
    Gone,
}
