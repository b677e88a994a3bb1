//! A path below a root, judged by its letters alone before any system call. It does not
//! know whether anything has that name.

use crate::limits;
use crate::refusal::Refusal;

/// A relative path whose segments are neither empty nor hidden and hold no control or direction characters. Code that
/// holds one need not look for dots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelPath {
    text: String,
}

impl RelPath {
    /// Judges a path as the model gave it.
    ///
    /// # Errors
    ///
    /// One of the `Path…` refusals: the first that applies.
    pub fn parse(text: &str) -> Result<RelPath, Refusal> {
        if text.contains('\0') {
            return Err(Refusal::PathNul);
        }
        if text.is_empty() {
            return Err(Refusal::PathEmpty);
        }
        if text.len() > limits::PATH_BYTES {
            return Err(Refusal::PathTooLong);
        }
        if text.starts_with('/') {
            return Err(Refusal::PathAbsolute);
        }
        text.split('/').try_for_each(judge_segment)?;
        Ok(RelPath {
            text: text.to_owned(),
        })
    }

    /// Judges whether something new may have this name. An existing name is what it is; a new one must not pass for
    /// another.
    ///
    /// # Errors
    ///
    /// [`Refusal::NameDeceptive`].
    pub fn may_be_created(&self) -> Result<(), Refusal> {
        if self.text.split('/').any(is_deceptive) {
            Err(Refusal::NameDeceptive)
        } else {
            Ok(())
        }
    }

    /// The path as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The folder part, when there is one, and the last segment.
    #[must_use]
    pub fn split_last(&self) -> (Option<RelPath>, &str) {
        match self.text.rsplit_once('/') {
            Some((folder, name)) => (
                Some(RelPath {
                    text: folder.to_owned(),
                }),
                name,
            ),
            None => (None, &self.text),
        }
    }
}

/// Judges one segment. Listings and searches ask the same, so that they show exactly what a read would accept.
pub(super) fn judge_segment(segment: &str) -> Result<(), Refusal> {
    if segment.is_empty() {
        return Err(Refusal::PathEmptySegment);
    }
    if segment.starts_with('.') {
        return Err(Refusal::PathDotSegment);
    }
    if segment.len() > limits::SEGMENT_BYTES {
        return Err(Refusal::PathSegmentTooLong);
    }
    if segment.contains('\\') {
        return Err(Refusal::PathBackslash);
    }
    if segment.chars().any(redirects) {
        return Err(Refusal::PathControlCharacter);
    }
    Ok(())
}

/// Characters that end a line, move the cursor or turn the direction of the text around them.
pub(super) fn redirects(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{2028}' | '\u{2029}'                         // line and paragraph separator
            | '\u{061C}' | '\u{200E}' | '\u{200F}'          // direction marks
            | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}') // embeddings, overrides, isolates
}

/// Characters that take no room on the screen.
pub(super) fn is_invisible(char: char) -> bool {
    matches!(char,
        '\u{00AD}' | '\u{034F}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200D}' | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}'
        | '\u{FFF9}'..='\u{FFFB}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

fn is_deceptive(segment: &str) -> bool {
    // Dots and slashes that are none.
    let dot = |char| {
        matches!(
            char,
            '\u{2024}'..='\u{2026}' | '\u{FE19}' | '\u{FE30}' | '\u{FE52}' | '\u{FF0E}'
        )
    };
    let slash = |char| {
        matches!(
            char,
            '\u{2044}'
                | '\u{2215}'
                | '\u{29F5}'
                | '\u{29F8}'
                | '\u{29F9}'
                | '\u{FE68}'
                | '\u{FF0F}'
                | '\u{FF3C}'
        )
    };
    let blank_end =
        segment.starts_with(char::is_whitespace) || segment.ends_with(char::is_whitespace);
    segment.starts_with(dot)
        || segment.contains(slash)
        || segment.chars().any(is_invisible)
        || segment
            .chars()
            .any(|char| char.is_whitespace() && char != ' ')
        || blank_end
        || is_short_git(segment)
}

/// `git~1` is `.git` to a Windows clone of the same repository (CVE-2014-9390), and a final dot is dropped there.
fn is_short_git(segment: &str) -> bool {
    segment.ends_with('.')
        || segment
            .get(..4)
            .is_some_and(|start| start.eq_ignore_ascii_case("git~"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refused(text: &str) -> Option<Refusal> {
        RelPath::parse(text).err()
    }

    fn uncreatable(text: &str) -> bool {
        RelPath::parse(text)
            .and_then(|path| path.may_be_created())
            .is_err()
    }

    #[test]
    fn a_01_parent_segments_are_refused_also_when_the_path_would_stay_inside() {
        for path in [
            "..",
            "../x",
            "a/../../x",
            "a/..",
            "sub/../f.md",
            "a/b/../../../x",
        ] {
            assert_eq!(refused(path), Some(Refusal::PathDotSegment), "{path}");
        }
    }

    #[test]
    fn a_03_absolute_paths_and_foreign_spellings_are_refused() {
        let rows = [
            ("/etc/hostname", Refusal::PathAbsolute),
            ("//etc/hostname", Refusal::PathAbsolute),
            ("file:///etc/hostname", Refusal::PathEmptySegment),
            ("C:\\x", Refusal::PathBackslash),
            ("\\\\h\\s", Refusal::PathBackslash),
        ];
        for (path, expected) in rows {
            assert_eq!(refused(path), Some(expected), "{path}");
        }
        // Nothing is expanded: a tilde is a letter.
        assert_eq!(RelPath::parse("~/x").unwrap().as_str(), "~/x");
    }

    #[test]
    fn a_04_empty_and_dot_segments_are_refused() {
        let rows = [
            ("", Refusal::PathEmpty),
            (".", Refusal::PathDotSegment),
            ("./a.md", Refusal::PathDotSegment),
            ("a//b.md", Refusal::PathEmptySegment),
            ("a.md/", Refusal::PathEmptySegment),
            ("a/./b.md", Refusal::PathDotSegment),
        ];
        for (path, expected) in rows {
            assert_eq!(refused(path), Some(expected), "{path}");
        }
    }

    #[test]
    fn a_05_hidden_names_are_refused_in_any_case_and_at_any_depth() {
        for path in [
            ".git/config",
            "a/.env",
            ".GIT/x",
            ".gitattributes",
            ".vault-locks/l",
            "...",
            "a/...b",
        ] {
            assert_eq!(refused(path), Some(Refusal::PathDotSegment), "{path}");
        }
    }

    #[test]
    fn a_06_a_path_with_nul_is_refused_whole() {
        for path in ["a.md\0.png", "\0", "a\0/../b", "../\0"] {
            assert_eq!(refused(path), Some(Refusal::PathNul), "{path:?}");
        }
    }

    #[test]
    fn a_13_lengths_pass_up_to_the_limit_and_not_beyond() {
        let rows = [
            ("n".repeat(255), None),
            ("n".repeat(256), Some(Refusal::PathSegmentTooLong)),
            ("n/".repeat(511) + "nn", None),
            ("n/".repeat(512) + "n", Some(Refusal::PathTooLong)),
            ("n".repeat(4_097), Some(Refusal::PathTooLong)),
            ("n/".repeat(2_999) + "n", Some(Refusal::PathTooLong)),
        ];
        for (path, expected) in rows {
            assert_eq!(refused(&path), expected, "{} bytes", path.len());
        }
    }

    #[test]
    fn a_16_a_new_name_that_hides_or_imitates_is_refused() {
        let deceptive = [
            "a\u{202E}dm.exe",
            "a\u{200B}b",
            "a\u{2066}b",
            "\u{FEFF}a",
            "a\u{E0041}b",
            "\u{2024}git/config",
            "\u{FF0E}env",
            "\u{2025}/x",
            "\u{2026}",
            "a\u{2215}b",
            "a\u{FF0F}b",
            "a\u{00AD}b",
            "a\u{3164}",
            " a.md",
            "a.md ",
            "a\u{A0}b",
            "git~1/config",
            "GIT~2",
            "a.",
            "x/\u{FE52}env",
            "a\u{2060}b",
            "a\u{200D}b",
        ];
        for name in deceptive {
            assert!(uncreatable(name), "{name:?}");
        }
        for name in [
            "a.md",
            "übersicht.md",
            "議事録/二.md",
            "a b.md",
            "v1.2.3-rc.1",
            "naïve – draft.md",
            "gitignore",
        ] {
            assert!(!uncreatable(name), "{name:?}");
        }
    }

    #[test]
    fn a_17_control_characters_are_refused() {
        for name in [
            "a\nb",
            "a\tb",
            "a\u{1B}[31m",
            "a\u{7F}",
            "a\rb",
            "a\u{85}b",
            "a\u{2028}b",
        ] {
            assert_eq!(
                refused(name),
                Some(Refusal::PathControlCharacter),
                "{name:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn whatever_is_accepted_has_only_plain_segments(text in "[a./\\\\\0~ é\u{202E}\n]{0,40}") {
            if let Ok(path) = RelPath::parse(&text) {
                prop_assert_eq!(path.as_str(), text.as_str());
                for segment in path.as_str().split('/') {
                    prop_assert!(!segment.is_empty() && !segment.starts_with('.'));
                    let unseen = ['\0', '\\', '\n', '\u{202E}'];
                    prop_assert!(!segment.contains(unseen));
                }
            }
        }

        #[test]
        fn parsing_arbitrary_text_never_panics(text in any::<String>()) {
            if let Ok(path) = RelPath::parse(&text) {
                let _ = path.may_be_created();
                let (folder, name) = path.split_last();
                let joined = folder.map_or(name.to_owned(), |folder| format!("{}/{name}", folder.as_str()));
                prop_assert_eq!(joined, text);
            }
        }
    }
}
