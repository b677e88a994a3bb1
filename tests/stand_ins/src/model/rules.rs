//! The model that follows commands, for a demonstration somebody types into: it turns the last message into one tool
//! call and answers with what came back. It knows verbs by the words of a command and roots by the prompt alone.

use serde_json::{Map, Value};

use super::{Answer, Request};

const HELP: &str = "I follow a few commands: `list`, `list ROOT/FOLDER`, `read ROOT/FILE`, `search WORDS`, \
    `write ROOT/FILE: text`, `replace OLD with NEW in ROOT/FILE`.";

/// Longest part of a result that is quoted back, in characters: one Discord message with words around it.
const QUOTE_MAX: usize = 1500;

/// Answers one request by the rules.
pub(super) fn respond(request: &Request) -> Answer {
    if let Some(result) = request.fresh_result() {
        return Answer::text(&quote(&result));
    }
    let said = request.user_texts().pop().unwrap_or_default();
    let Some(command) = Command::parse(without_envelope(&said)) else {
        return Answer::text(HELP);
    };
    let (tool, place, arguments) = command.call();
    let Some(seen) = request.tools.iter().find(|seen| seen.name == tool) else {
        return Answer::text(&format!("I have no tool `{tool}` here."));
    };
    let roots = roots(&seen.parameters, &request.system());
    let (root, path) = split(place, &roots);
    let mut call = Map::from_iter([("root".to_owned(), Value::from(root))]);
    if !path.is_empty() {
        call.insert("path".to_owned(), Value::from(path));
    }
    call.extend(
        arguments
            .into_iter()
            .map(|(name, value)| (name.to_owned(), Value::from(value))),
    );
    Answer::call(tool, &Value::Object(call))
}

/// One command, as typed.
#[derive(Debug, PartialEq)]
enum Command<'a> {
    List(&'a str),
    Read(&'a str),
    Search(&'a str),
    Write {
        file: &'a str,
        text: &'a str,
    },
    Replace {
        old: &'a str,
        new: &'a str,
        file: &'a str,
    },
}

impl<'a> Command<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let text = text.trim();
        let (verb, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        match verb.to_lowercase().as_str() {
            "list" => Some(Self::List(rest)),
            "read" if !rest.is_empty() => Some(Self::Read(rest)),
            "search" if !rest.is_empty() => Some(Self::Search(rest)),
            "write" => {
                let (file, text) = rest.split_once(':')?;
                Some(Self::Write {
                    file: file.trim(),
                    text: text.trim_start(),
                })
            }
            "replace" => {
                let (old, rest) = rest.split_once(" with ")?;
                let (new, file) = rest.rsplit_once(" in ")?;
                Some(Self::Replace {
                    old,
                    new,
                    file: file.trim(),
                })
            }
            _ => None,
        }
    }

    /// The tool, the place it is about, and its further arguments.
    fn call(self) -> (&'static str, &'a str, Vec<(&'static str, &'a str)>) {
        match self {
            Self::List(folder) => ("list_dir", folder, vec![]),
            Self::Read(file) => ("read_file", file, vec![]),
            Self::Search(words) => ("search", "", vec![("query", words)]),
            Self::Write { file, text } => ("write_file", file, vec![("text", text)]),
            Self::Replace { old, new, file } => {
                ("edit_file", file, vec![("old", old), ("new", new)])
            }
        }
    }
}

/// The message without the connector's bracketed first line.
fn without_envelope(text: &str) -> &str {
    match text.split_once('\n') {
        Some((first, rest)) if first.starts_with('[') && first.ends_with(']') => rest,
        _ => text,
    }
}

/// Names of the roots: those the tool's schema lists, else the quoted words of the system prompt.
fn roots(parameters: &Value, system: &str) -> Vec<String> {
    let listed = parameters["properties"]["root"]["enum"].as_array();
    let listed: Vec<_> = listed
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    if listed.is_empty() {
        quoted(system)
    } else {
        listed
    }
}

/// Words between backquotes, in order.
fn quoted(text: &str) -> Vec<String> {
    text.split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| !word.is_empty() && !word.contains(char::is_whitespace))
        .map(str::to_owned)
        .collect()
}

/// Splits `place` into a known root and what lies below it. A place that begins with no root is below the first one.
fn split<'a>(place: &'a str, roots: &'a [String]) -> (&'a str, &'a str) {
    let (first, below) = place.split_once('/').unwrap_or((place, ""));
    if roots.iter().any(|root| root == first) {
        return (first, below);
    }
    (roots.first().map_or("", String::as_str), place)
}

/// The tool's words inside a code block, cut to what fits.
fn quote(result: &str) -> String {
    let mut shown: String = result.chars().take(QUOTE_MAX).collect();
    if shown.len() < result.len() {
        shown.push('…');
    }
    format!("Here is what came back:\n```\n{shown}\n```")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_command_is_understood() {
        let parsed = [
            "list",
            "List notes/plans",
            "read notes/a.md",
            "search two words",
            "write notes/a.md: some text: with a colon",
            "replace a in b with c in d in notes/a.md",
        ]
        .map(Command::parse);

        assert_eq!(
            parsed,
            [
                Some(Command::List("")),
                Some(Command::List("notes/plans")),
                Some(Command::Read("notes/a.md")),
                Some(Command::Search("two words")),
                Some(Command::Write {
                    file: "notes/a.md",
                    text: "some text: with a colon",
                }),
                Some(Command::Replace {
                    old: "a in b",
                    new: "c in d",
                    file: "notes/a.md",
                }),
            ]
        );
    }

    #[test]
    fn anything_else_is_no_command() {
        for text in ["", "hello", "read", "write a.md", "replace x in y"] {
            assert_eq!(Command::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_envelope_is_not_part_of_the_message() {
        assert_eq!(without_envelope("[server=\"A\"]\nlist"), "list");
        assert_eq!(without_envelope("list"), "list");
    }

    #[test]
    fn a_place_begins_with_a_root_or_lies_below_the_first() {
        let roots = ["notes".to_owned(), "vault".to_owned()];
        assert_eq!(split("vault/a.md", &roots), ("vault", "a.md"));
        assert_eq!(split("vault", &roots), ("vault", ""));
        assert_eq!(split("sub/a.md", &roots), ("notes", "sub/a.md"));
        assert_eq!(split("../etc/passwd", &roots), ("notes", "../etc/passwd"));
    }

    #[test]
    fn roots_come_from_the_schema_before_the_prompt() {
        let schema = json!({ "properties": { "root": { "enum": ["a", "b"] } } });
        assert_eq!(roots(&schema, "root `x`"), ["a", "b"]);
        assert_eq!(
            roots(&json!({}), "roots `x` and `y`, not `two words`"),
            ["x", "y"]
        );
    }
}
