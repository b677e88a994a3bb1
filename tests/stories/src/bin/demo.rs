//! The main job as a person would follow it: a conversation between two people and the seat, the files before and after, and
//! the records that prove each step. Everything but Discord and the model is real. `--chat` keeps it open for typing.

#![forbid(unsafe_code)]

use std::{io::Write as _, process::ExitCode};

use stand_ins::{
    discord::{Discord, StoredMessage},
    model::Model,
};
use stories::{House, Layout, PATIENCE, SECRET_TEXT, start_stand_ins};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    signal::unix::{SignalKind, signal},
};

/// What the two people say, and a word that must stand in the answer.
const CONVERSATION: [(&str, &str, &str); 6] = [
    ("Jason", "list vault", "names.md"),
    (
        "Carmen",
        "read docs/plan.md",
        "Ship the connector in December.",
    ),
    ("Jason", "search December", "plan.md"),
    (
        "Jason",
        "write vault/notes/decision.md: # Decision\n\nWe ship in December.",
        "Created",
    ),
    (
        "Carmen",
        "replace December with January in vault/notes/decision.md",
        "Replaced",
    ),
    ("Carmen", "read vault/../outside/secret.txt", "Refused"),
];

/// Columns of a line.
const WIDTH: usize = 80;
/// Rows of the self-test that are shown: what is tried on files, ports and processes. System calls by name follow them.
const ROWS_SHOWN: usize = 26;

fn main() -> ExitCode {
    let chat = match std::env::args().nth(1).as_deref() {
        None => false,
        Some("--chat") => true,
        Some(_) => {
            eprintln!("usage: demo [--chat]");
            return ExitCode::from(4);
        }
    };
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("The runtime cannot be started: {error}.");
            return ExitCode::FAILURE;
        }
    };
    let faults = runtime.block_on(play(chat));
    // A thread may wait for a line of input that nobody will type.
    runtime.shutdown_background();
    if faults.is_empty() {
        return ExitCode::SUCCESS;
    }
    heading("What did not happen");
    faults.iter().for_each(|fault| indented(fault));
    ExitCode::FAILURE
}

/// Builds the house, lets one of the two plays run in it, and leaves nothing behind, also when it is interrupted.
async fn play(chat: bool) -> Vec<String> {
    let (discord, model) = start_stand_ins(Model::by_rules(0)).await;
    let mut house = House::build(&discord, &model, &Layout::default());
    let play = async {
        if chat {
            talk(&mut house, &discord).await
        } else {
            show(&mut house, &discord).await
        }
    };
    let faults = tokio::select! {
        faults = play => faults,
        () = told_to_end() => {
            println!();
            if chat { vec![] } else { vec!["All of it: it was told to end.".to_owned()] }
        }
    };
    house.close().await;
    faults
}

/// Waits for Ctrl-C, SIGTERM or a terminal that goes away.
async fn told_to_end() {
    let hear = |kind| signal(kind).expect("a signal can be heard");
    let (mut interrupt, mut terminate, mut hangup) = (
        hear(SignalKind::interrupt()),
        hear(SignalKind::terminate()),
        hear(SignalKind::hangup()),
    );
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
}

/// Plays the conversation; returns what did not happen as it should.
async fn show(house: &mut House, discord: &Discord) -> Vec<String> {
    let mut faults = Vec::new();
    let mut expect = |holds: bool, what: &str| {
        if !holds {
            faults.push(what.to_owned());
        }
    };
    heading("The files before");
    tree(house, "vault");
    tree(house, "docs");
    println!("  outside/secret.txt, which no root holds");

    heading("Starting: broker, connector, pi");
    house.open(discord).await;
    println!("  confined, verified, connected");

    heading("#ideas on the stand-in Discord");
    let mut last = None;
    for (count, (who, text, word)) in CONVERSATION.into_iter().enumerate() {
        let question = discord.say("ideas", who, text).await;
        said(who, text);
        let answers = discord.wait_for_answers("ideas", count + 1, PATIENCE).await;
        let answer = &answers[count];
        let seen = discord.look(|world| world.bot_reacted(question, "👀"));
        println!(
            "  {:>8}   {}",
            "",
            if seen { "👀 Sage" } else { "(no reaction)" }
        );
        said("Sage", &answer.content);
        expect(seen, "the read receipt");
        expect(
            answer.content.contains(word),
            &format!("an answer to `{text}` that says {word}"),
        );
        expect(
            !answer.content.contains(SECRET_TEXT),
            "the secret staying where it is",
        );
        expect(
            replies_to(answer, question),
            &format!("a reply to `{text}`"),
        );
        last = Some(house.wait_for_record(question).await);
    }

    heading("The files after");
    tree(house, "vault");
    let decision =
        std::fs::read_to_string(house.path("vault/notes/decision.md")).unwrap_or_default();
    indented(&decision);
    expect(
        decision == "# Decision\n\nWe ship in January.",
        "exactly these bytes in vault/notes/decision.md",
    );

    heading("The record of the last turn: a refused read");
    let record = last.unwrap_or_default();
    indented(&serde_json::to_string_pretty(&record).unwrap_or_default());
    expect(
        record["tools"][0]["outcome"] == "refused",
        "a refused call in the record",
    );
    expect(record["outcome"] == "answered", "an answered turn");

    heading("The broker's ledger");
    for (words, what) in [
        (&["audit", "list"][..], "the ledger's list"),
        (&["audit", "verify"][..], "a ledger that verifies"),
    ] {
        let (code, text) = house.broker_says(words).await;
        print!("{text}");
        expect(code == Some(0), what);
    }

    heading("The self-test of the broker's fence");
    let (code, text) = house.broker_says(&["selftest"]).await;
    let rows: Vec<&str> = text.lines().collect();
    if let [shown @ .., verdict] = rows.as_slice() {
        let (shown, rest) = shown.split_at(ROWS_SHOWN.min(shown.len()));
        let more = rest.len();
        println!("{}", shown.join("\n"));
        println!("        … and {more} more: `mosaic-broker selftest` prints all of them");
        println!("{verdict}");
    }
    expect(code == Some(0), "a self-test that holds");

    heading("What this was");
    println!("  The broker, the connector and pi as they run on a host, on a data root that is");
    println!("  removed now. Discord and the model were stand-ins. Next: `make demo CHAT=1` to");
    println!("  talk to it, and in README.md \"Set-up on a host\".");
    faults
}

/// Posts what is typed as Jason and prints what the seat says, until the input ends.
async fn talk(house: &mut House, discord: &Discord) -> Vec<String> {
    println!("Starting: broker, connector, pi …");
    house.open(discord).await;
    println!("Type a message to #ideas; Ctrl-D ends. The model is a script that knows:");
    println!("  list vault            write vault/notes/a.md: hello");
    println!("  read docs/plan.md     replace hello with bye in vault/notes/a.md");
    println!("  search December       read vault/../outside/secret.txt (is refused)");
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut heard = 0;
    prompt();
    while let Ok(Some(line)) = lines.next_line().await {
        if !line.trim().is_empty() {
            discord.say("ideas", "Jason", &line).await;
            heard += 1;
            let answers = discord.wait_for_answers("ideas", heard, PATIENCE).await;
            answers[heard - 1..]
                .iter()
                .for_each(|answer| said("Sage", &answer.content));
            heard = answers.len();
        }
        prompt();
    }
    println!();
    Vec::new()
}

fn replies_to(answer: &StoredMessage, question: stand_ins::discord::Snowflake) -> bool {
    answer
        .reference
        .as_ref()
        .is_some_and(|reference| reference.message == question)
}

fn prompt() {
    print!("Jason > ");
    // A terminal that is gone ends the input as well.
    let _ = std::io::stdout().flush();
}

fn heading(text: &str) {
    println!(
        "\n── {text} {}",
        "─".repeat(76_usize.saturating_sub(text.chars().count() + 4))
    );
}

fn said(who: &str, text: &str) {
    const MARGIN: usize = 13;
    for (index, line) in text.lines().enumerate() {
        for (part, words) in wrapped(line, WIDTH - MARGIN).into_iter().enumerate() {
            let who = if index + part == 0 { who } else { "" };
            println!("  {who:>8} │ {words}");
        }
    }
}

/// A line in pieces of at most `width` columns, broken at blanks; a longer word stays whole.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let mut words = line.split(' ');
    let mut pieces = vec![words.next().unwrap_or_default().to_owned()];
    for word in words {
        match pieces.last_mut() {
            Some(piece) if piece.chars().count() + 1 + word.chars().count() <= width => {
                piece.push(' ');
                piece.push_str(word);
            }
            _ => pieces.push(word.to_owned()),
        }
    }
    pieces
}

fn indented(text: &str) {
    text.lines().for_each(|line| println!("  {line}"));
}

/// The files below a folder of the house, with their sizes.
fn tree(house: &House, folder: &str) {
    let mut open = vec![house.path(folder)];
    let mut rows = Vec::new();
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if let Ok(below) = path.strip_prefix(house.path("")) {
                rows.push(format!(
                    "  {:<32} {:>5} bytes",
                    below.display(),
                    entry.metadata().map_or(0, |m| m.len())
                ));
            }
        }
    }
    rows.sort();
    rows.iter().for_each(|row| println!("{row}"));
}
