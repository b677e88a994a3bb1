//! A person stops a turn: the effect that was done stays and is named, nothing more is done, and the next message is answered.

use serde_json::json;
use stand_ins::model::{Answer, Model};
use stories::{House, Layout, PATIENCE, start_stand_ins};

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_turn_names_what_was_done_and_the_next_message_is_answered() {
    let (discord, model) = start_stand_ins(Model::answering_by(|request| {
        let last = request.user_texts().pop().unwrap_or_default();
        if last.ends_with("next") {
            Answer::text("here")
        } else if request.fresh_result().is_some() {
            Answer::silent()
        } else {
            Answer::call(
                "write_file",
                &json!({ "root": "vault", "path": "notes/half.md", "text": "half\n" }),
            )
        }
    }))
    .await;
    let mut house = House::build(&discord, &model, &Layout::default());
    house.open(&discord).await;

    let (code, said) = house.record_says("abort", &[]).await;
    assert!(
        code == Some(0) && said.contains("nothing was stopped"),
        "{said}"
    );
    let stopped = discord.say("ideas", "Jason", "write and then think").await;
    model.has_been_asked(2).await;
    let (code, said) = house.record_says("abort", &[]).await;
    assert_eq!(code, Some(0), "{said}");
    let record = house.wait_for_record(stopped).await;
    let next = discord.say("ideas", "Jason", "next").await;
    let answered = house.wait_for_record(next).await;
    let answers = discord.wait_for_answers("ideas", 2, PATIENCE).await;
    house.close().await;

    assert_eq!(record["outcome"], "aborted");
    assert_eq!(record["tools"][0]["outcome"], "done");
    assert_eq!(house.read("vault/notes/half.md"), "half\n");
    assert_eq!(answered["outcome"], "answered");
    let texts: Vec<_> = answers
        .iter()
        .map(|answer| answer.content.as_str())
        .collect();
    assert_eq!(
        texts,
        [
            "I stopped, as I was told to. Already done: `write_file`.",
            "here"
        ]
    );
}
