//! Looks into every file of a walk, two at a time, and says of each what was seen. The order of the answers is that of the
//! walk, whichever thread was faster.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use super::excerpt::Excerpt;
use super::pattern::Pattern;
use crate::cancel::Cancel;
use crate::effect;
use crate::fence::content::as_text;
use crate::fence::credential;
use crate::fence::walk::{Step, Walk};
use crate::limits;
use crate::refusal::Refusal;

/// Steps a thread takes at a time: enough that the two seldom wait for each other, few enough open files.
const BATCH: usize = 32;

/// What was seen at one step of the walk.
#[derive(Debug)]
pub(super) enum Seen {
    /// A file without a hit.
    Nothing,
    /// A file with hits.
    Hits(Excerpt),
    /// Something that was not looked into.
    Withheld(Refusal),
    /// So many entries of a folder that is too large to be held.
    Beyond(u64),
}

/// What was seen, in the order of the walk.
#[derive(Debug)]
pub(super) struct Looked {
    pub(super) seen: Vec<Seen>,
    pub(super) bytes_read: u64,
    /// It had read for as long, or as much, as it may, and stopped.
    pub(super) gave_up: bool,
}

/// What the threads share.
struct Shared<'a> {
    walk: Mutex<std::iter::Enumerate<Walk>>,
    pattern: &'a Pattern,
    context: usize,
    cancel: &'a Cancel,
    started: Instant,
    bytes_read: AtomicU64,
    lines: AtomicU64,
    gave_up: AtomicBool,
}

/// Looks until the walk ends, enough lines are found, the caller goes away, or a bound is met.
pub(super) fn look(walk: Walk, pattern: &Pattern, context: usize, cancel: &Cancel) -> Looked {
    let shared = Shared {
        walk: Mutex::new(walk.enumerate()),
        pattern,
        context,
        cancel,
        started: Instant::now(),
        bytes_read: AtomicU64::new(0),
        lines: AtomicU64::new(0),
        gave_up: AtomicBool::new(false),
    };
    let mut seen = thread::scope(|scope| {
        let other = scope.spawn(|| shared.work());
        let mut seen = shared.work();
        seen.extend(
            other
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        );
        seen
    });
    seen.sort_unstable_by_key(|(step, _)| *step);
    Looked {
        seen: seen.into_iter().map(|(_, seen)| seen).collect(),
        bytes_read: shared.bytes_read.into_inner(),
        gave_up: shared.gave_up.into_inner(),
    }
}

impl Shared<'_> {
    fn work(&self) -> Vec<(usize, Seen)> {
        let mut scratch = Vec::new();
        let mut seen = Vec::new();
        let mut steps = Vec::with_capacity(BATCH);
        while !self.is_over() {
            // Steps are handed out in order and each batch is finished, so what was seen has no gap.
            steps.extend(
                self.walk
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .by_ref()
                    .take(BATCH),
            );
            if steps.is_empty() {
                break;
            }
            for (index, step) in steps.drain(..) {
                seen.push((index, self.see(step, &mut scratch)));
            }
        }
        seen
    }

    fn is_over(&self) -> bool {
        let spent = self.started.elapsed() > limits::SEARCH_TIME
            || self.bytes_read.load(Ordering::Relaxed) > limits::SEARCH_BYTES;
        if spent {
            self.gave_up.store(true, Ordering::Relaxed);
        }
        // One line more than is shown, to know that there are more.
        spent
            || self.cancel.is_cancelled()
            || self.lines.load(Ordering::Relaxed) > limits::SEARCH_LINES as u64
    }

    fn see(&self, step: Step, scratch: &mut Vec<u8>) -> Seen {
        let (path, file) = match step {
            Step::File(path, file) => (path, file),
            Step::LeftOut(refusal) => return Seen::Withheld(refusal),
            Step::Beyond(count) => return Seen::Beyond(count),
        };
        let Ok(bytes) = effect::read::whole(&file, scratch) else {
            return Seen::Withheld(Refusal::Storage);
        };
        self.bytes_read
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let text = match as_text(bytes, file.limit()) {
            Ok(text) => text,
            Err(refusal) => return Seen::Withheld(refusal),
        };
        match Excerpt::take(path, text, self.pattern, self.context) {
            // As if nothing had been found: see the top of `search`.
            Some(_) if credential::find(bytes).is_some() => Seen::Nothing,
            Some(excerpt) => {
                self.lines
                    .fetch_add(excerpt.lines.len() as u64, Ordering::Relaxed);
                Seen::Hits(excerpt)
            }
            None => Seen::Nothing,
        }
    }
}
