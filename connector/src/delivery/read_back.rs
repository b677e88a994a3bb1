//! Looks for one chunk in a channel that is read back page by page: what settles a delivery when no nonce can (DESIGN 7.7).
//! It owns no client; it says what to ask next and judges what is shown.

use crate::{delivery::Sighting, discord::Snowflake};

/// Messages asked for at once when a channel is read back; Discord gives no more.
pub const PAGE: u8 = 100;
/// Pages read before the channel counts as unclear.
const PAGES: usize = 20;

/// The chunk that is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sought {
    /// The inbound message it answers.
    pub message: Snowflake,
    /// Which part of the answer it is, from 0.
    pub part: usize,
    /// The newest message that cannot be it: the part before it, at first the inbound message.
    pub beyond: Snowflake,
    /// Its text.
    pub content: String,
}

/// One message of a page, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing<'a> {
    /// The message.
    pub id: Snowflake,
    /// Whether the bot wrote it.
    pub ours: bool,
    /// The message it replies to.
    pub reply_to: Option<Snowflake>,
    /// What it says.
    pub content: &'a str,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read {
    /// Ask for the page of messages after this one.
    Page(Snowflake),
    /// Ask for the inbound message itself: whether it is known to be gone is the answer to [`ReadBack::question`].
    Question,
    /// It is decided.
    Done(Sighting),
}

/// One search.
#[derive(Debug)]
pub struct ReadBack {
    sought: Sought,
    pages: usize,
}

impl ReadBack {
    /// Begins just before the inbound message, so that a bot that may not read the history, to whom Discord shows an empty
    /// list instead of an error, is told from a channel where nothing came after.
    pub fn begin(sought: Sought) -> (Self, Read) {
        let message = sought.message;
        let before = Snowflake::new(message.get() - 1).unwrap_or(message);
        (Self { sought, pages: 0 }, Read::Page(before))
    }

    /// Takes the page that was asked for.
    pub fn page<'a>(&mut self, page: impl IntoIterator<Item = Standing<'a>>) -> Read {
        let (mut read, mut newest) = (0, None);
        for standing in page {
            if self.is_sought(&standing) {
                return Read::Done(Sighting::Found(standing.id));
            }
            read += 1;
            newest = newest.max(Some(standing.id));
        }
        self.pages += 1;
        match newest {
            None if self.pages == 1 => Read::Question,
            Some(newest) if read >= usize::from(PAGE) && self.pages < PAGES => Read::Page(newest),
            Some(_) if read >= usize::from(PAGE) => Read::Done(Sighting::Unclear),
            _ => Read::Done(Sighting::Absent),
        }
    }

    /// Takes whether the inbound message is known to be gone: only then does an empty channel mean that nothing stands there.
    pub fn question(&self, gone: bool) -> Sighting {
        if gone {
            Sighting::Absent
        } else {
            Sighting::Unclear
        }
    }

    /// Texts repeat: the fixed lines do for every message, chunks within one answer. So a first part that replies to another
    /// message is not it, nor is a later part that replies at all, nor anything up to the part before.
    fn is_sought(&self, standing: &Standing) -> bool {
        let Sought {
            message,
            part,
            beyond,
            ref content,
        } = self.sought;
        let replies_as_it_would = match standing.reply_to {
            Some(other) => part == 0 && other == message,
            None => true,
        };
        standing.ours
            && standing.id > beyond
            && replies_as_it_would
            // Discord trims both ends.
            && standing.content.trim() == content.trim()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> Snowflake {
        Snowflake::new(number).unwrap()
    }

    fn sought(part: usize, beyond: u64) -> Sought {
        Sought {
            message: id(10),
            part,
            beyond: id(beyond),
            content: "hello".into(),
        }
    }

    fn ours(number: u64, reply_to: Option<u64>, content: &str) -> Standing<'_> {
        Standing {
            id: id(number),
            ours: true,
            reply_to: reply_to.and_then(Snowflake::new),
            content,
        }
    }

    fn first_page(sought: Sought, page: &[Standing]) -> Read {
        let (mut search, read) = ReadBack::begin(sought);
        assert_eq!(read, Read::Page(id(9)));
        search.page(page.iter().copied())
    }

    #[test]
    fn a_chunk_is_known_by_its_author_its_place_its_reference_and_its_text() {
        let theirs = Standing {
            ours: false,
            ..ours(11, Some(10), "hello")
        };
        let found = |number| Read::Done(Sighting::Found(id(number)));
        let absent = || Read::Done(Sighting::Absent);
        let question = ours(10, None, "hello");
        for (what, sought, standing, expected) in [
            (
                "the reply",
                sought(0, 10),
                ours(11, Some(10), "hello\n"),
                found(11),
            ),
            (
                "its reference was lost",
                sought(0, 10),
                ours(11, None, "hello"),
                found(11),
            ),
            ("another author", sought(0, 10), theirs, absent()),
            (
                "another text",
                sought(0, 10),
                ours(11, Some(10), "hello you"),
                absent(),
            ),
            (
                "the answer to another message",
                sought(0, 10),
                ours(12, Some(11), "hello"),
                absent(),
            ),
            (
                "the second part",
                sought(1, 11),
                ours(12, None, "hello"),
                found(12),
            ),
            (
                "a second part is no reply",
                sought(1, 11),
                ours(12, Some(10), "hello"),
                absent(),
            ),
            (
                "the first part says the same",
                sought(1, 11),
                ours(11, None, "hello"),
                absent(),
            ),
        ] {
            assert_eq!(
                first_page(sought, &[question, standing]),
                expected,
                "{what}"
            );
        }
    }

    #[test]
    fn an_empty_channel_means_absent_only_when_the_question_is_known_to_be_gone() {
        let (mut search, _) = ReadBack::begin(sought(0, 10));

        assert_eq!(search.page([]), Read::Question);

        assert_eq!(search.question(true), Sighting::Absent);
        assert_eq!(search.question(false), Sighting::Unclear);
    }

    #[test]
    fn full_pages_are_read_on_from_the_newest_until_it_is_too_many() {
        let full = |from: u64| (0..u64::from(PAGE)).map(move |n| ours(from + n, None, "other"));
        let (mut search, _) = ReadBack::begin(sought(0, 10));

        for page in 0..19 {
            let from = 10 + page * 100;
            assert_eq!(search.page(full(from)), Read::Page(id(from + 99)));
        }

        assert_eq!(search.page(full(1910)), Read::Done(Sighting::Unclear));
    }

    #[test]
    fn a_page_that_is_not_full_ends_the_search() {
        let (mut search, _) = ReadBack::begin(sought(0, 10));
        let full = (0..u64::from(PAGE)).map(|n| ours(10 + n, None, "other"));
        let _ = search.page(full);

        assert_eq!(search.page([]), Read::Done(Sighting::Absent));
    }
}
