//! The bot token: checked once, then a value that cannot be printed.
//! It does not know where the text came from; reading and checking the file is the operator's side.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::snowflake::Snowflake;

/// Longer than any token seen, short enough that RESUME stays below Discord's 4096 bytes.
const LONGEST: usize = 256;

/// The secret that is this bot. No `Display`, a silent `Debug`; only the two calls that send it can see inside.
#[derive(Clone)]
pub struct Token {
    text: Arc<str>,
    bot_id: Snowflake,
}

/// Why a text is no bot token. None of the words repeats any of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadToken {
    /// The whole is not three parts of base64url characters joined by dots.
    #[error(
        "the bot token must be three parts of letters, digits, `-` and `_`, joined by dots, without `Bot ` before it"
    )]
    Shape,
    /// The first part does not hold a user id.
    #[error(
        "the first part of the bot token must be the base64 of the bot's user id; this looks like another kind of secret"
    )]
    Owner,
}

impl Token {
    /// The token from its text, which must be nothing but the token (the caller cuts the file's last newline).
    pub fn parse(text: &str) -> Result<Self, BadToken> {
        let mut parts = text.split('.');
        let (Some(owner), Some(stamp), Some(secret), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(BadToken::Shape);
        };
        let well_formed = |part: &str| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        };
        if text.len() > LONGEST || ![owner, stamp, secret].into_iter().all(well_formed) {
            return Err(BadToken::Shape);
        }
        let digits = STANDARD_NO_PAD.decode(owner).map_err(|_| BadToken::Owner)?;
        let digits = std::str::from_utf8(&digits).map_err(|_| BadToken::Owner)?;
        let bot_id = Snowflake::parse(digits).map_err(|_| BadToken::Owner)?;
        Ok(Self {
            text: text.into(),
            bot_id,
        })
    }

    /// The user id this token says it belongs to. Discord alone decides whether that is true; a difference from the binding is a
    /// mix-up that can be told before anything is sent.
    #[must_use]
    pub fn bot_id(&self) -> Snowflake {
        self.bot_id
    }

    /// The text, for the Authorization header and for IDENTIFY and RESUME. Nothing else may call this.
    pub(super) fn reveal(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The base64 of `175928847299117063`, and two parts that are plainly no secret.
    const SAMPLE: &str = "MTc1OTI4ODQ3Mjk5MTE3MDYz.stamp.not-a-secret";

    #[test]
    fn a_token_names_its_bot() {
        assert_eq!(
            Token::parse(SAMPLE).unwrap().bot_id(),
            Snowflake::parse("175928847299117063").unwrap()
        );
    }

    #[test]
    fn what_is_not_a_token_is_refused_without_being_repeated() {
        let rows = [
            ("", BadToken::Shape),
            ("one.two", BadToken::Shape),
            ("MTc1OTI4ODQ3Mjk5MTE3MDYz.a.b.c", BadToken::Shape),
            ("MTc1OTI4ODQ3Mjk5MTE3MDYz..b", BadToken::Shape),
            ("Bot MTc1OTI4ODQ3Mjk5MTE3MDYz.a.b", BadToken::Shape),
            ("MTc1OTI4ODQ3Mjk5MTE3MDYz.a.b\n", BadToken::Shape),
            ("aGVsbG8.a.b", BadToken::Owner),
            ("MTc1.", BadToken::Shape),
            ("x.a.b", BadToken::Owner),
        ];

        for (text, why) in rows {
            assert_eq!(Token::parse(text).map(|_| ()), Err(why), "{text:?}");
        }
    }

    #[test]
    fn a_token_cannot_be_printed() {
        assert_eq!(
            format!("{:?}", Token::parse(SAMPLE).unwrap()),
            "Token(secret)"
        );
    }
}
