//! Every line the connector itself may say in a channel, in one table. None carries model output or provider text.

use crate::journal::{CallOutcome, ToolCall};

/// A line of the connector's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fixed {
    /// The turn failed, whatever the cause (seeds 002, step 6; DESIGN 7.20).
    Failed,
    /// The process died while it worked on the message (DESIGN 7.25).
    Interrupted,
    /// The message is over `limits.inboundMaxChars`.
    OverSize,
    /// The day's turns are used up; said once a day.
    OverCeiling,
}

/// What is said when a person stopped a turn: it names the verbs that were done before, since an effect is not undone.
pub fn aborted(calls: &[ToolCall]) -> String {
    let mut done: Vec<(&str, usize)> = Vec::new();
    for call in calls
        .iter()
        .filter(|call| call.outcome == CallOutcome::Done)
    {
        match done.iter_mut().find(|(name, _)| *name == call.name) {
            Some((_, times)) => *times += 1,
            None => done.push((&call.name, 1)),
        }
    }
    if done.is_empty() {
        return "I stopped, as I was told to. Nothing had been done.".to_owned();
    }
    let told: Vec<String> = done
        .iter()
        .map(|(name, times)| match times {
            1 => format!("`{name}`"),
            _ => format!("`{name}` {times} times"),
        })
        .collect();
    format!(
        "I stopped, as I was told to. Already done: {}.",
        told.join(", ")
    )
}

impl Fixed {
    /// What is posted.
    pub fn text(self) -> &'static str {
        match self {
            Self::Failed => {
                "I could not finish this one. What happened is in my record; please ask again."
            }
            Self::Interrupted => {
                "I was restarted while working on this and did not finish. Please ask again."
            }
            Self::OverSize => {
                "That message is too long for me. Please shorten it or send it in parts."
            }
            Self::OverCeiling => {
                "I have reached my limit of turns for today and will answer again after midnight UTC."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::TurnRecord;

    #[test]
    fn a_stopped_turn_names_what_was_done_and_not_what_was_refused() {
        let call = |name: &str, outcome| ToolCall {
            name: name.into(),
            outcome,
            ..TurnRecord::example().tools.remove(0)
        };
        let calls = [
            call("write_file", CallOutcome::Done),
            call("read_file", CallOutcome::Done),
            call("write_file", CallOutcome::Done),
            call("edit_file", CallOutcome::Refused),
        ];

        assert_eq!(
            aborted(&calls),
            "I stopped, as I was told to. Already done: `write_file` 2 times, `read_file`."
        );
        assert_eq!(
            aborted(&calls[3..]),
            "I stopped, as I was told to. Nothing had been done."
        );
    }
}
