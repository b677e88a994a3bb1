//! An edited binding reaches the running, confined connector, or is refused with everything as before.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use stand_ins::model::{Answer, Model};
use stories::{House, Layout, start_stand_ins};

/// States and reasons of `reloads.jsonl`.
fn lines(house: &House) -> Vec<String> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let told = |line: &Value| format!("{} {}", word(&line["state"]), word(&line["why"]["reason"]));
    house
        .journal("reloads.jsonl")
        .iter()
        .map(|line| told(line).trim_end().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_added_by_a_replaced_file_is_answered_without_a_restart_and_one_taken_out_is_not()
{
    let (discord, model) = start_stand_ins(Model::answering_by(|_| Answer::text("hello"))).await;
    let layout = Layout::default();
    let mut house = House::build(&discord, &model, &layout);
    house.open(&discord).await;
    let before = house.connector.as_ref().and_then(stories::Program::pid);
    let mut edited = house.binding(&discord, &layout);
    let id = |name| discord.user_id(name).to_string();
    edited["users"] = json!([
        { "id": id("Jason"), "name": "Jason" },
        { "id": id("Mallory"), "name": "Mallory, auditor" },
    ]);
    edited["limits"] = json!({ "turnsPerDay": 7 });
    house.replace_binding(&edited);

    let (code, dry) = house.record_says("reload", &["--dry-run"]).await;
    assert_eq!(code, Some(0), "{dry}");
    assert_eq!(lines(&house), Vec::<String>::new());
    let (code, said) = house.record_says("reload", &[]).await;
    assert_eq!(code, Some(0), "{said}");
    let added = discord.say("ideas", "Mallory", "may I?").await;
    let record = house.wait_for_record(added).await;
    let gone = discord.say("ideas", "Carmen", "and I?").await;
    let next = discord.say("ideas", "Jason", "after it").await;
    let _ = house.wait_for_record(next).await;
    let after = house.connector.as_ref().and_then(stories::Program::pid);
    house.close().await;

    assert_eq!(said.replace("Applied:", "Would change:"), dry);
    assert_eq!(record["requester"], "Mallory, auditor");
    let gone = gone.to_string();
    let drop = house
        .journal("drops.jsonl")
        .into_iter()
        .find(|drop| drop["id"] == gone.as_str());
    assert_eq!(drop.expect("a drop")["reason"], "author-not-listed");
    assert_eq!(before, after);
    let line = &house.journal("reloads.jsonl")[0];
    assert_eq!(line["state"], "applied");
    assert_eq!(
        line["changes"]["users"],
        json!({ "added": [id("Mallory")], "removed": [id("Carmen")], "changed": [] })
    );
    assert_eq!(line["changes"]["limits"], json!(["turnsPerDay"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_be_swapped_is_refused_and_the_old_binding_stays() {
    let (discord, model) = start_stand_ins(Model::answering_by(|_| Answer::text("hello"))).await;
    let layout = Layout::default();
    let mut house = House::build(&discord, &model, &layout);
    house.open(&discord).await;
    let sound = house.binding(&discord, &layout);
    let edited = |edit: fn(&mut Value)| {
        let mut edited = sound.clone();
        edit(&mut edited);
        edited
    };

    type Row = (fn(&mut Value), i32, &'static str);
    let rows: [Row; 3] = [
        (|binding| binding["users"] = json!([]), 2, "users"),
        (|binding| binding["seat"] = json!("another"), 1, "seat"),
        (
            |binding| {
                let channels = binding["channels"].as_array_mut().expect("a list");
                channels.push(json!({ "id": "4242", "name": "nowhere", "mode": "open" }));
            },
            1,
            "4242",
        ),
    ];
    for (edit, expected, said) in rows {
        house.replace_binding(&edited(edit));
        let (code, told) = house.record_says("reload", &[]).await;
        assert!(
            code == Some(expected) && told.contains(said),
            "{code:?} {told}"
        );
    }
    house
        .connector
        .as_ref()
        .expect("it runs")
        .signal(Signal::SIGHUP);
    while lines(&house).len() < 3 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let question = discord.say("ideas", "Carmen", "still there?").await;
    let record = house.wait_for_record(question).await;
    house.close().await;

    assert_eq!(record["outcome"], "answered");
    assert_eq!(
        lines(&house),
        [
            "refused fixed-fields",
            "refused channel-not-seen",
            "refused nothing-handed-over"
        ]
    );
    house.replace_binding(&sound);
    let (code, said) = house.record_says("reload", &[]).await;
    assert_eq!(code, Some(1), "{said}");
}
