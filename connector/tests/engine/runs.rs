//! Runs: answers, tool calls, providers that fail, stops, and a pi that dies.

use std::{fs, os::unix::fs::PermissionsExt as _, time::Duration};

use mosaic_connector::engine::{EngineEvent, Failure, PromptError, RunLimits, Usage};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::json;
use stand_ins::model::Answer;

use crate::{
    broker::Verb,
    house::{House, LIMITS, PATIENCE, ask, ended, next},
};

#[tokio::test]
async fn a_call_reaches_the_broker_and_its_answer_the_model() {
    let script = [
        Answer::call("read_file", &json!({ "root": "notes", "path": "a.md" })).using(100, 40, 20),
        Answer::text("It says hello.").using(200, 100, 10),
    ];
    let house = House::new(script, Verb::Done("hello\n")).await;
    let mut engine = house.start().await;

    let outcome = ask(&mut engine, "what is in a.md?").await;

    assert_eq!(outcome.reply.as_deref(), Ok("It says hello."));
    assert_eq!((outcome.turns, outcome.retries), (2, 0));
    let Usage {
        input,
        output,
        cache_read,
        ..
    } = outcome.usage;
    assert_eq!((input, output, cache_read), (160, 30, 140));
    let body = b"\x0a\x05notes\x12\x04a.md".to_vec();
    assert_eq!(
        house.broker.seen().calls,
        [("/mosaic.broker.v1.Tools/ReadFile".to_owned(), body)]
    );
    assert_eq!(house.model.requests()[1].tool_results(), ["hello\n"]);
}

#[tokio::test]
async fn a_refusal_is_read_by_the_model_as_an_ordinary_result() {
    let script = [
        Answer::call(
            "read_file",
            &json!({ "root": "notes", "path": "../secret" }),
        ),
        Answer::text("It was refused."),
    ];
    let house = House::new(
        script,
        Verb::Refuse("path_dot_segment", "A path holds no `..`."),
    )
    .await;
    let mut engine = house.start().await;

    let outcome = ask(&mut engine, "read the secret").await;

    assert_eq!(outcome.reply.as_deref(), Ok("It was refused."));
    assert_eq!(
        house.model.requests()[1].tool_results(),
        ["A path holds no `..`."]
    );
}

#[tokio::test]
async fn a_tool_nobody_lists_and_arguments_that_do_not_fit_never_reach_the_broker() {
    let script = [
        Answer::call("bash", &json!({ "command": "id" })),
        Answer::call(
            "read_file",
            &json!({ "root": "notes", "requester": "Jason" }),
        ),
        Answer::call_raw("read_file", "{not json"),
        Answer::text("I give up."),
    ];
    let house = House::new(script, Verb::Hang).await;
    let mut engine = house.start().await;

    let outcome = ask(&mut engine, "try").await;

    assert_eq!(outcome.reply.as_deref(), Ok("I give up."));
    assert_eq!(house.broker.seen().calls, []);
}

#[tokio::test]
async fn calls_of_one_answer_run_one_after_the_other() {
    let script = [
        Answer::call("list_dir", &json!({ "root": "a" }))
            .and_call("read_file", &json!({ "root": "b" })),
        Answer::text("Both."),
    ];
    let house = House::new(script, Verb::Done("x")).await;
    let mut engine = house.start().await;

    ask(&mut engine, "both").await;

    let paths: Vec<_> = house
        .broker
        .seen()
        .calls
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    assert_eq!(
        paths,
        [
            "/mosaic.broker.v1.Tools/ListDir",
            "/mosaic.broker.v1.Tools/ReadFile"
        ]
    );
}

#[tokio::test]
async fn every_failing_provider_has_its_outcome_and_pi_goes_on() {
    let blank = "\u{200b}\n\u{feff}";
    let rows: [(Answer, Result<&str, Failure>, Option<u16>); 8] = [
        (Answer::status(401), Err(Failure::ProviderFailed), Some(401)),
        (
            Answer::text("part").then_malformed(),
            Err(Failure::ProviderFailed),
            None,
        ),
        (
            Answer::text("part").finishing("content_filter"),
            Err(Failure::ProviderFailed),
            None,
        ),
        (
            Answer::text("cut of").finishing("length"),
            Ok("cut of"),
            None,
        ),
        (Answer::empty(), Err(Failure::EmptyReply), None),
        (Answer::text(blank), Err(Failure::EmptyReply), None),
        (
            Answer::text("let me").finishing("tool_calls"),
            Err(Failure::NoCalls),
            None,
        ),
        (
            Answer::text("line\u{2028}line \u{0}"),
            Ok("line\u{2028}line \u{0}"),
            None,
        ),
    ];
    let house = House::new(rows.clone().map(|(answer, ..)| answer), Verb::Hang).await;
    let mut engine = house.start().await;
    for (answer, reply, status) in rows {
        let outcome = ask(&mut engine, "again").await;

        assert_eq!(
            outcome.reply.as_deref(),
            reply.as_ref().copied(),
            "{answer:?}"
        );
        assert_eq!(outcome.provider_status, status, "{answer:?}");
        assert_eq!(outcome.cut, reply == Ok("cut of"));
    }
    house.model.assert_nothing_unexpected();
}

#[tokio::test]
async fn a_provider_that_recovers_is_asked_again() {
    let script = [
        Answer::status(500),
        Answer::text("half").then_cut(),
        Answer::text("After all."),
    ];
    let house = House::new(script, Verb::Hang).await;
    let mut engine = house.start().await;

    let outcome = ask(&mut engine, "hello").await;

    assert_eq!(
        (outcome.reply.as_deref(), outcome.retries),
        (Ok("After all."), 2)
    );
}

#[tokio::test]
async fn a_session_that_cannot_be_written_fails_the_run_and_pi_lives() {
    let house = House::new([Answer::text("Back.")], Verb::Hang).await;
    let mut engine = house.start().await;
    let mode = |mode| {
        fs::set_permissions(
            &house.spec.folders.sessions,
            fs::Permissions::from_mode(mode),
        )
        .unwrap();
    };

    mode(0o500);
    assert_eq!(
        ask(&mut engine, "first").await.reply,
        Err(Failure::ProviderFailed)
    );

    mode(0o700);
    assert_eq!(
        ask(&mut engine, "second").await.reply.as_deref(),
        Ok("Back.")
    );
}

#[tokio::test]
async fn half_an_emoji_in_a_delta_costs_nothing_of_the_reply() {
    let house = House::new([Answer::text("face: ").then_split_emoji()], Verb::Hang).await;
    let mut engine = house.start().await;

    let outcome = ask(&mut engine, "hello").await;

    assert_eq!(outcome.reply.as_deref(), Ok("face: 😀"));
}

#[tokio::test]
async fn a_line_of_many_megabytes_passes() {
    let large = "x".repeat(3_000_000);
    let house = House::new([Answer::text(&large), Answer::text("Small.")], Verb::Hang).await;
    let mut engine = house.start().await;

    let outcome = ask(&mut engine, &"y".repeat(2_000_000)).await;

    assert_eq!(outcome.reply.map(|reply| reply.len()), Ok(large.len()));
    assert_eq!(
        ask(&mut engine, "and now?").await.reply.as_deref(),
        Ok("Small.")
    );
}

#[tokio::test]
async fn a_second_prompt_waits_for_the_settle() {
    let house = House::new([Answer::text("One.").then_silent()], Verb::Hang).await;
    let mut engine = house.start().await;
    engine.prompt("first", LIMITS).unwrap();

    assert_eq!(engine.prompt("second", LIMITS), Err(PromptError::Busy));
}

#[tokio::test]
async fn a_silent_provider_meets_the_time_out_and_the_next_prompt_is_answered() {
    let house = House::new([Answer::silent(), Answer::text("Back.")], Verb::Hang).await;
    let mut engine = house.start().await;
    let limits = RunLimits {
        timeout: Duration::from_millis(700),
        ..LIMITS
    };
    engine.prompt("first", limits).unwrap();

    assert_eq!(ended(&mut engine).await.reply, Err(Failure::TimedOut));
    assert_eq!(
        ask(&mut engine, "second").await.reply.as_deref(),
        Ok("Back.")
    );
}

#[tokio::test]
async fn an_abort_amid_the_answer_ends_the_run_and_pi_goes_on() {
    let house = House::new(
        [
            Answer::text("One idea").then_silent(),
            Answer::text("Back."),
        ],
        Verb::Hang,
    )
    .await;
    let mut engine = house.start().await;
    engine.prompt("talk", LIMITS).unwrap();
    house.model.has_been_asked(1).await;

    engine.abort();

    assert_eq!(ended(&mut engine).await.reply, Err(Failure::Aborted));
    assert_eq!(
        ask(&mut engine, "still there?").await.reply.as_deref(),
        Ok("Back.")
    );
}

#[tokio::test]
async fn an_abort_amid_a_call_cancels_it_at_the_broker() {
    let script = [
        Answer::call("read_file", &json!({ "root": "notes" })),
        Answer::text("Back."),
    ];
    let house = House::new(script, Verb::Hang).await;
    let mut engine = house.start().await;
    engine.prompt("read", LIMITS).unwrap();
    house.broker.sees(|seen| seen.calls.len() == 1).await;

    engine.abort();

    assert_eq!(ended(&mut engine).await.reply, Err(Failure::Aborted));
    house.broker.sees(|seen| seen.cancelled == 1).await;
    assert_eq!(
        ask(&mut engine, "still there?").await.reply.as_deref(),
        Ok("Back.")
    );
}

fn signal(house: &House, signal: Signal) {
    let pi = house.broker.seen().engine.expect("pi is connected");
    kill(Pid::from_raw(pi), signal).unwrap();
}

#[tokio::test]
async fn a_killed_pi_ends_its_run_once_and_a_fresh_one_answers() {
    let house = House::new([Answer::silent(), Answer::text("Back.")], Verb::Hang).await;
    let mut engine = house.start().await;
    engine.prompt("first", LIMITS).unwrap();
    house.model.has_been_asked(1).await;

    signal(&house, Signal::SIGKILL);

    assert_eq!(ended(&mut engine).await.reply, Err(Failure::EngineLost));
    assert!(matches!(next(&mut engine).await, EngineEvent::Exited(status) if !status.success()));
    assert_eq!(next(&mut engine).await, EngineEvent::Over);
    assert_eq!(engine.prompt("second", LIMITS), Err(PromptError::Gone));
    let mut fresh = house.start().await;
    assert_eq!(
        ask(&mut fresh, "second").await.reply.as_deref(),
        Ok("Back.")
    );
}

#[tokio::test]
async fn a_pi_that_does_not_stop_is_killed() {
    let house = House::new([Answer::silent()], Verb::Hang).await;
    let mut engine = house.start().await;
    let limits = RunLimits {
        timeout: Duration::from_millis(300),
        grace: Duration::from_millis(300),
    };
    engine.prompt("first", limits).unwrap();
    house.model.has_been_asked(1).await;
    signal(&house, Signal::SIGSTOP);

    assert_eq!(ended(&mut engine).await.reply, Err(Failure::TimedOut));
    assert!(matches!(next(&mut engine).await, EngineEvent::Broken(_)));
}

#[tokio::test]
async fn pi_goes_with_its_engine() {
    let house = House::new([], Verb::Hang).await;
    let engine = house.start().await;
    let pi = Pid::from_raw(house.broker.seen().engine.unwrap());

    engine.stop(PATIENCE).await;

    assert!(kill(pi, None).is_err());
}
