//! What must hold after every schedule, and what must hold at each step of it. It knows what was asked for and what stands
//! in the world, never how the machines came to it.

use std::collections::{BTreeMap, HashMap, HashSet};

use mosaic_connector::{
    delivery::Parcel,
    discord::Snowflake,
    fixed::Fixed,
    journal::{
        Outcome, TurnRecord,
        lines::{Admission, Drop, DropReason, Inbox, Notice, Outbox},
    },
};

use crate::{
    discord::{Discord, Post, Posted},
    disk::Disk,
};

/// What was noticed on the way.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(crate) broken: Vec<String>,
    /// The answers that ever lay in the spool, by message, newest last.
    kept: HashMap<Snowflake, Vec<Vec<String>>>,
    prompted: Vec<Snowflake>,
    reacted: HashSet<Snowflake>,
    closed: HashMap<String, &'static str>,
    intended: Option<String>,
    /// The POST whose answer is awaited.
    pub(crate) on_the_wire: Option<String>,
}

impl Rules {
    pub(crate) fn refuse(&mut self, what: impl Into<String>) {
        self.broken.push(what.into());
    }

    fn expect(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.broken.push(what());
        }
    }

    /// The process is gone, and with it every answer it awaited.
    pub(crate) fn died(&mut self) {
        self.on_the_wire = None;
        self.intended = None;
    }

    pub(crate) fn keeps(&mut self, parcel: &Parcel) {
        self.expect(!parcel.chunks.is_empty(), || {
            format!("an empty answer to {}", parcel.message)
        });
        let kept = self.kept.entry(parcel.message).or_default();
        if kept.last() != Some(&parcel.chunks) {
            kept.push(parcel.chunks.clone());
        }
    }

    pub(crate) fn notes(&mut self, line: &Outbox) {
        let state = match line {
            Outbox::Intent { nonce, .. } => {
                self.intended = Some(nonce.clone());
                return;
            }
            Outbox::Confirmed { .. } => "confirmed",
            Outbox::Refused { .. } => "refused",
            Outbox::Unknown { .. } => "unknown",
        };
        let before = self.closed.insert(line.nonce().to_owned(), state);
        self.expect(before.is_none_or(|before| before == "unknown"), || {
            format!(
                "{} is {state} after it was {}",
                line.nonce(),
                before.unwrap_or_default()
            )
        });
    }

    pub(crate) fn posts(&mut self, post: &Post, spooled: bool) {
        let nonce = &post.nonce;
        self.expect(self.intended.as_ref() == Some(nonce), || {
            format!("{nonce} is posted without an intent on disk")
        });
        self.expect(spooled, || {
            format!("{nonce} is posted without its text in the spool")
        });
        if let Some(other) = &self.on_the_wire {
            let both = format!("{nonce} is posted while {other} is on the wire");
            self.broken.push(both);
        }
        if let Some(state) = self.closed.get(nonce) {
            let state = *state;
            self.expect(state == "unknown", || {
                format!("{nonce} is posted after it was {state}")
            });
        }
        let (message, part) = message_and_part(nonce);
        if part > 0 {
            let before = format!("{message}-{}", part - 1);
            let stands = self.closed.get(&before) == Some(&"confirmed");
            self.expect(stands, || {
                format!("{nonce} is posted before {before} is confirmed")
            });
        }
        self.intended = None;
        self.on_the_wire = Some(nonce.clone());
    }

    pub(crate) fn prompts(&mut self, message: Snowflake) {
        let again = self.prompted.contains(&message);
        self.expect(!again, || format!("{message} is prompted twice"));
        self.prompted.push(message);
    }

    pub(crate) fn reacts(&mut self, message: Snowflake) {
        let first = self.reacted.insert(message);
        self.expect(first, || format!("{message} gets two receipts"));
    }

    /// Everything is at rest: the world is compared with what is written down.
    pub(crate) fn judge(&mut self, disk: &Disk, discord: &Discord, limits: &JudgedBy) {
        let written = match Written::read(disk) {
            Ok(written) => written,
            Err(error) => return self.refuse(format!("a journal does not parse: {error}")),
        };
        self.expect(disk.spool.is_empty(), || {
            format!("the spool is not empty: {:?}", disk.spool.keys())
        });
        self.judge_posts(discord);
        self.judge_outcomes(&written);
        self.judge_records(&written, discord);
        self.judge_ceiling(&written, limits);
        for line in &written.outbox {
            let closed = self.closed.contains_key(line.nonce());
            self.expect(closed, || format!("{} has no receipt", line.nonce()));
        }
        if limits.in_order {
            let order: Vec<Snowflake> = written.inbox.iter().map(|line| line.id).collect();
            let at = |message: &Snowflake| order.iter().position(|id| id == message);
            let sorted = self.prompted.is_sorted_by_key(at);
            self.expect(sorted, || "messages were prompted out of order".into());
        }
    }

    /// Nothing stands in a channel twice, and every answer is of one piece.
    fn judge_posts(&mut self, discord: &Discord) {
        let mut seen = HashSet::new();
        for posted in &discord.posted {
            let Post { nonce, content, .. } = &posted.post;
            let first = seen.insert(nonce.clone());
            self.expect(first, || format!("{nonce} stands in the channel twice"));
            let (message, part) = message_and_part(nonce);
            let newest = self.kept.get(&message).and_then(|kept| kept.last());
            let ours = newest.is_some_and(|chunks| chunks.get(part) == Some(content));
            self.expect(ours, || {
                format!("{nonce} says something else than was kept")
            });
        }
    }

    /// Every message that was taken has exactly one outcome, and none that was not.
    fn judge_outcomes(&mut self, written: &Written) {
        let mut taken = HashSet::new();
        for line in &written.inbox {
            let once = taken.insert(line.id);
            self.expect(once, || format!("{} has two inbox lines", line.id));
        }
        let mut outcomes: BTreeMap<Snowflake, Vec<String>> = BTreeMap::new();
        for record in written.records.values() {
            let outcome = format!("{:?}", record.outcome);
            outcomes.entry(record.id).or_default().push(outcome);
        }
        for drop in written
            .drops
            .iter()
            .filter(|drop| drop.reason != DropReason::Duplicate)
        {
            let reason = format!("{:?}", drop.reason);
            outcomes.entry(drop.id).or_default().push(reason);
        }
        for message in &taken {
            let of_it = outcomes.get(message).cloned().unwrap_or_default();
            self.expect(of_it.len() == 1, || {
                format!("{message} has the outcomes {of_it:?}")
            });
        }
        let admitted: HashSet<Snowflake> = written.admissions.iter().map(|line| line.id).collect();
        self.expect(admitted.len() == written.admissions.len(), || {
            "a message was admitted twice".into()
        });
        let recorded: HashSet<Snowflake> = written.records.keys().copied().collect();
        self.expect(admitted == recorded, || {
            format!("admitted {admitted:?}, recorded {recorded:?}")
        });
    }

    /// A record tells the truth about what stands in the channel.
    fn judge_records(&mut self, written: &Written, discord: &Discord) {
        for record in written.records.values() {
            let id = record.id;
            let told = &record.delivery;
            let of_it = |posted: &&Posted| message_and_part(&posted.post.nonce).0 == id;
            let posted = discord.posted.iter().filter(of_it).count();
            let deleted = discord
                .posted
                .iter()
                .filter(of_it)
                .filter(|posted| posted.deleted)
                .count();
            let true_counts = match told.stopped_by.as_deref() {
                Some("unknown") => 0..=told.chunks,
                // What was deleted before the channel was read back is not there, and no more can be said.
                Some("not-in-channel") => posted - deleted..=posted,
                _ => posted..=posted,
            };
            self.expect(true_counts.contains(&told.standing), || {
                format!("the record of {id} says {told:?}, {posted} were posted and {deleted} of them deleted")
            });
            let whole = told.standing == told.chunks;
            self.expect(whole == told.stopped_by.is_none(), || {
                format!("the record of {id} contradicts itself: {told:?}")
            });
            let answered = record.outcome == Outcome::Answered;
            self.expect(!answered || whole, || {
                format!("{id} is called answered: {told:?}")
            });
        }
    }

    fn judge_ceiling(&mut self, written: &Written, limits: &JudgedBy) {
        let mut days: HashMap<String, u32> = HashMap::new();
        for line in &written.admissions {
            *days.entry(line.at.day().to_string()).or_default() += 1;
        }
        if !limits.clock_goes_back {
            let most = days.values().max().copied().unwrap_or(0);
            self.expect(most <= limits.turns_per_day, || {
                format!(
                    "{most} turns on one day, {} are allowed",
                    limits.turns_per_day
                )
            });
        }
        let mut noticed = HashSet::new();
        for notice in &written.notices {
            let first = noticed.insert(notice.day.to_string());
            self.expect(first || limits.clock_goes_back, || {
                format!("the ceiling is told twice on {}", notice.day)
            });
        }
        let told = self.kept.values().flatten();
        let told = told
            .filter(|chunks| chunks[..] == [Fixed::OverCeiling.text()])
            .count();
        self.expect(told <= written.notices.len(), || {
            format!(
                "{told} lines about the ceiling, {} notices",
                written.notices.len()
            )
        });
    }
}

/// What a schedule allows.
#[derive(Debug)]
pub(crate) struct JudgedBy {
    pub(crate) turns_per_day: u32,
    pub(crate) clock_goes_back: bool,
    /// Nothing in the schedule excuses a message that overtakes another.
    pub(crate) in_order: bool,
}

#[derive(Debug)]
struct Written {
    inbox: Vec<Inbox>,
    admissions: Vec<Admission>,
    drops: Vec<Drop>,
    notices: Vec<Notice>,
    outbox: Vec<Outbox>,
    records: BTreeMap<Snowflake, TurnRecord>,
}

impl Written {
    fn read(disk: &Disk) -> Result<Self, String> {
        let record = |(id, bytes): (&Snowflake, &Vec<u8>)| {
            serde_json::from_slice(bytes)
                .map(|record| (*id, record))
                .map_err(|error| error.to_string())
        };
        Ok(Self {
            inbox: disk.inbox.lines()?,
            admissions: disk.admissions.lines()?,
            drops: disk.drops.lines()?,
            notices: disk.notices.lines()?,
            outbox: disk.outbox.lines()?,
            records: disk.records.iter().map(record).collect::<Result<_, _>>()?,
        })
    }
}

fn message_and_part(nonce: &str) -> (Snowflake, usize) {
    let (message, part) = nonce
        .split_once('-')
        .expect("a nonce names message and part");
    let message = message.parse().expect("a message's id");
    (message, part.parse().expect("a part's number"))
}
