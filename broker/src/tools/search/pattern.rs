//! What a search looks for, and the lines of a text that hold it. Matching time is linear in the text whatever the query.

use memchr::memmem::Finder;
use regex::bytes::{Regex, RegexBuilder};

use crate::limits;
use crate::refusal::Refusal;

/// A query that compiled.
#[derive(Debug)]
pub(super) enum Pattern {
    /// Itself, letter for letter.
    Literal(Box<Finder<'static>>),
    /// Itself in any case.
    Folded(Regex),
    /// A regular expression.
    Expression(Regex),
}

/// One line of a text that matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// From 1.
    pub(super) number: u64,
    pub(super) start: usize,
    /// Behind its last letter, its line feed not included.
    pub(super) end: usize,
}

impl Pattern {
    pub(super) fn new(query: &str, regex: bool, ignore_case: bool) -> Result<Pattern, Refusal> {
        if query.is_empty() {
            return Err(Refusal::QueryEmpty);
        }
        if query.len() > limits::SEARCH_QUERY_BYTES || query.contains(['\n', '\0']) {
            return Err(Refusal::QueryTooLong);
        }
        match (regex, ignore_case) {
            (false, false) => Ok(Pattern::Literal(Box::new(Finder::new(query).into_owned()))),
            (false, true) => compile(&regex::escape(query), true).map(Pattern::Folded),
            (true, ignore_case) => compile(query, ignore_case).map(Pattern::Expression),
        }
    }

    /// The matching lines of `text`, in order.
    pub(super) fn lines<'a>(&'a self, text: &'a str) -> Lines<'a> {
        let text = text.as_bytes();
        // No line before the first match in the whole text matches by itself.
        let from = match self {
            Pattern::Literal(_) | Pattern::Folded(_) => 0,
            Pattern::Expression(regex) => regex
                .find(text)
                .map_or(text.len(), |hit| line_start(text, hit.start())),
        };
        Lines {
            pattern: self,
            text,
            from,
            counted: 0,
            number: 1,
        }
    }

    /// The beginning of the next matching line at or behind `from`, itself the beginning of a line.
    fn find(&self, text: &[u8], mut from: usize) -> Option<usize> {
        match self {
            Pattern::Literal(finder) => finder
                .find(&text[from..])
                .map(|at| line_start(text, from + at)),
            Pattern::Folded(regex) => regex
                .find_at(text, from)
                .map(|hit| line_start(text, hit.start())),
            // Line by line, because `\s` and `[^a]` match a line feed: a match in the whole text may span lines, and
            // looking for the next one behind each of those would take quadratic time.
            Pattern::Expression(regex) => {
                while from < text.len() {
                    let end = line_end(text, from);
                    if regex.is_match(&text[from..end]) {
                        return Some(from);
                    }
                    from = end + 1;
                }
                None
            }
        }
    }
}

fn compile(expression: &str, ignore_case: bool) -> Result<Regex, Refusal> {
    RegexBuilder::new(expression)
        .case_insensitive(ignore_case)
        .multi_line(true)
        .crlf(true)
        .size_limit(limits::SEARCH_PATTERN_BYTES)
        .dfa_size_limit(limits::SEARCH_PATTERN_BYTES)
        .build()
        .map_err(|_| Refusal::QueryPattern)
}

/// See [`Pattern::lines`].
pub(super) struct Lines<'a> {
    pattern: &'a Pattern,
    text: &'a [u8],
    /// Where to look on: always the beginning of a line.
    from: usize,
    /// Line feeds before here are counted.
    counted: usize,
    /// Number of the line at `counted`.
    number: u64,
}

impl Iterator for Lines<'_> {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        if self.from >= self.text.len() {
            return None;
        }
        let start = self.pattern.find(self.text, self.from)?;
        let end = line_end(self.text, start);
        self.from = end + 1;
        self.number += feeds(&self.text[self.counted..start]);
        self.counted = start;
        Some(Line {
            number: self.number,
            start,
            end,
        })
    }
}

fn line_start(text: &[u8], at: usize) -> usize {
    memchr::memrchr(b'\n', &text[..at]).map_or(0, |feed| feed + 1)
}

fn line_end(text: &[u8], from: usize) -> usize {
    memchr::memchr(b'\n', &text[from..]).map_or(text.len(), |feed| from + feed)
}

fn feeds(text: &[u8]) -> u64 {
    u64::try_from(memchr::memchr_iter(b'\n', text).count()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(query: &str, regex: bool, ignore_case: bool, text: &str) -> Vec<(u64, String)> {
        let pattern = Pattern::new(query, regex, ignore_case).unwrap();
        pattern
            .lines(text)
            .map(|line| (line.number, text[line.start..line.end].to_owned()))
            .collect()
    }

    #[test]
    fn a_literal_is_found_once_a_line_and_means_only_itself() {
        let text = "a.b a.b\naxb\n\na.b";

        assert_eq!(
            found("a.b", false, false, text),
            [(1, "a.b a.b".into()), (4, "a.b".into())]
        );
        assert_eq!(found("A.B", false, false, text), []);
        assert_eq!(
            found("A.B", false, true, text),
            [(1, "a.b a.b".into()), (4, "a.b".into())]
        );
    }

    #[test]
    fn an_expression_matches_within_one_line_only() {
        let text = "one\ntwo\nthree x\n";

        assert_eq!(
            found("^t", true, false, text),
            [(2, "two".into()), (3, "three x".into())]
        );
        assert_eq!(found("e\\s+t", true, false, text), []);
        assert_eq!(found("e\\s+x", true, false, text), [(3, "three x".into())]);
        assert_eq!(found("[^q]+$", true, false, text).len(), 3);
    }

    #[test]
    fn an_expression_that_matches_nothing_at_all_finds_each_line_and_no_line_behind_the_last() {
        assert_eq!(
            found("x*", true, false, "a\n\nb\n"),
            [(1, "a".into()), (2, String::new()), (3, "b".into())]
        );
    }

    #[test]
    fn a_line_end_of_two_letters_belongs_to_the_line() {
        assert_eq!(
            found("b$", true, false, "ab\r\nc\r\n"),
            [(1, "ab\r".into())]
        );
        assert_eq!(
            found("ab", false, false, "ab\r\nc\r\n"),
            [(1, "ab\r".into())]
        );
    }

    #[test]
    fn an_expression_that_could_span_every_line_takes_linear_time() {
        // Looked for in the whole text behind each line, this would read two hundred thousand times two hundred
        // thousand bytes: minutes, where one pass takes milliseconds.
        let text = "a\n".repeat(100_000) + "z";

        assert_eq!(found("a[^q]*z", true, false, &text), []);
    }

    #[test]
    fn a_query_that_cannot_be_used_is_refused() {
        let refused = |query: &str, regex| Pattern::new(query, regex, false).err();

        assert_eq!(refused("", false), Some(Refusal::QueryEmpty));
        assert_eq!(refused("a\nb", false), Some(Refusal::QueryTooLong));
        assert_eq!(
            refused(&"a".repeat(1_001), false),
            Some(Refusal::QueryTooLong)
        );
        assert_eq!(refused("(", true), Some(Refusal::QueryPattern));
        assert_eq!(refused("(?=a)b", true), Some(Refusal::QueryPattern));
        assert_eq!(refused("(a)\\1", true), Some(Refusal::QueryPattern));
        assert_eq!(
            refused("(a{1000}){1000}", true),
            Some(Refusal::QueryPattern)
        );
    }
}
