//! Abuse cases of class PATH: names and file types, through the verbs and on a real file system.

#![expect(
    clippy::disallowed_methods,
    reason = "tests arrange and examine real files"
)]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot arrange its ground has to stop"
)]

mod ground;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use ground::{Answer, Ground};
use nix::sys::stat::Mode;

type Attempt<'a> = Box<dyn Fn(&Ground) -> Answer + 'a>;

/// Every verb that takes a path, on the same path.
fn verbs(path: &str) -> Vec<Attempt<'_>> {
    vec![
        Box::new(move |ground| ground.read("vault", path)),
        Box::new(move |ground| ground.write("vault", path, "new")),
        Box::new(move |ground| ground.edit("vault", path, "old", "new")),
        Box::new(move |ground| ground.list("vault", Some(path))),
        Box::new(move |ground| {
            ground.call(mosaic_proto::v1::SearchRequest {
                root: "vault".into(),
                query: "old".into(),
                path: Some(path.into()),
                ..Default::default()
            })
        }),
    ]
}

#[track_caller]
fn all_refuse(ground: &Ground, code: &str, path: &str) {
    for verb in verbs(path) {
        ground.refuses(code, verb);
    }
}

#[test]
fn a_01_a_parent_segment_is_refused_by_every_verb() {
    let ground = Ground::new();
    ground.put("a/f.md", "old");
    fs::write(ground.outside("x"), "old").unwrap();

    for path in ["../outside/x", "a/../../outside/x", "a/..", "a/../a/f.md"] {
        all_refuse(&ground, "path_dot_segment", path);
    }
}

#[test]
fn a_02_a_folder_whose_name_begins_like_the_root_is_not_the_root() {
    let ground = Ground::new();
    fs::create_dir(ground.dir().join("vault-private")).unwrap();
    fs::write(ground.dir().join("vault-private/k.md"), "old").unwrap();

    all_refuse(&ground, "path_dot_segment", "../vault-private/k.md");
    all_refuse(&ground, "path_absolute", "/abs/vault-private/k.md");
    ground.refuses("root_unknown", |ground| {
        ground.read("vault-private", "k.md")
    });
}

#[test]
fn a_03_foreign_spellings_are_never_expanded() {
    let ground = Ground::new();

    all_refuse(&ground, "path_absolute", "/etc/hostname");
    all_refuse(&ground, "path_empty_segment", "file:///etc/hostname");
    all_refuse(&ground, "path_backslash", "C:\\x");
    all_refuse(&ground, "path_backslash", "\\\\h\\s");
    ground.refuses("not_found", |ground| ground.read("vault", "~/x"));
}

#[test]
fn a_04_empty_and_dot_segments_are_refused() {
    let ground = Ground::new();
    ground.put("a/b.md", "old");

    all_refuse(&ground, "path_empty", "");
    for path in ["a//b.md", "a/b.md/"] {
        all_refuse(&ground, "path_empty_segment", path);
    }
    for path in [".", "./a/b.md", "a/./b.md"] {
        all_refuse(&ground, "path_dot_segment", path);
    }
}

#[test]
fn a_05_hidden_names_are_out_of_reach_and_out_of_sight() {
    let ground = Ground::new();
    for path in [
        ".git/config",
        "a/.env",
        ".GIT/x",
        ".gitattributes",
        ".vault-locks/l",
    ] {
        ground.put(path, "old needle");
        all_refuse(&ground, "path_dot_segment", path);
    }
    ground.put("a/seen.md", "needle");

    assert_eq!(ground.list("vault", None).text, "folder a/\n");
    assert_eq!(ground.list("vault", Some("a")).text, "file 6 seen.md\n");
    assert_eq!(
        ground.search("vault", "needle").found(),
        "a/seen.md\n  1: needle\n1 line matches, in 1 of 1 files.\n"
    );
}

#[test]
fn a_06_a_path_is_not_cut_at_a_nul() {
    let ground = Ground::new();
    ground.put("a.md", "old");

    all_refuse(&ground, "path_nul", "a.md\0.png");
}

#[test]
fn a_07_a_link_at_the_end_is_refused_wherever_it_leads() {
    let ground = Ground::new();
    fs::write(ground.outside("x"), "old").unwrap();
    ground.put("inside.md", "old");
    symlink(ground.outside("x"), ground.vault("to-outside")).unwrap();
    symlink("inside.md", ground.vault("to-inside")).unwrap();
    symlink(ground.outside("created"), ground.vault("dangling")).unwrap();
    symlink(ground.outside(""), ground.vault("to-folder")).unwrap();

    for path in ["to-outside", "to-inside", "dangling", "to-folder"] {
        all_refuse(&ground, "symlink", path);
    }
    assert_eq!(
        ground.list("vault", None).text,
        "other dangling (not readable: symlink)\nfile 3 inside.md\nother to-folder (not readable: symlink)\n\
         other to-inside (not readable: symlink)\nother to-outside (not readable: symlink)\n"
    );
    assert!(!ground.outside("created").exists());
}

#[test]
fn a_08_a_link_in_the_middle_is_refused_wherever_it_leads() {
    let ground = Ground::new();
    fs::write(ground.outside("f.md"), "old").unwrap();
    ground.put("real/f.md", "old");
    symlink(ground.outside(""), ground.vault("to-outside")).unwrap();
    symlink("real", ground.vault("to-inside")).unwrap();

    all_refuse(&ground, "symlink", "to-outside/f.md");
    all_refuse(&ground, "symlink", "to-inside/f.md");
    ground.refuses("symlink", |ground| {
        ground.write("vault", "to-inside/new.md", "new")
    });
}

#[test]
fn a_09_a_second_link_to_the_file_is_refused() {
    let ground = Ground::new();
    fs::write(ground.outside("x"), "old").unwrap();
    fs::hard_link(ground.outside("x"), ground.vault("linked.md")).unwrap();

    ground.refuses("many_links", |ground| ground.read("vault", "linked.md"));
    ground.refuses("many_links", |ground| {
        ground.write("vault", "linked.md", "new")
    });
    ground.refuses("many_links", |ground| {
        ground.edit("vault", "linked.md", "old", "new")
    });
    assert_eq!(
        ground.list("vault", None).text,
        "other linked.md (not readable: many_links)\n"
    );
    assert_eq!(
        ground.search("vault", "old").found(),
        "No line matches in 0 files.\nWithheld and not searched: 1 many_links.\n"
    );
}

#[test]
fn a_10_pipes_sockets_and_devices_are_refused_at_once() {
    let ground = Ground::new();
    nix::unistd::mkfifo(&ground.vault("pipe"), Mode::from_bits_truncate(0o600)).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(ground.vault("socket")).unwrap();
    let mut names = vec!["pipe", "socket"];
    // Needs the right to make devices; without it the other two speak for the class.
    let device = nix::sys::stat::mknod(
        &ground.vault("zero"),
        nix::sys::stat::SFlag::S_IFCHR,
        Mode::from_bits_truncate(0o600),
        nix::sys::stat::makedev(1, 5),
    );
    if device.is_ok() {
        names.push("zero");
    }

    let started = Instant::now();
    for name in &names {
        ground.refuses("not_a_file", |ground| ground.read("vault", name));
        ground.refuses("not_a_file", |ground| ground.write("vault", name, "new"));
        ground.refuses("not_a_file", |ground| {
            ground.edit("vault", name, "old", "new")
        });
        ground.refuses("not_a_folder", |ground| ground.list("vault", Some(name)));
    }
    let found = ground.search("vault", "old");
    assert!(
        started.elapsed() < Duration::from_secs(2),
        "nothing waits for a writer"
    );
    assert_eq!(found.number("withheld"), names.len() as u64);
}

#[test]
fn a_11_magic_links_are_refused() {
    let ground = Ground::new();
    symlink("/proc/self/fd/3", ground.vault("descriptor")).unwrap();
    symlink("/proc/self/root", ground.vault("top")).unwrap();
    symlink("/dev/fd/0", ground.vault("stdin")).unwrap();

    for path in ["descriptor", "stdin", "top/etc/passwd"] {
        ground.refuses("symlink", |ground| ground.read("vault", path));
        ground.refuses("symlink", |ground| ground.write("vault", path, "new"));
    }
}

#[test]
fn a_12_a_file_is_no_folder_and_a_folder_no_file() {
    let ground = Ground::new();
    ground.put("folder/f.md", "old");

    ground.refuses("is_folder", |ground| ground.read("vault", "folder"));
    ground.refuses("is_folder", |ground| ground.write("vault", "folder", "new"));
    ground.refuses("is_folder", |ground| {
        ground.edit("vault", "folder", "old", "new")
    });
    ground.refuses("not_a_folder", |ground| {
        ground.list("vault", Some("folder/f.md"))
    });
    all_refuse(&ground, "not_a_folder", "folder/f.md/g.md");
}

#[test]
fn a_13_long_names_are_refused_before_the_kernel_sees_them() {
    let ground = Ground::new();

    all_refuse(&ground, "path_segment_too_long", &"n".repeat(256));
    all_refuse(&ground, "path_too_long", &"n".repeat(4_097));
    all_refuse(&ground, "path_too_long", &vec!["n"; 3_000].join("/"));
    ground.refuses("not_found", |ground| ground.read("vault", &"n".repeat(255)));
}

#[test]
fn a_14_size_is_a_limit_whatever_the_file_says_of_itself() {
    let ground = Ground::new();
    ground.put("fits.md", vec![b'a'; 4_096]);
    ground.put("over.md", vec![b'a'; 4_097]);
    fs::File::create(ground.vault("sparse"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();

    assert_eq!(ground.read("vault", "fits.md").number("bytes"), 4_096);
    for path in ["over.md", "sparse"] {
        ground.refuses("too_large", |ground| ground.read("vault", path));
        ground.refuses("too_large", |ground| {
            ground.edit("vault", path, "old", "new")
        });
    }
    // The kernel says zero bytes of files it makes up, and they grow as they are read. The read itself has the limit.
    assert_eq!(ground.search("vault", "aaa").number("bytes_read"), 4_096);
}

#[test]
fn a_14_a_file_that_grows_after_its_check_is_refused() {
    let ground = Ground::new();
    let path = ground.put("grows.md", "small");

    let request = mosaic_proto::v1::ReadFileRequest {
        root: "vault".into(),
        path: "grows.md".into(),
        ..Default::default()
    };
    let cancel = mosaic_broker::cancel::Cancel::default();
    let cleared = mosaic_broker::tools::clear(request.into(), &ground.reach, &cancel).unwrap();
    fs::write(&path, vec![b'a'; 1_000_000]).unwrap();

    assert_eq!(ground::answer(cleared.perform(&cancel)).code, "too_large");
}

#[test]
fn a_15_a_refusal_says_nothing_of_the_host() {
    let ground = Ground::with(|dir| {
        let odd =
            dir.join("odd root with blanks and ümlauts, quite long so that it would be noticed");
        fs::create_dir(&odd).unwrap();
        serde_json::json!({"roots": [{"name": "vault", "path": odd, "write": true}], "maxFileBytes": 4096})
    });

    // `refuses` looks for the path and for an errno in every answer.
    for (code, path) in [
        ("not_found", "missing.md"),
        ("path_dot_segment", "../x"),
        ("path_absolute", "/etc/passwd"),
    ] {
        ground.refuses(code, |ground| ground.read("vault", path));
    }
    ground.refuses("folder_missing", |ground| {
        ground.write("vault", "missing/x.md", "new")
    });
}

#[test]
fn a_16_a_new_name_that_deceives_is_refused_and_an_old_one_is_shown_escaped() {
    let ground = Ground::new();
    for name in [
        "a\u{200B}b",
        "\u{FEFF}a",
        "a\u{E0041}b",
        "\u{2024}env",
        "\u{FF0E}env",
    ] {
        ground.refuses("name_deceptive", |ground| {
            ground.write("vault", name, "new")
        });
    }
    for name in ["a\u{202E}dm.exe", "a\u{2066}b"] {
        ground.refuses("path_control_character", |ground| {
            ground.write("vault", name, "new")
        });
    }

    ground.put("x\u{202E}dm.exe", "needle");
    ground.put("y\u{200B}.md", "needle");
    assert_eq!(
        ground.list("vault", None).text,
        "other x\\u{202e}dm.exe (not readable: path_control_character)\nfile 6 y\\u{200b}.md\n"
    );
    assert_eq!(
        ground.search("vault", "needle").found(),
        "y\\u{200b}.md\n  1: needle\n1 line matches, in 1 of 1 files.\nWithheld and not searched: 1 path_control_character.\n"
    );
}

#[test]
fn a_17_a_name_cannot_forge_a_line_of_a_listing() {
    let ground = Ground::new();
    for name in ["a\nfile 1 b.md", "a\tb", "a\u{1B}[2J", "a\u{7F}"] {
        ground.refuses("path_control_character", |ground| {
            ground.write("vault", name, "new")
        });
    }

    ground.put("a\nfile 1 b.md", "x");
    ground.put("c\u{1B}[2J", "x");
    fs::write(ground.vault("").join(OsStr::from_bytes(b"d\xFF.md")), "x").unwrap();
    assert_eq!(
        ground.list("vault", None).text,
        "other a\\u{a}file 1 b.md (not readable: path_control_character)\n\
         other c\\u{1b}[2J (not readable: path_control_character)\n\
         other d\\xff.md (not readable: path_control_character)\n"
    );
}

#[test]
fn a_root_that_was_replaced_is_refused_until_a_restart() {
    let ground = Ground::new();
    ground.put("a.md", "old");
    let vault = ground.vault("");
    let away = ground.dir().join("away");

    fs::rename(ground.dir().join("vault"), &away).unwrap();
    assert_eq!(ground.read("vault", "a.md").code, "root_gone");
    fs::create_dir(&vault).unwrap();
    fs::write(ground.vault("a.md"), "other").unwrap();
    assert_eq!(ground.read("vault", "a.md").code, "root_gone");
    assert_eq!(ground.write("vault", "a.md", "new").code, "root_gone");
    let states: Vec<_> = ground
        .reach
        .root_states()
        .into_iter()
        .map(|root| (root.name, root.writable, root.present))
        .collect();
    assert_eq!(
        states,
        [("vault".into(), true, false), ("docs".into(), false, true)]
    );

    fs::remove_dir_all(&vault).unwrap();
    fs::rename(&away, ground.dir().join("vault")).unwrap();
    assert_eq!(ground.read("vault", "a.md").text, "old");
}
