//! Looks for credentials by their shape in everything that goes in or out (DESIGN, section 7, row 5). The shapes are one
//! table; this file walks it. It sees whole texts only, so no shape can hide on a seam.
//!
//! One pass finds the places where a shape could begin, by the fixed letters each begins with; only there its rule is
//! asked. Two shapes have no fixed letters and are found by the marks inside them.

mod detect;
mod marks;
mod table;

use std::sync::LazyLock;

use regex::bytes::Regex;

use self::detect::Found;
use self::table::{SHAPES, Shape, Start};

/// The name of the first shape found, if any.
#[must_use]
pub fn find(text: &[u8]) -> Option<&'static str> {
    by_letters(text)
        .or_else(|| by_marks(text))
        .map(|shape| shape.name)
}

/// The names of all shapes, in the order of the table.
pub(crate) fn names() -> impl Iterator<Item = String> {
    SHAPES.iter().map(|shape| shape.name.to_owned())
}

/// All fixed letters as one expression.
static LETTERS: LazyLock<Regex> = LazyLock::new(|| {
    let letters: Vec<String> = lettered()
        .map(|(letters, _)| regex::escape(letters))
        .collect();
    Regex::new(&letters.join("|")).expect("escaped literals make an expression")
});

fn by_letters(text: &[u8]) -> Option<&'static Shape> {
    let mut from = 0;
    while let Some(found) = LETTERS.find_at(text, from) {
        let (_, shape) = lettered()
            .find(|(letters, _)| letters.as_bytes() == found.as_bytes())
            .expect("only these letters were looked for");
        if (shape.detect)(&Found::new(text, found.start(), found.end())) {
            return Some(shape);
        }
        // One byte on, not past the letters: they may hold the beginning of another shape.
        from = found.start() + 1;
    }
    None
}

fn by_marks(text: &[u8]) -> Option<&'static Shape> {
    SHAPES.iter().find(|shape| match shape.start {
        Start::Marks(marks) => marks
            .places(text)
            .any(|at| (shape.detect)(&Found::new(text, at, at + 1))),
        Start::Letters(_) => false,
    })
}

fn lettered() -> impl Iterator<Item = (&'static str, &'static Shape)> {
    SHAPES.iter().flat_map(|shape| {
        let letters = match shape.start {
            Start::Letters(letters) => letters,
            Start::Marks(_) => &[],
        };
        letters.iter().map(move |&letters| (letters, shape))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a row must match, put together here so that the source holds no whole secret.
    fn samples() -> Vec<(&'static str, String)> {
        SHAPES
            .iter()
            .flat_map(|shape| {
                shape
                    .matches
                    .iter()
                    .map(|parts| (shape.name, parts.concat()))
            })
            .collect()
    }

    #[test]
    fn a_31_every_row_finds_what_it_must() {
        for (name, sample) in samples() {
            let two_lines = format!("first line\nkey = \"{sample}\"\n");
            assert_eq!(find(two_lines.as_bytes()), Some(name), "{sample}");
        }
    }

    #[test]
    fn a_33_a_shape_is_found_wherever_it_stands() {
        for (name, sample) in samples() {
            let far = "x ".repeat(4_096 + 7);
            for text in [
                sample.clone(),
                format!("{far}{sample}"),
                format!("a\n{sample}"),
                format!("{sample} z{far}"),
            ] {
                assert_eq!(find(text.as_bytes()), Some(name), "{sample}");
            }
        }
    }

    #[test]
    fn a_33_a_shape_is_found_behind_an_escaped_line_end() {
        for (name, sample) in samples() {
            assert_eq!(
                find(format!("{{\"k\":\"a\\n{sample}\\n\"}}").as_bytes()),
                Some(name),
                "{sample}"
            );
        }
    }

    #[test]
    fn a_35_every_row_leaves_alone_what_it_must() {
        for shape in SHAPES {
            for sample in shape.not {
                assert_eq!(find(sample.as_bytes()), None, "{}: {sample}", shape.name);
            }
        }
    }

    #[test]
    fn a_35_prose_identifiers_and_data_pass() {
        let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
        let passing = [
            "tokens start with ghp_",
            "ghp_[A-Za-z0-9]{36}",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "xoxp- tokens",
            "sk-learn",
            "AKIAIOSFODNN7EXAMPLE",
            "-----BEGIN PUBLIC KEY-----",
            "-----BEGIN CERTIFICATE-----",
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "123e4567-e89b-12d3-a456-426614174000",
            "175928847299117063",
            "eyJ",
            "Authorization: Bearer <token>",
            "https://example.org/a:b@c",
            "https://user@example.org",
            "ssh://git@example.org:22/a.git",
            "at 12:30:45 and 2026-01-02T03:04:05.123456Z",
            png,
        ];
        for text in passing {
            assert_eq!(find(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn no_sample_stands_whole_in_the_table() {
        let source = include_str!("credential/table.rs");
        assert_eq!(find(source.as_bytes()), None);
    }

    #[test]
    fn no_letters_are_given_twice_or_begin_with_others() {
        // Of two such, only one would ever be found.
        for (index, (one, _)) in lettered().enumerate() {
            for (_, (other, _)) in lettered().enumerate().filter(|(other, _)| *other != index) {
                assert!(!other.starts_with(one), "{one} {other}");
            }
        }
    }

    proptest! {
        #[test]
        fn a_shape_is_found_whatever_stands_around_it(
            before in "[ -~\n]{0,60}", after in "[ -~\n]{0,60}", row in 0..100_usize,
        ) {
            let samples = samples();
            let (_, sample) = &samples[row % samples.len()];
            let text = format!("{before} {sample} {after}");
            prop_assert!(find(text.as_bytes()).is_some());
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = find(&bytes);
        }

        #[test]
        fn cut_samples_never_panic(row in 0..100_usize, cut in 0..100_usize) {
            let samples = samples();
            let (_, sample) = &samples[row % samples.len()];
            let bytes = sample.as_bytes();
            let _ = find(&bytes[..cut.min(bytes.len())]);
            let _ = find(&bytes[cut.min(bytes.len())..]);
        }
    }
}
