//! The walls of the house, each looked for in what is built and in what is written (DESIGN, section 1). The walls inside
//! the broker stand in `broker/tests/wall.rs` and in the doctests of `broker/src/fence.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use tree::{has_word, list, members, metadata, rust, sources, text, top};

/// Which member may build on which, tests left out.
const DEPENDS: &[(&str, &[&str])] = &[
    ("mosaic-broker", &["mosaic-proto", "mosaic-sandbox"]),
    ("mosaic-connector", &["mosaic-proto", "mosaic-sandbox"]),
    ("mosaic-proto", &[]),
    ("mosaic-sandbox", &[]),
];

/// Fails with every place where a word stands that must not.
fn refuse_words<'a>(
    sources: impl IntoIterator<Item = (&'a str, String)>,
    words: &[&str],
    why: &str,
) {
    let mut found = Vec::new();
    for (path, code) in sources {
        let lines = code.lines().filter_map(|line| {
            let word = words.iter().find(|word| has_word(line, word))?;
            Some(format!("{path} says {word}: {}", line.trim()))
        });
        found.extend(lines);
    }
    assert!(found.is_empty(), "{why}:\n{}", found.join("\n"));
}

fn verbs() -> Vec<String> {
    let names: Vec<String> = rust("broker/src/tools")
        .iter()
        .flat_map(|source| {
            let name = source
                .text
                .split("\n    name: \"")
                .nth(1)
                .and_then(|rest| rest.split('"').next());
            name.map(str::to_owned)
        })
        .collect();
    assert!(names.contains(&"read_file".to_owned()), "{names:?}");
    names
}

#[test]
fn connector_and_broker_meet_in_the_contract_only() {
    let metadata = metadata();
    let names: BTreeSet<&str> = members(&metadata)
        .iter()
        .map(|package| text(&package["name"]))
        .collect();
    let mut depends: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in members(&metadata) {
        if text(&package["manifest_path"]).contains("/tests/") {
            continue;
        }
        let needs = list(&package["dependencies"]);
        let needs = needs.iter().filter(|need| need["kind"] != "dev");
        let ours = needs
            .map(|need| text(&need["name"]))
            .filter(|name| names.contains(name));
        depends.insert(text(&package["name"]), ours.collect());
    }

    let expected = DEPENDS
        .iter()
        .map(|(name, needs)| (*name, needs.iter().copied().collect()))
        .collect();
    assert_eq!(depends, expected);
}

#[test]
fn the_connector_has_no_word_for_what_may_be_touched() {
    let mut words = vec![
        "mosaic_broker",
        "tools_client",
        "tools_server",
        "RelPath",
        "maxFileBytes",
        "max_file_bytes",
        "\"roots\"",
        "\"git\"",
        "git_commit",
        "git_push",
        "git_pull",
        "searxng",
        "setspark",
        "web_fetch",
        "record_create",
    ];
    let verbs = verbs();
    words.extend(
        verbs
            .iter()
            .map(String::as_str)
            .filter(|verb| *verb != "search"),
    );
    words.extend([
        "\"search\"",
        "SearchRequest",
        "ReadFileRequest",
        "WriteFileRequest",
    ]);

    let sources = rust("connector/src");
    let code = sources
        .iter()
        .map(|source| (source.path.as_str(), source.code()));
    refuse_words(code, &words, "the connector knows what only the broker may");
}

#[test]
fn the_broker_has_no_word_for_who_is_talking_or_over_what() {
    let words = [
        "snowflake",
        "guild",
        "Guild",
        "gateway",
        "Gateway",
        "channel_id",
        "message_id",
        "bot_token",
        "mention",
        "reqwest",
        "tungstenite",
        "node_modules",
        "pi",
        "extension",
        "model_prompt",
    ];
    let sources = rust("broker/src");
    let code = |source: &tree::Source| {
        let code = source.code();
        // Two names of the layout on disk, and one row of the table of credentials, are Discord's; nothing else is.
        let code = code
            .replace("join(\"discord\")", "")
            .replace("\"mosaic-discord\"", "");
        if source.path.starts_with("broker/src/fence/credential/") {
            code.replace("discord", "").replace("Discord", "")
        } else {
            code
        }
    };
    let all: Vec<_> = sources
        .iter()
        .map(|source| (source.path.as_str(), code(source)))
        .collect();

    refuse_words(
        all.clone(),
        &words,
        "the broker knows what only the connector may",
    );
    for (path, code) in all {
        assert!(
            !code.to_lowercase().contains("discord"),
            "{path} knows Discord"
        );
    }
}

#[test]
fn machines_own_no_socket_no_file_no_clock_and_no_dice() {
    let machines = [
        "connector/src/admission.rs",
        "connector/src/prompt.rs",
        "connector/src/seat",
        "connector/src/delivery",
        "connector/src/discord/gateway/machine.rs",
        "connector/src/discord/gateway/step.rs",
        "connector/src/discord/gateway/heartbeat.rs",
        "connector/src/discord/gateway/backoff.rs",
        "connector/src/discord/gateway/loss.rs",
        "connector/src/discord/gateway/send_limit.rs",
        "connector/src/engine/run.rs",
        "broker/src/turn.rs",
        "broker/src/audit/chain.rs",
        "broker/src/audit/history.rs",
        "broker/src/audit/line.rs",
    ];
    let touches = [
        "std::fs",
        "fs::",
        "File::",
        "std::net",
        "tokio",
        "reqwest",
        "rustix",
        "nix",
        "getrandom",
        "Instant::now",
        "At::now",
        "Timestamp::now",
        "SystemTime",
        "elapsed",
        "async",
        "await",
        "thread::",
        "std::process",
        "std::env",
        "env::var",
    ];
    let all = rust("connector/src");
    let broker = rust("broker/src");
    for machine in machines {
        let of_it: Vec<_> = all
            .iter()
            .chain(&broker)
            .filter(|source| {
                source.path == machine || source.path.starts_with(&format!("{machine}/"))
            })
            .map(|source| (source.path.as_str(), source.code()))
            .collect();
        assert!(
            !of_it.is_empty(),
            "{machine} is gone; name the machine that took its place"
        );
        refuse_words(of_it, &touches, "a machine touches the world");
    }
}

#[test]
fn the_extension_holds_no_tool_name_and_no_rule() {
    let extension = sources("connector/extension");
    let programs = extension
        .iter()
        .filter(|source| source.path.ends_with(".mjs") && !source.path.contains("/tests/"));
    let programs: Vec<_> = programs
        .map(|source| (source.path.as_str(), source.text.clone()))
        .collect();
    let verbs = verbs();
    let mut words: Vec<&str> = verbs.iter().map(String::as_str).collect();
    words.extend(["ListDir", "ReadFile", "Search", "WriteFile", "EditFile"]);
    words.extend([
        "root",
        "roots",
        "readFile",
        "writeFile",
        "child_process",
        "fetch",
        "eval",
    ]);

    assert!(programs.len() > 1, "{programs:?}");
    refuse_words(
        programs,
        &words,
        "the extension knows a verb or does something itself",
    );
}

#[test]
fn only_the_sandbox_may_write_unsafe() {
    let sources = rust("");
    let unsafe_code = sources
        .iter()
        .filter(|source| {
            source.text.lines().any(|line| {
                !line.trim_start().starts_with("//") && line.contains(concat!("unsafe", " {"))
            })
        })
        .filter(|source| !source.path.starts_with("sandbox/"))
        .map(|source| source.path.as_str())
        .collect::<Vec<_>>();
    assert_eq!(unsafe_code, [""; 0]);

    let metadata = metadata();
    for root in roots(&metadata, &["lib", "bin"]) {
        let path = tree::relative(&root);
        let forbids = tree::page(&path).contains("\n#![forbid(unsafe_code)]\n");
        assert_eq!(forbids, path != "sandbox/src/lib.rs", "{path}");
    }
}

/// The files cargo begins at, for targets of some kinds.
fn roots(metadata: &Value, kinds: &[&str]) -> Vec<PathBuf> {
    members(metadata)
        .iter()
        .flat_map(|package| list(&package["targets"]))
        .filter(|target| {
            list(&target["kind"])
                .iter()
                .any(|kind| kinds.contains(&text(kind)))
        })
        .map(|target| PathBuf::from(text(&target["src_path"])))
        .collect()
}

#[test]
fn no_rust_file_is_forgotten_by_cargo() {
    let metadata = metadata();
    let kinds = ["lib", "bin", "test", "example", "bench", "custom-build"];
    let mut reached = BTreeSet::new();
    let mut next: Vec<(PathBuf, PathBuf)> = roots(&metadata, &kinds)
        .into_iter()
        .map(|root| (root.clone(), folder(&root)))
        .collect();
    while let Some((file, modules)) = next.pop() {
        let text = std::fs::read_to_string(&file)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        reached.insert(tree::relative(&file));
        let mut named = None;
        for line in text.lines() {
            if let Some(path) = quoted_after(line, "#[path = ") {
                named = Some(folder(&file).join(path));
            }
            let Some(module) = declared(line) else {
                continue;
            };
            let (flat, deep) = (modules.join(format!("{module}.rs")), modules.join(module));
            let found = named.take().unwrap_or_else(|| {
                if flat.exists() {
                    flat
                } else {
                    deep.join("mod.rs")
                }
            });
            let below = if found.ends_with("mod.rs") {
                folder(&found)
            } else {
                deep
            };
            next.push((found, below));
        }
    }

    let forgotten: Vec<_> = rust("")
        .into_iter()
        // Fuzz targets are a workspace of their own, built by `make fuzz`.
        .filter(|source| !source.path.starts_with("fuzz/"))
        .map(|source| source.path)
        .filter(|path| !reached.contains(path))
        .collect();
    assert_eq!(forgotten, [""; 0]);
}

fn folder(file: &Path) -> PathBuf {
    file.parent().expect("a file lies in a folder").to_owned()
}

/// The module that a line declares and whose text lies in another file.
fn declared(line: &str) -> Option<&str> {
    let line = line.trim_start().strip_suffix(';')?;
    let line = match line.strip_prefix("pub") {
        Some(rest) => rest.trim_start_matches(|c| c != ' ').trim_start(),
        None => line,
    };
    line.strip_prefix("mod ")
}

fn quoted_after<'a>(line: &'a str, before: &str) -> Option<&'a str> {
    line.trim_start().strip_prefix(before)?.split('"').nth(1)
}

#[test]
fn nothing_is_left_to_do_and_no_machine_is_named() {
    // Put together here, so that this file does not say them.
    let unfinished = ["todo", "unimplemented"].map(|name| format!("{name}!"));
    let machine = ["work", "root"].map(|name| format!("/{name}/"));
    // Made by npm and cargo: the sums in them are any letters.
    let made = |path: &str| path.ends_with("package-lock.json") || path.ends_with("Cargo.lock");
    let mut found = Vec::new();
    for source in sources("").into_iter().filter(|source| !made(&source.path)) {
        for line in source.text.lines() {
            let bad = unfinished.iter().any(|word| line.contains(word.as_str()))
                || machine.iter().any(|path| {
                    line.match_indices(path.as_str()).any(|(at, _)| {
                        // `/proc/self/root/…` and `a/work/b` are parts of other paths.
                        !line[..at].ends_with(|c: char| {
                            c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '}')
                        })
                    })
                });
            if bad {
                found.push(format!("{}: {}", source.path, line.trim()));
            }
        }
    }
    assert_eq!(found, [""; 0], "below {}", top().display());
}
