//! Splits a reply into chunks Discord takes: counted in code points, cut at the best place in reach, code fences closed and
//! re-opened. Knows Markdown fences and nothing of Discord's API.

use std::ops::Range;

use unicode_segmentation::GraphemeCursor;

use crate::visible::is_blank;

/// A fence marker longer than this is plain text: repeating it around every cut would leave no room for the code.
const LONGEST_MARKER: usize = 16;
/// So is one behind more quote marks and blanks than this, for the same reason.
const LONGEST_LEAD: usize = 32;

/// One message to post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// What is posted: the part of the reply without blank edges, inside the fence markers a cut made necessary.
    pub text: String,
    /// The part of the reply this chunk stands for. The ranges of all chunks tile the reply.
    pub source: Range<usize>,
}

/// Splits `reply` into chunks of at most `limit` code points (discord-api 3.5). A blank reply gives no chunk.
///
/// A cut is made at the last paragraph in reach, else at the last line, else after a word, else between two graphemes,
/// and only where a single grapheme is longer than a chunk, between two code points.
pub fn split(reply: &str, limit: usize) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut fence: Option<Fence> = None;
    let mut start = 0;
    while start < reply.len() {
        let open = fence
            .as_ref()
            .map_or_else(String::new, |f| f.reopening(limit));
        let cut = next_cut(&reply[start..], fence.as_ref(), count(&open), limit);
        let end = start + cut.at;
        let body = trim_blank_lines(&reply[start..end]);
        let only_closes = fence.as_ref().is_some_and(|f| f.closed_by(body));
        if is_blank(body) || only_closes {
            // Nothing to show: the part belongs to the chunk before, which closed its block itself, or to the next.
            match chunks.last_mut() {
                Some(last) => last.source.end = end,
                None if end == reply.len() => return Vec::new(),
                None => {}
            }
        } else {
            // A fence the reply itself leaves open at its end stays as the model wrote it.
            let open_at_cut = cut.fence.as_ref().filter(|_| end < reply.len());
            let close = open_at_cut.map_or_else(String::new, Fence::closing);
            let from = chunks.last().map_or(0, |last| last.source.end);
            chunks.push(Chunk {
                text: format!("{open}{body}{close}"),
                source: from..end,
            });
        }
        fence = cut.fence;
        start = end;
    }
    chunks
}

/// Code points, the unit in which Discord counts (DESIGN 7.12).
pub fn count(text: &str) -> usize {
    text.chars().count()
}

/// Blank lines at both ends go, and white space at the end; the indentation of the first line with text stays.
fn trim_blank_lines(text: &str) -> &str {
    let mut rest = text;
    while let Some((line, after)) = rest.split_once('\n') {
        if !line.trim().is_empty() {
            break;
        }
        rest = after;
    }
    rest.trim_end()
}

/// Where a chunk ends, as an offset into the text, and the fence that is open there.
struct Cut {
    at: usize,
    fence: Option<Fence>,
}

fn next_cut(text: &str, open: Option<&Fence>, prefix: usize, limit: usize) -> Cut {
    let mut fence = open.cloned();
    let mut used = prefix;
    let (mut paragraph, mut line_outside, mut line_inside) = (None, None, None);
    let mut at = 0;
    // Two more than fit: no line is looked at beyond what decides, or a single line of megabytes would be read anew for
    // every part of it.
    let reach = text
        .char_indices()
        .nth(limit + 2)
        .map_or(text.len(), |(offset, _)| offset);
    for line in text[..reach].split_inclusive('\n') {
        let before = fence.clone();
        fence = Fence::after(before.as_ref(), line);
        let visible = count(line.trim_end_matches('\n'));
        if used + visible + closing_cost(fence.as_ref()) > limit {
            let fallback = paragraph.or(line_outside).or(line_inside);
            return fallback.unwrap_or_else(|| {
                let fence = inside(&text[at..], line, before.as_ref());
                let cut = cut_inside(line, before.as_ref(), fence.as_ref(), used, limit);
                Cut {
                    at: at + cut,
                    fence,
                }
            });
        }
        used += count(line);
        at += line.len();
        let cut = Some(Cut {
            at,
            fence: fence.clone(),
        });
        match fence {
            Some(_) => line_inside = cut,
            None if next_line_is_blank(&text[at..]) => paragraph = cut,
            None => line_outside = cut,
        }
    }
    Cut {
        at: text.len(),
        fence,
    }
}

fn closing_cost(fence: Option<&Fence>) -> usize {
    fence.map_or(0, |f| count(&f.closing()))
}

fn next_line_is_blank(rest: &str) -> bool {
    rest.chars()
        .take_while(|c| *c != '\n')
        .all(char::is_whitespace)
}

/// The fence that is open inside the line `rest` begins with; `line` is as much of it as is in reach. A cut inside an
/// opening line leaves the fence open, without its language; one inside any other line changes nothing.
fn inside(rest: &str, line: &str, before: Option<&Fence>) -> Option<Fence> {
    let opens = before.is_none() && Fence::opened_by(line).is_some();
    if !opens {
        return before.cloned();
    }
    let whole = rest.split_inclusive('\n').next()?;
    Fence::opened_by(whole).map(Fence::bare)
}

/// Where to cut a line that is the first of its chunk and too long for it, as an offset into the line.
fn cut_inside(
    line: &str,
    before: Option<&Fence>,
    fence: Option<&Fence>,
    used: usize,
    limit: usize,
) -> usize {
    let room = limit.saturating_sub(used + closing_cost(fence)).max(1);
    let reach = line
        .char_indices()
        .nth(room)
        .map_or(line.len(), |(offset, _)| offset);
    let marker = fence.map_or(0, |f| {
        if before.is_none() {
            f.lead.len() + f.marker.len()
        } else {
            0
        }
    });
    let word = line[..reach]
        .rfind(char::is_whitespace)
        .map(|blank| blank + char_len(line, blank));
    word.filter(|&w| w > marker && !line[..w].trim().is_empty())
        .unwrap_or_else(|| grapheme(line, reach))
}

fn char_len(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(0, char::len_utf8)
}

/// The last grapheme boundary at or before `reach`, or `reach` itself when the first grapheme is longer than that.
fn grapheme(line: &str, reach: usize) -> usize {
    let mut cursor = GraphemeCursor::new(reach, line.len(), true);
    if cursor.is_boundary(line, 0).unwrap_or(true) {
        return reach;
    }
    match cursor.prev_boundary(line, 0) {
        Ok(Some(boundary)) if boundary > 0 => boundary,
        _ => reach,
    }
}

/// An open code fence.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fence {
    /// What stands before the marker on the opening line: blanks, quote marks, a list bullet.
    lead: String,
    /// The run of backticks or tildes.
    marker: String,
    /// The rest of the opening line: the language.
    info: String,
}

impl Fence {
    /// The fence that is open after `line`, given the one open before it.
    fn after(before: Option<&Self>, line: &str) -> Option<Self> {
        match before {
            Some(fence) if fence.closed_by(line) => None,
            Some(fence) => Some(fence.clone()),
            None => Self::opened_by(line),
        }
    }

    fn opened_by(line: &str) -> Option<Self> {
        let line = line.trim_end_matches(['\n', '\r']);
        let lead = lead_len(line);
        let rest = &line[lead..];
        let kind = rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let run = rest.len() - rest.trim_start_matches(kind).len();
        let info = &rest[run..];
        let is_fence = (3..=LONGEST_MARKER).contains(&run)
            && lead <= LONGEST_LEAD
            && !(kind == '`' && info.contains('`'));
        is_fence.then(|| Self {
            lead: line[..lead].into(),
            marker: rest[..run].into(),
            info: info.into(),
        })
    }

    /// Same character, at least as long, nothing but blanks after it (D-17).
    fn closed_by(&self, line: &str) -> bool {
        let rest = line.trim_start_matches([' ', '\t', '>']);
        let indent = line.len() - rest.len();
        let kind = if self.marker.starts_with('`') {
            '`'
        } else {
            '~'
        };
        let run = rest.len() - rest.trim_start_matches(kind).len();
        run >= self.marker.len() && rest[run..].trim().is_empty() && indent <= self.lead.len() + 3
    }

    /// The quote marks that every line of the block carries. Bullets and blanks are not repeated.
    fn quote(&self) -> &str {
        if self.lead.trim_start().starts_with('>') && self.lead.trim_matches([' ', '>']).is_empty()
        {
            &self.lead
        } else {
            ""
        }
    }

    /// The line that opens the block again in the next chunk; without its language where that would take too much room.
    fn reopening(&self, limit: usize) -> String {
        let whole = format!("{}{}{}\n", self.quote(), self.marker, self.info.trim_end());
        if count(&whole) <= limit / 4 {
            whole
        } else {
            format!("{}{}\n", self.quote(), self.marker)
        }
    }

    fn closing(&self) -> String {
        format!("\n{}{}", self.quote(), self.marker)
    }

    fn bare(mut self) -> Self {
        self.info.clear();
        self
    }
}

/// Length of what may stand before a fence: up to three blanks, quote marks, list bullets, in any nesting.
fn lead_len(line: &str) -> usize {
    let mut rest = line;
    loop {
        let inner = rest.trim_start_matches(' ');
        let after = inner.strip_prefix('>').or_else(|| bullet(inner));
        match after {
            Some(after) => rest = after,
            // Four blanks make an indented block, not a fence, unless a list or quote stands before them.
            None if rest.len() == line.len() && rest.len() - inner.len() > 3 => return line.len(),
            None => return line.len() - inner.len(),
        }
    }
}

fn bullet(text: &str) -> Option<&str> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let after = if digits == 0 {
        text.strip_prefix(['-', '*', '+'])
    } else {
        text[digits..].strip_prefix(['.', ')'])
    };
    after.filter(|a| a.starts_with(' '))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(reply: &str, limit: usize) -> Vec<String> {
        split(reply, limit).into_iter().map(|c| c.text).collect()
    }

    #[test]
    fn a_reply_within_the_limit_is_one_chunk() {
        assert_eq!(texts("Hello.\n\nBye.", 100), ["Hello.\n\nBye."]);
        assert_eq!(texts(&"x".repeat(100), 100), ["x".repeat(100)]);
    }

    #[test]
    fn a_blank_reply_is_no_chunk() {
        assert_eq!(texts("", 100), [""; 0]);
        assert_eq!(texts(" \n\n\t\n", 100), [""; 0]);
    }

    #[test]
    fn a_cut_prefers_the_last_paragraph_then_the_last_line_then_the_last_word() {
        assert_eq!(
            texts("aaa\n\nbbb\nccc\n\nddd", 14),
            ["aaa\n\nbbb\nccc", "ddd"]
        );
        assert_eq!(texts("aaa\nbbb\nccc", 8), ["aaa\nbbb", "ccc"]);
        assert_eq!(texts("aaa bbb ccc", 8), ["aaa bbb", "ccc"]);
    }

    #[test]
    fn d_13_code_points_count_not_utf_16_units() {
        assert_eq!(split(&"😀".repeat(1900), 1900).len(), 1);
        assert_eq!(split(&"😀".repeat(1901), 1900).len(), 2);
    }

    #[test]
    fn d_12_no_chunk_is_over_the_limit_around_it() {
        for length in [1899, 1900, 1901, 2000, 2001, 3800, 3801] {
            let chunks = texts(&"x".repeat(length), 1900);
            assert!(chunks.iter().all(|c| count(c) <= 1900));
            assert_eq!(chunks.iter().map(|c| count(c)).sum::<usize>(), length);
        }
    }

    #[test]
    fn a_grapheme_is_kept_whole_unless_it_is_longer_than_a_chunk() {
        let family = "👩‍👩‍👧";
        assert_eq!(
            texts(&family.repeat(3), 12),
            [family.repeat(2), family.to_string()]
        );
        assert_eq!(texts(&format!("e{}", "\u{301}".repeat(20)), 10).len(), 3);
    }

    #[test]
    fn d_18_a_block_is_closed_and_opened_again_with_its_language() {
        let reply = format!("```rust\n{}```", "let x = 1;\n".repeat(250));
        let chunks = texts(&reply, 1900);
        assert_eq!(chunks.len(), 2);
        for chunk in chunks {
            assert!(
                chunk.starts_with("```rust\n") && chunk.ends_with("\n```"),
                "{chunk}"
            );
        }
    }

    #[test]
    fn d_15_a_marker_with_a_tail_does_not_close_and_does_not_overflow() {
        for tail in 1800..2000 {
            let chunks = texts(&format!("```\n```{}\nend\n```", "x".repeat(tail)), 1900);
            assert!(
                chunks
                    .iter()
                    .all(|c| count(c) <= 1900 && c.ends_with("\n```")),
                "tail {tail}"
            );
        }
    }

    #[test]
    fn d_16_an_opening_line_too_long_to_repeat_is_opened_bare() {
        let chunks = texts(
            &format!("```{}\n{}```", "a".repeat(1950), "code\n".repeat(600)),
            1900,
        );
        assert!(chunks.iter().all(|c| count(c) <= 1900));
        assert!(
            chunks[1..].iter().all(|c| c.starts_with("```\n")),
            "{chunks:?}"
        );
    }

    #[test]
    fn d_17_a_word_after_the_marker_inside_a_block_does_not_close_it() {
        let chunks = texts(
            &format!("```\n```not-a-close\n{}```", "some code here\n".repeat(170)),
            1900,
        );
        assert!(
            chunks.len() == 2 && chunks[1].starts_with("```\n") && chunks[1].ends_with("\n```"),
            "{chunks:?}"
        );
    }

    #[test]
    fn d_19_a_run_of_blank_lines_is_no_chunk_of_its_own() {
        assert_eq!(
            texts(&format!("one{}two", "\n".repeat(500)), 100),
            ["one", "two"]
        );
    }

    #[test]
    fn tildes_and_quotes_are_fences_too() {
        let tilde = texts(&format!("~~~~sh\n{}~~~~", "echo hi\n".repeat(30)), 200);
        assert!(
            tilde
                .iter()
                .all(|c| c.starts_with("~~~~sh\n") && c.ends_with("\n~~~~")),
            "{tilde:?}"
        );
        let quote = texts(&format!("> ```\n{}> ```", "> code\n".repeat(60)), 200);
        assert!(
            quote
                .iter()
                .all(|c| c.starts_with("> ```\n") && c.ends_with("\n> ```")),
            "{quote:?}"
        );
        let list = texts(&format!("- ```js\n{}  ```", "  code\n".repeat(60)), 200);
        assert!(
            list[1..].iter().all(|c| c.starts_with("```js\n")),
            "{list:?}"
        );
    }

    #[test]
    fn inline_code_of_three_backticks_opens_nothing() {
        let chunks = texts(
            &format!("```inline``` text\n\n{}", "word ".repeat(100)),
            200,
        );
        assert!(chunks.iter().all(|c| !c.ends_with("\n```")), "{chunks:?}");
    }

    fn markdown() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            "[a-z é😀]{0,60}",
            Just("\n".to_string()),
            Just("\n\n".to_string()),
            Just("\n```rust\n".to_string()),
            Just("\n```\n".to_string()),
            Just("\n~~~~\n".to_string()),
            Just("\n> ```\n".to_string()),
            Just("\n  - ```py\n".to_string()),
            Just("z````".to_string()),
            "\\PC{0,40}",
            "[x]{150,400}",
        ];
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    #[test]
    fn no_depth_of_quotes_makes_a_chunk_too_long() {
        for (depth, limit) in (0..200).flat_map(|depth| [(depth, 200), (10 * depth, 1900)]) {
            let code = "code\n".repeat(limit / 2);
            let chunks = texts(&format!("{}```\n{code}", "> ".repeat(depth)), limit);
            assert!(chunks.iter().all(|c| count(c) <= limit), "depth {depth}");
        }
    }

    #[test]
    fn one_line_of_megabytes_is_split_in_one_pass() {
        // A pass over the rest of the line for every part of it would take minutes.
        assert_eq!(
            split(&"x".repeat(16 << 20), 200).len(),
            (16 << 20) / 200 + 1
        );
    }

    proptest! {
        #[test]
        fn chunks_tile_the_reply_fit_the_limit_and_are_never_blank(reply in markdown(), limit in 200usize..600) {
            let chunks = split(&reply, limit);
            let mut at = 0;
            for chunk in &chunks {
                prop_assert_eq!(chunk.source.start, at);
                at = chunk.source.end;
                prop_assert!(count(&chunk.text) <= limit, "{} > {}", count(&chunk.text), limit);
                prop_assert!(!is_blank(&chunk.text));
                let words: Vec<_> = reply[chunk.source.clone()].split_whitespace().collect();
                let mut posted = chunk.text.split_whitespace();
                let of_a_fence = |word: &&str| word.contains("```") || word.contains("~~~") || *word == ">";
                for word in words.into_iter().filter(|word| !of_a_fence(word)) {
                    prop_assert!(posted.any(|p| p == word), "{word:?} is not in {:?}", chunk.text);
                }
            }
            let tiled = if chunks.is_empty() { reply.trim().is_empty() } else { at == reply.len() };
            prop_assert!(tiled);
        }

        #[test]
        fn every_chunk_closes_the_fences_it_opens(reply in markdown(), limit in 200usize..600) {
            let chunks = split(&reply, limit);
            for chunk in chunks.iter().rev().skip(1) {
                let open = chunk.text.split_inclusive('\n').fold(None, |fence, line| Fence::after(fence.as_ref(), line));
                prop_assert_eq!(open, None, "{:?}", chunk.text);
            }
        }
    }
}
