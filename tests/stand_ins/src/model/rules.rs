//! The model that follows commands, for a demonstration somebody types into: it turns the last message into one tool
//! call and answers with what came back. It knows verbs by the words of a command and roots by the prompt alone.

use serde_json::{Map, Value};

use super::{Answer, Request};

const HELP: &str = "I follow a few commands: `list`, `list ROOT/FOLDER`, `read ROOT/FILE`, `search WORDS`, `search WORDS in ROOT`, \
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
    if !request.tools.iter().any(|seen| seen.name == tool) {
        return Answer::text(&format!("I have no tool `{tool}` here."));
    }
    let writes = matches!(tool, "write_file" | "edit_file");
    let roots = roots(&request.system(), writes);
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
    Search {
        words: &'a str,
        place: &'a str,
    },
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
            "search" if !rest.is_empty() => {
                let (words, place) = rest.rsplit_once(" in ").unwrap_or((rest, ""));
                Some(Self::Search { words, place })
            }
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
            Self::Search { words, place } => ("search", place, vec![("query", words)]),
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

/// Names of the roots in the system prompt, those that fit the deed first: `For reading: a, b. For reading and writing: c.`
fn roots(system: &str, writes: bool) -> Vec<String> {
    let named = |opening: &str| {
        let list = system
            .split_once(opening)
            .and_then(|(_, rest)| rest.split_once('.'));
        let names = list.map_or("", |(names, _)| names).split(',');
        names
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty())
            .collect::<Vec<_>>()
    };
    let (readable, writable) = (named("For reading: "), named("For reading and writing: "));
    if writes {
        [writable, readable]
    } else {
        [readable, writable]
    }
    .concat()
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
    use super::*;

    #[test]
    fn every_command_is_understood() {
        let parsed = [
            "list",
            "List notes/plans",
            "read notes/a.md",
            "search two words",
            "search a word in vault/notes",
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
                Some(Command::Search {
                    words: "two words",
                    place: "",
                }),
                Some(Command::Search {
                    words: "a word",
                    place: "vault/notes",
                }),
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
    fn roots_come_from_the_prompt_and_those_that_fit_come_first() {
        let prompt = "Named roots only. For reading: docs, old. For reading and writing: vault. A request names a root.";
        assert_eq!(roots(prompt, false), ["docs", "old", "vault"]);
        assert_eq!(roots(prompt, true), ["vault", "docs", "old"]);
        assert_eq!(roots("No roots here.", true), Vec::<String>::new());
    }
}
