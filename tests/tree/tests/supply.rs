//! What the programs are built from, held against `deny.toml` without a network: licences, sources and duplicates. Known
//! holes are the one thing that needs a database; `cargo deny check advisories` asks it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tree::{list, metadata, page, text};

/// The packages that are built on the platforms served.
fn built(metadata: &Value) -> Vec<&Value> {
    let nodes = list(&metadata["resolve"]["nodes"]);
    let ids: BTreeSet<&str> = nodes.iter().map(|node| text(&node["id"])).collect();
    list(&metadata["packages"])
        .iter()
        .filter(|package| ids.contains(text(&package["id"])))
        .collect()
}

/// The texts of one list of `deny.toml`: for a table, those of its first key.
fn denied(key: &str) -> Vec<String> {
    let deny = page("deny.toml");
    let (_, after) = deny
        .split_once(&format!("\n{key} = ["))
        .unwrap_or_else(|| panic!("deny.toml has no {key}"));
    let (body, _) = after.split_once("]\n").expect("the list ends");
    body.lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split('"').nth(1))
        .map(str::to_owned)
        .collect()
}

/// Whether some choice a licence expression offers is allowed. Reads `OR` and the old slash as a choice, `AND` as all of.
fn allowed(expression: &str, allow: &[String]) -> bool {
    let one = |name: &str| {
        let name = name.trim().trim_matches(['(', ')']);
        let name = name.strip_suffix(" WITH LLVM-exception").unwrap_or(name);
        allow.iter().any(|known| known == name)
    };
    let all = expression.split(" AND ");
    all.map(|part| part.replace('/', " OR "))
        .all(|part| part.split(" OR ").any(one))
}

#[test]
fn an_expression_is_allowed_when_a_choice_of_each_part_is() {
    let allow = ["MIT".to_owned(), "Unicode-3.0".to_owned()];
    for (expression, expected) in [
        ("MIT", true),
        ("Apache-2.0/MIT", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("MIT AND GPL-3.0-only", false),
        ("GPL-3.0-only OR LGPL-2.1-only", false),
        ("", false),
    ] {
        assert_eq!(allowed(expression, &allow), expected, "{expression}");
    }
}

#[test]
fn every_crate_has_a_licence_that_deny_toml_allows() {
    let (metadata, allow) = (metadata(), denied("allow"));
    let foreign: Vec<_> = built(&metadata)
        .into_iter()
        .filter(|package| !allowed(text(&package["license"]), &allow))
        .map(|package| format!("{}: {}", text(&package["name"]), package["license"]))
        .collect();
    assert_eq!(foreign, [""; 0]);
}

#[test]
fn every_crate_comes_from_crates_io_and_every_allowed_source_is_used() {
    let metadata = metadata();
    let sources: BTreeSet<String> = built(&metadata)
        .into_iter()
        .map(|package| text(&package["source"]))
        .filter(|source| !source.is_empty())
        .map(|source| source.trim_start_matches("registry+").to_owned())
        .collect();
    assert_eq!(sources, denied("allow-registry").into_iter().collect());
}

#[test]
fn a_crate_is_there_twice_only_where_deny_toml_says_why() {
    let metadata = metadata();
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in built(&metadata) {
        let of_it = versions.entry(text(&package["name"])).or_default();
        of_it.insert(text(&package["version"]));
    }
    versions.retain(|_, versions| versions.len() > 1);

    let mut skipped = denied("skip");
    for (name, versions) in &versions {
        let named = |version: &&str| {
            skipped.iter().any(|row| {
                let asked = row
                    .strip_prefix(name)
                    .and_then(|rest| rest.strip_prefix('@'));
                asked.is_some_and(|asked| version.starts_with(&format!("{asked}.")))
            })
        };
        let without: Vec<_> = versions.iter().filter(|version| !named(version)).collect();
        assert_eq!(without.len(), 1, "{name}: {versions:?}");
    }
    skipped.retain(|row| {
        let name = row.split('@').next().unwrap_or_default();
        !versions.contains_key(name)
    });
    assert_eq!(skipped, [""; 0], "rows whose crate is there once");
}

#[test]
fn deny_toml_looks_at_the_platforms_that_are_served() {
    assert_eq!(denied("targets"), tree::PLATFORMS);
}
