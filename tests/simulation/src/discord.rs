//! Discord as far as an answer can notice it: channels, the memory for nonces, deletions. Its clock is the true one.

use std::collections::{HashMap, HashSet};

use mosaic_connector::{
    delivery::{Answer, Read, ReadBack, Sighting, Sought, Standing, courier::NONCE_WINDOW},
    discord::Snowflake,
};

/// A request to post.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Post {
    pub(crate) place: Snowflake,
    pub(crate) reply_to: Option<Snowflake>,
    pub(crate) nonce: String,
    pub(crate) content: String,
}

/// What the bot posted.
#[derive(Debug)]
pub(crate) struct Posted {
    pub(crate) id: Snowflake,
    pub(crate) post: Post,
    at_ms: u64,
    pub(crate) deleted: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Discord {
    pub(crate) posted: Vec<Posted>,
    by_nonce: HashMap<String, usize>,
    /// Questions, in the order they were said, with their places.
    said: Vec<(Snowflake, Snowflake)>,
    gone: HashSet<Snowflake>,
    /// How a reply to a deleted question is taken: all three were seen.
    pub(crate) lost_reference: LostReference,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum LostReference {
    /// As the request asks for: posted as a plain message.
    #[default]
    Dropped,
    /// Refused with the form error.
    FormError,
    /// Refused as an unknown message, the same words a repeated nonce of a deleted message gets.
    UnknownMessage,
}

impl Discord {
    pub(crate) fn said(&mut self, message: Snowflake, place: Snowflake) {
        self.said.push((message, place));
    }

    pub(crate) fn has(&self, message: Snowflake) -> bool {
        !self.gone.contains(&message)
    }

    /// A moderator deletes the newest question or answer.
    pub(crate) fn delete_newest(&mut self, question: bool) {
        if question {
            self.gone
                .extend(self.said.last().map(|(message, _)| *message));
        } else if let Some(posted) = self.posted.last_mut() {
            posted.deleted = true;
        }
    }

    pub(crate) fn take(&mut self, mut post: Post, now_ms: u64) -> Answer {
        let window_ms = u64::try_from(NONCE_WINDOW.as_millis()).expect("minutes");
        if let Some(index) = self.by_nonce.get(&post.nonce) {
            let known = &self.posted[*index];
            if now_ms < known.at_ms + window_ms {
                return if known.deleted {
                    Answer::Gone
                } else {
                    Answer::Posted(known.id)
                };
            }
        }
        if post.reply_to.is_some_and(|question| !self.has(question)) {
            match self.lost_reference {
                LostReference::Dropped => post.reply_to = None,
                LostReference::FormError => return Answer::BadReference("400 50035".into()),
                LostReference::UnknownMessage => return Answer::Gone,
            }
        }
        let number = Snowflake::smallest_at(now_ms).get() + 500_000 + self.posted.len() as u64;
        let id = Snowflake::new(number).expect("not zero");
        self.by_nonce.insert(post.nonce.clone(), self.posted.len());
        self.posted.push(Posted {
            id,
            post,
            at_ms: now_ms,
            deleted: false,
        });
        Answer::Posted(id)
    }

    /// The channel as it is read back.
    pub(crate) fn look_for(&self, place: Snowflake, sought: Sought) -> Sighting {
        let question = sought.message;
        let (mut search, mut next) = ReadBack::begin(sought);
        loop {
            match next {
                Read::Done(sighting) => return sighting,
                Read::Question => return search.question(!self.has(question)),
                Read::Page(after) => next = search.page(self.page(place, after)),
            }
        }
    }

    /// A channel of this world never fills a page.
    fn page(&self, place: Snowflake, after: Snowflake) -> impl Iterator<Item = Standing<'_>> {
        let questions = self
            .said
            .iter()
            .filter(move |(message, at)| *at == place && *message > after && self.has(*message))
            .map(|(message, _)| Standing {
                id: *message,
                ours: false,
                reply_to: None,
                content: "",
            });
        let answers = self
            .posted
            .iter()
            .filter(move |posted| {
                posted.post.place == place && posted.id > after && !posted.deleted
            })
            .map(|posted| Standing {
                id: posted.id,
                ours: true,
                reply_to: posted.post.reply_to,
                content: &posted.post.content,
            });
        questions.chain(answers)
    }
}
