//! Abuse cases of class CRED through the verbs: what holds a credential is neither read, found, written nor edited. The
//! shapes themselves are tested beside their table.

#![expect(
    clippy::disallowed_methods,
    reason = "tests arrange and examine real files"
)]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot arrange its ground has to stop"
)]

mod ground;

use ground::Ground;
use mosaic_proto::v1;

/// Put together here, so that this file holds no secret-looking text.
fn token() -> String {
    ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat()
}

#[test]
fn a_31_a_file_with_a_credential_is_not_read_in_any_part() {
    let ground = Ground::new();
    ground.put("keys.md", format!("harmless\n{}\n", token()));

    let whole = ground.refuses("credential", |ground| ground.read("vault", "keys.md"));
    ground.refuses("credential", |ground| {
        ground.call(v1::ReadFileRequest {
            root: "vault".into(),
            path: "keys.md".into(),
            from_line: Some(1),
            lines: Some(1),
        })
    });
    assert!(whole.text.contains("GitHub token") && !whole.text.contains("ghp_"));
}

#[test]
fn a_31_text_with_a_credential_is_not_written() {
    let ground = Ground::new();
    ground.put("a.md", "start of it: HERE");
    ground.put("keys.md", format!("old {}", token()));

    ground.refuses("text_credential", |ground| {
        ground.write("vault", "new.md", &token())
    });
    ground.refuses("text_credential", |ground| {
        ground.edit("vault", "a.md", "HERE", &token())
    });
    ground.refuses("credential", |ground| {
        ground.edit("vault", "keys.md", "old", "new")
    });
}

#[test]
fn a_33_a_credential_behind_8_kib_and_at_the_very_end_is_found() {
    let ground = Ground::with(
        |dir| serde_json::json!({"roots": [{"name": "vault", "path": dir.join("vault"), "write": true}]}),
    );
    for (name, before) in [
        ("start", 0),
        ("seam", 8_190),
        ("block", 65_530),
        ("far", 200_000),
    ] {
        ground.put(name, "x".repeat(before) + " " + &token());
        ground.refuses("credential", |ground| ground.read("vault", name));
    }
}

#[test]
fn a_34_a_search_shows_no_line_of_a_file_with_a_credential() {
    let ground = Ground::new();
    ground.put("keys.md", format!("needle one\n{} needle two\n", token()));
    ground.put("notes.md", "needle three\n");

    let found = ground.search("vault", "needle");

    assert_eq!(
        found.text,
        "notes.md\n  1: needle three\n1 line matches, in 1 of 2 files.\n\
         Files that hold what looks like a credential are withheld, whether they match or not.\n"
    );
}

#[test]
fn a_34_a_search_tells_a_right_guess_from_a_wrong_one_in_nothing() {
    let ground = Ground::new();
    ground.put("keys.md", format!("needle {}\n", token()));
    let guess = |query: &str, regex: bool| {
        let answer = ground.call(v1::SearchRequest {
            root: "vault".into(),
            query: query.into(),
            regex: Some(regex),
            ..Default::default()
        });
        let facts: Vec<_> = answer
            .facts
            .iter()
            .filter(|(name, _)| !name.starts_with("query"))
            .collect();
        format!("{} {facts:?}", answer.text)
    };

    assert_eq!(guess("ghp_1", false), guess("ghp_2", false));
    assert_eq!(guess("ghp_[0-4]", true), guess("ghp_[5-9]", true));
}

#[test]
fn a_32_a_credential_is_not_searched_for() {
    let ground = Ground::new();

    let refused = ground.refuses("query_credential", |ground| {
        ground.search("vault", &token())
    });

    assert!(
        !format!("{:?}", refused.facts).contains("16C7e42F"),
        "nor written down"
    );
}

#[test]
fn a_35_prose_about_credentials_is_read_and_written() {
    let ground = Ground::new();
    let prose = "tokens start with ghp_, see `ghp_[A-Za-z0-9]{36}` and AKIAIOSFODNN7EXAMPLE";

    assert_eq!(ground.write("vault", "a.md", prose).code, "done");
    assert_eq!(ground.read("vault", "a.md").text, prose);
}
