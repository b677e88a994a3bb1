//! Posts one parcel: intent before each try, one chunk on the wire at a time, the same nonce until the outcome is known.
//! A pure machine: it owns no socket, file or clock, and does not know what the parcel answers.

use std::time::Duration;

use crate::{discord::Snowflake, journal::At};

/// How long Discord is assumed to remember a nonce. Documented only as "a few minutes"; five is our assumption
/// (DESIGN 7.7, discord-api 12).
pub const NONCE_WINDOW: Duration = Duration::from_secs(5 * 60);

/// A try must arrive inside the window: as long as the client may wait for a limit and then for the answer, and a little more.
const FLIGHT: Duration = Duration::from_secs(40);

/// A request that was given up may still be taken so much later; before that, a channel without the chunk proves nothing.
const STRAGGLER: Duration = Duration::from_secs(15);

/// Pauses before the second, third, … try where Discord names none (discord-api 2.3). The last one repeats.
const PAUSES: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(3),
    Duration::from_secs(5),
    Duration::from_secs(15),
];

/// What one POST came back with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Discord holds the message under this id.
    Posted(Snowflake),
    /// Not taken now; ask again after this time.
    Limited(Duration),
    /// Certainly never reached Discord.
    NotSent,
    /// Sent, but whether it was taken is not known.
    Unknown,
    /// The reply target cannot be referenced; the chunk itself was not judged.
    BadReference(String),
    /// Unknown message (10008): to a repeated nonce it means posted and deleted since.
    Gone,
    /// Refused for good.
    Refused(String),
}

/// What the channel shows when it is read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sighting {
    /// The chunk stands there under this id.
    Found(Snowflake),
    /// The channel was read completely and the chunk is not there.
    Absent,
    /// The channel could not be read completely.
    Unclear,
}

/// What is known of one chunk in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Receipt {
    /// It stands in the channel. `None`: it stood there and was deleted since.
    Confirmed(Option<Snowflake>),
    /// It does not stand in the channel, for this reason.
    Refused(String),
    /// Nobody can say.
    Unknown,
}

/// What the driver does next, in order. Parts count from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Writes down that a part is about to be posted.
    Intend {
        /// Which part.
        part: usize,
        /// Which try of it, from 1.
        attempt: u32,
    },
    /// Posts a part.
    Post {
        /// Which part.
        part: usize,
        /// As a reply to the inbound message.
        reference: bool,
    },
    /// Wakes the courier after this time.
    Wait(Duration),
    /// Reads the channel back and looks for a part.
    LookFor {
        /// Which part.
        part: usize,
    },
    /// Writes down what became of a part.
    Note {
        /// Which part.
        part: usize,
        /// What became of it.
        receipt: Receipt,
    },
    /// The parcel is finished.
    Finished {
        /// So many parts, from the first, stand in the channel.
        standing: usize,
        /// What stopped the rest; `None` when all stand there.
        stopped_by: Option<Receipt>,
    },
}

/// What the courier is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// The POST came back.
    Answered(Answer),
    /// The wait is over.
    Woken,
    /// The channel was read.
    Seen(Sighting),
}

/// Carries one parcel of `parts` chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Courier {
    parts: usize,
    part: usize,
    attempt: u32,
    /// When the current part was first intended: the nonce window counts from here.
    since: At,
    /// An earlier try of this part may have been taken.
    maybe_posted: bool,
    /// The current part still carries its reply reference.
    reference: bool,
    /// The current wait is for stragglers, and ends with a look at the channel.
    looking: bool,
    /// The clock cannot show less at the next news, unless it was set back.
    not_before: At,
    /// The clock was set back since this part was first intended: how much of the window is spent nobody knows.
    window_unknown: bool,
}

impl Courier {
    /// Sets out with the first part.
    pub fn set_out(parts: usize, now: At) -> (Self, Vec<Step>) {
        Self::set_out_at(parts, 0, now)
    }

    /// Sets out with a later part: those before it stand in the channel already.
    pub fn set_out_at(parts: usize, part: usize, now: At) -> (Self, Vec<Step>) {
        let mut courier = Self {
            parts,
            part,
            attempt: 0,
            since: now,
            maybe_posted: false,
            reference: true,
            looking: false,
            not_before: now,
            window_unknown: false,
        };
        let steps = courier.begin(now);
        (courier, steps)
    }

    /// Goes on after a restart with a part that was intended at `since` and has no receipt.
    ///
    /// Inside the window the same nonce settles it; after it only the channel can tell (DESIGN 7.7).
    pub fn resume(
        parts: usize,
        part: usize,
        since: At,
        attempt: u32,
        now: At,
    ) -> (Self, Vec<Step>) {
        let mut courier = Self {
            parts,
            part,
            attempt,
            since,
            maybe_posted: true,
            reference: part == 0,
            looking: false,
            not_before: now,
            // It was intended in what the clock calls the future.
            window_unknown: now < since,
        };
        let spent = Duration::from_millis(now.ms().saturating_sub(since.ms()));
        let steps = if !courier.window_left(now).is_zero() {
            courier.again()
        } else if spent > NONCE_WINDOW + STRAGGLER {
            vec![Step::LookFor { part }]
        } else {
            courier.look(now)
        };
        (courier, steps)
    }

    /// Takes what came back and says what to do next.
    pub fn handle(&mut self, news: News, now: At) -> Vec<Step> {
        self.window_unknown |= now < self.not_before;
        self.not_before = now;
        match news {
            News::Woken if self.looking => vec![Step::LookFor { part: self.part }],
            News::Woken => self.again(),
            News::Seen(Sighting::Found(id)) => self.settled(Receipt::Confirmed(Some(id)), now),
            News::Seen(Sighting::Absent) => {
                self.settled(Receipt::Refused("not-in-channel".into()), now)
            }
            News::Seen(Sighting::Unclear) => self.settled(Receipt::Unknown, now),
            News::Answered(answer) => self.answered(answer, now),
        }
    }

    fn answered(&mut self, answer: Answer, now: At) -> Vec<Step> {
        match answer {
            Answer::Posted(id) => self.settled(Receipt::Confirmed(Some(id)), now),
            // Sometimes a lost reply target is called an unknown message too. Without the reference only one reading is left.
            Answer::Gone | Answer::BadReference(_) if self.reference => {
                self.reference = false;
                self.again()
            }
            Answer::Gone if self.maybe_posted => self.settled(Receipt::Confirmed(None), now),
            // Refused is this try; an earlier one may stand in the channel.
            Answer::BadReference(_) | Answer::Refused(_) if self.maybe_posted => self.look(now),
            Answer::Gone => self.settled(Receipt::Refused("unknown-message".into()), now),
            Answer::BadReference(reason) | Answer::Refused(reason) => {
                self.settled(Receipt::Refused(reason), now)
            }
            Answer::Limited(after) => self.pause(after, "rate-limited", now),
            Answer::NotSent => self.pause(self.own_pause(), "not-sent", now),
            Answer::Unknown => {
                self.maybe_posted = true;
                self.pause(self.own_pause(), "unknown", now)
            }
        }
    }

    fn begin(&mut self, now: At) -> Vec<Step> {
        self.attempt = 0;
        self.since = now;
        self.maybe_posted = false;
        self.looking = false;
        self.window_unknown = false;
        // Only the first chunk is a reply; the rest follows it (seeds 002, step 5).
        self.reference = self.part == 0;
        self.again()
    }

    fn again(&mut self) -> Vec<Step> {
        self.attempt += 1;
        let Self {
            part,
            attempt,
            reference,
            ..
        } = *self;
        vec![
            Step::Intend { part, attempt },
            Step::Post { part, reference },
        ]
    }

    /// Waits inside the window. Past it a chunk that may be there is looked for, one that cannot be there is given up.
    fn pause(&mut self, after: Duration, reason: &str, now: At) -> Vec<Step> {
        if after < self.window_left(now) {
            return self.wait(after, now);
        }
        if self.maybe_posted {
            return self.look(now);
        }
        self.settled(Receipt::Refused(reason.into()), now)
    }

    /// Looks for the chunk in the channel, once nothing of it can arrive any more.
    fn look(&mut self, now: At) -> Vec<Step> {
        self.looking = true;
        self.wait(STRAGGLER, now)
    }

    fn wait(&mut self, after: Duration, now: At) -> Vec<Step> {
        let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        self.not_before = At::from_ms(now.ms().saturating_add(after_ms));
        vec![Step::Wait(after)]
    }

    /// A chunk that is not confirmed stops the rest of its parcel.
    fn settled(&mut self, receipt: Receipt, now: At) -> Vec<Step> {
        let mut steps = vec![Step::Note {
            part: self.part,
            receipt: receipt.clone(),
        }];
        let confirmed = matches!(receipt, Receipt::Confirmed(_));
        if confirmed && self.part + 1 < self.parts {
            self.part += 1;
            steps.extend(self.begin(now));
        } else {
            let stopped_by = (!confirmed).then_some(receipt);
            steps.push(Step::Finished {
                standing: self.part + usize::from(confirmed),
                stopped_by,
            });
        }
        steps
    }

    fn own_pause(&self) -> Duration {
        let try_index = usize::try_from(self.attempt.saturating_sub(1)).unwrap_or(usize::MAX);
        PAUSES[try_index.min(PAUSES.len() - 1)]
    }

    fn window_left(&self, now: At) -> Duration {
        if self.window_unknown {
            return Duration::ZERO;
        }
        let spent = Duration::from_millis(now.ms().saturating_sub(self.since.ms()));
        NONCE_WINDOW.saturating_sub(FLIGHT + spent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64) -> At {
        At::from_ms((1_800_000_000 + second) * 1000)
    }

    fn id(number: u64) -> Snowflake {
        Snowflake::parse(&number.to_string()).unwrap()
    }

    fn answered(answer: Answer) -> News {
        News::Answered(answer)
    }

    fn post(part: usize, attempt: u32) -> Vec<Step> {
        vec![
            Step::Intend { part, attempt },
            Step::Post {
                part,
                reference: part == 0,
            },
        ]
    }

    fn ended(part: usize, receipt: &Receipt, standing: usize) -> Vec<Step> {
        let stopped_by = (!matches!(receipt, Receipt::Confirmed(_))).then(|| receipt.clone());
        vec![
            Step::Note {
                part,
                receipt: receipt.clone(),
            },
            Step::Finished {
                standing,
                stopped_by,
            },
        ]
    }

    #[test]
    fn d_08_the_next_part_waits_for_the_answer_to_the_one_before_and_only_the_first_is_a_reply() {
        let (mut courier, steps) = Courier::set_out(2, at(0));
        assert_eq!(steps, post(0, 1));

        let mut expected = vec![Step::Note {
            part: 0,
            receipt: Receipt::Confirmed(Some(id(7))),
        }];
        expected.extend(post(1, 1));
        assert_eq!(
            courier.handle(answered(Answer::Posted(id(7))), at(1)),
            expected
        );

        assert_eq!(
            courier.handle(answered(Answer::Posted(id(8))), at(2)),
            ended(1, &Receipt::Confirmed(Some(id(8))), 2)
        );
    }

    #[test]
    fn d_06_a_rate_limit_waits_as_long_as_discord_says_and_repeats_the_same_part() {
        let (mut courier, _) = Courier::set_out(1, at(0));
        let after = Duration::from_millis(300);
        assert_eq!(
            courier.handle(answered(Answer::Limited(after)), at(0)),
            [Step::Wait(after)]
        );
        assert_eq!(courier.handle(News::Woken, at(1)), post(0, 2));
    }

    #[test]
    fn d_03_an_unknown_outcome_is_asked_again_until_the_window_ends_and_then_looked_for() {
        let (mut courier, _) = Courier::set_out(1, at(0));
        assert_eq!(
            courier.handle(answered(Answer::Unknown), at(0)),
            [Step::Wait(PAUSES[0])]
        );
        assert_eq!(courier.handle(News::Woken, at(1)), post(0, 2));
        assert_eq!(
            courier.handle(answered(Answer::NotSent), at(260)),
            [Step::Wait(STRAGGLER)]
        );
        assert_eq!(
            courier.handle(News::Woken, at(275)),
            [Step::LookFor { part: 0 }]
        );
    }

    #[test]
    fn a_refusal_says_nothing_about_an_earlier_try_whose_outcome_is_unknown() {
        let (mut courier, _) = Courier::set_out(1, at(0));
        let _ = courier.handle(answered(Answer::Unknown), at(0));
        let _ = courier.handle(News::Woken, at(1));

        let refused = answered(Answer::Refused("403 50013".into()));
        assert_eq!(courier.handle(refused, at(1)), [Step::Wait(STRAGGLER)]);

        assert_eq!(
            courier.handle(News::Woken, at(16)),
            [Step::LookFor { part: 0 }]
        );
    }

    #[test]
    fn a_clock_that_was_set_back_makes_the_window_unknown_and_the_channel_is_read() {
        let (mut courier, _) = Courier::set_out(1, at(1000));
        let _ = courier.handle(answered(Answer::Unknown), at(1000));

        // Woken after a second, the clock shows ten seconds less.
        let _ = courier.handle(News::Woken, at(991));
        assert_eq!(
            courier.handle(answered(Answer::Unknown), at(992)),
            [Step::Wait(STRAGGLER)]
        );

        let (_, from_the_future) = Courier::resume(1, 0, at(1000), 1, at(900));
        assert_eq!(from_the_future, [Step::Wait(STRAGGLER)]);
    }

    #[test]
    fn what_never_reached_discord_is_refused_after_the_window_and_never_looked_for() {
        let (mut courier, _) = Courier::set_out(3, at(0));
        let refused = Receipt::Refused("not-sent".into());
        assert_eq!(
            courier.handle(answered(Answer::NotSent), at(300)),
            ended(0, &refused, 0)
        );
    }

    #[test]
    fn a_channel_read_back_settles_what_no_nonce_can() {
        for (sighting, receipt, standing) in [
            (Sighting::Found(id(9)), Receipt::Confirmed(Some(id(9))), 1),
            (
                Sighting::Absent,
                Receipt::Refused("not-in-channel".into()),
                0,
            ),
            (Sighting::Unclear, Receipt::Unknown, 0),
        ] {
            let (mut courier, steps) = Courier::resume(1, 0, at(0), 1, at(316));
            assert_eq!(steps, [Step::LookFor { part: 0 }]);
            assert_eq!(
                courier.handle(News::Seen(sighting), at(317)),
                ended(0, &receipt, standing)
            );
        }
    }

    #[test]
    fn a_restart_inside_the_window_sends_the_same_part_again() {
        let (_, steps) = Courier::resume(2, 1, at(0), 1, at(259));
        assert_eq!(
            steps,
            [
                Step::Intend {
                    part: 1,
                    attempt: 2
                },
                Step::Post {
                    part: 1,
                    reference: false
                }
            ]
        );
    }

    #[test]
    fn unknown_message_means_delivered_only_to_a_repeated_nonce_without_a_reference() {
        let without_reference = |attempt| {
            [
                Step::Intend { part: 0, attempt },
                Step::Post {
                    part: 0,
                    reference: false,
                },
            ]
        };
        let (mut first, _) = Courier::set_out(1, at(0));
        assert_eq!(
            first.handle(answered(Answer::Gone), at(0)),
            without_reference(2)
        );
        let refused = Receipt::Refused("unknown-message".into());
        assert_eq!(
            first.handle(answered(Answer::Gone), at(0)),
            ended(0, &refused, 0)
        );

        let (mut repeated, _) = Courier::resume(1, 0, at(0), 1, at(1));
        assert_eq!(
            repeated.handle(answered(Answer::Gone), at(2)),
            without_reference(3)
        );
        assert_eq!(
            repeated.handle(answered(Answer::Gone), at(2)),
            ended(0, &Receipt::Confirmed(None), 1)
        );
    }

    #[test]
    fn d_09_a_lost_reply_target_costs_the_reference_once_and_never_the_answer() {
        let (mut courier, _) = Courier::set_out(1, at(0));
        let again = courier.handle(answered(Answer::BadReference("160002".into())), at(0));
        assert_eq!(
            again,
            [
                Step::Intend {
                    part: 0,
                    attempt: 2
                },
                Step::Post {
                    part: 0,
                    reference: false
                }
            ]
        );

        let refused = Receipt::Refused("160002".into());
        let twice = courier.handle(answered(Answer::BadReference("160002".into())), at(1));
        assert_eq!(twice, ended(0, &refused, 0));
    }

    #[test]
    fn a_refused_part_stops_the_rest_of_the_parcel() {
        let (mut courier, _) = Courier::set_out(3, at(0));
        let _ = courier.handle(answered(Answer::Posted(id(1))), at(0));
        let refused = Receipt::Refused("403 50013".into());
        assert_eq!(
            courier.handle(answered(Answer::Refused("403 50013".into())), at(1)),
            ended(1, &refused, 1)
        );
    }
}
