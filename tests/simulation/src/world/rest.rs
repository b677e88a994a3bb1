//! Requests to Discord on their way: answered, lost, late, refused.

use super::*;

impl World {
    pub(super) fn post(&mut self, post: Post) {
        let spooled = self
            .disk
            .spool
            .keys()
            .any(|message| post.nonce.starts_with(&format!("{message}-")));
        self.rules.posts(&post, spooled);
        let turn = self.process().seat.turn();
        let answers_it = turn.is_some_and(|turn| post.nonce.starts_with(&format!("{turn}-")));
        if answers_it && self.process().typing {
            self.rules
                .refuse(format!("{} is posted while typing is shown", post.nonce));
        }
        let life = self.life;
        let fast = self.dice.within(1..2000);
        if self.dice.happens(self.faults.not_sent) {
            return self.answer(fast, Answer::NotSent);
        }
        if self.dice.happens(self.faults.limited) {
            let wait = self.dice.one_of(&[300, 1000, 5000, 60_000, 400_000]);
            return self.answer(fast, Answer::Limited(Duration::from_millis(wait)));
        }
        if self.dice.happens(self.faults.refused) {
            return self.answer(fast, Answer::Refused("403 50013".into()));
        }
        if self.dice.happens(self.faults.unknown) {
            let given_up = self.dice.one_of(&[1, 500, 20_000, SLOWEST_ANSWER_MS]);
            self.answer(given_up, Answer::Unknown);
            let arrives = if self.dice.happens(self.faults.late) {
                given_up + self.dice.within(1..LATEST_MS)
            } else {
                self.dice.within(0..given_up)
            };
            if self.dice.happens(500) {
                self.after(
                    arrives,
                    Happening::Land {
                        life,
                        post,
                        answer: None,
                    },
                );
            }
            return;
        }
        let back = self.dice.within(1..1000);
        self.after(
            fast,
            Happening::Land {
                life,
                post,
                answer: Some(back),
            },
        );
    }

    pub(super) fn answer(&mut self, ms: u64, answer: Answer) {
        self.later(ms, Event::Courier(News::Answered(answer)));
    }

    pub(super) fn land(&mut self, life: u32, post: Post, answered_after: Option<u64>) {
        let nonce = post.nonce.clone();
        let answer = self.discord.take(post, self.now_ms);
        self.tell(|| format!("{nonce} arrives: {answer:?}"));
        if let Some(ms) = answered_after {
            let event = Event::Courier(News::Answered(answer));
            self.after(ms, Happening::Tell { life, event });
        }
    }

    pub(super) fn look(&mut self, action: Action) {
        let Action::LookFor { place, sought } = action else {
            return;
        };
        let sighting = if self.dice.happens(self.faults.unreadable) {
            Sighting::Unclear
        } else {
            self.discord.look_for(place, sought)
        };
        self.hear(Event::Courier(News::Seen(sighting)));
    }
}
