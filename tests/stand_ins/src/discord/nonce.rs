//! Which enforced nonces were used, and for how long that is remembered (discord-api, section 3.2). Knows nothing of messages but ids.

use std::{collections::HashMap, time::Duration};

use tokio::time::Instant;

use super::snowflake::Snowflake;

/// How long Discord remembers an enforced nonce: documented only as "a few minutes", so this is a guess and a setting.
pub(super) const DEFAULT_WINDOW: Duration = Duration::from_secs(300);

/// The memory of one author's nonces; it is not per channel, as Discord's is not.
#[derive(Debug)]
pub(super) struct NonceBook {
    window: Duration,
    used: HashMap<String, (Instant, Snowflake)>,
}

impl NonceBook {
    pub(super) fn new(window: Duration) -> Self {
        NonceBook {
            window,
            used: HashMap::new(),
        }
    }

    /// The message this nonce made, when that was inside the window.
    pub(super) fn find(&self, nonce: &str, now: Instant) -> Option<Snowflake> {
        let (at, message) = self.used.get(nonce)?;
        (now.duration_since(*at) < self.window).then_some(*message)
    }

    pub(super) fn remember(&mut self, nonce: String, message: Snowflake, now: Instant) {
        self.used.insert(nonce, (now, message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_remembered_until_the_window_ends_and_no_longer() {
        let mut book = NonceBook::new(Duration::from_secs(300));
        let start = Instant::now();
        book.remember("n".into(), Snowflake(7), start);

        assert_eq!(
            book.find("n", start + Duration::from_secs(299)),
            Some(Snowflake(7))
        );
        assert_eq!(book.find("n", start + Duration::from_secs(300)), None);
        assert_eq!(book.find("other", start), None);
    }
}
