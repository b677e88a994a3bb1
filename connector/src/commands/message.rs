//! A message as an operator names it: its id, or the link Discord's "Copy Message Link" gives.

use std::str::FromStr;

use crate::discord::Snowflake;

/// The message an argument names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MessageName(pub(super) Snowflake);

impl FromStr for MessageName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const ACCEPTED: &str = "a message is named by its id, or by the link of Copy Message Link: \
            https://discord.com/channels/<server>/<channel>/<message>";
        let Some((_, path)) = text.split_once("/channels/") else {
            return text.parse().map(Self).map_err(|_| ACCEPTED);
        };
        let parts: Vec<&str> = path.trim_end_matches('/').split('/').collect();
        match parts[..] {
            [server, channel, message] if server == "@me" || Snowflake::parse(server).is_ok() => {
                Snowflake::parse(channel).map_err(|_| ACCEPTED)?;
                message.parse().map(Self).map_err(|_| ACCEPTED)
            }
            _ => Err(ACCEPTED),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_and_a_link_name_the_same_message() {
        for text in [
            "30",
            "https://discord.com/channels/10/20/30",
            "https://ptb.discord.com/channels/10/20/30/",
            "discord://-/channels/@me/20/30",
        ] {
            assert_eq!(
                text.parse(),
                Ok(MessageName(Snowflake::new(30).unwrap())),
                "{text}"
            );
        }
        for text in [
            "",
            "x",
            "https://discord.com/channels/10/20",
            "https://discord.com/channels/a/20/30",
            "10/20/30",
        ] {
            assert!(text.parse::<MessageName>().is_err(), "{text}");
        }
    }
}
