//! The seat in a small world of its own: journals in memory, a Discord that dedupes by nonce, an engine that answers. The
//! world can lose power before any action; after the restart nothing may be lost and nothing said twice.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use super::*;
use crate::{
    delivery::{Answer, News, Sighting},
    journal::{EngineShare, Reaction, TurnRecord},
};

const START_MS: u64 = 1_800_000_000_000;

fn id(number: u64) -> Snowflake {
    Snowflake::new(number).unwrap()
}

/// The n-th message, made at the start of the world.
fn message_id(number: u64) -> Snowflake {
    id(Snowflake::smallest_at(START_MS).get() + number)
}

fn limits() -> Limits {
    Limits {
        turns_per_day: 200,
        turn_timeout: Duration::from_secs(180),
        reply_chunk_chars: 200,
        inbound_max_chars: 400,
        max_age: Duration::from_secs(900),
    }
}

fn identity() -> Identity {
    Identity {
        provider: "stand-in".into(),
        model: "scripted".into(),
        sandbox: Sandbox::default(),
        policy_digest: Some("digest".into()),
    }
}

fn arrival(number: u64, text: &str) -> Arrival {
    Arrival {
        message: message_id(number),
        place: id(20),
        channel: id(20),
        channel_name: "ideas".into(),
        thread_name: None,
        author: id(30),
        requester: "Jason".into(),
        server_name: "jay".into(),
        text: text.into(),
        received: At::from_ms(START_MS),
    }
}

fn passed(number: u64, text: &str) -> Event {
    Event::Message(Message::Passed {
        arrival: arrival(number, text),
        braked: false,
        known: false,
    })
}

fn settled(reply: &str) -> Event {
    Event::Settled(Settled {
        reply: Ok(reply.into()),
        share: EngineShare::default(),
    })
}

fn seat(limits: Limits) -> Seat {
    let (mut seat, actions) = Seat::new(identity(), limits, Plan::default(), At::from_ms(START_MS));
    assert_eq!(actions, []);
    assert_eq!(seat.handle(Event::EngineReady, At::from_ms(START_MS)), []);
    seat
}

fn kinds(actions: &[Action]) -> Vec<&'static str> {
    let kind = |action: &Action| match action {
        Action::Inbox(_) => "inbox",
        Action::Admission(_) => "admission",
        Action::Drop(_) => "drop",
        Action::Notice(_) => "notice",
        Action::Outbox(Outbox::Intent { .. }) => "intent",
        Action::Outbox(Outbox::Confirmed { .. }) => "confirmed",
        Action::Outbox(Outbox::Refused { .. }) => "refused",
        Action::Outbox(Outbox::Unknown { .. }) => "unknown",
        Action::Keep(_) => "keep",
        Action::Forget(_) => "forget",
        Action::Record(_) => "record",
        Action::React { .. } => "react",
        Action::Type(_) => "type",
        Action::StopTyping => "stop-typing",
        Action::OpenTurn { .. } => "open",
        Action::CloseTurn(_) => "close",
        Action::Abort(_) => "abort",
        Action::Prompt(_) => "prompt",
        Action::StartEngine(_) => "start-engine",
        Action::Post { .. } => "post",
        Action::WakeCourier(_) => "wait",
        Action::LookFor { .. } => "look",
        Action::Exit(_) => "exit",
    };
    actions.iter().map(kind).collect()
}

#[test]
fn a_message_walks_from_inbox_to_record_in_this_order() {
    let mut seat = seat(limits());
    let now = At::from_ms(START_MS);
    let mut step = |event| kinds(&seat.handle(event, now));

    assert_eq!(step(passed(1, "hello")), ["inbox", "admission", "open"]);
    assert_eq!(step(Event::TurnOpened(Ok(()))), ["prompt", "react", "type"]);
    assert_eq!(step(Event::Prompted), [""; 0]);
    assert_eq!(step(settled("hi")), ["close"]);
    assert_eq!(
        step(Event::TurnClosed(Ok(vec![]))),
        ["stop-typing", "keep", "intent", "post"]
    );
    let posted = Event::Courier(News::Answered(Answer::Posted(id(99))));
    assert_eq!(step(posted), ["confirmed", "record", "forget"]);
}

#[test]
fn d_50_messages_during_a_turn_are_held_and_run_one_by_one_in_order() {
    let mut world = World::new(limits());
    for number in 1..=3 {
        world.say(number, "hello");
    }
    world.run();
    assert_eq!(world.texts(), ["re 1", "re 2", "re 3"]);
    assert_eq!(world.prompts, [message_id(1), message_id(2), message_id(3)]);
}

#[test]
fn d_14_the_same_message_is_answered_once() {
    let mut world = World::new(limits());
    world.say(1, "hello");
    world.say(1, "hello");
    world.run();
    world.say(1, "hello");
    world.run();
    assert_eq!(world.texts(), ["re 1"]);
    assert_eq!(
        world.drop_reasons(),
        [DropReason::Duplicate, DropReason::Duplicate]
    );
}

#[test]
fn an_over_size_message_gets_one_line_and_no_turn() {
    let mut world = World::new(limits());
    world.say(1, &"x".repeat(400));
    world.say(2, &"x".repeat(401));
    world.run();
    assert_eq!(world.sorted_texts(), [Fixed::OverSize.text(), "re 1"]);
    assert_eq!(world.drop_reasons(), [DropReason::OverSize]);
}

#[test]
fn the_ceiling_is_said_once_a_day_and_lifts_at_midnight() {
    let mut world = World::new(Limits {
        turns_per_day: 1,
        ..limits()
    });
    for number in 1..=3 {
        world.say(number, "hello");
    }
    world.run();
    assert_eq!(world.sorted_texts(), [Fixed::OverCeiling.text(), "re 1"]);
    assert_eq!(
        world.drop_reasons(),
        [DropReason::OverCeiling, DropReason::OverCeiling]
    );

    world.now_ms += 24 * 3600 * 1000;
    let fresh = id(Snowflake::smallest_at(world.now_ms).get() + 4);
    world.say_as(Arrival {
        message: fresh,
        ..arrival(4, "hello")
    });
    world.run();
    assert_eq!(world.posted.len(), 3);
}

#[test]
fn d_51_a_message_replayed_too_late_is_dropped() {
    let mut world = World::new(limits());
    world.now_ms += 900_001;
    world.say(1, "hello");
    world.run();
    assert_eq!(world.drop_reasons(), [DropReason::TooOld]);
}

#[test]
fn d_51_what_was_held_or_unfinished_yesterday_is_no_surprise_today() {
    let mut world = World::new(limits());
    world.long_reply_to = Some(message_id(1));
    world.say(1, "hello");
    world.say(2, "hello");
    // Dies with the first half of one answer in the channel and another message held.
    world.power_for = Some(13);
    world.run();
    let posted_yesterday = world.texts();
    world.power_for = None;
    world.now_ms += 24 * 3600 * 1000;

    world.restart();
    world.run();

    assert_eq!(world.texts(), posted_yesterday);
    assert_eq!(world.prompts, [message_id(1)]);
    assert_eq!(world.records.len() + world.drops.len(), 2);
    assert!(world.spool.is_empty());
}

#[test]
fn d_53_however_a_turn_ends_typing_ends_before_its_answer_and_never_returns() {
    let ends: [&[Event]; 4] = [
        &[settled("hi")],
        &[settled("hi"), Event::End(Ending::Asked)],
        &[Event::EngineGone("engine-lost".into())],
        &[Event::BrokerGone],
    ];
    for end in ends {
        let mut seat = seat(limits());
        let now = At::from_ms(START_MS);
        let mut done = kinds(&seat.handle(passed(1, "hello"), now));
        let closed = [Event::TurnClosed(Ok(vec![]))];
        for event in [Event::TurnOpened(Ok(()))].iter().chain(end).chain(&closed) {
            done.extend(kinds(&seat.handle(event.clone(), now)));
        }

        let typing: Vec<_> = done
            .iter()
            .filter(|kind| ["type", "stop-typing", "post"].contains(kind))
            .collect();
        assert_eq!(typing, [&"type", &"stop-typing", &"post"], "{end:?}");
    }
}

#[test]
fn d_35_what_the_account_said_and_this_process_did_not_is_told_as_foreign() {
    let mut seat = seat(limits());
    let now = At::from_ms(START_MS);
    let _ = seat.handle(passed(1, "hello"), now);
    let line = Drop {
        id: message_id(9),
        channel: id(20),
        author: id(9),
        reason: DropReason::OwnMessage,
        at: now,
    };
    let mut reason = |answers| {
        let own = Message::Own {
            line: line.clone(),
            answers,
        };
        match seat.handle(Event::Message(own), now).as_slice() {
            [Action::Drop(line)] => line.reason,
            other => panic!("{other:?}"),
        }
    };

    assert_eq!(reason(Some(message_id(1))), DropReason::OwnMessage);
    assert_eq!(reason(Some(message_id(2))), DropReason::ForeignOwnMessage);
    assert_eq!(reason(None), DropReason::ForeignOwnMessage);
}

#[test]
fn a_blank_or_endless_reply_and_a_dead_engine_are_failed_turns_with_the_one_line() {
    for (event, error) in [
        (settled(" \n"), "empty-reply"),
        (settled(&"x".repeat(200 * 1000 + 1)), "reply-too-long"),
        (Event::EngineGone("engine-exited".into()), "engine-exited"),
    ] {
        let mut seat = seat(limits());
        let now = At::from_ms(START_MS);
        let _ = seat.handle(passed(1, "hello"), now);
        let _ = seat.handle(Event::TurnOpened(Ok(())), now);
        let _ = seat.handle(event, now);
        let actions = seat.handle(Event::TurnClosed(Ok(vec![])), now);
        let kept = actions
            .iter()
            .find_map(|a| {
                if let Action::Keep(parcel) = a {
                    Some(parcel)
                } else {
                    None
                }
            })
            .unwrap();
        assert_eq!(kept.chunks, [Fixed::Failed.text()]);
        let record = kept.record.as_ref().unwrap();
        assert_eq!(
            (record.outcome, record.error.as_deref()),
            (Outcome::Failed, Some(error))
        );
    }
}

#[test]
fn a_broker_that_goes_away_fails_the_turn_and_ends_the_process() {
    let mut seat = seat(limits());
    let now = At::from_ms(START_MS);
    let _ = seat.handle(passed(1, "hello"), now);
    let _ = seat.handle(Event::TurnOpened(Ok(())), now);
    assert_eq!(
        kinds(&seat.handle(Event::BrokerGone, now)),
        ["stop-typing", "keep", "intent", "post"]
    );
    let posted = Event::Courier(News::Answered(Answer::Posted(id(99))));
    assert_eq!(
        kinds(&seat.handle(posted, now)),
        ["confirmed", "record", "forget", "exit"]
    );
}

#[test]
fn a_stopped_turn_says_what_was_done_whatever_the_engine_still_says_and_the_next_one_runs() {
    let now = At::from_ms(START_MS);
    let mut seat = seat(limits());
    let mut done = TurnRecord::example().tools;
    done[0].outcome = crate::journal::CallOutcome::Done;
    for event in [passed(1, "hello"), Event::TurnOpened(Ok(()))] {
        seat.handle(event, now);
    }
    seat.handle(passed(2, "held"), now);

    assert_eq!(
        seat.handle(Event::Abort, now),
        [Action::Abort(message_id(1))]
    );
    assert_eq!(seat.handle(Event::Abort, now), [], "once is enough");
    assert_eq!(kinds(&seat.handle(settled("too late"), now)), ["close"]);
    let answered = seat.handle(Event::TurnClosed(Ok(done)), now);
    let said = answered.iter().find_map(|action| match action {
        Action::Post { content, .. } => Some(content.as_str()),
        _ => None,
    });
    assert_eq!(
        said,
        Some("I stopped, as I was told to. Already done: `read_file`.")
    );
    let ended = seat.handle(Event::Courier(News::Answered(Answer::Posted(id(99)))), now);
    let outcome = ended.iter().find_map(|action| match action {
        Action::Record(record) => Some(record.outcome),
        _ => None,
    });
    assert_eq!(outcome, Some(Outcome::Aborted));
    assert_eq!(seat.turn(), Some(message_id(2)));
}

#[test]
fn a_turn_that_is_stopped_while_it_opens_never_reaches_the_engine() {
    let now = At::from_ms(START_MS);
    let mut seat = seat(limits());
    seat.handle(passed(1, "hello"), now);

    assert_eq!(seat.handle(Event::Abort, now), []);
    assert_eq!(
        kinds(&seat.handle(Event::TurnOpened(Ok(())), now)),
        ["close"]
    );
    assert_eq!(
        kinds(&seat.handle(Event::TurnClosed(Ok(vec![])), now)),
        ["stop-typing", "keep", "intent", "post"]
    );
}

#[test]
fn without_a_turn_in_hand_there_is_nothing_to_stop() {
    let mut seat = seat(limits());

    assert_eq!(seat.handle(Event::Abort, At::from_ms(START_MS)), []);
}

/// A binding that lists channel 20 and the author of every arrival.
fn binding(limits: Limits) -> Binding {
    let mut binding = Binding::example();
    binding.channels[0].id = id(20);
    binding.users[0].id = id(30);
    binding.users[0].channels = None;
    binding.limits = limits;
    binding
}

#[test]
fn a_turn_in_hand_keeps_its_limits_and_the_next_one_has_those_of_the_reload() {
    let now = At::from_ms(START_MS);
    let mut seat = seat(limits());
    let text = format!("{}\n\n{}", "a".repeat(150), "b".repeat(150));
    let parts = |seat: &mut Seat, number| {
        for event in [
            passed(number, "hello"),
            Event::TurnOpened(Ok(())),
            settled(&text),
        ] {
            seat.handle(event, now);
        }
        let kept = seat.handle(Event::TurnClosed(Ok(vec![])), now);
        let parts = kept.iter().find_map(|action| match action {
            Action::Keep(parcel) => Some(parcel.chunks.len()),
            _ => None,
        });
        for _ in 0..parts.unwrap_or(0) {
            let posted = Event::Courier(News::Answered(Answer::Posted(id(99))));
            seat.handle(posted, now);
        }
        parts
    };
    seat.handle(passed(1, "hello"), now);

    let wider = Limits {
        reply_chunk_chars: 1900,
        ..limits()
    };
    seat.handle(Event::Rebound(Arc::new(binding(wider))), now);

    assert_eq!(parts(&mut seat, 1), Some(2), "admitted before");
    assert_eq!(parts(&mut seat, 2), Some(1), "admitted after");
}

#[test]
fn a_held_message_of_somebody_a_reload_took_out_gets_no_turn() {
    let now = At::from_ms(START_MS);
    type Edit = fn(&mut Binding);
    let rows: [(Edit, DropReason); 3] = [
        (
            |binding| binding.users[0].id = id(31),
            DropReason::AuthorNotListed,
        ),
        (
            |binding| binding.channels[0].id = id(21),
            DropReason::ChannelNotListed,
        ),
        (
            |binding| binding.users[0].channels = Some(vec![id(21)]),
            DropReason::ChannelNotForUser,
        ),
    ];
    for (edit, expected) in rows {
        let mut seat = seat(limits());
        seat.handle(passed(1, "in hand"), now);
        seat.handle(passed(2, "held"), now);
        let mut edited = binding(limits());
        edit(&mut edited);

        let actions = seat.handle(Event::Rebound(Arc::new(edited)), now);

        let dropped = Drop {
            id: message_id(2),
            channel: id(20),
            author: id(30),
            reason: expected,
            at: now,
        };
        assert_eq!(actions, [Action::Drop(dropped)]);
        assert_eq!((seat.held(), seat.turn()), (0, Some(message_id(1))));
    }
}

#[test]
fn an_engine_that_never_starts_ends_the_process_after_three_tries() {
    let now = At::from_ms(START_MS);
    let (mut seat, _) = Seat::new(identity(), limits(), Plan::default(), now);
    let gone = || Event::EngineGone("start-failed".into());
    assert_eq!(
        seat.handle(gone(), now),
        [Action::StartEngine(Duration::from_secs(2))]
    );
    assert_eq!(
        seat.handle(gone(), now),
        [Action::StartEngine(Duration::from_secs(4))]
    );
    assert_eq!(kinds(&seat.handle(gone(), now)), ["exit"]);
}

#[test]
fn asked_to_end_the_turn_in_hand_is_finished_and_held_messages_stay_for_the_next_start() {
    let mut world = World::new(limits());
    world.say(1, "hello");
    world.say(2, "hello");
    world.events.push_back(Event::End(Ending::Asked));
    world.run();
    assert_eq!(
        (world.texts(), world.exited.take()),
        (vec!["re 1".to_owned()], Some(Ending::Asked))
    );

    world.restart();
    world.run();
    assert_eq!(world.texts(), ["re 1", "re 2"]);
}

#[test]
fn power_lost_before_any_action_loses_nothing_and_says_nothing_twice() {
    let mut cut = 0;
    loop {
        let mut world = World::new(limits());
        world.long_reply_to = Some(message_id(2));
        world.power_for = Some(cut);
        world.say(1, "hello");
        world.say(2, "hello");
        world.say(3, &"x".repeat(500));
        world.run();
        let lost_power = world.power_for == Some(0);
        if lost_power {
            world.power_for = None;
            world.restart();
            world.run();
        }
        world.assert_each_answered_once(3, cut);
        if !lost_power {
            break;
        }
        cut += 1;
    }
    assert!(cut > 35, "the story has that many actions: {cut}");
}

#[test]
fn power_lost_twice_loses_nothing_either() {
    for first in 0..45 {
        for second in 0..25 {
            let mut world = World::new(limits());
            world.long_reply_to = Some(message_id(1));
            world.power_for = Some(first);
            world.say(1, "hello");
            world.say(2, "hello");
            world.run();
            world.power_for = Some(second);
            world.restart();
            world.run();
            world.power_for = None;
            world.restart();
            world.run();
            world.assert_each_answered_once(2, first * 100 + second);
        }
    }
}

#[test]
fn after_the_window_the_channel_is_read_and_nothing_is_posted_again() {
    for there in [true, false] {
        let mut world = World::new(limits());
        world.lose_answers = there;
        world.refuse_posts = !there;
        world.say(1, "hello");
        world.power_for = Some(11);
        world.run();
        assert_eq!(world.posted.len(), usize::from(there));

        world.lose_answers = false;
        world.refuse_posts = false;
        world.power_for = None;
        world.now_ms += 301_000;
        world.restart();
        world.run();
        assert_eq!(world.posted.len(), usize::from(there));
        let record = &world.records[&message_id(1)];
        assert_eq!(record.delivery.standing, usize::from(there));
    }
}

/// A journal set, a Discord, a broker and an engine, all obliging.
struct World {
    limits: Limits,
    seat: Seat,
    now_ms: u64,
    events: VecDeque<Event>,
    /// Actions until the power goes.
    power_for: Option<usize>,
    long_reply_to: Option<Snowflake>,
    lose_answers: bool,
    refuse_posts: bool,
    exited: Option<Ending>,
    // What survives a loss of power.
    inbox: Vec<Inbox>,
    admissions: Vec<Admission>,
    drops: Vec<Drop>,
    notices: Vec<Notice>,
    outbox: Vec<Outbox>,
    spool: BTreeMap<Snowflake, Parcel>,
    records: BTreeMap<Snowflake, TurnRecord>,
    // What the others hold.
    written: BTreeMap<Snowflake, Arrival>,
    undelivered: VecDeque<Snowflake>,
    posted: Vec<(String, String)>,
    prompts: Vec<Snowflake>,
}

impl World {
    fn new(limits: Limits) -> Self {
        Self {
            seat: seat(limits.clone()),
            limits,
            now_ms: START_MS,
            events: VecDeque::new(),
            power_for: None,
            long_reply_to: None,
            lose_answers: false,
            refuse_posts: false,
            exited: None,
            inbox: vec![],
            admissions: vec![],
            drops: vec![],
            notices: vec![],
            outbox: vec![],
            spool: BTreeMap::new(),
            records: BTreeMap::new(),
            written: BTreeMap::new(),
            undelivered: VecDeque::new(),
            posted: vec![],
            prompts: vec![],
        }
    }

    fn say(&mut self, number: u64, text: &str) {
        self.say_as(arrival(number, text));
    }

    fn say_as(&mut self, arrival: Arrival) {
        self.written.insert(arrival.message, arrival.clone());
        self.undelivered.push_back(arrival.message);
        self.events.push_back(Event::Message(Message::Passed {
            arrival,
            braked: false,
            known: false,
        }));
    }

    fn run(&mut self) {
        while let Some(event) = self.events.pop_front() {
            let actions = self.seat.handle(event, At::from_ms(self.now_ms));
            if !self.perform(actions) {
                return;
            }
        }
    }

    /// Performs in order; false when the power went or the process ended.
    fn perform(&mut self, actions: Vec<Action>) -> bool {
        for action in actions {
            if let Some(power) = &mut self.power_for {
                if *power == 0 {
                    self.events.clear();
                    return false;
                }
                *power -= 1;
            }
            self.act(action);
            if self.exited.is_some() {
                self.events.clear();
                return false;
            }
        }
        true
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Inbox(line) => {
                self.undelivered.retain(|message| *message != line.id);
                self.inbox.push(line);
            }
            Action::Admission(line) => self.admissions.push(line),
            Action::Drop(line) => self.drops.push(line),
            Action::Notice(line) => self.notices.push(line),
            Action::Outbox(line) => self.outbox.push(line),
            Action::Keep(parcel) => {
                self.spool.insert(parcel.message, *parcel);
            }
            Action::Forget(message) => {
                self.spool.remove(&message);
            }
            Action::Record(record) => {
                assert!(
                    self.records.insert(record.id, *record).is_none(),
                    "a record is written once"
                );
            }
            Action::React { message, .. } => {
                self.events.push_back(Event::Reacted {
                    message,
                    reaction: Reaction::Added,
                });
            }
            Action::Type(_) | Action::StopTyping => {}
            Action::OpenTurn { .. } => self.events.push_back(Event::TurnOpened(Ok(()))),
            Action::CloseTurn(_) => self.events.push_back(Event::TurnClosed(Ok(vec![]))),
            Action::Abort(_) => {}
            Action::Prompt(arrival) => {
                self.prompts.push(arrival.message);
                let number = arrival.message.get() - message_id(0).get();
                let long = self.long_reply_to == Some(arrival.message);
                let reply = if long {
                    format!("{}\n\n{}", "a".repeat(150), "b".repeat(150))
                } else {
                    format!("re {number}")
                };
                self.events.push_back(Event::Prompted);
                self.events.push_back(settled(&reply));
            }
            Action::StartEngine(_) => self.events.push_back(Event::EngineReady),
            Action::Post { nonce, content, .. } => self.post(&nonce, &content),
            Action::WakeCourier(after) => {
                self.now_ms += as_ms(after);
                self.events.push_back(Event::Courier(News::Woken));
            }
            Action::LookFor { sought, .. } => {
                let found = self
                    .posted
                    .iter()
                    .position(|(_, text)| *text == sought.content);
                let seen = found.map_or(Sighting::Absent, |index| {
                    Sighting::Found(id(1000 + index as u64))
                });
                self.events.push_back(Event::Courier(News::Seen(seen)));
            }
            Action::Exit(ending) => self.exited = Some(ending),
        }
    }

    fn post(&mut self, nonce: &str, content: &str) {
        if self.refuse_posts {
            self.events
                .push_back(Event::Courier(News::Answered(Answer::NotSent)));
            return;
        }
        if !self.posted.iter().any(|(known, _)| known == nonce) {
            self.posted.push((nonce.to_owned(), content.to_owned()));
        }
        let index = self
            .posted
            .iter()
            .position(|(known, _)| known == nonce)
            .unwrap();
        let answer = if self.lose_answers {
            Answer::Unknown
        } else {
            Answer::Posted(id(1000 + index as u64))
        };
        self.events
            .push_back(Event::Courier(News::Answered(answer)));
    }

    /// A new process reads the journals; Discord replays what it never saw taken.
    fn restart(&mut self) {
        self.exited = None;
        self.events.clear();
        let now = At::from_ms(self.now_ms);
        let past = Past {
            inbox: self.inbox.clone(),
            admissions: self.admissions.clone(),
            drops: self.drops.clone(),
            notices: self.notices.clone(),
            outbox: self.outbox.clone(),
            records: self.records.keys().copied().collect::<HashSet<_>>(),
            parcels: self.spool.values().cloned().collect(),
        };
        let plan = past.plan(
            &identity(),
            self.limits.max_age,
            |_| Some("Jason".into()),
            now,
        );
        assert_eq!(plan.lost, [""; 0]);
        let pending = plan.pending.clone();
        let (seat, actions) = Seat::new(identity(), self.limits.clone(), plan, now);
        self.seat = seat;
        if !self.perform(actions) {
            return;
        }
        self.run();
        self.events.push_back(Event::EngineReady);
        for line in pending {
            let arrival = self.written[&line.id].clone();
            self.events.push_back(Event::Message(Message::Passed {
                arrival,
                braked: false,
                known: true,
            }));
        }
        for message in self.undelivered.clone() {
            let arrival = self.written[&message].clone();
            self.events.push_back(Event::Message(Message::Passed {
                arrival,
                braked: false,
                known: false,
            }));
        }
    }

    fn texts(&self) -> Vec<String> {
        self.posted.iter().map(|(_, text)| text.clone()).collect()
    }

    fn sorted_texts(&self) -> Vec<String> {
        let mut texts = self.texts();
        texts.sort();
        texts
    }

    fn drop_reasons(&self) -> Vec<DropReason> {
        self.drops.iter().map(|drop| drop.reason).collect()
    }

    /// Each message has either its whole answer or one fixed line, and either a record or a drop line.
    fn assert_each_answered_once(&self, messages: u64, cut: usize) {
        for number in 1..=messages {
            let message = message_id(number);
            let parts: Vec<&String> = self
                .posted
                .iter()
                .filter(|(nonce, _)| nonce.starts_with(&format!("{message}-")))
                .map(|(_, text)| text)
                .collect();
            let fixed =
                |text: &str| [Fixed::Interrupted.text(), Fixed::OverSize.text()].contains(&text);
            let whole = match parts.as_slice() {
                [one] => fixed(one) || one.starts_with("re "),
                [first, second] => first.starts_with('a') && second.starts_with('b'),
                _ => false,
            };
            assert!(
                whole,
                "cut {cut}: message {number} was answered by {parts:?}"
            );
            let dropped = self.drops.iter().any(|drop| drop.id == message);
            assert!(
                self.records.contains_key(&message) != dropped,
                "cut {cut}: message {number} has one outcome"
            );
        }
        assert!(self.spool.is_empty(), "cut {cut}: {:?}", self.spool.keys());
    }
}
