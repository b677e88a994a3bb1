//! What the house does when one of its processes dies: real processes, real signals, and every message still gets one answer.

use std::fs;

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::json;
use stand_ins::model::{Answer, Model};
use stories::{House, Layout, PATIENCE, start_stand_ins};

/// Children of a process, by its threads.
fn children(pid: u32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
    tasks
        .filter_map(|task| fs::read_to_string(task.ok()?.path().join("children")).ok())
        .flat_map(|line| {
            line.split_whitespace()
                .map(|pid| pid.parse().expect("a pid"))
                .collect::<Vec<i32>>()
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_engine_costs_one_fixed_line_and_the_next_message_is_answered_by_a_fresh_one() {
    let (discord, model) = start_stand_ins(Model::answering_by(|request| {
        let last = request.user_texts().pop().unwrap_or_default();
        if last.ends_with("hang") {
            Answer::silent()
        } else {
            Answer::text("here again")
        }
    }))
    .await;
    let mut house = House::build(&discord, &model, &Layout::default());
    house.open(&discord).await;

    let hanging = discord.say("ideas", "Jason", "hang").await;
    model.has_been_asked(1).await;
    let connector = house
        .connector
        .as_ref()
        .and_then(stories::Program::pid)
        .expect("it runs");
    for engine in children(connector) {
        kill(Pid::from_raw(engine), Signal::SIGKILL).expect("the engine runs");
    }
    let failed = house.wait_for_record(hanging).await;
    let next = discord.say("ideas", "Jason", "still there?").await;
    let answered = house.wait_for_record(next).await;
    house.close().await;

    assert_eq!(
        (failed["outcome"].as_str(), failed["error"].as_str()),
        (Some("failed"), Some("engine-lost"))
    );
    assert_eq!(answered["outcome"], "answered");
    let texts: Vec<_> = discord
        .said_by_bot("ideas")
        .into_iter()
        .map(|message| message.content)
        .collect();
    assert!(
        texts[0].starts_with("I could not finish this one."),
        "{texts:?}"
    );
    assert_eq!(texts[1..], ["here again"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_broker_ends_the_turn_with_its_line_and_the_connector_with_exit_1() {
    let (discord, model) = start_stand_ins(Model::answering_by(|_| Answer::silent())).await;
    let mut house = House::build(&discord, &model, &Layout::default());
    house.open(&discord).await;

    let question = discord.say("ideas", "Jason", "hang").await;
    model.has_been_asked(1).await;
    house.broker.take().expect("it runs").kill().await;
    let record = house.wait_for_record(question).await;
    let status = house
        .connector
        .as_mut()
        .expect("it was started")
        .ended(PATIENCE)
        .await;

    assert_eq!(
        (record["outcome"].as_str(), record["error"].as_str()),
        (Some("failed"), Some("broker-gone"))
    );
    assert_eq!(status.code(), Some(1), "{}", house.connector_said());
    assert_eq!(discord.said_by_bot("ideas").len(), 1);

    house.start_broker().await;
    let (code, said) = house.broker_says(&["audit", "verify"]).await;
    assert_eq!(code, Some(0), "the ledger survives the kill: {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connector_that_dies_between_any_two_lines_answers_once_after_the_restart() {
    let (discord, model) = start_stand_ins(Model::answering_by(|request| {
        match request.fresh_result() {
            Some(_) => Answer::text(&format!("{}\n\n{}", "a".repeat(150), "b".repeat(150))),
            None => Answer::call("list_dir", &json!({ "root": "docs" })),
        }
    }))
    .await;
    let layout = Layout {
        limits: json!({ "replyChunkChars": 200 }),
        ..Layout::default()
    };
    let mut house = House::build(&discord, &model, &layout);
    house.start_broker().await;

    let mut survived = false;
    let mut lines = 0;
    while !survived {
        lines += 1;
        house.start_connector(&[("MOSAIC_DISCORD_DIE_AFTER_LINES", &lines.to_string())]);
        house.wait_for_session(&discord).await;
        let before = discord.said_by_bot("ideas").len();
        let question = discord.say("ideas", "Jason", "what is there?").await;
        tokio::select! {
            _ = house.wait_for_record(question) => survived = true,
            () = died(&house) => {}
        }
        let mut connector = house.connector.take().expect("it was started");
        connector.kill().await;

        house.start_connector(&[]);
        let record = house.wait_for_record(question).await;
        house.wait_for_session(&discord).await;
        let last = discord.say("ideas", "Jason", "and now?").await;
        let _ = house.wait_for_record(last).await;
        let status = house
            .connector
            .as_mut()
            .expect("it was started")
            .stop(PATIENCE)
            .await;
        assert!(
            status.success(),
            "after {lines} lines: {}",
            house.connector_said()
        );

        let answers: Vec<_> = discord
            .said_by_bot("ideas")
            .into_iter()
            .skip(before)
            .map(|message| message.content)
            .take_while(|text| !text.is_empty())
            .collect();
        let (first, rest) = answers.split_at(answers.len() - 2);
        assert_eq!(
            rest.concat(),
            format!("{}{}", "a".repeat(150), "b".repeat(150)),
            "after {lines} lines"
        );
        let whole = first.concat() == rest.concat();
        let interrupted = first.len() == 1 && first[0].starts_with("I was restarted");
        assert!(whole || interrupted, "after {lines} lines: {first:?}");
        let outcome = if interrupted {
            "interrupted"
        } else {
            "answered"
        };
        assert_eq!(record["outcome"], outcome, "after {lines} lines");
        for journal in [
            "inbox.jsonl",
            "outbox.jsonl",
            "admissions.jsonl",
            "drops.jsonl",
        ] {
            let _ = house.journal(journal);
        }
        assert_eq!(
            fs::read_dir(house.data("outbox"))
                .expect("the spool")
                .count(),
            0,
            "after {lines} lines"
        );
    }
    assert!(lines >= 8, "a turn has that many lines: {lines}");
}

/// Returns when the connector has died of its own accord.
async fn died(house: &House) {
    let pid = house.connector.as_ref().and_then(stories::Program::pid);
    let Some(pid) = pid else { return };
    loop {
        let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if status.is_empty()
            || status
                .rsplit(')')
                .next()
                .is_some_and(|rest| rest.trim_start().starts_with('Z'))
        {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}
