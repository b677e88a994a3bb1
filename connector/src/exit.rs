//! How a command ends: one sentence for the operator and one of five exit codes. It knows no command; each maps its own
//! errors to an [`Exit`] where it knows what the operator should do next.

use std::fmt;
use std::process::ExitCode;

/// The exit codes of seeds 002. A supervisor restarts after `Failed` only (`RestartPreventExitStatus=2 3 4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The command did what it says.
    Ok = 0,
    /// The operation failed; trying again may help.
    Failed = 1,
    /// Invalid data or configuration; trying again cannot help before somebody edits something.
    Invalid = 2,
    /// Refused by a brake: STOP is there, or the binding is held. A supervisor must not retry.
    Brake = 3,
    /// The command line does not parse.
    Usage = 4,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// An end other than success: what went wrong and the next step, in sentences, and the code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{sentence}")]
pub struct Exit {
    /// What the process exits with. Never [`Code::Ok`].
    pub code: Code,
    /// Whole sentences for stderr, without a trailing line break.
    pub sentence: String,
}

impl Exit {
    /// Exit 1: the operation failed.
    pub fn failed(sentence: impl fmt::Display) -> Self {
        Self::new(Code::Failed, sentence)
    }

    /// Exit 2: invalid data or configuration.
    pub fn invalid(sentence: impl fmt::Display) -> Self {
        Self::new(Code::Invalid, sentence)
    }

    /// Exit 3: a brake is on.
    pub fn brake(sentence: impl fmt::Display) -> Self {
        Self::new(Code::Brake, sentence)
    }

    /// Exit 4: the command line does not say what to do.
    pub fn usage(sentence: impl fmt::Display) -> Self {
        Self::new(Code::Usage, sentence)
    }

    fn new(code: Code, sentence: impl fmt::Display) -> Self {
        Self {
            code,
            sentence: sentence.to_string(),
        }
    }
}

/// Breaks text at spaces so that no line is longer than `width` characters, a single longer word excepted: paths and
/// ids stay whole, so that they can be copied. Line breaks in the text are kept, and so is what a line is set in by.
pub fn wrap(text: &str, width: usize) -> String {
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let words = paragraph.trim_start();
        let set_in = &paragraph[..paragraph.len() - words.len()];
        let mut line = set_in.to_owned();
        for word in words.split(' ') {
            if line.len() == set_in.len() {
                line.push_str(word);
            } else if line.chars().count() + 1 + word.chars().count() <= width {
                line.push(' ');
                line.push_str(word);
            } else {
                lines.push(std::mem::replace(&mut line, format!("{set_in}{word}")));
            }
        }
        lines.push(line);
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_longer_than_the_width_and_no_word_is_cut() {
        let text = "The binding is held by pid 4121. Use `stop` to end it.\nSecond line.";

        assert_eq!(
            wrap(text, 20),
            "The binding is held\nby pid 4121. Use\n`stop` to end it.\nSecond line."
        );
        assert_eq!(
            wrap("one:\n  two three four", 11),
            "one:\n  two three\n  four"
        );
        assert_eq!(
            wrap("a /long/path/that/is/whole b", 8),
            "a\n/long/path/that/is/whole\nb"
        );
    }

    #[test]
    fn each_code_is_the_number_of_the_seeds() {
        let codes = [
            Code::Ok,
            Code::Failed,
            Code::Invalid,
            Code::Brake,
            Code::Usage,
        ];

        assert_eq!(codes.map(|code| code as u8), [0, 1, 2, 3, 4]);
    }
}
