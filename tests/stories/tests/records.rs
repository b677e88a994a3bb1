//! What an operator reads of a house while it runs: the commands that tell it from the journals alone.

use serde_json::{Value, json};
use stand_ins::model::{Answer, Model};
use stories::{House, Layout, start_stand_ins};

#[tokio::test(flavor = "multi_thread")]
async fn turns_drops_and_tokens_are_told_while_the_house_runs() {
    let (discord, model) = start_stand_ins(Model::answering(vec![
        Answer::call("read_file", &json!({ "root": "docs", "path": "plan.md" })).using(100, 0, 10),
        Answer::text("December.").using(120, 20, 5),
    ]))
    .await;
    let mut house = House::build(&discord, &model, &Layout::default());
    house.open(&discord).await;
    let question = discord.say("ideas", "Jason", "when do we ship?").await;
    let record = house.wait_for_record(question).await;
    let ignored = discord.say("ideas", "Mallory", "and me?").await;
    let held = discord.say("quiet", "Carmen", "no mention").await;
    // Our own answer comes back over the gateway and is dropped, too.
    while house.journal("drops.jsonl").len() < 3 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let posted = record["delivery"]["posted"][0]
        .as_str()
        .expect("posted")
        .to_owned();
    let id = question.to_string();

    let (code, list) = house.record_says("turns list", &[]).await;
    assert_eq!(code, Some(0), "{list}");
    let row = list.lines().nth(1).expect("one turn");
    assert!(
        row.starts_with(&id) && row.contains("Jason") && row.contains("answered"),
        "{list}"
    );
    let (_, shown) = house.record_says("turns show", &[&id, "--json"]).await;
    assert_eq!(
        serde_json::from_str::<Value>(&shown).expect("the record"),
        record
    );
    let (_, shown) = house.record_says("turns show", &[&id]).await;
    assert!(shown.contains("1 read_file done"), "{shown}");

    let server = discord.guild_id();
    let link = format!(
        "https://discord.com/channels/{server}/{}/{question}",
        discord.channel_id("ideas")
    );
    let rows = [
        (link, "It was answered.".to_owned()),
        (
            posted,
            format!("It is ours: part 1 of 1 of what was posted for message {id}."),
        ),
        (
            ignored.to_string(),
            "its author is not listed. Decided by users of the binding.".into(),
        ),
        (
            held.to_string(),
            "Decided by channels[].mode of the binding.".into(),
        ),
        ("1".into(), "it never reached us".into()),
    ];
    for (message, expected) in rows {
        let (code, said) = house.record_says("why", &[&message]).await;
        let said = said.replace('\n', " ");
        assert!(code == Some(0) && said.contains(&expected), "{said}");
    }

    let (code, status) = house.record_says("status", &["--json"]).await;
    assert_eq!(code, Some(0), "{status}");
    let status: Value = serde_json::from_str(&status).expect("JSON");
    let pid = house.connector.as_ref().and_then(stories::Program::pid);
    assert_eq!(status["connector"]["pid"], json!(pid));
    assert_eq!(status["connector"]["state"], "running");
    assert_eq!(
        (&status["turnsToday"], &status["turnsPerDay"]),
        (&json!(1), &json!(200))
    );
    assert_eq!(status["lastTurn"]["message"], id.as_str());

    let (_, usage) = house
        .record_says("usage", &["--by", "user", "--json"])
        .await;
    let total: Value = serde_json::from_str(usage.lines().last().expect("a total")).expect("JSON");
    assert_eq!(total["turns"], 1);
    assert_eq!(total["usage"], record["engine"]["usage"]);
    house.close().await;
}
