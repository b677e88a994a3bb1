//! The program `stand-in-discord` introduces itself, does what its lines say and tells what happens.

use std::{
    io::{BufRead, BufReader, Lines, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

struct Program {
    child: Child,
    commands: ChildStdin,
    events: Lines<BufReader<ChildStdout>>,
}

impl Program {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_stand-in-discord"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let commands = child.stdin.take().expect("piped");
        let events = BufReader::new(child.stdout.take().expect("piped")).lines();
        Program {
            child,
            commands,
            events,
        }
    }

    fn command(&mut self, line: &str) {
        writeln!(self.commands, "{line}").expect("it reads");
    }

    fn event(&mut self) -> Value {
        let line = self
            .events
            .next()
            .expect("a line comes")
            .expect("it is text");
        serde_json::from_str(&line).expect("it is JSON")
    }
}

#[test]
fn a_line_posts_a_message_and_an_event_tells_of_it() {
    let mut program = Program::start(&["--channel", "ideas", "--user", "Ada", "--bot", "Sage"]);
    let ready = program.event();
    program.command("say ideas Ada hello @bot");
    let message = program.event();
    program.command("quit");

    assert!(
        ready["api"]
            .as_str()
            .is_some_and(|api| api.starts_with("http://127.0.0.1:"))
    );
    assert!(ready["channels"]["ideas"].is_string() && ready["users"]["Ada"].is_string());
    let bot = ready["bot"].as_str().expect("an id");
    assert_eq!(
        (&message["event"], &message["author"], &message["content"]),
        (
            &json!("message"),
            &json!("Ada"),
            &json!(format!("hello <@{bot}>"))
        )
    );
    assert!(program.child.wait().expect("ended").success());
}

#[test]
fn a_line_that_is_not_understood_is_an_event_and_not_the_end() {
    let mut program = Program::start(&[]);
    program.event();
    program.command("say nowhere Jason hello");
    assert_eq!(program.event()["what"], "there is no channel nowhere");
    program.command("dance");
    assert_eq!(program.event()["event"], "error");
    program.command("quit");
    assert!(program.child.wait().expect("ended").success());
}

#[test]
fn an_unknown_option_is_a_usage_error() {
    let mut program = Program::start(&["--frobnicate", "x"]);
    assert_eq!(program.child.wait().expect("ended").code(), Some(4));
}
