//! What a start makes of the journals the last process left: which answers are still on their way, which turns it died in,
//! which messages it had taken and never begun (DESIGN 7.25). Pure: it is given what was read and says what to do.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use super::{Identity, as_ms};
use crate::{
    delivery::{Courier, Parcel, Receipt, Step},
    discord::Snowflake,
    fixed::Fixed,
    journal::{
        At, Delivery, EngineShare, Outcome, RECORD_VERSION, Reaction, Times, TurnRecord,
        lines::{Admission, Drop, DropReason, Inbox, Notice, Outbox},
    },
};

/// What was read at start.
#[derive(Debug, Default)]
pub struct Past {
    /// `inbox.jsonl`.
    pub inbox: Vec<Inbox>,
    /// `admissions.jsonl`.
    pub admissions: Vec<Admission>,
    /// `drops.jsonl`.
    pub drops: Vec<Drop>,
    /// `notices.jsonl`.
    pub notices: Vec<Notice>,
    /// `outbox.jsonl`.
    pub outbox: Vec<Outbox>,
    /// The messages that have a record.
    pub records: HashSet<Snowflake>,
    /// The spool.
    pub parcels: Vec<Parcel>,
}

/// What the new process does about it.
#[derive(Debug, Default)]
pub struct Plan {
    /// Every message that has an inbox line.
    pub seen: HashSet<Snowflake>,
    /// Turns admitted on the day of the start.
    pub admitted_today: u32,
    /// The day's line about the ceiling was attempted.
    pub told_today: bool,
    /// Answers to bring to their end, in the order they were packed.
    pub parcels: Vec<Resumed>,
    /// Messages that were taken and never begun, in the order they came: to be fetched again and judged anew.
    pub pending: Vec<Inbox>,
    /// Drop lines that a crash left out.
    pub drops: Vec<Drop>,
    /// Nonces that were intended, have no receipt, and whose text is lost: nobody can settle them.
    pub lost: Vec<String>,
}

/// An answer that a start found or made.
#[derive(Debug, Clone, PartialEq)]
pub struct Resumed {
    /// The answer.
    pub parcel: Parcel,
    /// It is not in the spool yet.
    pub fresh: bool,
    /// The messages of the parts that stand in the channel.
    pub posted: Vec<Option<Snowflake>>,
    next: Next,
}

#[derive(Debug, Clone, PartialEq)]
enum Next {
    /// This part was never intended.
    SetOut { part: usize },
    /// This part was intended and has no receipt.
    Settle {
        part: usize,
        since: At,
        attempt: u32,
    },
    /// Nothing is left to post, or it came to an end that is not to be repeated.
    Finish {
        standing: usize,
        stopped_by: Option<Receipt>,
    },
}

impl Resumed {
    pub(super) fn carry_on(&self, now: At) -> (Courier, Vec<Step>) {
        let parts = self.parcel.chunks.len();
        match self.next.clone() {
            Next::SetOut { part } => Courier::set_out_at(parts, part, now),
            Next::Settle {
                part,
                since,
                attempt,
            } => Courier::resume(parts, part, since, attempt, now),
            Next::Finish {
                standing,
                stopped_by,
            } => {
                let (courier, _) = Courier::set_out(parts, now);
                (
                    courier,
                    vec![Step::Finished {
                        standing,
                        stopped_by,
                    }],
                )
            }
        }
    }
}

impl Past {
    /// Decides. `requester` gives the role of an author, as far as the binding still lists them.
    pub fn plan(
        self,
        identity: &Identity,
        max_age: Duration,
        requester: impl Fn(Snowflake) -> Option<String>,
        now: At,
    ) -> Plan {
        let trails = trails(&self.outbox);
        let admitted: HashSet<Snowflake> = self.admissions.iter().map(|line| line.id).collect();
        let turned_away: HashSet<Snowflake> = self
            .drops
            .iter()
            .filter(|drop| drop.reason != DropReason::Duplicate)
            .map(|drop| drop.id)
            .collect();
        let spooled: HashSet<Snowflake> =
            self.parcels.iter().map(|parcel| parcel.message).collect();
        let received: HashMap<Snowflake, At> =
            self.inbox.iter().map(|line| (line.id, line.at)).collect();

        let mut parcels: Vec<Resumed> = self
            .parcels
            .into_iter()
            .map(|parcel| resumed(parcel, &trails, &self.records, max_age, now))
            .collect();
        let interrupted = self
            .admissions
            .iter()
            .filter(|line| !self.records.contains(&line.id) && !spooled.contains(&line.id));
        parcels.extend(interrupted.map(|line| {
            let received = received.get(&line.id).copied().unwrap_or(line.at);
            interrupted_turn(line, received, requester(line.author), identity, now)
        }));
        parcels.sort_by_key(|resumed| resumed.parcel.packed);

        let (answered, pending): (Vec<Inbox>, Vec<Inbox>) = self
            .inbox
            .iter()
            .filter(|line| !admitted.contains(&line.id) && !turned_away.contains(&line.id))
            .cloned()
            .partition(|line| spooled.contains(&line.id));
        // A line in the spool for a message without a turn: it was over size, or over the ceiling when that was said.
        let drops = answered.into_iter().map(|line| {
            let told = parcels
                .iter()
                .find(|resumed| resumed.parcel.message == line.id);
            let over_size = told.is_some_and(|r| r.parcel.chunks == [Fixed::OverSize.text()]);
            let reason = if over_size {
                DropReason::OverSize
            } else {
                DropReason::OverCeiling
            };
            Drop {
                id: line.id,
                channel: line.channel,
                author: line.author,
                reason,
                at: now,
            }
        });

        let lost = trails
            .into_iter()
            .filter(|((message, _), trail)| trail.open() && !spooled.contains(message))
            .map(|((message, part), _)| crate::delivery::nonce(message, part))
            .collect();
        let today = now.day();
        let admitted_today = self
            .admissions
            .iter()
            .filter(|line| line.at.day() == today)
            .count();
        Plan {
            seen: self.inbox.iter().map(|line| line.id).collect(),
            admitted_today: u32::try_from(admitted_today).unwrap_or(u32::MAX),
            told_today: self.notices.iter().any(|notice| notice.day == today),
            drops: drops.collect(),
            parcels,
            pending,
            lost,
        }
    }
}

/// What the outbox says of one part.
#[derive(Debug, Default)]
struct Trail {
    since: Option<At>,
    attempt: u32,
    receipt: Option<Receipt>,
}

impl Trail {
    /// Intended, and nobody knows what became of it.
    fn open(&self) -> bool {
        self.since.is_some() && matches!(self.receipt, None | Some(Receipt::Unknown))
    }
}

fn trails(outbox: &[Outbox]) -> HashMap<(Snowflake, usize), Trail> {
    let mut trails: HashMap<(Snowflake, usize), Trail> = HashMap::new();
    let mut parts: HashMap<&str, (Snowflake, usize)> = HashMap::new();
    for line in outbox {
        if let Outbox::Intent {
            nonce,
            message,
            part,
            attempt,
            at,
            ..
        } = line
        {
            parts.insert(nonce, (*message, *part));
            let trail = trails.entry((*message, *part)).or_default();
            trail.since.get_or_insert(*at);
            trail.attempt = *attempt;
        }
        let Some(trail) = parts.get(line.nonce()).and_then(|key| trails.get_mut(key)) else {
            continue;
        };
        match line {
            Outbox::Intent { .. } => {}
            Outbox::Confirmed { posted, .. } => trail.receipt = Some(Receipt::Confirmed(*posted)),
            Outbox::Refused { reason, .. } => {
                trail.receipt = Some(Receipt::Refused(reason.clone()));
            }
            Outbox::Unknown { .. } => trail.receipt = Some(Receipt::Unknown),
        }
    }
    trails
}

fn resumed(
    mut parcel: Parcel,
    trails: &HashMap<(Snowflake, usize), Trail>,
    records: &HashSet<Snowflake>,
    max_age: Duration,
    now: At,
) -> Resumed {
    if records.contains(&parcel.message) {
        parcel.record = None;
    }
    let mut posted = Vec::new();
    let mut next = None;
    for part in 0..parcel.chunks.len() {
        let trail = trails.get(&(parcel.message, part));
        next = match trail.map(|trail| (trail, trail.receipt.clone())) {
            Some((_, Some(Receipt::Confirmed(id)))) => {
                posted.push(id);
                continue;
            }
            Some((_, Some(Receipt::Refused(reason)))) => Some(Next::Finish {
                standing: part,
                stopped_by: Some(Receipt::Refused(reason)),
            }),
            Some((
                Trail {
                    since: Some(since),
                    attempt,
                    ..
                },
                receipt @ (None | Some(Receipt::Unknown)),
            )) => Some(Next::Settle {
                part,
                // When that was written the window had ended, whatever the clock shows now.
                since: receipt.map_or(*since, |_| At::from_ms(0)),
                attempt: *attempt,
            }),
            // Nobody waits for the rest of an answer that old: no surprise on a quiet channel (D-51).
            _ if now.ms().saturating_sub(parcel.packed.ms()) > as_ms(max_age) => {
                Some(Next::Finish {
                    standing: part,
                    stopped_by: Some(Receipt::Refused("too-old".into())),
                })
            }
            _ => Some(Next::SetOut { part }),
        };
        break;
    }
    let standing = parcel.chunks.len();
    let next = next.unwrap_or(Next::Finish {
        standing,
        stopped_by: None,
    });
    Resumed {
        parcel,
        fresh: false,
        posted,
        next,
    }
}

/// The process died in this turn and left no answer: a failed record, and the fixed line once.
fn interrupted_turn(
    line: &Admission,
    received: At,
    requester: Option<String>,
    identity: &Identity,
    now: At,
) -> Resumed {
    let record = TurnRecord {
        record_version: RECORD_VERSION,
        id: line.id,
        channel: line.channel,
        thread: None,
        author: line.author,
        requester: requester.unwrap_or_default(),
        times: Times {
            received,
            admitted: line.at,
            prompted: None,
            settled: None,
            delivered: None,
        },
        outcome: Outcome::Interrupted,
        error: Some("interrupted".into()),
        receipt: Reaction::NotTried,
        engine: EngineShare {
            provider: identity.provider.clone(),
            model: identity.model.clone(),
            ..EngineShare::default()
        },
        tools: Vec::new(),
        delivery: Delivery::default(),
        sandbox: identity.sandbox,
        policy_digest: identity.policy_digest.clone(),
    };
    let parcel = Parcel {
        message: line.id,
        place: line.channel,
        packed: now,
        chunks: vec![Fixed::Interrupted.text().to_owned()],
        record: Some(Box::new(record)),
    };
    Resumed {
        parcel,
        fresh: true,
        posted: Vec::new(),
        next: Next::SetOut { part: 0 },
    }
}
