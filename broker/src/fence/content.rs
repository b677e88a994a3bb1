//! What may be read out of a file and what may be written into one. Works on bytes; it does not know where they lie.

use super::credential;
use crate::limits;
use crate::refusal::Refusal;

/// The whole content of a file, which may go to the model.
#[derive(Debug, PartialEq, Eq)]
pub struct Text(String);

impl Text {
    /// Judges what was read: not longer than `limit` bytes, no NUL near the beginning, UTF-8, no credential anywhere. A
    /// part of a file is never shown without the whole having passed.
    ///
    /// # Errors
    ///
    /// The first of these that is broken.
    pub fn judge(bytes: Vec<u8>, limit: u64) -> Result<Text, Refusal> {
        as_text(&bytes, limit)?;
        if let Some(shape) = credential::find(&bytes) {
            return Err(Refusal::Credential { shape });
        }
        Ok(Text(
            String::from_utf8(bytes).expect("it was judged to be UTF-8"),
        ))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, owned.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

/// Text that may be written. Made here only.
#[derive(Debug, PartialEq, Eq)]
pub struct NewText(String);

impl NewText {
    /// Judges text before it is written: size, NUL anywhere, credentials.
    ///
    /// # Errors
    ///
    /// The first of these that is broken.
    pub fn judge(text: String, limit: u64) -> Result<NewText, Refusal> {
        if exceeds(text.len(), limit) {
            return Err(Refusal::TextTooLarge { limit });
        }
        if text.contains('\0') {
            return Err(Refusal::TextNul);
        }
        match credential::find(text.as_bytes()) {
            Some(shape) => Err(Refusal::TextCredential { shape }),
            None => Ok(NewText(text)),
        }
    }

    /// Replaces the one occurrence of `old` by `new`, literally, and judges the result.
    ///
    /// # Errors
    ///
    /// `old` is empty, equals `new`, does not occur or occurs more than once; or the result may not be written.
    pub fn edit(text: &Text, old: &str, new: &str, limit: u64) -> Result<NewText, Refusal> {
        if old.is_empty() {
            return Err(Refusal::EditOldEmpty);
        }
        if old == new {
            return Err(Refusal::EditNoChange);
        }
        let text = text.as_str();
        let at = text.find(old).ok_or(Refusal::EditNotFound)?;
        // From the next character on, so that `aa` is seen twice in `aaa`.
        let next = at + text[at..].chars().next().map_or(1, char::len_utf8);
        if text[next..].contains(old) {
            return Err(Refusal::EditNotUnique);
        }
        NewText::judge([&text[..at], new, &text[at + old.len()..]].concat(), limit)
    }

    /// The bytes to write.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// Judges by everything but credentials whether what was read is text. [`Text::judge`] and a search ask the same.
pub(crate) fn as_text(bytes: &[u8], limit: u64) -> Result<&str, Refusal> {
    if exceeds(bytes.len(), limit) {
        return Err(Refusal::TooLarge { limit });
    }
    if memchr::memchr(0, &bytes[..bytes.len().min(limits::NUL_WINDOW_BYTES)]).is_some() {
        return Err(Refusal::Binary);
    }
    str::from_utf8(bytes).map_err(|_| Refusal::NotText)
}

fn exceeds(len: usize, limit: u64) -> bool {
    u64::try_from(len).unwrap_or(u64::MAX) > limit
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn edit(text: &str, old: &str, new: &str) -> Result<String, Refusal> {
        NewText::edit(&Text(text.to_owned()), old, new, 1_000).map(|new| new.0)
    }

    #[test]
    fn a_14_content_longer_than_the_limit_is_refused_even_when_the_file_looked_shorter() {
        assert_eq!(Text::judge(vec![b'a'; 10], 10), Ok(Text("a".repeat(10))));
        assert_eq!(
            Text::judge(vec![b'a'; 11], 10),
            Err(Refusal::TooLarge { limit: 10 })
        );
    }

    #[test]
    fn a_nul_makes_a_file_binary_in_its_first_8_kib_and_not_behind() {
        let with_nul_at = |at: usize| {
            let mut bytes = vec![b'a'; 9_000];
            bytes[at] = 0;
            Text::judge(bytes, 10_000).map(|_| ())
        };

        assert_eq!(with_nul_at(0), Err(Refusal::Binary));
        assert_eq!(with_nul_at(8_191), Err(Refusal::Binary));
        assert_eq!(with_nul_at(8_192), Ok(()));
    }

    #[test]
    fn bytes_that_are_no_utf_8_are_refused() {
        assert_eq!(Text::judge(b"caf\xE9".to_vec(), 10), Err(Refusal::NotText));
    }

    #[test]
    fn a_24_text_with_nul_or_over_the_limit_is_refused() {
        assert_eq!(NewText::judge("a\0".into(), 10), Err(Refusal::TextNul));
        assert_eq!(
            NewText::judge("é".repeat(5), 10),
            Ok(NewText("é".repeat(5)))
        );
        assert_eq!(
            NewText::judge("a".repeat(11), 10),
            Err(Refusal::TextTooLarge { limit: 10 })
        );
    }

    #[test]
    fn a_25_an_edit_needs_one_occurrence_and_takes_the_new_text_literally() {
        assert_eq!(edit("abc", "", "x"), Err(Refusal::EditOldEmpty));
        assert_eq!(edit("abc", "b", "b"), Err(Refusal::EditNoChange));
        assert_eq!(edit("aaa", "aa", "b"), Err(Refusal::EditNotUnique));
        assert_eq!(edit("a b a", "a", "c"), Err(Refusal::EditNotUnique));
        assert_eq!(edit("ééé", "éé", "b"), Err(Refusal::EditNotUnique));
        assert_eq!(edit("abc", "x", "y"), Err(Refusal::EditNotFound));
        assert_eq!(edit("abc", "B", "y"), Err(Refusal::EditNotFound));
        assert_eq!(edit("abc", "b", "$& \\1 $1"), Ok("a$& \\1 $1c".into()));
        assert_eq!(edit("abc", "abc", ""), Ok(String::new()));
    }

    #[test]
    fn a_31_an_edit_that_completes_a_credential_is_refused() {
        let tail = "16C7e42F292c6912E7710c838347Ae178B4a";

        let refused = edit(&format!("key: ghX_{tail}"), "ghX", "ghp");

        assert_eq!(
            refused,
            Err(Refusal::TextCredential {
                shape: "GitHub token"
            })
        );
    }

    proptest! {
        #[test]
        fn an_accepted_edit_is_undone_by_its_reverse(before in "[ab]{0,6}", old in "[ab]{1,3}", after in "[ab]{0,6}") {
            let text = format!("{before}{old}{after}");
            if let Ok(edited) = edit(&text, &old, "|X|") {
                prop_assert_eq!(edit(&edited, "|X|", &old), Ok(text));
            }
        }
    }
}
