//! Lives of a connection, one step a line. The chance is always a half, so pauses are half of their ceiling.

use super::*;
use crate::discord::gateway::event::Event;
use crate::discord::gateway::wire::Malformed;
use crate::discord::model::User;

const INTERVAL: Duration = Duration::from_secs(40);

fn at(seconds: u64) -> Now {
    Now {
        at: secs(seconds),
        chance: 0.5,
    }
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn base() -> ApiBase {
    ApiBase::from_override(None).unwrap()
}

fn first_url() -> GatewayUrl {
    GatewayUrl::parse("wss://gateway.discord.gg", &base()).unwrap()
}

fn resume_url() -> GatewayUrl {
    GatewayUrl::parse("wss://resume.discord.gg", &base()).unwrap()
}

fn budget(remaining: u64) -> SessionStartLimit {
    SessionStartLimit {
        total: 1000,
        remaining,
        reset_after: 3_600_000,
    }
}

fn found(remaining: u64) -> Input {
    Input::LookedUp(Ok((first_url(), budget(remaining))))
}

fn hello() -> Input {
    Input::Frame(Inbound::Hello { interval: INTERVAL })
}

fn ack() -> Input {
    Input::Frame(Inbound::HeartbeatAck)
}

fn user() -> User {
    serde_json::from_str(r#"{"id":"7","username":"seat","bot":true}"#).unwrap()
}

fn ready() -> Input {
    let ready = Ready {
        user: user(),
        application_flags: 0,
        session_id: "abc".into(),
        resume_url: Some("wss://resume.discord.gg".into()),
    };
    Input::Frame(Inbound::Dispatch {
        seq: Some(1),
        dispatch: Dispatch::Ready(Box::new(ready)),
    })
}

fn event(seq: u64) -> Input {
    Input::Frame(Inbound::Dispatch {
        seq: Some(seq),
        dispatch: Dispatch::Event(Event::Other("X".into())),
    })
}

fn resumed(seq: u64) -> Input {
    Input::Frame(Inbound::Dispatch {
        seq: Some(seq),
        dispatch: Dispatch::Resumed,
    })
}

fn tick() -> Input {
    Input::Timer(Timer::Heartbeat { unread: false })
}

fn beat_at(seconds: u64) -> Action {
    Action::Set(Timer::Heartbeat { unread: false }, secs(seconds))
}

fn heartbeat(seq: impl Into<Option<u64>>) -> Action {
    Action::Send(Outbound::Heartbeat { seq: seq.into() })
}

fn resume(seq: u64) -> Action {
    Action::Send(Outbound::Resume {
        session_id: "abc".into(),
        seq,
    })
}

fn deadline(seconds: u64) -> Action {
    Action::Set(Timer::Deadline, secs(seconds))
}

/// The two actions that begin every pause.
fn down(loss: Loss, now: u64, wait: Duration) -> [Action; 2] {
    let reason = Down {
        loss,
        next_try: wait,
    };
    [
        Action::Deliver(GatewayEvent::Down { reason }),
        Action::Set(Timer::Retry, secs(now) + wait),
    ]
}

/// A connection that ends, and the pause.
fn lost(code: impl Into<Option<u16>>, loss: Loss, now: u64, wait: Duration) -> Vec<Action> {
    [
        vec![Action::HangUp(code.into())],
        down(loss, now, wait).to_vec(),
    ]
    .concat()
}

/// Drives a machine and drops what it says: for the part of a life that another test is about.
fn live(steps: impl IntoIterator<Item = (Input, u64)>) -> Machine {
    let mut machine = Machine::new(base());
    run(&mut machine, steps);
    machine
}

fn run(machine: &mut Machine, steps: impl IntoIterator<Item = (Input, u64)>) -> Vec<Action> {
    steps.into_iter().fold(vec![], |_, (input, seconds)| {
        machine.handle(input, at(seconds))
    })
}

/// In session `abc` since second 0, `s` 1, with the first beat due at 20.
fn in_session() -> Machine {
    live([
        (Input::Start, 0),
        (found(1000), 0),
        (Input::Opened, 0),
        (hello(), 0),
        (ready(), 0),
    ])
}

/// In session, then lost without a word at second 100, and connecting again where it should be resumed.
fn resuming() -> Machine {
    let mut machine = in_session();
    run(
        &mut machine,
        [
            (Input::Cut, 100),
            (Input::Timer(Timer::Retry), 101),
            (Input::Opened, 101),
        ],
    );
    machine
}

fn half(ceiling: u64) -> Duration {
    secs(ceiling) / 2
}

#[test]
fn a_life_begins_with_the_address_and_ends_in_a_session() {
    let mut gateway = Machine::new(base());

    assert_eq!(gateway.handle(Input::Start, at(0)), [Action::LookUp]);
    assert_eq!(
        gateway.handle(found(1000), at(1)),
        [Action::Open(first_url())]
    );
    assert_eq!(gateway.handle(Input::Opened, at(2)), [deadline(32)]);
    assert_eq!(
        gateway.handle(hello(), at(3)),
        [beat_at(23), Action::Send(Outbound::Identify), deadline(63)]
    );
    assert_eq!(
        gateway.handle(ready(), at(4)),
        [
            Action::Clear(Timer::Deadline),
            Action::Deliver(GatewayEvent::Ready {
                user: user(),
                application_flags: 0
            })
        ]
    );
    assert_eq!(
        gateway.handle(event(2), at(5)),
        [Action::Deliver(GatewayEvent::Dispatch(Event::Other(
            "X".into()
        )))]
    );
    assert_eq!(gateway.handle(tick(), at(23)), [heartbeat(2), beat_at(63)]);
    assert_eq!(gateway.handle(ack(), at(24)), []);
    assert_eq!(gateway.handle(tick(), at(63)), [heartbeat(2), beat_at(103)]);
}

#[test]
fn the_first_beat_before_ready_carries_null() {
    let mut gateway = live([
        (Input::Start, 0),
        (found(1000), 0),
        (Input::Opened, 0),
        (hello(), 0),
    ]);

    assert_eq!(
        gateway.handle(tick(), at(20)),
        [heartbeat(None), beat_at(60)]
    );
}

#[test]
fn d_27_a_beat_carries_the_last_sequence() {
    let mut gateway = in_session();
    run(&mut gateway, [(event(5), 1), (event(4), 1)]);

    assert_eq!(gateway.handle(tick(), at(20)), [heartbeat(5), beat_at(60)]);
}

#[test]
fn e_23_a_beat_that_is_asked_for_goes_out_at_once_and_the_timer_goes_on() {
    let mut gateway = in_session();

    assert_eq!(
        gateway.handle(Input::Frame(Inbound::HeartbeatRequest), at(5)),
        [heartbeat(1)]
    );
    assert_eq!(gateway.handle(tick(), at(20)), [heartbeat(1), beat_at(60)]);
}

#[test]
fn a_flood_of_requests_for_beats_is_not_answered_beyond_our_own_limit() {
    let mut gateway = in_session();

    let answers: usize = (0..500)
        .map(|_| {
            gateway
                .handle(Input::Frame(Inbound::HeartbeatRequest), at(5))
                .len()
        })
        .sum();

    assert_eq!(answers, 109, "110 less the IDENTIFY");
    assert_eq!(gateway.handle(tick(), at(20)), [heartbeat(1), beat_at(60)]);
}

#[test]
fn a_new_connection_has_its_own_send_limit() {
    let mut gateway = in_session();
    for _ in 0..500 {
        gateway.handle(Input::Frame(Inbound::HeartbeatRequest), at(5));
    }
    run(
        &mut gateway,
        [
            (Input::Cut, 6),
            (Input::Timer(Timer::Retry), 7),
            (Input::Opened, 7),
            (hello(), 7),
        ],
    );

    let answers: usize = (0..500)
        .map(|_| {
            gateway
                .handle(Input::Frame(Inbound::HeartbeatRequest), at(8))
                .len()
        })
        .sum();

    assert_eq!(answers, 109, "110 less the RESUME");
}

#[test]
fn d_29_silence_over_one_interval_is_a_dead_socket_and_the_session_is_kept() {
    let mut gateway = in_session();

    assert_eq!(gateway.handle(tick(), at(20)), [heartbeat(1), beat_at(60)]);
    assert_eq!(
        gateway.handle(tick(), at(60)),
        lost(COMING_BACK, Loss::NoAck, 60, half(1))
    );
    assert_eq!(
        gateway.handle(Input::Timer(Timer::Retry), at(61)),
        [Action::Open(resume_url())]
    );
}

#[test]
fn d_30_an_acknowledgement_behind_a_flood_is_not_missed() {
    let mut gateway = in_session();

    assert_eq!(gateway.handle(tick(), at(20)), [heartbeat(1), beat_at(60)]);
    assert_eq!(
        gateway.handle(Input::Timer(Timer::Heartbeat { unread: true }), at(60)),
        [heartbeat(1), beat_at(100)]
    );
    run(&mut gateway, [(event(2), 100)]);
    assert_eq!(
        gateway.handle(tick(), at(100)),
        [heartbeat(2), beat_at(140)]
    );
    run(&mut gateway, [(event(3), 101), (ack(), 102)]);
    assert_eq!(
        gateway.handle(tick(), at(140)),
        [heartbeat(3), beat_at(180)]
    );
}

#[test]
fn d_30_events_without_acknowledgements_are_excused_once_only() {
    let mut gateway = in_session();

    run(&mut gateway, [(tick(), 20), (event(2), 30)]);
    assert_eq!(gateway.handle(tick(), at(60)), [heartbeat(2), beat_at(100)]);
    run(&mut gateway, [(event(3), 70)]);
    assert_eq!(
        gateway.handle(tick(), at(100)),
        lost(COMING_BACK, Loss::NoAck, 100, half(1))
    );
}

#[test]
fn a_fresh_connection_owes_no_acknowledgement() {
    let mut gateway = in_session();
    run(
        &mut gateway,
        [
            (tick(), 20),
            (Input::Cut, 30),
            (Input::Timer(Timer::Retry), 31),
            (Input::Opened, 31),
            (hello(), 31),
        ],
    );

    assert_eq!(gateway.handle(tick(), at(51)), [heartbeat(1), beat_at(91)]);
}

#[test]
fn a_lost_session_is_resumed_from_the_last_sequence() {
    let mut gateway = in_session();
    run(&mut gateway, [(event(9), 50)]);

    assert_eq!(
        gateway.handle(Input::Cut, at(100)),
        lost(None, Loss::Cut, 100, half(1))
    );
    assert_eq!(
        gateway.handle(Input::Timer(Timer::Retry), at(101)),
        [Action::Open(resume_url())]
    );
    assert_eq!(gateway.handle(Input::Opened, at(101)), [deadline(131)]);
    assert_eq!(
        gateway.handle(hello(), at(101)),
        [beat_at(121), resume(9), deadline(161)]
    );
    assert_eq!(
        gateway.handle(event(10), at(102)),
        [Action::Deliver(GatewayEvent::Dispatch(Event::Other(
            "X".into()
        )))]
    );
    assert_eq!(
        gateway.handle(resumed(11), at(103)),
        [
            Action::Clear(Timer::Deadline),
            Action::Deliver(GatewayEvent::Resumed)
        ]
    );
    assert_eq!(
        gateway.handle(tick(), at(121)),
        [heartbeat(11), beat_at(161)]
    );
}

#[test]
fn d_28_op_7_after_a_good_life_resumes_at_once_and_keeps_the_session() {
    let mut gateway = in_session();

    assert_eq!(
        gateway.handle(Input::Frame(Inbound::Reconnect), at(60)),
        lost(COMING_BACK, Loss::Asked, 60, Duration::ZERO)
    );
    assert_eq!(
        gateway.handle(Input::Timer(Timer::Retry), at(60)),
        [Action::Open(resume_url())]
    );
}

#[test]
fn an_op_7_on_every_connection_still_slows_down() {
    let mut gateway = in_session();
    let mut pauses = vec![];

    for second in 1..6 {
        let said = gateway.handle(Input::Frame(Inbound::Reconnect), at(second));
        let Some(Action::Set(Timer::Retry, due)) = said.last() else {
            panic!("no pause")
        };
        pauses.push(*due - secs(second));
        run(
            &mut gateway,
            [
                (Input::Timer(Timer::Retry), second),
                (Input::Opened, second),
                (hello(), second),
                (resumed(2), second),
            ],
        );
    }

    assert_eq!(pauses, [half(1), half(2), half(4), half(8), half(16)]);
}

#[test]
fn e_22_op_7_before_hello_is_a_lost_connection_like_any_other() {
    let mut gateway = live([(Input::Start, 0), (found(1000), 0), (Input::Opened, 0)]);

    assert_eq!(
        gateway.handle(Input::Frame(Inbound::Reconnect), at(1)),
        lost(COMING_BACK, Loss::Asked, 1, half(1))
    );
    assert_eq!(
        gateway.handle(Input::Timer(Timer::Retry), at(2)),
        [Action::LookUp]
    );
}

#[test]
fn d_27_op_9_false_ends_the_session_and_identifies_at_the_first_address() {
    let mut gateway = resuming();
    run(&mut gateway, [(hello(), 101)]);

    let refused = Input::Frame(Inbound::InvalidSession { resumable: false });

    assert_eq!(
        gateway.handle(refused, at(102)),
        lost(
            COMING_BACK,
            Loss::SessionRefused { resumable: false },
            102,
            secs(3)
        )
    );
    assert_eq!(
        gateway.handle(Input::Timer(Timer::Retry), at(105)),
        [Action::LookUp]
    );
    assert_eq!(
        gateway.handle(found(900), at(105)),
        [Action::Open(first_url())]
    );
    run(&mut gateway, [(Input::Opened, 105)]);
    assert_eq!(
        gateway.handle(hello(), at(105)),
        [
            beat_at(125),
            Action::Send(Outbound::Identify),
            deadline(165)
        ]
    );
}

#[test]
fn op_9_true_waits_and_resumes() {
    let mut gateway = resuming();
    run(&mut gateway, [(hello(), 101)]);

    let refused = Input::Frame(Inbound::InvalidSession { resumable: true });

    assert_eq!(
        gateway.handle(refused, at(102)),
        lost(
            COMING_BACK,
            Loss::SessionRefused { resumable: true },
            102,
            secs(3)
        )
    );
    assert_eq!(
        gateway.handle(Input::Timer(Timer::Retry), at(105)),
        [Action::Open(resume_url())]
    );
}

#[test]
fn d_23_d_24_after_three_failed_resumes_it_identifies_within_half_a_minute() {
    let mut gateway = in_session();
    let mut now = 60;
    let mut said = gateway.handle(Input::Frame(Inbound::Reconnect), at(now));
    let mut opened = vec![];

    for _ in 0..3 {
        let Some(Action::Set(Timer::Retry, due)) = said.last() else {
            panic!("no pause")
        };
        now = due.as_secs() + 1;
        opened.extend(gateway.handle(Input::Timer(Timer::Retry), at(now)));
        said = run(
            &mut gateway,
            [(Input::Opened, now), (hello(), now), (Input::Cut, now)],
        );
    }
    now += 8;
    opened.extend(gateway.handle(Input::Timer(Timer::Retry), at(now)));

    assert_eq!(
        opened,
        [
            Action::Open(resume_url()),
            Action::Open(resume_url()),
            Action::Open(resume_url()),
            Action::LookUp
        ]
    );
    assert!(now < 60 + 30, "{now}");
}

#[test]
fn d_25_a_resume_address_that_cannot_be_opened_is_forgotten_and_the_session_is_not() {
    let mut gateway = in_session();
    run(
        &mut gateway,
        [(Input::Cut, 100), (Input::Timer(Timer::Retry), 101)],
    );

    assert_eq!(
        gateway.handle(Input::OpenFailed(OpenFault::Connect), at(101)),
        down(Loss::Open(OpenFault::Connect), 101, half(2))
    );
    assert_eq!(
        gateway.handle(Input::Timer(Timer::Retry), at(102)),
        [Action::Open(first_url())]
    );
    run(&mut gateway, [(Input::Opened, 102)]);
    assert_eq!(
        gateway.handle(hello(), at(102)),
        [beat_at(122), resume(1), deadline(162)]
    );
}

#[test]
fn when_the_first_address_fails_too_it_is_asked_for_again() {
    let mut gateway = in_session();
    let failed = || Input::OpenFailed(OpenFault::Timeout);
    run(
        &mut gateway,
        [
            (Input::Cut, 100),
            (Input::Timer(Timer::Retry), 101),
            (failed(), 101),
            (Input::Timer(Timer::Retry), 103),
            (failed(), 103),
        ],
    );

    assert_eq!(
        gateway.handle(Input::Timer(Timer::Retry), at(110)),
        [Action::LookUp]
    );
    // No budget is needed to resume.
    assert_eq!(
        gateway.handle(found(0), at(110)),
        [Action::Open(first_url())]
    );
}

#[test]
fn d_20_a_refused_connection_is_tried_a_handful_of_times_a_minute() {
    let mut gateway = Machine::new(base());
    let mut due = Duration::ZERO;
    let mut tries = 0;
    let mut next = Input::Start;

    while due < secs(60) {
        gateway.handle(
            next,
            Now {
                at: due,
                chance: 0.5,
            },
        );
        let said = gateway.handle(
            Input::LookedUp(Err(Loss::LookUp(RestError::NotSent(
                crate::discord::rest::Unreached::Connect,
            )))),
            Now {
                at: due,
                chance: 0.5,
            },
        );
        let Some(Action::Set(Timer::Retry, again)) = said.last() else {
            panic!("no pause")
        };
        (due, tries, next) = (*again, tries + 1, Input::Timer(Timer::Retry));
    }

    assert!((3..=9).contains(&tries), "{tries}");
}

#[test]
fn d_21_a_server_that_says_nothing_is_left_after_half_a_minute_with_growing_pauses() {
    let mut gateway = live([(Input::Start, 0), (found(1000), 0), (Input::Opened, 0)]);

    assert_eq!(
        gateway.handle(Input::Timer(Timer::Deadline), at(30)),
        lost(COMING_BACK, Loss::NoHello, 30, half(1))
    );
    run(
        &mut gateway,
        [
            (Input::Timer(Timer::Retry), 31),
            (found(1000), 31),
            (Input::Opened, 31),
        ],
    );
    assert_eq!(
        gateway.handle(Input::Timer(Timer::Deadline), at(61)),
        lost(COMING_BACK, Loss::NoHello, 61, half(2))
    );
}

#[test]
fn a_session_that_does_not_come_is_left_unless_a_replay_is_under_way() {
    let mut gateway = resuming();
    run(&mut gateway, [(hello(), 101), (event(2), 150)]);

    assert_eq!(
        gateway.handle(Input::Timer(Timer::Deadline), at(161)),
        [deadline(210)]
    );
    assert_eq!(
        gateway.handle(Input::Timer(Timer::Deadline), at(210)),
        lost(COMING_BACK, Loss::NoSession, 210, half(2))
    );
}

#[test]
fn a_short_success_does_not_shorten_the_pauses_and_a_long_one_does() {
    let mut gateway = resuming();

    run(&mut gateway, [(hello(), 101), (resumed(2), 101)]);
    assert_eq!(
        gateway.handle(Input::Cut, at(110)),
        lost(None, Loss::Cut, 110, half(2))
    );
    run(
        &mut gateway,
        [
            (Input::Timer(Timer::Retry), 111),
            (Input::Opened, 111),
            (hello(), 111),
            (resumed(3), 111),
        ],
    );
    assert_eq!(
        gateway.handle(Input::Cut, at(141)),
        lost(None, Loss::Cut, 141, half(1))
    );
}

#[test]
fn d_32_a_fatal_code_is_the_last_word() {
    for code in [4004, 4010, 4011, 4012, 4013, 4014] {
        let mut gateway = live([
            (Input::Start, 0),
            (found(1000), 0),
            (Input::Opened, 0),
            (hello(), 0),
        ]);

        let said = gateway.handle(Input::Closed { code }, at(1));

        let Next::Fatal(sentence) = close_code::next(code) else {
            panic!("{code} is not fatal")
        };
        assert_eq!(
            said,
            [
                Action::HangUp(None),
                Action::Deliver(GatewayEvent::Fatal { code, sentence }),
                Action::End
            ]
        );
        assert_eq!(gateway.handle(Input::Timer(Timer::Retry), at(100)), []);
        assert_eq!(gateway.handle(Input::Start, at(100)), []);
    }
}

#[test]
fn a_token_that_rest_refuses_is_fatal_too() {
    let mut gateway = live([(Input::Start, 0)]);

    let said = gateway.handle(
        Input::LookedUp(Err(Loss::LookUp(RestError::Unauthorized))),
        at(1),
    );

    let fatal = GatewayEvent::Fatal {
        code: 401,
        sentence: close_code::TOKEN_REFUSED,
    };
    assert_eq!(
        said,
        [Action::HangUp(None), Action::Deliver(fatal), Action::End]
    );
}

#[test]
fn each_close_code_decides_between_the_session_and_a_new_one() {
    let after = |code| {
        let mut gateway = in_session();
        run(
            &mut gateway,
            [
                (Input::Closed { code }, 100),
                (Input::Timer(Timer::Retry), 101),
            ],
        )
    };

    for code in [1000, 1001, 1005, 1006, 1011, 4000, 4001, 4002, 4008, 4099] {
        assert_eq!(after(code), [Action::Open(resume_url())], "{code}");
    }
    for code in [4003, 4005, 4007, 4009] {
        assert_eq!(after(code), [Action::LookUp], "{code}");
    }
}

#[test]
fn after_a_normal_close_one_resume_is_tried() {
    let mut gateway = in_session();
    run(
        &mut gateway,
        [
            (Input::Closed { code: 1000 }, 100),
            (Input::Timer(Timer::Retry), 101),
            (Input::Opened, 101),
            (hello(), 101),
            (Input::Cut, 101),
        ],
    );

    assert_eq!(
        gateway.handle(Input::Timer(Timer::Retry), at(103)),
        [Action::LookUp]
    );
}

#[test]
fn identifies_are_more_than_five_seconds_apart() {
    let mut gateway = live([
        (Input::Start, 0),
        (found(1000), 0),
        (Input::Opened, 0),
        (hello(), 0),
        (Input::Cut, 0),
    ]);
    run(
        &mut gateway,
        [
            (Input::Timer(Timer::Retry), 1),
            (found(999), 1),
            (Input::Opened, 1),
        ],
    );

    assert_eq!(
        gateway.handle(hello(), at(2)),
        [
            beat_at(22),
            Action::Set(Timer::Enter, secs(6)),
            deadline(66)
        ]
    );
    assert_eq!(
        gateway.handle(Input::Timer(Timer::Enter), at(6)),
        [Action::Send(Outbound::Identify), deadline(66)]
    );
}

#[test]
fn the_last_session_starts_are_not_spent() {
    let mut gateway = live([(Input::Start, 0)]);

    assert_eq!(
        gateway.handle(found(IDENTIFY_RESERVE), at(1)),
        down(
            Loss::Budget {
                remaining: IDENTIFY_RESERVE
            },
            1,
            secs(3600)
        )
    );
    assert_eq!(
        gateway.handle(Input::Timer(Timer::Retry), at(3601)),
        [Action::LookUp]
    );
    assert_eq!(
        gateway.handle(found(IDENTIFY_RESERVE + 1), at(3601)),
        [Action::Open(first_url())]
    );
}

#[test]
fn e_27_a_limited_look_up_waits_as_long_as_it_was_told() {
    let mut gateway = live([(Input::Start, 0)]);
    let limited = RestError::Limited {
        retry_after: secs(60),
        global: true,
        html: true,
    };

    assert_eq!(
        gateway.handle(Input::LookedUp(Err(Loss::LookUp(limited.clone()))), at(1)),
        down(Loss::LookUp(limited), 1, secs(60))
    );
}

#[test]
fn a_foreign_resume_address_is_not_gone_to() {
    let mut gateway = live([
        (Input::Start, 0),
        (found(1000), 0),
        (Input::Opened, 0),
        (hello(), 0),
    ]);
    let ready = Ready {
        user: user(),
        application_flags: 0,
        session_id: "abc".into(),
        resume_url: Some("ws://192.0.2.1".into()),
    };
    run(
        &mut gateway,
        [
            (
                Input::Frame(Inbound::Dispatch {
                    seq: Some(1),
                    dispatch: Dispatch::Ready(Box::new(ready)),
                }),
                0,
            ),
            (Input::Cut, 100),
        ],
    );

    assert_eq!(
        gateway.handle(Input::Timer(Timer::Retry), at(101)),
        [Action::Open(first_url())]
    );
}

#[test]
fn what_cannot_be_read_is_reported_and_the_connection_lives() {
    let mut gateway = in_session();
    let reason = Malformed::binary(3);

    assert_eq!(
        gateway.handle(Input::Malformed(reason.clone()), at(1)),
        [Action::Deliver(GatewayEvent::Malformed {
            reason: reason.clone()
        })]
    );
    let unreadable = Inbound::Dispatch {
        seq: Some(8),
        dispatch: Dispatch::Unreadable(reason.clone()),
    };
    assert_eq!(
        gateway.handle(Input::Frame(unreadable), at(1)),
        [Action::Deliver(GatewayEvent::Malformed { reason })]
    );
    assert_eq!(gateway.handle(tick(), at(20)), [heartbeat(8), beat_at(60)]);
}

#[test]
fn a_stream_that_cannot_be_read_is_left_and_resumed() {
    let mut gateway = in_session();

    let said = gateway.handle(Input::Broken(Malformed::too_large()), at(100));

    assert_eq!(
        said,
        lost(
            COMING_BACK,
            Loss::Frame(Malformed::too_large()),
            100,
            half(1)
        )
    );
}

#[test]
fn d_33_a_stop_ends_everything_at_any_time() {
    let waiting = live([
        (Input::Start, 0),
        (found(1000), 0),
        (Input::OpenFailed(OpenFault::Connect), 0),
    ]);
    let looking = live([(Input::Start, 0)]);
    let opening = live([(Input::Start, 0), (found(1000), 0)]);

    for mut gateway in [waiting, looking, opening] {
        assert_eq!(gateway.handle(Input::Stop, at(1)), [Action::End]);
        assert_eq!(gateway.handle(Input::Opened, at(1)), []);
    }
    assert_eq!(
        in_session().handle(Input::Stop, at(1)),
        [Action::HangUp(Some(GOODBYE)), Action::End]
    );
}

#[test]
fn the_pulse_shows_acknowledgements_and_no_connection_as_none() {
    let mut gateway = in_session();
    run(&mut gateway, [(tick(), 20), (ack(), 21)]);

    assert_eq!(
        gateway.pulse(),
        Pulse {
            live: true,
            interval: Some(INTERVAL),
            acked_at: Some(secs(21))
        }
    );
    run(&mut gateway, [(Input::Cut, 22)]);
    assert_eq!(gateway.pulse(), Pulse::default());
}
