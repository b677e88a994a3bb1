//! What `run` reads, refuses and takes before anything is started: the order of the checks and what each refusal leaves.

#![expect(
    clippy::unwrap_used,
    reason = "a test whose ground is missing ends where it is missing"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use clap::Parser;
use mosaic_connector::commands::{Prepared, Run, Surroundings};
use mosaic_connector::exit::{Code, Exit};
use serde_json::{Value, json};

/// The arguments of `run` alone.
#[derive(Parser)]
struct Line {
    #[command(flatten)]
    run: Run,
}

/// A data root with a sound binding `sage`.
struct Root(tempfile::TempDir);

impl Root {
    fn new() -> Self {
        let root = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(root.path("discord")).unwrap();
        fs::create_dir(root.path("repo")).unwrap();
        fs::write(root.path("repo/seat.md"), "You are Sage.\n").unwrap();
        private(&root.path("token"), "MTIzNDU2Nzg5.AAAAAA.not-a-secret\n");
        root.bind(&root.binding());
        root
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn binding(&self) -> Value {
        json!({
            "bindingVersion": 1,
            "name": "sage",
            "seat": "Sage",
            "guildId": "1",
            "guildName": "Acme",
            "botUserId": "123456789",
            "tokenFile": self.path("token"),
            "channels": [{ "id": "2", "name": "ideas", "mode": "open" }],
            "users": [{ "id": "3", "name": "Jason" }],
            "engine": { "provider": "anthropic", "model": "claude-sonnet-4-5", "thinking": "off" },
            "context": { "files": ["seat.md"] },
        })
    }

    fn bind(&self, binding: &Value) {
        private(&self.path("discord/sage.json"), &binding.to_string());
    }

    fn lock(&self, record: &str) {
        fs::create_dir_all(self.path("discord/sage/run.lock")).unwrap();
        fs::set_permissions(self.path("discord/sage"), fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(self.owner(), record).unwrap();
    }

    fn owner(&self) -> PathBuf {
        self.path("discord/sage/run.lock/owner.json")
    }

    fn around(&self) -> Surroundings {
        Surroundings {
            data_root: Some(self.0.path().to_owned()),
            current: Some(self.path("repo")),
            program: Some(env!("CARGO_BIN_EXE_mosaic-discord").into()),
            ..Surroundings::default()
        }
    }

    fn prepare(&self, options: &[&str]) -> Result<Prepared, Exit> {
        self.prepare_in(&self.around(), options)
    }

    fn prepare_in(&self, around: &Surroundings, options: &[&str]) -> Result<Prepared, Exit> {
        let tree = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .unwrap()
            .to_str()
            .unwrap();
        let words = ["run", "sage", "--install-dir", tree];
        Line::try_parse_from(words.iter().chain(options))
            .unwrap()
            .run
            .prepare(around)
    }
}

fn private(path: &Path, content: &str) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn a_sound_binding_is_read_whole_and_held_until_it_is_dropped() {
    let root = Root::new();

    let prepared = root.prepare(&[]).unwrap();

    assert_eq!(prepared.binding.seat, "Sage");
    assert_eq!(
        prepared.contexts,
        [("seat.md".to_owned(), "You are Sage.\n".to_owned())]
    );
    assert_eq!(prepared.runtime.folder(), root.path("discord/sage/run"));
    let owner: Value = serde_json::from_slice(&fs::read(root.owner()).unwrap()).unwrap();
    assert_eq!(owner["pid"], std::process::id());

    drop(prepared);
    assert!(!root.path("discord/sage/run.lock").exists());
}

#[test]
fn a_binding_that_is_held_refuses_a_second_start_supervised_or_not() {
    let root = Root::new();
    let _held = root.prepare(&[]).unwrap();
    let record = fs::read(root.owner()).unwrap();

    for options in [&[][..], &["--supervised"]] {
        let exit = root.prepare(options).unwrap_err();

        assert_eq!(exit.code, Code::Brake);
        assert!(
            exit.sentence.contains(&std::process::id().to_string()),
            "{exit}"
        );
        assert_eq!(fs::read(root.owner()).unwrap(), record);
    }
}

#[test]
fn a_stale_lock_is_never_claimed_over_and_the_supervised_start_clears_it_first() {
    let root = Root::new();
    root.lock(r#"{"pid":4194304,"start":1,"boot":"x"}"#);

    let exit = root.prepare(&[]).unwrap_err();
    assert_eq!(exit.code, Code::Brake);
    assert!(
        exit.sentence.contains("mosaic-discord unlock sage"),
        "{exit}"
    );

    let prepared = root.prepare(&["--supervised"]).unwrap();
    assert!(!prepared.paths.stop().exists());
    assert!(root.owner().exists());
}

#[test]
fn stop_refuses_before_anything_is_read() {
    let root = Root::new();
    drop(root.prepare(&[]).unwrap());
    fs::write(root.path("discord/sage/STOP"), "").unwrap();
    root.bind(&json!("not a binding"));

    for options in [&[][..], &["--supervised"]] {
        let exit = root.prepare(options).unwrap_err();

        assert_eq!(exit.code, Code::Brake);
        assert!(exit.sentence.contains("STOP"), "{exit}");
    }
    assert!(root.path("discord/sage/STOP").exists());
}

#[test]
fn what_is_invalid_is_exit_2_with_no_folder_made_and_nothing_held() {
    type Spoil = fn(&Root);
    let spoils: [(&str, Spoil); 5] = [
        ("channels", |root| {
            let mut binding = root.binding();
            binding["channels"] = json!([]);
            root.bind(&binding);
        }),
        ("mode 0644", |root| {
            fs::set_permissions(
                root.path("discord/sage.json"),
                fs::Permissions::from_mode(0o644),
            )
            .unwrap();
        }),
        ("token file", |root| private(&root.path("token"), "hunter2")),
        ("seat.md", |root| {
            fs::remove_file(root.path("repo/seat.md")).unwrap();
        }),
        ("does not exist", |root| {
            fs::remove_file(root.path("discord/sage.json")).unwrap();
        }),
    ];
    for (said, spoil) in spoils {
        let root = Root::new();
        spoil(&root);

        let exit = root.prepare(&[]).unwrap_err();

        assert_eq!(exit.code, Code::Invalid, "{exit}");
        assert!(
            exit.sentence.contains(said) && !exit.sentence.contains("hunter2"),
            "{exit}"
        );
        assert!(!root.path("discord/sage").exists());
    }
}

#[test]
fn another_discord_is_taken_on_a_loopback_address_only() {
    let root = Root::new();
    let with_api = |api: &str| Surroundings {
        api: Some(api.to_owned()),
        ..root.around()
    };

    for bad in [
        "https://discord.example.org",
        "http://localhost:80",
        "http://10.0.0.1:80",
        "nonsense",
    ] {
        assert_eq!(
            root.prepare_in(&with_api(bad), &[]).unwrap_err().code,
            Code::Invalid,
            "{bad}"
        );
    }
    assert_eq!(
        root.prepare_in(&with_api("http://127.0.0.1:8080"), &[])
            .unwrap()
            .api
            .port(),
        8080
    );
}

#[test]
fn a_folder_open_to_others_refuses_the_start() {
    let root = Root::new();
    fs::create_dir(root.path("discord/sage")).unwrap();
    fs::set_permissions(root.path("discord/sage"), fs::Permissions::from_mode(0o755)).unwrap();

    let exit = root.prepare(&[]).unwrap_err();

    assert_eq!(exit.code, Code::Invalid);
    assert!(exit.sentence.contains("chmod 700"), "{exit}");
}
