//! How names and lines that came from a disk or from the model are shown: so that none can end a line early, turn its
//! direction, or pass for another. It judges nothing.

use std::fmt::Write as _;

use super::relpath::{is_invisible, redirects};

/// A file name as it is shown. Unambiguous: a backslash is doubled, and what does not print is written out.
pub(crate) fn name(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '\\' => shown.push_str("\\\\"),
                char if redirects(char) || is_invisible(char) => put_escape(&mut shown, char),
                char => shown.push(char),
            }
        }
        for byte in chunk.invalid() {
            write!(shown, "\\x{byte:02x}").expect("a String takes every write");
        }
    }
    shown
}

/// An argument as the ledger keeps it: escaped, and cut at `chars` characters.
pub(crate) fn argument(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => name(&text.as_bytes()[..end]) + "…",
        None => name(text.as_bytes()),
    }
}

/// A line of a file as a search shows it: cut at `chars` characters, and without anything that a terminal or a reader
/// would take for the end of the line. Its other characters are content and stay.
pub(crate) fn line(text: &str, chars: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(chars * 4));
    for (count, char) in text.chars().enumerate() {
        if count == chars {
            shown.push_str(" … (line cut)");
            break;
        }
        match char {
            '\t' => shown.push('\t'),
            char if redirects(char) => put_escape(&mut shown, char),
            char => shown.push(char),
        }
    }
    shown
}

fn put_escape(shown: &mut String, char: char) {
    write!(shown, "\\u{{{:x}}}", u32::from(char)).expect("a String takes every write");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_17_a_shown_name_is_one_line_and_tells_two_names_apart() {
        assert_eq!(name(b"plain \xC3\xA9.md"), "plain é.md");
        assert_eq!(
            name("a\nb\u{202E}c\u{1B}".as_bytes()),
            "a\\u{a}b\\u{202e}c\\u{1b}"
        );
        assert_eq!(name(b"a\xFFb"), "a\\xffb");
        assert_eq!(name(b"a\\u{a}b"), "a\\\\u{a}b");
    }

    #[test]
    fn a_found_line_cannot_look_like_two() {
        assert_eq!(line("a\rb\u{2028}c\td", 99), "a\\u{d}b\\u{2028}c\td");
        assert_eq!(line("abcdef", 3), "abc … (line cut)");
        assert_eq!(line("abc", 3), "abc");
    }
}
