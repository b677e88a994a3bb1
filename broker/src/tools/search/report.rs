//! What a search answers: the lines it found, file by file, and an account of what it left out. Bounded, whatever the
//! files hold.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::excerpt::Excerpt;
use super::look::{Looked, Seen};
use crate::facts::Facts;
use crate::fence::shown;
use crate::limits;

/// Why a search ended before the last file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// It had shown as many lines as it may.
    Lines,
    /// It had read for as long, or as much, as it may.
    Budget,
}

/// Said in every answer, so that it tells nothing of the files searched.
const ALWAYS: &str =
    "Files that hold what looks like a credential are withheld, whether they match or not.\n";

/// The answer as it grows.
#[derive(Debug, Default)]
pub(super) struct Report {
    text: String,
    /// Lines that were shown, context included.
    lines: usize,
    hits: u64,
    files_with_hits: u64,
    files: u64,
    bytes_read: u64,
    withheld: BTreeMap<&'static str, u64>,
    stopped: Option<Stop>,
}

impl Report {
    /// Tells what was seen, in its order, up to the last line that may be shown.
    pub(super) fn make(looked: Looked) -> Report {
        let mut report = Report {
            bytes_read: looked.bytes_read,
            ..Report::default()
        };
        for seen in looked.seen {
            match seen {
                Seen::Nothing => report.files += 1,
                Seen::Hits(excerpt) => report.show(&excerpt),
                Seen::Withheld(refusal) => *report.withheld.entry(refusal.code()).or_default() += 1,
                Seen::Beyond(count) => {
                    *report.withheld.entry("folder_too_large").or_default() += count;
                }
            }
            if report.stopped.is_some() {
                return report;
            }
        }
        report.stopped = looked.gave_up.then_some(Stop::Budget);
        report
    }

    fn show(&mut self, excerpt: &Excerpt) {
        if self.lines == limits::SEARCH_LINES {
            self.stopped = Some(Stop::Lines);
            return;
        }
        self.files += 1;
        self.files_with_hits += 1;
        self.put(format_args!("{}", shown::name(excerpt.path.as_bytes())));
        for line in &excerpt.lines {
            if self.lines == limits::SEARCH_LINES {
                self.stopped = Some(Stop::Lines);
                return;
            }
            self.lines += 1;
            self.hits += u64::from(line.is_hit);
            if line.after_gap {
                self.put(format_args!("  --"));
            }
            let mark = if line.is_hit { ':' } else { '-' };
            self.put(format_args!("  {}{mark} {}", line.number, line.text));
        }
    }

    fn put(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.text, "{line}").expect("a String takes every write");
    }

    pub(super) fn count(&self, facts: &mut Facts) {
        facts.number("files", self.files);
        facts.number("hits", self.hits);
        facts.number("withheld", self.withheld.values().sum());
        facts.flag("complete", self.stopped.is_none());
        facts.number("bytes_read", self.bytes_read);
    }

    pub(super) fn into_text(self) -> String {
        let files = self.files;
        let mut text = self.text;
        text += &match self.hits {
            0 if files == 1 => "No line matches in 1 file.\n".to_owned(),
            0 => format!("No line matches in {files} files.\n"),
            1 => format!("1 line matches, in 1 of {files} files.\n"),
            hits => format!(
                "{hits} lines match, in {} of {files} files.\n",
                self.files_with_hits
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
        text += match self.stopped {
            Some(Stop::Lines) => "There are more. Narrow the query or the path.\n",
            Some(Stop::Budget) => "The search took too long and was stopped. Narrow the path.\n",
            None => "",
        };
        text + ALWAYS
    }
}

#[cfg(test)]
mod tests {
    use super::super::pattern::Pattern;
    use super::*;
    use crate::refusal::Refusal;

    fn report(context: usize, text: &str, query: &str) -> String {
        let pattern = Pattern::new(query, false, false).unwrap();
        let seen =
            Excerpt::take("a.md".into(), text, &pattern, context).map_or(Seen::Nothing, Seen::Hits);
        told(vec![seen], false)
    }

    fn told(seen: Vec<Seen>, gave_up: bool) -> String {
        let text = Report::make(Looked {
            seen,
            bytes_read: 0,
            gave_up,
        })
        .into_text();
        text.strip_suffix(ALWAYS)
            .expect("every answer says so")
            .to_owned()
    }

    #[test]
    fn context_is_shown_once_and_gaps_are_marked() {
        let text = "1\n2 x\n3 x\n4\n5\n6\n7\n8 x\n";

        assert_eq!(
            report(1, text, "x"),
            "a.md\n  1- 1\n  2: 2 x\n  3: 3 x\n  4- 4\n  --\n  7- 7\n  8: 8 x\n3 lines match, in 1 of 1 files.\n"
        );
        assert_eq!(
            report(2, text, "x"),
            "a.md\n  1- 1\n  2: 2 x\n  3: 3 x\n  4- 4\n  5- 5\n  6- 6\n  7- 7\n  8: 8 x\n3 lines match, in 1 of 1 files.\n"
        );
        assert_eq!(
            report(1, "x\na\nb\nx", "x"),
            "a.md\n  1: x\n  2- a\n  3- b\n  4: x\n2 lines match, in 1 of 1 files.\n"
        );
    }

    #[test]
    fn two_hundred_lines_are_shown_and_the_rest_is_mentioned() {
        let just = report(0, &"x\n".repeat(200), "x");
        let more = report(0, &"x\n".repeat(201), "x");

        assert!(
            just.ends_with("  200: x\n200 lines match, in 1 of 1 files.\n"),
            "{just}"
        );
        assert!(more.ends_with("  200: x\n200 lines match, in 1 of 1 files.\nThere are more. Narrow the query or the path.\n"), "{more}");
    }

    #[test]
    fn what_is_withheld_is_counted_by_reason() {
        let withheld = [Refusal::Binary, Refusal::Symlink, Refusal::Binary].map(Seen::Withheld);

        assert_eq!(
            told(withheld.into(), true),
            "No line matches in 0 files.\nWithheld and not searched: 2 binary, 1 symlink.\nThe search took too long and was stopped. Narrow the path.\n"
        );
    }

    #[test]
    fn a_line_cannot_look_like_the_name_of_a_file() {
        assert_eq!(
            report(0, "x\rb.md\u{2028}  1: y", "x"),
            "a.md\n  1: x\\u{d}b.md\\u{2028}  1: y\n1 line matches, in 1 of 1 files.\n"
        );
    }
}
