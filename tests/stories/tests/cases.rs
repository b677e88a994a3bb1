//! Cases of the list that need the whole house: what the gateway brings, what is on disk, what the channel shows.

use std::time::Duration;

use serde_json::json;
use stand_ins::model::{Answer, Model};
use stories::{House, Layout, PATIENCE, start_stand_ins};

fn layout() -> Layout {
    Layout {
        tools: None,
        ..Layout::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d_52_what_was_said_while_it_was_down_gets_no_turn_and_no_answer() {
    let (discord, model) = start_stand_ins(Model::answering_by(|_| Answer::text("here"))).await;
    let mut house = House::build(&discord, &model, &layout());
    house.open(&discord).await;
    let first = discord.say("ideas", "Jason", "are you there?").await;
    let _ = house.wait_for_record(first).await;
    house.close().await;

    let unheard = discord.say("ideas", "Jason", "anybody at home?").await;
    house.open(&discord).await;
    let last = discord.say("ideas", "Jason", "and now again?").await;
    let _ = house.wait_for_record(last).await;
    house.close().await;

    assert_eq!(house.record(unheard), None);
    // The house holds each of these against Discord's published file when it is torn down.
    let exchanges = discord.onlooker().exchanges();
    assert!(exchanges.len() > 4, "{exchanges:?}");
    assert_eq!(model.requests().len(), 2);
    let answered: Vec<_> = discord
        .said_by_bot("ideas")
        .into_iter()
        .filter_map(|answer| answer.reference.map(|reference| reference.message))
        .collect();
    assert_eq!(answered, [first, last]);
}

#[tokio::test(flavor = "multi_thread")]
async fn d_45_d_46_d_47_d_48_odd_messages_leave_one_line_each_and_the_next_one_is_answered() {
    let (discord, model) = start_stand_ins(Model::answering_by(|_| Answer::text("seen"))).await;
    let mut house = House::build(&discord, &model, &layout());
    house.open(&discord).await;

    let with_link = discord
        .say("ideas", "Jason", "see https://example.org/")
        .await;
    let _ = house.wait_for_record(with_link).await;
    discord.unfurl(with_link);
    let picture = discord.say("ideas", "Jason", "").attaching("cat.png").await;
    let sticker = discord.say("ideas", "Jason", "").with_sticker("wave").await;
    let voice = discord
        .say("ideas", "Jason", "")
        .attaching("voice.ogg")
        .flags(1 << 13)
        .await;
    let forward = discord
        .say("ideas", "Jason", "")
        .forwarding(with_link)
        .await;
    let nul = discord
        .say("ideas", "Jason", "a\u{0}b of the odd kind")
        .await;
    let marks = format!("a{}", "\u{301}".repeat(3999));
    let combining = discord.say("ideas", "Jason", &marks).await;
    let last = discord.say("ideas", "Jason", "still with us?").await;
    let _ = tokio::time::timeout(PATIENCE, house.wait_for_record(last)).await;
    house.close().await;

    for answered in [with_link, nul, combining, last] {
        assert_eq!(
            house.record(answered).expect("its record")["outcome"],
            "answered"
        );
    }
    let dropped: Vec<_> = house
        .journal("drops.jsonl")
        .into_iter()
        .filter(|line| line["reason"] != "own-message")
        .map(|line| json!([line["id"], line["reason"]]))
        .collect();
    let line = |id: stand_ins::discord::Snowflake, reason: &str| json!([id.to_string(), reason]);
    assert_eq!(
        dropped,
        [
            line(picture, "no-text"),
            line(sticker, "no-text"),
            line(voice, "no-text"),
            line(forward, "forward"),
        ]
    );
    assert_eq!(model.requests().len(), 4, "one turn each");
    assert_eq!(discord.said_by_bot("ideas").len(), 4);
    // Each session's end is waited for, so that nothing comes after.
    discord
        .wait_for("the end of the session", Duration::from_secs(10), |world| {
            world.sessions().is_empty().then_some(())
        })
        .await;
}
