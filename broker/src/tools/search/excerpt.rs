//! The matching lines of one file with their context, ready to be shown.

use super::pattern::{Line, Pattern};
use crate::fence::shown;
use crate::limits;

/// The matching lines of one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    /// Below the root, as it is.
    pub(super) path: String,
    /// Never empty, and at most one more than a search shows.
    pub(super) lines: Vec<ShownLine>,
}

/// One line as it is shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ShownLine {
    /// From 1.
    pub(super) number: u64,
    /// Whether it matches, or only stands beside one that does.
    pub(super) is_hit: bool,
    /// Whether lines are missing between the one before and this.
    pub(super) after_gap: bool,
    /// Escaped and cut.
    pub(super) text: String,
}

impl Excerpt {
    /// Takes the matching lines out of a text, if there are any.
    pub(super) fn take(
        path: String,
        text: &str,
        pattern: &Pattern,
        context: usize,
    ) -> Option<Excerpt> {
        let mut hits = pattern.lines(text).peekable();
        hits.peek()?;
        let mut excerpt = Excerpt {
            path,
            lines: Vec::new(),
        };
        // Where the lines taken so far end.
        let mut taken_to = 0;
        while let Some(hit) = hits.next() {
            let before = lines_before(text, hit, context, taken_to);
            let after = lines_after(text, hit, context, hits.peek().copied());
            let beside = |line| (line, false);
            let all = before
                .into_iter()
                .map(beside)
                .chain([(hit, true)])
                .chain(after.into_iter().map(beside));
            for (line, is_hit) in all {
                if excerpt.lines.len() > limits::SEARCH_LINES {
                    return Some(excerpt);
                }
                let content = text[line.start..line.end].trim_end_matches('\r');
                excerpt.lines.push(ShownLine {
                    number: line.number,
                    is_hit,
                    after_gap: context > 0 && taken_to > 0 && line.start > taken_to,
                    text: shown::line(content, limits::SEARCH_LINE_CHARS),
                });
                taken_to = line.end + 1;
            }
        }
        Some(excerpt)
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
