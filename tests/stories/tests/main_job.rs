//! The main job with the real broker, connector and pi: a message becomes a turn, the turn reaches the files it may, and the
//! answer comes back with a record that proves each step.

use serde_json::json;
use stand_ins::{
    discord::Discord,
    model::{Answer, Model},
};
use stories::{House, Layout, PATIENCE, SECRET_TEXT, start_stand_ins};

/// A house that is open for business, its model playing this script.
async fn open_house(script: Vec<Answer>) -> (House, Discord, Model) {
    let (discord, model) = start_stand_ins(Model::answering(script)).await;
    let mut house = House::build(&discord, &model, &Layout::default());
    house.open(&discord).await;
    (house, discord, model)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_about_a_file_is_answered_as_a_reply_and_the_record_proves_each_step() {
    let (mut house, discord, model) = open_house(vec![
        Answer::call("read_file", &json!({ "root": "docs", "path": "plan.md" })),
        Answer::text("December."),
    ])
    .await;

    let question = discord
        .say("ideas", "Jason", "when do we ship?")
        .nick("jay")
        .await;
    let answers = discord.wait_for_answers("ideas", 1, PATIENCE).await;
    let record = house.wait_for_record(question).await;
    house.close().await;

    assert_eq!(answers[0].content, "December.");
    assert_eq!(
        answers[0].reference.as_ref().map(|r| r.message),
        Some(question)
    );
    assert!(discord.look(|world| world.bot_reacted(question, "👀")));
    assert!(discord.typing_count("ideas") >= 1);

    let requests = model.requests();
    assert!(
        requests[0].user_texts()[0].contains("requester=\"Jason (jay)\""),
        "{:?}",
        requests[0].user_texts()
    );
    assert!(requests[0].user_texts()[0].ends_with("]\nwhen do we ship?"));
    assert!(
        requests[0]
            .system()
            .starts_with("You are Sage, the strategy seat.")
    );
    assert!(
        requests[1]
            .fresh_result()
            .is_some_and(|text| text.contains("Ship the connector in December."))
    );
    model.assert_nothing_unexpected();

    assert_eq!(record["outcome"], "answered");
    assert_eq!(record["receipt"]["state"], "added");
    assert_eq!(
        record["delivery"]["posted"],
        json!([answers[0].id.to_string()])
    );
    assert_eq!(record["engine"]["turns"], 2);
    assert_eq!(record["tools"][0]["name"], "read_file");
    assert_eq!(record["tools"][0]["outcome"], "done");
    assert_eq!(record["tools"][0]["facts"]["path"], "plan.md");
    assert_eq!(house.journal("inbox.jsonl").len(), 1);
    assert_eq!(house.journal("admissions.jsonl").len(), 1);
    assert_eq!(house.journal("outbox.jsonl").len(), 2);
    let (code, said) = house.broker_says(&["audit", "verify"]).await;
    assert_eq!(code, Some(0), "{said}");
    discord.expect_no_surprises();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_is_offered_exactly_the_verbs_the_binding_enables_whatever_lies_around_pi() {
    let (discord, model) = start_stand_ins(Model::answering(vec![Answer::text("hi")])).await;
    let mut house = House::build(&discord, &model, &Layout::default());
    hostile_surroundings(&house);

    house.open(&discord).await;
    let hello = discord.say("ideas", "Carmen", "hello").await;
    let _ = house.wait_for_record(hello).await;
    house.close().await;

    let request = &model.requests()[0];
    assert_eq!(
        request.tool_names(),
        ["list_dir", "read_file", "search", "write_file", "edit_file"]
    );
    for planted in ["HOSTILE", "skill"] {
        assert!(!request.system().contains(planted), "{}", request.system());
    }
    assert!(!house.path("marker").exists(), "a planted program ran");
}

/// What somebody who can write into the engine's folders would try.
fn hostile_surroundings(house: &House) {
    let marker = house.path("marker").display().to_string();
    let extension = format!(
        "import {{ writeFileSync }} from 'node:fs'; export default () => writeFileSync({marker:?}, 'x');"
    );
    let settings = json!({
        "packages": ["npm:hostile"], "npmCommand": ["touch", marker], "extensions": ["./extensions"],
        "mcpServers": { "hostile": { "command": "touch", "args": [marker] } },
    });
    let agent = house.data("pi");
    for folder in [
        agent.clone(),
        house.path("home/.pi/agent"),
        house.path("home"),
    ] {
        for (name, text) in [
            ("settings.json", settings.to_string()),
            ("AGENTS.md", "HOSTILE".into()),
            ("CLAUDE.md", "HOSTILE".into()),
            ("SYSTEM.md", "HOSTILE".into()),
            ("APPEND_SYSTEM.md", "HOSTILE".into()),
            ("extensions/hostile.mjs", extension.clone()),
            ("skills/hostile/SKILL.md", "HOSTILE".into()),
            ("prompts/hostile.md", "HOSTILE".into()),
        ] {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_leaves_exactly_the_bytes_and_an_edit_replaces_exactly_once() {
    let text = "# Names\n\n- Aurora\n- Größe 😀\n";
    let (mut house, discord, _model) = open_house(vec![
        Answer::call(
            "write_file",
            &json!({ "root": "vault", "path": "notes/new.md", "text": text }),
        ),
        Answer::call(
            "edit_file",
            &json!({ "root": "vault", "path": "notes/new.md", "old": "Aurora", "new": "Borealis" }),
        ),
        Answer::text("Written to vault/notes/new.md."),
    ])
    .await;

    let question = discord.say("ideas", "Jason", "write the names down").await;
    let record = house.wait_for_record(question).await;
    house.close().await;

    assert_eq!(
        house.read("vault/notes/new.md"),
        text.replace("Aurora", "Borealis")
    );
    let calls: Vec<_> = record["tools"]
        .as_array()
        .expect("calls")
        .iter()
        .map(|call| call["outcome"].clone())
        .collect();
    assert_eq!(calls, ["done", "done"]);
    let left: Vec<_> = std::fs::read_dir(house.path("vault/notes"))
        .expect("a folder")
        .collect();
    assert_eq!(left.len(), 1, "no temporary file is left: {left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_shown_to_the_model_in_words_and_nothing_outside_the_roots_is_read() {
    let (mut house, discord, model) = open_house(vec![
        Answer::call(
            "read_file",
            &json!({ "root": "vault", "path": "../outside/secret.txt" }),
        )
        .and_call(
            "write_file",
            &json!({ "root": "docs", "path": "plan.md", "text": "x" }),
        ),
        Answer::text("Both were refused."),
    ])
    .await;

    let question = discord.say("ideas", "Jason", "read the secret").await;
    let record = house.wait_for_record(question).await;
    house.close().await;

    let results = model.requests()[1].tool_results();
    assert_eq!(results.len(), 2);
    for result in &results {
        assert!(
            !result.contains(SECRET_TEXT)
                && !result.contains(&house.path("").display().to_string()),
            "{result}"
        );
    }
    assert_eq!(record["tools"][0]["outcome"], "refused");
    assert_eq!(record["tools"][1]["outcome"], "refused");
    assert_eq!(record["outcome"], "answered");
    assert_eq!(
        house.read("docs/plan.md"),
        "# Plan\n\nShip the connector in December.\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_message_during_a_turn_is_held_and_answered_after_it() {
    let (mut house, discord, model) = open_house(vec![
        Answer::text("first").slowly(std::time::Duration::from_millis(300)),
        Answer::text("second"),
    ])
    .await;

    let one = discord.say("ideas", "Jason", "one").await;
    model.has_been_asked(1).await;
    let two = discord.say("ideas", "Carmen", "two").await;
    let answers = discord.wait_for_answers("ideas", 2, PATIENCE).await;
    let _ = house.wait_for_record(two).await;
    house.close().await;

    let replies: Vec<_> = answers
        .iter()
        .map(|a| (a.content.as_str(), a.reference.as_ref().map(|r| r.message)))
        .collect();
    assert_eq!(replies, [("first", Some(one)), ("second", Some(two))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_fails_costs_one_fixed_line_and_none_of_its_words() {
    let (mut house, discord, _model) = open_house(vec![Answer::refusing(
        401,
        json!({ "error": "PROVIDER WORDS" }),
    )])
    .await;

    let question = discord.say("ideas", "Jason", "hello").await;
    let answers = discord.wait_for_answers("ideas", 1, PATIENCE).await;
    let record = house.wait_for_record(question).await;
    house.close().await;

    assert!(
        answers[0]
            .content
            .starts_with("I could not finish this one."),
        "{}",
        answers[0].content
    );
    assert_eq!(
        (record["outcome"].as_str(), record["error"].as_str()),
        (Some("failed"), Some("provider-failed"))
    );
    assert!(!house.connector_said().contains("PROVIDER WORDS"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blank_reply_is_a_failed_turn_and_a_message_without_text_is_a_drop() {
    let (mut house, discord, _model) = open_house(vec![Answer::empty()]).await;

    let silent = discord
        .say("ideas", "Jason", "")
        .attaching("picture.png")
        .await;
    let question = discord.say("ideas", "Jason", "hello").await;
    let record = house.wait_for_record(question).await;
    house.close().await;

    assert_eq!(
        (record["outcome"].as_str(), record["error"].as_str()),
        (Some("failed"), Some("empty-reply"))
    );
    let drops = house.journal("drops.jsonl");
    assert_eq!(
        (drops[0]["id"].as_str(), drops[0]["reason"].as_str()),
        (Some(silent.to_string().as_str()), Some("no-text"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_bots_and_unmentioned_messages_are_drops_with_their_reason() {
    let (mut house, discord, model) = open_house(vec![Answer::text("yes")]).await;

    discord.say("ideas", "Mallory", "let me in").await;
    discord
        .say("ideas", "Jason", "as a hook")
        .by_webhook()
        .await;
    discord.say("quiet", "Jason", "not to you").await;
    let asked = discord
        .say("quiet", "Jason", "to you")
        .mentioning_bot()
        .await;
    let _ = house.wait_for_record(asked).await;
    house.close().await;

    let reasons: Vec<_> = house
        .journal("drops.jsonl")
        .iter()
        .map(|drop| drop["reason"].clone())
        .collect();
    assert_eq!(
        reasons,
        [
            "author-not-listed",
            "webhook",
            "not-mentioned",
            "own-message"
        ]
    );
    assert_eq!(model.requests().len(), 1);
}
