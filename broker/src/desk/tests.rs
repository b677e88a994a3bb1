//! The desk with calls that are slow, break or are given up: what the turn, the queue and the ledger make of them.

use std::{fs, os::unix::fs::PermissionsExt, sync::mpsc, thread};

use mosaic_proto::v1::{self, ReadFileRequest};
use proptest::prelude::*;
use prost::Message;

use super::*;
use crate::{audit::History, policy::Policy, private::Folder};

struct Broker {
    desk: Arc<Desk>,
    state: Folder,
    _dir: tempfile::TempDir,
}

/// A desk over one writable root named `vault`, with turn `t1` open for two calls.
fn broker() -> Broker {
    let dir = tempfile::Builder::new()
        .prefix("desk-")
        .tempdir()
        .expect("a folder for the test");
    let place = |name: &str| dir.path().join(name);
    for folder in ["vault", "data"] {
        fs::create_dir(place(folder)).expect("mkdir");
        fs::set_permissions(place(folder), fs::Permissions::from_mode(0o700)).expect("chmod");
    }
    fs::write(place("vault/a.md"), "alpha\n").expect("written");
    let tools = serde_json::json!({
        "roots": [{ "name": "vault", "path": place("vault"), "write": true }],
        "maxCallsPerTurn": 2,
    });
    fs::write(
        place("data/b.json"),
        serde_json::json!({ "tools": tools }).to_string(),
    )
    .expect("written");
    fs::set_permissions(place("data/b.json"), fs::Permissions::from_mode(0o600)).expect("chmod");
    let policy = Policy::read(&place("data/b.json"), &place("data"), None).expect("a policy");
    let reach = Reach::open(policy).expect("opened");
    let state = Folder::open(&place("data")).expect("private");
    let ledger = Ledger::open(&state, Timestamp::UNIX_EPOCH)
        .expect("opened")
        .ledger;
    let desk = Arc::new(Desk::new(reach, ledger));
    desk.open_turn(&id("t1"), &id("e1"), None).expect("opened");
    Broker {
        desk,
        state,
        _dir: dir,
    }
}

fn id(text: &str) -> Id {
    Id::parse(text).expect("an id")
}

fn read(path: &str) -> Request {
    let request = ReadFileRequest {
        root: "vault".to_owned(),
        path: path.to_owned(),
        ..ReadFileRequest::default()
    };
    Request::ReadFile(request)
}

fn outcome_of(call: &Call) -> (u32, CallState, &'static str) {
    (call.place.index(), call.state, call.reason)
}

async fn closed(broker: &Broker) -> Vec<(u32, CallState, &'static str)> {
    let calls = broker
        .desk
        .close_turn(id("t1"), Ending::Closed)
        .await
        .expect("closed");
    calls.iter().map(outcome_of).collect()
}

fn kinds(broker: &Broker) -> Vec<String> {
    let mut kinds = Vec::new();
    let kind = |text: &str| {
        let line: serde_json::Value = serde_json::from_str(text).expect("json");
        line["kind"].as_str().expect("a kind").to_owned()
    };
    crate::audit::verify(&broker.state, |line| kinds.push(kind(&line.text))).expect("sound");
    kinds
}

#[tokio::test]
async fn a_call_is_written_down_before_it_is_done_and_after() {
    let broker = broker();
    let answer = broker.desk.call(read("a.md")).await.expect("answered");
    assert!(matches!(answer, Answer::Done(text, _) if text.contains("alpha")));
    assert_eq!(closed(&broker).await, [(1, CallState::Done, "")]);
    assert_eq!(
        kinds(&broker),
        ["turn-open", "intent", "done", "turn-close"]
    );
}

#[tokio::test]
async fn a_104_a_call_that_panics_is_an_error_for_it_alone() {
    panics(Pace::Brief).await;
    panics(Pace::Long).await;
}

async fn panics(pace: Pace) {
    let broker = broker();

    let broke = broker
        .desk
        .seat("read_file", pace, |_, _, _| panic!("a bug in a verb"))
        .await;

    assert_eq!(broke.err(), Some(Broke));
    // The queue, the counters, the turn and the ledger go on.
    assert!(matches!(
        broker.desk.call(read("a.md")).await,
        Ok(Answer::Done(..))
    ));
    let spent = broker.desk.call(read("a.md")).await;
    assert!(matches!(
        spent,
        Ok(Answer::Refused(Refusal::CallsSpent { limit: 2 }))
    ));
    let calls = closed(&broker).await;
    let expected = [
        (1, CallState::Failed, "internal"),
        (2, CallState::Done, ""),
        (3, CallState::Refused, "calls_spent"),
    ];
    assert_eq!(calls, expected);
    assert_eq!(
        kinds(&broker),
        [
            "turn-open",
            "failed",
            "intent",
            "done",
            "refused",
            "turn-close"
        ]
    );
}

#[tokio::test]
async fn a_22_a_call_whose_caller_goes_away_hears_of_it_and_is_cancelled() {
    let broker = broker();
    let (began, has_begun) = mpsc::channel();
    let walk = move |_: &Desk, _: &Place, cancel: &Cancel| {
        began.send(()).expect("the test waits");
        while !cancel.is_cancelled() {
            thread::yield_now();
        }
        Ok(Outcome::Failed(Refusal::Cancelled, Facts::new()))
    };
    let desk = Arc::clone(&broker.desk);
    let caller = tokio::spawn(async move { desk.seat("write_file", Pace::Long, walk).await });
    tokio::task::spawn_blocking(move || has_begun.recv())
        .await
        .expect("joined")
        .expect("begun");

    caller.abort();

    assert_eq!(
        closed(&broker).await,
        [(1, CallState::Cancelled, "cancelled")]
    );
}

#[tokio::test]
async fn a_call_given_up_while_it_waits_never_begins_and_is_spent() {
    let broker = broker();
    let turn_at_work = Arc::clone(&broker.desk.queue).lock_owned().await;
    let desk = Arc::clone(&broker.desk);
    let walk = |_: &Desk, _: &Place, _: &Cancel| panic!("it began");
    let mut watch = broker.desk.watch();
    let caller = tokio::spawn(async move { desk.seat("write_file", Pace::Long, walk).await });
    assert_eq!(watch.recv().await.expect("told").state, CallState::Running);

    caller.abort();
    let _ = caller.await;
    drop(turn_at_work);

    assert_eq!(
        closed(&broker).await,
        [(1, CallState::Cancelled, "cancelled")]
    );
}

#[tokio::test]
async fn what_was_done_is_on_record_as_done_although_nobody_waits_any_more() {
    let broker = broker();
    let (began, has_begun) = mpsc::channel();
    let walk = move |_: &Desk, _: &Place, cancel: &Cancel| {
        began.send(()).expect("the test waits");
        while !cancel.is_cancelled() {
            thread::yield_now();
        }
        Ok(Outcome::Done {
            text: String::new(),
            facts: Facts::new(),
        })
    };
    let desk = Arc::clone(&broker.desk);
    let caller = tokio::spawn(async move { desk.seat("write_file", Pace::Long, walk).await });
    tokio::task::spawn_blocking(move || has_begun.recv())
        .await
        .expect("joined")
        .expect("begun");
    caller.abort();
    assert_eq!(closed(&broker).await, [(1, CallState::Done, "")]);
}

#[tokio::test]
async fn calls_run_one_at_a_time_in_the_order_they_came() {
    let broker = broker();
    let (log, order) = mpsc::channel();
    let walk = |name: &'static str| {
        let log = log.clone();
        move |_: &Desk, _: &Place, _: &Cancel| {
            log.send((name, "begins")).expect("the test listens");
            thread::yield_now();
            log.send((name, "ends")).expect("the test listens");
            Ok(Outcome::Done {
                text: String::new(),
                facts: Facts::new(),
            })
        }
    };
    let (first, second) = (
        broker.desk.seat("search", Pace::Long, walk("first")),
        broker.desk.seat("search", Pace::Long, walk("second")),
    );
    let (first, second) = tokio::join!(first, second);
    assert!(first.is_ok() && second.is_ok());
    drop(log);
    let order: Vec<_> = order.try_iter().collect();
    assert_eq!(
        order,
        [
            ("first", "begins"),
            ("first", "ends"),
            ("second", "begins"),
            ("second", "ends")
        ]
    );
}

#[tokio::test]
async fn a_session_that_ends_takes_its_turn_along_and_the_broker_that_stops_refuses_the_next() {
    let broker = broker();
    broker.desk.end_session().await;
    assert_eq!(broker.desk.current_turn(), "");
    broker
        .desk
        .open_turn(&id("t1"), &id("e1"), None)
        .expect("a new session may use the id again");
    broker.desk.stop().await.expect("sealed");
    let after = broker.desk.open_turn(&id("t2"), &id("e2"), None);
    assert!(matches!(after, Err(TurnFault::Turn(TurnError::Stopping))));
    assert_eq!(
        kinds(&broker),
        ["turn-open", "turn-close", "turn-open", "turn-close", "stop"]
    );
    let mut history = History::default();
    crate::audit::verify(&broker.state, |line| history.note(line)).expect("sound");
    assert_eq!(history.notes(), []);
}

proptest! {
    #![proptest_config(ProptestConfig {
        // A quarter, since each case lays a ground of its own; `make fuzz` raises it with the others.
        cases: ProptestConfig::default().cases.div_ceil(4),
        ..ProptestConfig::default()
    })]
    #[test]
    fn whatever_decodes_as_a_request_is_answered(bytes in prop::collection::vec(any::<u8>(), 0..200), noise in ".*") {
        let mut requests: Vec<Request> = Vec::new();
        requests.extend(ReadFileRequest::decode(&bytes[..]).ok().map(Request::from));
        requests.extend(v1::SearchRequest::decode(&bytes[..]).ok().map(Request::from));
        requests.extend(v1::EditFileRequest::decode(&bytes[..]).ok().map(Request::from));
        requests.push(Request::ListDir(v1::ListDirRequest { root: "vault".to_owned(), path: Some(noise.clone()) }));
        requests.push(read(&noise));
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let broker = broker();
            for request in requests {
                broker.desk.call(request).await.expect("answered, not broken");
            }
        });
    }
}
