//! Why a command ends: a full sentence with the next step, and an exit code from the closed table.

use std::{fmt, process::ExitCode};

use crate::{audit::OpenError, listener::BindError, private::PrivateError};

/// Exit codes of every command. Units never restart on 2, 3 or 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    Ok = 0,
    /// The operation failed; trying again may help.
    Failed = 1,
    /// The binding, the host or the data is not as it must be.
    Invalid = 2,
    /// Another broker holds the binding.
    Held = 3,
    /// The arguments make no sense.
    Usage = 4,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> ExitCode {
        ExitCode::from(code as u8)
    }
}

/// The end of a command that did not do what it was asked.
#[derive(Debug)]
pub(crate) struct Stop {
    code: Code,
    sentence: String,
}

impl Stop {
    /// Ends with `code`, saying `why`.
    pub(crate) fn new(code: Code, why: impl fmt::Display) -> Stop {
        Stop {
            code,
            sentence: why.to_string(),
        }
    }

    /// The exit code.
    pub(crate) fn code(&self) -> Code {
        self.code
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl From<PrivateError> for Stop {
    fn from(error: PrivateError) -> Stop {
        Stop::new(Code::Invalid, error)
    }
}

impl From<BindError> for Stop {
    fn from(error: BindError) -> Stop {
        let code = match error {
            BindError::Alive { .. } => Code::Held,
            BindError::Io { .. } => Code::Failed,
            BindError::Private(_) | BindError::TooLong { .. } | BindError::Occupied { .. } => {
                Code::Invalid
            }
        };
        Stop::new(code, error)
    }
}

impl From<OpenError> for Stop {
    fn from(error: OpenError) -> Stop {
        match error {
            OpenError::Io(_) => Stop::new(Code::Failed, error),
            OpenError::Private(_) => Stop::new(Code::Invalid, error),
            OpenError::Broken(_) => Stop::new(
                Code::Invalid,
                format!(
                    "{error}. Keep the file for whoever looks into it; a new ledger begins when ledger.jsonl and ledger.head are moved away."
                ),
            ),
        }
    }
}
