//! What the two pages for readers of the code say, held against the tree: a test, a file or a dependency that a page
//! names is there, and each abuse case of the classes that are built has a test of its name.

use std::collections::{BTreeMap, BTreeSet};

use tree::{list, members, metadata, page, rust, sources, text};

const PAGES: [&str; 2] = ["ARCHITECTURE.md", "SECURITY.md"];

/// The abuse cases of the classes whose parts exist: PATH, RACE, WRITE and CRED, RPC, BOX.
fn cases() -> impl Iterator<Item = u32> {
    (1..=35).chain(93..=104).chain(119..=127)
}

/// Cases whose part is not built. A row goes from here with the first test of its case.
const WAITING: &[u32] = &[126];

/// The names of all functions: a page names tests, and no two things share a claim.
fn functions() -> BTreeSet<String> {
    rust("")
        .iter()
        .flat_map(|source| source.text.split("fn ").skip(1))
        .map(|rest| {
            let name = rest
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_');
            name.collect()
        })
        .collect()
}

/// The words of a page that are set as code.
fn quoted(page: &str) -> impl Iterator<Item = &str> {
    let outside_blocks = page.split("```").step_by(2);
    outside_blocks.flat_map(|text| text.split('`').skip(1).step_by(2))
}

/// Whether a word reads like the name of a test: a claim has several words.
fn is_claim(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    word.matches('_').count() >= 3 && word.chars().all(plain)
}

/// The table of cases: number, and the tests its row names.
fn rows() -> BTreeMap<u32, Vec<String>> {
    let page = page("SECURITY.md");
    page.lines()
        .filter_map(|line| {
            let (case, rest) = line.strip_prefix("| A-")?.split_once(" | ")?;
            let tests = rest.rsplit_once(" | ")?.1;
            let tests = quoted(tests).map(str::to_owned).collect();
            Some((case.parse().ok()?, tests))
        })
        .collect()
}

#[test]
fn every_test_a_page_names_exists() {
    let functions = functions();
    for path in PAGES {
        let page = page(path);
        let gone: Vec<_> = quoted(&page)
            .filter(|word| is_claim(word) && !functions.contains(*word))
            .collect();
        assert_eq!(gone, [""; 0], "{path}");
    }
}

#[test]
fn every_abuse_case_of_the_classes_that_are_built_has_a_test_of_its_name() {
    let functions = functions();
    for case in cases() {
        let name = format!("a_{case:02}_");
        let tests: Vec<_> = functions
            .iter()
            .filter(|function| function.starts_with(&name))
            .collect();
        assert_eq!(
            tests.is_empty(),
            WAITING.contains(&case),
            "A-{case:02}: {tests:?}"
        );
    }
}

#[test]
fn the_table_of_cases_has_a_row_for_each_with_tests_of_that_case() {
    let rows = rows();
    assert_eq!(
        rows.keys().copied().collect::<Vec<_>>(),
        cases().collect::<Vec<_>>()
    );
    for (case, tests) in rows {
        let name = format!("a_{case:02}_");
        assert_eq!(tests.is_empty(), WAITING.contains(&case), "A-{case:02}");
        assert!(
            tests.iter().all(|test| test.starts_with(&name)),
            "A-{case:02}: {tests:?}"
        );
    }
}

#[test]
fn every_file_a_page_names_exists() {
    let all: Vec<String> = sources("").into_iter().map(|source| source.path).collect();
    let is_there = |word: &str| {
        let within = format!("/{word}");
        all.iter().any(|path| {
            let path = format!("/{path}");
            if word.ends_with('/') {
                path.contains(&within)
            } else {
                path.ends_with(&within)
            }
        })
    };
    let endings = [".rs", ".proto", ".toml", ".md", ".mjs", ".snap"];
    let tops = [
        "broker/",
        "connector/",
        "proto/",
        "sandbox/",
        "tests/",
        "fuzz/",
    ];
    for path in PAGES {
        let page = page(path);
        let gone: Vec<_> = quoted(&page)
            .filter(|word| {
                !word.contains(['<', '*', ' ']) && !["AGENTS.md", "CLAUDE.md"].contains(word)
            })
            .filter(|word| {
                let below_top = tops.iter().any(|top| word.starts_with(top));
                below_top || endings.iter().any(|ending| word.ends_with(ending))
            })
            .filter(|word| !is_there(word))
            .collect();
        assert_eq!(gone, [""; 0], "{path}");
    }
}

#[test]
fn every_crate_the_broker_asks_for_stands_in_security_md_with_a_reason() {
    let metadata = metadata();
    let broker = members(&metadata)
        .into_iter()
        .find(|package| package["name"] == "mosaic-broker")
        .expect("the broker is a member");
    let asked: BTreeSet<&str> = list(&broker["dependencies"])
        .iter()
        .filter(|need| need["kind"] != "dev")
        .map(|need| text(&need["name"]))
        .collect();

    let page = page("SECURITY.md");
    let (_, table) = page
        .split_once("| crate | why |\n|---|---|\n")
        .expect("the table of crates");
    let rows = table
        .lines()
        .map_while(|line| line.strip_prefix("| ")?.split_once(" | "));
    let named: BTreeSet<&str> = rows.flat_map(|(crates, _)| quoted(crates)).collect();

    assert_eq!(named, asked);
    assert!(page.contains(&format!("\n{} direct dependencies", asked.len())));
}
