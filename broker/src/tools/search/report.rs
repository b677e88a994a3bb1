//! What a search answers: the lines it found, file by file, and an account of what it left out. Bounded, whatever the
//! files hold.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::pattern::{Line, Pattern};
use crate::facts::Facts;
use crate::fence::shown;
use crate::limits;
use crate::refusal::Refusal;

/// Why a search ended before the last file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It had shown as many lines as it may.
    Lines,
    /// It had read for as long, or as much, as it may.
    Budget,
}

/// The answer as it grows.
#[derive(Debug)]
pub(super) struct Report {
    text: String,
    /// Lines that may still be shown, context included.
    room: usize,
    context: usize,
    hits: u64,
    files_with_hits: u64,
    files: u64,
    withheld: BTreeMap<&'static str, u64>,
    stopped: Option<Stop>,
}

impl Report {
    pub(super) fn new(room: usize, context: usize) -> Report {
        Report {
            text: String::new(),
            room,
            context,
            hits: 0,
            files_with_hits: 0,
            files: 0,
            withheld: BTreeMap::new(),
            stopped: None,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.stopped == Some(Stop::Lines)
    }

    pub(super) fn stop(&mut self, why: Stop) {
        self.stopped = Some(why);
    }

    /// Counts something that was not looked into.
    pub(super) fn withhold(&mut self, refusal: &Refusal) {
        *self.withheld.entry(refusal.code()).or_default() += 1;
    }

    /// Counts entries of a folder that is too large to be held.
    pub(super) fn beyond(&mut self, count: u64) {
        *self.withheld.entry("folder_too_large").or_default() += count;
    }

    /// Takes over the matching lines of one file.
    pub(super) fn file(&mut self, path: &str, text: &str, pattern: &Pattern) {
        self.files += 1;
        let mut lines = pattern.lines(text).peekable();
        if lines.peek().is_none() {
            return;
        }
        if self.room == 0 {
            self.stop(Stop::Lines);
            return;
        }
        self.files_with_hits += 1;
        writeln!(self.text, "{}", shown::name(path.as_bytes()))
            .expect("a String takes every write");
        // Where the lines shown so far end.
        let mut shown_to = 0;
        while let Some(hit) = lines.next() {
            if !self.hit(text, hit, lines.peek().copied(), &mut shown_to) {
                return;
            }
        }
    }

    /// Shows a hit with its context. False when there was no room for it.
    fn hit(&mut self, text: &str, hit: Line, next: Option<Line>, shown_to: &mut usize) -> bool {
        let before = lines_before(text, hit, self.context, *shown_to);
        if self.context > 0
            && *shown_to > 0
            && before.first().map_or(hit.start, |line| line.start) > *shown_to
        {
            self.text.push_str("  --\n");
        }
        let after = lines_after(text, hit, self.context, next);
        let marked = before
            .into_iter()
            .map(|line| (line, '-'))
            .chain(std::iter::once((hit, ':')))
            .chain(after.into_iter().map(|line| (line, '-')));
        for (line, mark) in marked {
            if self.room == 0 {
                self.stop(Stop::Lines);
                return false;
            }
            self.room -= 1;
            self.hits += u64::from(mark == ':');
            let content = text[line.start..line.end].trim_end_matches('\r');
            let content = shown::line(content, limits::SEARCH_LINE_CHARS);
            writeln!(self.text, "  {}{mark} {content}", line.number)
                .expect("a String takes every write");
            *shown_to = line.end + 1;
        }
        true
    }

    pub(super) fn count(&self, facts: &mut Facts) {
        facts.number("files", self.files);
        facts.number("hits", self.hits);
        facts.number("withheld", self.withheld.values().sum());
        facts.flag("complete", self.stopped.is_none());
    }

    pub(super) fn into_text(self) -> String {
        let mut text = self.text;
        text += &match self.hits {
            0 => format!("No line matches in {} files.\n", self.files),
            hits => format!(
                "{hits} matching lines in {} of {} files.\n",
                self.files_with_hits, self.files
            ),
        };
        if !self.withheld.is_empty() {
            let reasons: Vec<String> = self
                .withheld
                .iter()
                .map(|(reason, count)| format!("{count} {reason}"))
                .collect();
            text += &format!("Withheld and not searched: {}.\n", reasons.join(", "));
        }
        match self.stopped {
            Some(Stop::Lines) => {
                text += "There are more matching lines. Narrow the query or the path.\n";
            }
            Some(Stop::Budget) => {
                text += "The search took too long and was stopped. Narrow the path.\n";
            }
            None => {}
        }
        text
    }
}

/// Up to `most` lines before `hit` that begin at or after `shown_to`, in order.
fn lines_before(text: &str, hit: Line, most: usize, shown_to: usize) -> Vec<Line> {
    let mut lines = Vec::with_capacity(most);
    let (mut start, mut number) = (hit.start, hit.number);
    while lines.len() < most && start > shown_to {
        let end = start - 1;
        start = memchr::memrchr(b'\n', &text.as_bytes()[..end]).map_or(0, |at| at + 1);
        number -= 1;
        lines.push(Line { number, start, end });
    }
    lines.reverse();
    lines
}

/// Up to `most` lines behind `hit` and before `next`, which shows itself.
fn lines_after(text: &str, hit: Line, most: usize, next: Option<Line>) -> Vec<Line> {
    let mut lines = Vec::with_capacity(most);
    let (mut start, mut number) = (hit.end + 1, hit.number);
    let stop = next.map_or(text.len(), |next| next.start);
    while lines.len() < most && start < stop {
        let end =
            memchr::memchr(b'\n', &text.as_bytes()[start..]).map_or(text.len(), |at| start + at);
        number += 1;
        lines.push(Line { number, start, end });
        start = end + 1;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(room: usize, context: usize, text: &str, query: &str) -> String {
        let mut report = Report::new(room, context);
        report.file("a.md", text, &Pattern::new(query, false, false).unwrap());
        report.into_text()
    }

    #[test]
    fn context_is_shown_once_and_gaps_are_marked() {
        let text = "1\n2 x\n3 x\n4\n5\n6\n7\n8 x\n";

        assert_eq!(
            report(99, 1, text, "x"),
            "a.md\n  1- 1\n  2: 2 x\n  3: 3 x\n  4- 4\n  --\n  7- 7\n  8: 8 x\n3 matching lines in 1 of 1 files.\n"
        );
        assert_eq!(
            report(99, 2, text, "x"),
            "a.md\n  1- 1\n  2: 2 x\n  3: 3 x\n  4- 4\n  5- 5\n  6- 6\n  7- 7\n  8: 8 x\n3 matching lines in 1 of 1 files.\n"
        );
    }

    #[test]
    fn the_room_is_kept_to_and_the_rest_is_mentioned() {
        assert_eq!(
            report(2, 0, "x\nx\nx\n", "x"),
            "a.md\n  1: x\n  2: x\n2 matching lines in 1 of 1 files.\nThere are more matching lines. Narrow the query or the path.\n"
        );
        assert_eq!(
            report(2, 0, "x\nx\n", "x"),
            "a.md\n  1: x\n  2: x\n2 matching lines in 1 of 1 files.\n"
        );
    }

    #[test]
    fn what_is_withheld_is_counted_by_reason() {
        let mut report = Report::new(9, 0);
        report.withhold(&Refusal::Binary);
        report.withhold(&Refusal::Symlink);
        report.withhold(&Refusal::Binary);

        assert_eq!(
            report.into_text(),
            "No line matches in 0 files.\nWithheld and not searched: 2 binary, 1 symlink.\n"
        );
    }

    #[test]
    fn a_line_cannot_look_like_the_name_of_a_file() {
        assert_eq!(
            report(9, 0, "x\rb.md\u{2028}  1: y", "x"),
            "a.md\n  1: x\\u{d}b.md\\u{2028}  1: y\n1 matching lines in 1 of 1 files.\n"
        );
    }
}
