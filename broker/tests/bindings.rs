//! The `tools` key of a binding: what is accepted, and that every fault is named by its place.

#![expect(
    clippy::disallowed_methods,
    reason = "tests arrange and examine real files"
)]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot arrange its ground has to stop"
)]

mod ground;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use ground::{folder, policy};
use mosaic_broker::policy::Policy;
use serde_json::{Value, json};

/// A folder with `vault`, `docs`, `home/me` and the data root.
fn place() -> tempfile::TempDir {
    let dir = folder();
    for name in [
        "vault/deep",
        "docs",
        "home/me/files",
        "data/discord/roots",
        ".hidden/x",
    ] {
        fs::create_dir_all(dir.path().join(name)).unwrap();
    }
    fs::write(dir.path().join("file"), "").unwrap();
    symlink("vault", dir.path().join("link")).unwrap();
    dir
}

fn read(dir: &Path, tools: &Value) -> Result<Policy, String> {
    let binding = json!({"bindingVersion": 1, "channels": "not the broker's", "tools": tools});
    policy(dir, &binding.to_string()).map_err(|error| error.to_string())
}

/// The place a fault is named by.
#[track_caller]
fn fault(dir: &Path, tools: &Value) -> String {
    let error = read(dir, tools).unwrap_err();
    error.split(": ").next().unwrap().to_owned()
}

fn root(dir: &Path, below: &str) -> Value {
    json!({"name": "vault", "path": dir.join(below)})
}

#[test]
fn a_full_binding_is_read_and_its_defaults_are_those_of_the_seeds() {
    let dir = place();
    let tools = json!({
        "roots": [
            {"name": "vault", "path": dir.path().join("vault"), "write": true, "protect": ["tools/", "*.pyc"]},
            {"name": "docs", "path": dir.path().join("docs"), "write": false},
        ],
        "maxFileBytes": 1000, "maxCallsPerTurn": 12,
    });
    let full = read(dir.path(), &tools).unwrap();
    let plain = read(dir.path(), &json!({"roots": [root(dir.path(), "vault")]})).unwrap();

    let roots: Vec<_> = full
        .roots()
        .iter()
        .map(|root| (root.name(), root.writable()))
        .collect();
    assert_eq!(roots, [("vault", true), ("docs", false)]);
    assert_eq!(
        (
            full.max_file_bytes(),
            full.max_calls_per_turn(),
            full.required_abi()
        ),
        (1_000, 12, 6)
    );
    assert_eq!(
        (
            plain.max_file_bytes(),
            plain.max_calls_per_turn(),
            plain.required_abi()
        ),
        (262_144, 8, 6)
    );
    assert!(!plain.roots()[0].writable());
}

#[test]
fn only_an_explicit_key_of_the_binding_lowers_what_the_kernel_must_offer() {
    let dir = place();
    let with = |sandbox: Value| {
        let binding = json!({"tools": {"roots": [root(dir.path(), "vault")]}, "sandbox": sandbox});
        policy(dir.path(), &binding.to_string())
    };

    let lowered = with(json!({"landlockAbi": 4})).unwrap();
    let higher = with(json!({"landlockAbi": 5})).unwrap();
    assert_eq!((lowered.required_abi(), higher.required_abi()), (4, 5));
    assert_ne!(lowered.policy_digest(), higher.policy_digest());
    for (sandbox, field) in [
        (json!({}), "sandbox.landlockAbi"),
        (json!({"landlockAbi": 3}), "sandbox.landlockAbi"),
        (json!({"landlockAbi": 7}), "sandbox.landlockAbi"),
        (json!({"landlockAbi": 4, "off": true}), "sandbox"),
        (json!(null), "sandbox"),
        (json!("off"), "sandbox"),
    ] {
        let error = with(sandbox).unwrap_err().to_string();
        assert_eq!(error.split(": ").next(), Some(field), "{error}");
    }
}

#[test]
fn a_binding_without_tools_permits_nothing() {
    let dir = place();

    let policy = policy(dir.path(), "{\"bindingVersion\": 1}").unwrap();

    assert_eq!(policy.roots().len(), 0);
    assert_eq!(policy.prompt(), "");
    assert_eq!(
        policy.tools_digest(),
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "the digest of no bytes"
    );
}

#[test]
fn the_digest_is_that_of_the_bytes_as_they_stand_in_the_file() {
    let dir = place();
    let path = dir.path().join("vault");
    let value = format!("{{ \"roots\" :[ {{\"path\":{path:?},\n\t\"name\":\"v\"}} ] }}");

    let read = policy(
        dir.path(),
        &format!("{{\"a\":1, \"tools\"  : {value} ,\"z\":[]}}"),
    )
    .unwrap();
    let spaced = policy(
        dir.path(),
        &format!("{{\"tools\":{}}}", value.replace(" ]", "]")),
    )
    .unwrap();

    let digest: String = {
        use sha2::{Digest, Sha256};
        Sha256::digest(value.as_bytes())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    };
    assert_eq!(read.tools_digest(), digest);
    assert_ne!(spaced.tools_digest(), digest);
}

#[test]
fn the_policy_digest_changes_with_everything_that_is_permitted() {
    let dir = place();
    let vault = dir.path().join("vault");
    let variants = [
        json!({"roots": [{"name": "v", "path": vault}]}),
        json!({"roots": [{"name": "w", "path": vault}]}),
        json!({"roots": [{"name": "v", "path": dir.path().join("docs")}]}),
        json!({"roots": [{"name": "v", "path": vault, "write": true}]}),
        json!({"roots": [{"name": "v", "path": vault, "write": true, "protect": ["a"]}]}),
        json!({"roots": [{"name": "v", "path": vault}], "maxFileBytes": 1}),
        json!({"roots": [{"name": "v", "path": vault}], "maxCallsPerTurn": 1}),
    ];

    let mut digests: Vec<String> = variants
        .iter()
        .map(|tools| read(dir.path(), tools).unwrap().policy_digest().to_owned())
        .collect();
    digests.sort();
    digests.dedup();

    assert_eq!(digests.len(), variants.len());
}

#[test]
fn unknown_keys_wrong_types_and_numbers_out_of_bounds_are_named() {
    let dir = place();
    let good = json!([root(dir.path(), "vault")]);
    let with = |key: &str, value: Value| json!({"roots": good, key: value});
    let in_root = |key: &str, value: Value| {
        let mut root = root(dir.path(), "vault");
        root[key] = value;
        json!({"roots": [root]})
    };
    let rows = [
        (json!(null), "tools"),
        (json!([good]), "tools"),
        (json!("x"), "tools"),
        (json!({}), "tools.roots"),
        (json!({"roots": []}), "tools.roots"),
        (json!({"roots": {}}), "tools.roots"),
        (json!({"roots": [[1, 2]]}), "tools.roots[0]"),
        (json!({"roots": vec![1; 33]}), "tools.roots"),
        (with("unknown", json!(1)), "tools"),
        (with("maxFileBytes", json!(0)), "tools.maxFileBytes"),
        (with("maxFileBytes", json!(8_388_609)), "tools.maxFileBytes"),
        (with("maxFileBytes", json!("1")), "tools.maxFileBytes"),
        (with("maxFileBytes", json!(1.5)), "tools.maxFileBytes"),
        (with("maxFileBytes", json!(null)), "tools.maxFileBytes"),
        (with("maxCallsPerTurn", json!(-1)), "tools.maxCallsPerTurn"),
        (with("maxCallsPerTurn", json!(0)), "tools.maxCallsPerTurn"),
        (with("sandbox", json!({"landlockAbi": 4})), "tools"),
        (in_root("unknown", json!(1)), "tools.roots[0]"),
        (
            in_root("protocol", json!("vault")),
            "tools.roots[0].protocol",
        ),
        (in_root("protocol", json!("git")), "tools.roots[0].protocol"),
        (in_root("protocol", json!(1)), "tools.roots[0].protocol"),
        (in_root("write", json!("yes")), "tools.roots[0].write"),
        (in_root("write", json!(null)), "tools.roots[0].write"),
        (in_root("name", json!("")), "tools.roots[0].name"),
        (in_root("name", json!("a b")), "tools.roots[0].name"),
        (in_root("name", json!(".a")), "tools.roots[0].name"),
        (in_root("name", json!("a/b")), "tools.roots[0].name"),
        (in_root("name", json!("é")), "tools.roots[0].name"),
        (in_root("name", json!(7)), "tools.roots[0].name"),
        (in_root("path", json!(null)), "tools.roots[0].path"),
        (in_root("protect", json!("x")), "tools.roots[0].protect"),
        (
            in_root("protect", json!(["a", "../b"])),
            "tools.roots[0].protect[1]",
        ),
        (
            json!({"roots": [{"path": dir.path().join("vault")}]}),
            "tools.roots[0].name",
        ),
        (json!({"roots": [{"name": "v"}]}), "tools.roots[0].path"),
    ];
    for (tools, place) in rows {
        assert_eq!(fault(dir.path(), &tools), place, "{tools}");
    }
}

#[test]
fn parts_of_later_versions_are_refused_and_not_overlooked() {
    let dir = place();
    let mut with_git = root(dir.path(), "vault");
    with_git["git"] = json!({"branch": "main"});
    let good = root(dir.path(), "vault");

    assert_eq!(
        fault(dir.path(), &json!({"roots": [with_git]})),
        "tools.roots[0].git"
    );
    assert_eq!(
        fault(dir.path(), &json!({"roots": [good], "web": {}})),
        "tools.web"
    );
    assert_eq!(
        fault(dir.path(), &json!({"roots": [good], "setspark": {}})),
        "tools.setspark"
    );
    assert_eq!(
        read(dir.path(), &json!({"roots": [good], "web": {}})).unwrap_err(),
        "tools.web: names a part that this version does not offer yet. Accepted is a binding without this key; remove it."
    );
}

#[test]
fn a_key_given_twice_is_refused() {
    let dir = place();
    let path = dir.path().join("vault");
    let root = format!("{{\"name\":\"v\",\"path\":{path:?}}}");
    for binding in [
        format!("{{\"tools\":{{\"roots\":[{root}]}},\"tools\":{{\"roots\":[{root}]}}}}"),
        format!("{{\"tools\":{{\"roots\":[{root}],\"roots\":[{root}]}}}}"),
        format!(
            "{{\"tools\":{{\"roots\":[{{\"write\":false,\"write\":true,\"name\":\"v\",\"path\":{path:?}}}]}}}}"
        ),
    ] {
        assert!(policy(dir.path(), &binding).is_err(), "{binding}");
    }
}

#[test]
fn a_root_may_not_lie_where_it_would_give_away_more_than_it_says() {
    let dir = place();
    let here = dir.path();
    let rows = [
        ("/".into(), "is the top of the host"),
        ("relative/path".into(), "is not absolute"),
        ("~/x".into(), "is not absolute"),
        (here.join("missing"), "does not exist"),
        (here.join("file"), "is not a folder"),
        (
            here.join("link"),
            "is a symbolic link, or is reached over one",
        ),
        (
            here.join("link/deep"),
            "is a symbolic link, or is reached over one",
        ),
        (
            here.join("home/me"),
            "is the home directory or lies above it",
        ),
        (here.join("home"), "is the home directory or lies above it"),
        (
            here.join("data"),
            "is the data root, lies in it or above it",
        ),
        (
            here.join("data/discord/roots"),
            "is the data root, lies in it or above it",
        ),
        (
            here.join(".hidden/x"),
            "has a segment that begins with a dot",
        ),
        (
            here.join("vault/../docs"),
            "has a segment that begins with a dot",
        ),
        (here.join("vault/."), "has a segment that begins with a dot"),
        (here.join("vault//deep"), "has an empty segment"),
        (here.join("vault/"), "has an empty segment"),
        ("/proc/self".into(), "lies in a file system of the kernel"),
        (here.join("va\nult"), "holds control characters"),
    ];
    for (path, reason) in rows {
        let error = read(here, &json!({"roots": [{"name": "v", "path": path}]})).unwrap_err();
        assert!(
            error.starts_with(&format!("tools.roots[0].path: {reason}. Accepted is ")),
            "{error}"
        );
    }
    assert!(read(here, &json!({"roots": [root(here, "home/me/files")]})).is_ok());
}

#[test]
fn the_data_root_is_recognised_behind_a_link() {
    let dir = place();
    let other = folder();
    symlink(dir.path().join("data"), other.path().join("data")).unwrap();
    let binding = dir.path().join("data/discord/seat.json");
    let tools = json!({"tools": {"roots": [root(dir.path(), "data/discord/roots")]}});
    let _ = policy(dir.path(), &tools.to_string());

    let error = Policy::read(&binding, &other.path().join("data"), None).unwrap_err();

    assert_eq!(error.field, "tools.roots[0].path");
}

#[test]
fn roots_may_not_overlap_or_share_a_name() {
    let dir = place();
    let two = |one: (&str, &str), other: (&str, &str)| {
        json!({"roots": [
            {"name": one.0, "path": dir.path().join(one.1)},
            {"name": other.0, "path": dir.path().join(other.1)},
        ]})
    };

    assert_eq!(
        fault(dir.path(), &two(("a", "vault"), ("a", "docs"))),
        "tools.roots[1].name"
    );
    assert_eq!(
        fault(dir.path(), &two(("a", "vault"), ("A", "docs"))),
        "tools.roots[1].name"
    );
    assert_eq!(
        fault(dir.path(), &two(("a", "vault"), ("b", "vault"))),
        "tools.roots[1].path"
    );
    assert_eq!(
        fault(dir.path(), &two(("a", "vault"), ("b", "vault/deep"))),
        "tools.roots[1].path"
    );
    assert_eq!(
        fault(dir.path(), &two(("a", "vault/deep"), ("b", "vault"))),
        "tools.roots[1].path"
    );
    assert!(read(dir.path(), &two(("a", "vault"), ("b", "docs"))).is_ok());
}

#[test]
fn a_binding_that_others_may_read_or_replace_is_refused() {
    let dir = place();
    policy(dir.path(), "{}").unwrap();
    let data_root = dir.path().join("data");
    let binding = data_root.join("discord/seat.json");
    let refused = |path: &Path| Policy::read(path, &data_root, None).unwrap_err().found;

    fs::set_permissions(&binding, fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(refused(&binding), "has mode 0640");
    fs::set_permissions(&binding, fs::Permissions::from_mode(0o400)).unwrap();
    assert_eq!(refused(&binding), "has mode 0400");
    fs::set_permissions(&binding, fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&binding, data_root.join("link.json")).unwrap();
    assert_eq!(refused(&data_root.join("link.json")), "is a symbolic link");
    assert_eq!(refused(&data_root.join("discord")), "is not a regular file");
    assert_eq!(refused(&data_root.join("missing.json")), "does not exist");
    fs::write(&binding, "[]").unwrap();
    assert_eq!(refused(&binding), "is a list of another kind");
    fs::write(&binding, "{").unwrap();
    assert!(refused(&binding).starts_with("is not JSON"));
    fs::write(&binding, vec![b' '; 1_100_000]).unwrap();
    assert_eq!(refused(&binding), "is too large");
}

#[test]
fn the_words_of_a_policy_say_what_is_permitted() {
    let dir = place();
    let tools = json!({"roots": [
        {"name": "vault", "path": dir.path().join("vault"), "write": true, "protect": ["tools/", "*.pyc"]},
        {"name": "docs", "path": dir.path().join("docs")},
    ]});
    let policy = read(dir.path(), &tools).unwrap();

    let words = policy
        .to_string()
        .replace(dir.path().to_str().unwrap(), "HERE");

    insta::assert_snapshot!("policy_words", words);
    insta::assert_snapshot!("prompt_paragraph", policy.prompt());
}
