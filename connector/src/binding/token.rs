//! Reading the bot token, once, from its private file. Nothing of the content leaves this function but as a [`Token`].

use std::path::Path;

use super::{BindingError, private_file};
use crate::discord::{Snowflake, Token};

/// A token is a tenth of this.
const MAX_BYTES: u64 = 1024;

/// Reads the token of the bot `bot` from `path`: a regular file of ours, 0600, holding one token and at most one line
/// break after it.
///
/// # Errors
/// What is wrong with the file or the token, without any of its content.
pub fn read_token(path: &Path, bot: Snowflake) -> Result<Token, BindingError> {
    let refused = |problem: String| BindingError::Token {
        path: path.to_owned(),
        problem,
    };

    let bytes =
        private_file::read(path, MAX_BYTES).map_err(|problem| refused(problem.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| refused("is not text".to_owned()))?;
    let token = Token::parse(text.strip_suffix('\n').unwrap_or(&text))
        .map_err(|problem| refused(format!("holds no bot token: {problem}")))?;
    if token.bot_id() != bot {
        return Err(refused(
            "holds the token of another bot than botUserId".to_owned(),
        ));
    }
    Ok(token)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// The token of bot 123456789: base64 of the id, a time stamp, a secret.
    const TOKEN: &str = "MTIzNDU2Nzg5.AAAAAA.not-a-secret";

    fn bot(number: u64) -> Snowflake {
        Snowflake::new(number).unwrap()
    }

    fn read(content: &str, mode: u32, id: u64) -> Result<Token, BindingError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        read_token(&path, bot(id))
    }

    #[test]
    fn one_line_break_after_the_token_is_fine() {
        assert!(read(TOKEN, 0o600, 123_456_789).is_ok());
        assert!(read(&format!("{TOKEN}\n"), 0o600, 123_456_789).is_ok());
    }

    #[test]
    fn what_is_not_one_bare_private_token_is_refused_without_a_word_of_it() {
        let long = "x".repeat(1 << 20);
        let tail = TOKEN.split_once('.').unwrap().1;
        for (content, mode) in [
            (TOKEN, 0o644),
            ("", 0o600),
            (long.as_str(), 0o600),
            (&format!("{TOKEN}\n\n"), 0o600),
            (&format!("{TOKEN}\r\n"), 0o600),
            (&format!(" {TOKEN}"), 0o600),
            (&format!("Bot {TOKEN}"), 0o600),
            (&format!("{TOKEN}\u{7}"), 0o600),
            (&format!("{TOKEN}\n{TOKEN}"), 0o600),
        ] {
            let error = read(content, mode, 123_456_789).unwrap_err().to_string();
            assert!(!error.contains(tail), "{error}");
        }
    }

    #[test]
    fn the_token_of_another_bot_is_refused_before_anything_is_sent() {
        let error = read(TOKEN, 0o600, 123_456_780).unwrap_err().to_string();

        assert!(error.contains("another bot than botUserId"), "{error}");
    }

    #[test]
    fn a_symlink_to_a_good_token_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let link = folder.path().join("link");
        fs::write(&path, TOKEN).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&path, &link).unwrap();

        assert!(
            read_token(&link, bot(123_456_789))
                .unwrap_err()
                .to_string()
                .contains("symbolic link")
        );
    }
}
