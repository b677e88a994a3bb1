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
        "notes.md\n  1: needle three\n1 matching lines in 1 of 1 files.\nWithheld and not searched: 1 credential.\n"
    );
}

#[test]
fn a_34_the_number_of_withheld_files_does_not_depend_on_the_query() {
    let ground = Ground::new();
    ground.put("keys.md", format!("needle {}\n", token()));

    let withheld = |query: &str, regex: bool| {
        ground
            .call(v1::SearchRequest {
                root: "vault".into(),
                query: query.into(),
                regex: Some(regex),
                ..Default::default()
            })
            .number("withheld")
    };

    // A guess at the first letter of the token must look like every other guess.
    assert_eq!(
        [
            withheld("ghp_1", false),
            withheld("ghp_2", false),
            withheld("ghp_[0-4]", true)
        ],
        [1, 1, 1]
    );
}

#[test]
fn a_credential_is_not_searched_for() {
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
