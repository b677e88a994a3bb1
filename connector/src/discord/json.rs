//! JSON from a stranger: repaired where JavaScript senders break it, parsed once, and never quoted in an error.
//! It does not know what the value means.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Why bytes are not the JSON that was expected: the kind and the place, never a word of the content.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct JsonError {
    kind: serde_json::error::Category,
    line: usize,
    column: usize,
}

impl From<serde_json::Error> for JsonError {
    fn from(error: serde_json::Error) -> Self {
        Self {
            kind: error.classify(),
            line: error.line(),
            column: error.column(),
        }
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use serde_json::error::Category;
        let what = match self.kind {
            Category::Eof => "JSON that ends too early",
            Category::Data => "JSON of an unexpected shape",
            Category::Syntax | Category::Io => "not JSON",
        };
        write!(f, "{what} (line {}, column {})", self.line, self.column)
    }
}

impl fmt::Debug for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for JsonError {}

/// Reads one JSON value, after [`repair`].
pub fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, JsonError> {
    Ok(serde_json::from_slice(&repair(bytes))?)
}

/// Replaces each escape of half a surrogate pair by that of U+FFFD.
///
/// `"\ud800"` is legal for the programs that write it and fatal for serde; one such name must not make the bot deaf (D-48).
/// Whole pairs and everything else pass unchanged, and without a copy when there is nothing to do.
pub fn repair(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut repaired = Cow::Borrowed(bytes);
    let mut at = 0;
    while let Some(step) = bytes[at..].iter().position(|&byte| byte == b'\\') {
        at += step;
        match surrogate(&bytes[at..]) {
            Some(Half::High) if surrogate(&bytes[at + ESCAPE..]) == Some(Half::Low) => {
                at += 2 * ESCAPE;
            }
            Some(_) => {
                repaired.to_mut()[at..at + ESCAPE].copy_from_slice(br"\ufffd");
                at += ESCAPE;
            }
            // Any other escape: its second byte may be a backslash and is not the start of another.
            None => at = bytes.len().min(at + 2),
        }
    }
    repaired
}

/// The length of `\uXXXX`.
const ESCAPE: usize = 6;

#[derive(PartialEq, Eq)]
enum Half {
    High,
    Low,
}

/// Which half of a pair the escape at the start of `bytes` is, if it is one.
fn surrogate(bytes: &[u8]) -> Option<Half> {
    let [b'\\', b'u', b'd' | b'D', second, third, fourth, ..] = bytes else {
        return None;
    };
    if !third.is_ascii_hexdigit() || !fourth.is_ascii_hexdigit() {
        return None;
    }
    match second.to_ascii_lowercase() {
        b'8' | b'9' | b'a' | b'b' => Some(Half::High),
        b'c'..=b'f' => Some(Half::Low),
        _ => None,
    }
}

/// For fields where `null` and absence mean the same. Use with `#[serde(default)]`.
pub(super) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// For lists of which only the length is wanted. `null` counts as empty. Use with `#[serde(default)]`.
pub(super) fn count<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let items: Option<Vec<serde::de::IgnoredAny>> = Option::deserialize(deserializer)?;
    Ok(items.map_or(0, |items| items.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn d_48_half_a_surrogate_pair_becomes_the_replacement_character() {
        let rows = [
            (r#""\ud800""#, "\u{fffd}"),
            (r#""a\uD800b""#, "a\u{fffd}b"),
            (r#""\udc00\ud800""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83d\ude00""#, "😀"),
            (r#""\ud800\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""\ud800\n""#, "\u{fffd}\n"),
            (r#""\\ud800""#, r"\ud800"),
            (r#""\\\ud800""#, "\\\u{fffd}"),
            (r#""\u0000""#, "\0"),
        ];

        for (json, text) in rows {
            assert_eq!(
                parse_json::<String>(json.as_bytes()).as_deref(),
                Ok(text),
                "{json}"
            );
        }
    }

    #[test]
    fn an_error_names_the_place_and_never_the_content() {
        let error = parse_json::<Vec<u8>>(br#"["secret words"]"#).unwrap_err();

        assert_eq!(
            error.to_string(),
            "JSON of an unexpected shape (line 1, column 15)"
        );
    }

    #[test]
    fn cut_and_deep_input_is_an_error_and_no_crash() {
        assert!(parse_json::<serde_json::Value>(br#"{"a": "\ud8"#).is_err());
        assert!(parse_json::<serde_json::Value>(&[b'['; 100_000]).is_err());
        assert!(parse_json::<String>(b"\"\xff\"").is_err());
    }

    proptest! {
        #[test]
        fn whatever_serde_can_read_is_left_alone(text in any::<String>()) {
            let json = serde_json::to_vec(&text).unwrap();

            prop_assert!(matches!(repair(&json), Cow::Borrowed(_)));
            prop_assert_eq!(parse_json::<String>(&json), Ok(text));
        }

        #[test]
        fn any_row_of_escapes_can_be_read(units in prop::collection::vec(any::<u16>(), 0..20)) {
            let escapes: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();

            let read = parse_json::<String>(format!("\"{escapes}\"").as_bytes());

            prop_assert_eq!(read, Ok(String::from_utf16_lossy(&units)));
        }
    }
}
