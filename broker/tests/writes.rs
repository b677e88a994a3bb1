//! Abuse cases of class WRITE: content, modes, protected files; and what a good write leaves behind.

#![expect(
    clippy::disallowed_methods,
    reason = "tests arrange and examine real files"
)]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot arrange its ground has to stop"
)]

mod ground;

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use ground::{Ground, Tree};
use mosaic_broker::cancel::Cancel;
use mosaic_broker::tools;
use mosaic_proto::v1;

fn mode(ground: &Ground, path: &str) -> u32 {
    fs::metadata(ground.vault(path)).unwrap().mode() & 0o7777
}

#[test]
fn a_write_leaves_exactly_the_bytes_and_nothing_else() {
    let ground = Ground::new();
    ground.put("notes/old.md", "before");
    let before = ground.tree();

    let created = ground.write("vault", "notes/new.md", "ünï\r\n");
    let replaced = ground.write("vault", "notes/old.md", "");

    assert_eq!(
        created.text,
        "Created: 7 bytes. The file is changed in its folder and not committed."
    );
    assert_eq!(
        replaced.text,
        "Replaced: 0 bytes. The file is changed in its folder and not committed."
    );
    let mut expected: Tree = before;
    expected.insert(ground.vault("notes/new.md"), (0o100_644, "ünï\r\n".into()));
    expected
        .get_mut(&ground.vault("notes/old.md"))
        .unwrap()
        .1
        .clear();
    assert_eq!(ground.tree(), expected);
}

#[test]
fn an_edit_changes_one_place_and_keeps_the_rest() {
    let ground = Ground::new();
    ground.put("a.md", "one\r\ntwo $1\r\nthree");

    let edited = ground.edit("vault", "a.md", "two $1", "$& \\1 $1");

    assert_eq!(edited.code, "done");
    assert_eq!(
        fs::read(ground.vault("a.md")).unwrap(),
        b"one\r\n$& \\1 $1\r\nthree"
    );
    assert_eq!(ground.hidden(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn the_facts_before_a_write_are_enough_to_clean_up_after_a_crash() {
    let ground = Ground::new();
    ground.put("a.md", "old");
    let request = v1::WriteFileRequest {
        root: "vault".into(),
        path: "a.md".into(),
        text: "new".into(),
    };

    let cleared = tools::clear(request.into(), &ground.reach, &Cancel::default()).unwrap();

    assert!(cleared.changes());
    let deep = ["n".repeat(150), "ü\u{200B}".repeat(40), "f.md".into()].join("/");
    ground.put(&deep, "old");
    let path = ground.write("vault", &deep, "new");
    assert_eq!(path.fact("path"), deep, "neither cut nor escaped");
    let names: Vec<&str> = cleared.facts().iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        [
            "root", "path", "bytes", "sha256", "temp", "created", "replaces"
        ]
    );
    assert_eq!(
        fs::read(ground.vault("a.md")).unwrap(),
        b"old",
        "clearing changes nothing"
    );
    assert_eq!(ground.hidden(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_24_bad_text_and_missing_folders_are_refused_and_no_folder_is_made() {
    let ground = Ground::new();

    ground.refuses("text_nul", |ground| ground.write("vault", "a.md", "a\0b"));
    ground.refuses("text_too_large", |ground| {
        ground.write("vault", "a.md", &"a".repeat(4_097))
    });
    ground.refuses("folder_missing", |ground| {
        ground.write("vault", "new/a.md", "x")
    });
    ground.refuses("folder_missing", |ground| {
        ground.write("vault", "new/deep/a.md", "x")
    });
    assert_eq!(
        ground.write("vault", "a.md", &"a".repeat(4_096)).code,
        "done"
    );
}

#[test]
fn a_25_an_edit_that_is_not_exact_is_refused() {
    let ground = Ground::new();
    ground.put("a.md", "aaa b");

    ground.refuses("edit_old_empty", |ground| {
        ground.edit("vault", "a.md", "", "x")
    });
    ground.refuses("edit_no_change", |ground| {
        ground.edit("vault", "a.md", "b", "b")
    });
    ground.refuses("edit_not_unique", |ground| {
        ground.edit("vault", "a.md", "aa", "x")
    });
    ground.refuses("edit_not_found", |ground| {
        ground.edit("vault", "a.md", "c", "x")
    });
    ground.refuses("not_found", |ground| {
        ground.edit("vault", "missing.md", "a", "x")
    });
    ground.refuses("text_too_large", |ground| {
        ground.edit("vault", "a.md", "b", &"x".repeat(4_096))
    });
    ground.refuses("text_nul", |ground| ground.edit("vault", "a.md", "b", "\0"));
}

#[test]
fn a_26_permissions_are_kept_and_never_raised() {
    let ground = Ground::new();
    for (name, bits) in [("program", 0o755), ("private", 0o600), ("locked", 0o444)] {
        let path = ground.put(name, "old");
        fs::set_permissions(&path, Permissions::from_mode(bits)).unwrap();
        assert_eq!(ground.write("vault", name, "new").code, "done");
        assert_eq!(ground.edit("vault", name, "new", "newer").code, "done");
        assert_eq!(mode(&ground, name), bits, "{name}");
    }
    for (name, bits) in [("setuid", 0o4755), ("setgid", 0o2755), ("sticky", 0o1644)] {
        let path = ground.put(name, "old");
        fs::set_permissions(&path, Permissions::from_mode(bits)).unwrap();
        ground.refuses("special_bits", |ground| ground.write("vault", name, "new"));
        ground.refuses("special_bits", |ground| {
            ground.edit("vault", name, "old", "new")
        });
    }
}

fn vault_like() -> Ground {
    let ground = Ground::with(|dir| {
        serde_json::json!({"roots": [{
            "name": "vault", "path": dir.join("vault"), "write": true,
            "protocol": "vault", "protect": ["Makefile"],
        }]})
    });
    for path in [
        "tools/validate_vault.py",
        "docs/ID-REGISTRY.txt",
        "AGENTS.md",
        "sub/CLAUDE.md",
        "Makefile",
    ] {
        ground.put(path, "old");
    }
    ground.put("tools/__pycache__/keep", "");
    ground
}

#[test]
fn a_27_scripts_that_judge_the_writer_cannot_be_written() {
    let ground = vault_like();

    for path in [
        "tools/validate_vault.py",
        "tools/json.py",
        "tools/__pycache__/x.pyc",
        "x.pyc",
        "Tools/new.py",
    ] {
        ground.refuses("protected", |ground| ground.write("vault", path, "new"));
    }
    ground.refuses("protected", |ground| {
        ground.edit("vault", "tools/validate_vault.py", "old", "new")
    });
    assert_eq!(
        ground.read("vault", "tools/validate_vault.py").text,
        "old",
        "reading is no change"
    );
}

#[test]
fn a_28_the_append_only_registry_of_a_vault_cannot_be_written() {
    let ground = vault_like();

    ground.refuses("protected", |ground| {
        ground.write("vault", "docs/ID-REGISTRY.txt", "old\nnew")
    });
    ground.refuses("protected", |ground| {
        ground.edit("vault", "docs/ID-REGISTRY.txt", "old", "new")
    });
}

#[test]
fn a_29_instructions_for_agents_cannot_be_written_by_default() {
    let ground = Ground::new();
    ground.put("AGENTS.md", "old");

    for path in ["AGENTS.md", "CLAUDE.md", "agents.md"] {
        ground.refuses("protected", |ground| ground.write("vault", path, "new"));
    }
    ground.refuses("protected", |ground| {
        ground.edit("vault", "AGENTS.md", "old", "new")
    });
    assert_eq!(
        ground.write("vault", "Makefile", "all:").code,
        "done",
        "not without the binding's word"
    );
    vault_like().refuses("protected", |ground| {
        ground.write("vault", "Makefile", "all:")
    });
}

#[test]
fn a_30_only_a_writable_root_named_letter_for_letter_is_written() {
    let ground = Ground::new();
    fs::write(ground.dir().join("docs/a.md"), "old").unwrap();

    ground.refuses("root_read_only", |ground| {
        ground.write("docs", "a.md", "new")
    });
    ground.refuses("root_read_only", |ground| {
        ground.edit("docs", "a.md", "old", "new")
    });
    for root in [
        "Vault", "vault ", " vault", "", "vault/", "other", "vault\0",
    ] {
        ground.refuses("root_unknown", |ground| ground.write(root, "a.md", "new"));
    }
}

#[test]
fn a_binding_without_a_writable_root_offers_no_writing() {
    let ground = Ground::with(
        |dir| serde_json::json!({"roots": [{"name": "docs", "path": dir.join("docs")}]}),
    );

    let names: Vec<&str> = tools::enabled(ground.reach.policy())
        .iter()
        .map(|tool| tool.name)
        .collect();

    assert_eq!(names, ["list_dir", "read_file", "search"]);
    ground.refuses("verb_not_offered", |ground| {
        ground.write("docs", "a.md", "new")
    });
}
