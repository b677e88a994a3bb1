//! Every line the connector itself may say in a channel, in one table. None carries model output or provider text.

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
