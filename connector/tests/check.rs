//! `check` as an operator meets it: the real program against the stand-in Discord, and everything that may be wrong with the
//! files around a binding.

#![expect(
    clippy::unwrap_used,
    reason = "a test whose ground is missing ends where it is missing"
)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use stand_ins::discord::{Builder, Discord};

/// A data root with the binding `sage`, bound to a stand-in.
struct Root {
    folder: tempfile::TempDir,
    discord: Discord,
    /// What `MOSAIC_DISCORD_API` is set to.
    api: String,
    binding: Value,
}

/// What a check found.
#[derive(Debug)]
struct Checked {
    code: i32,
    /// State and detail of each row by its name.
    rows: BTreeMap<String, (String, String)>,
    said: String,
}

impl Root {
    async fn new(discord: Builder) -> Self {
        let discord = discord.identify_every(Duration::ZERO).start().await;
        let folder = tempfile::tempdir().unwrap();
        let token_file = folder.path().join("token");
        private(&token_file, &discord.token());
        fs::create_dir(folder.path().join("repo")).unwrap();
        fs::write(folder.path().join("repo/seat.md"), "You are Sage.\n").unwrap();
        let agent = folder.path().join("data/discord/sage/pi");
        fs::create_dir_all(&agent).unwrap();
        private(
            &agent.join("auth.json"),
            r#"{"anthropic": {"type": "api_key", "key": "a key"}}"#,
        );
        let binding = json!({
            "bindingVersion": 1,
            "name": "sage",
            "seat": "Sage",
            "guildId": discord.guild_id().to_string(),
            "guildName": "Acme",
            "botUserId": discord.bot_id().to_string(),
            "tokenFile": token_file,
            "channels": [{ "id": discord.channel_id("ideas").to_string(), "name": "ideas", "mode": "open" }],
            "users": [{ "id": discord.user_id("Jason").to_string(), "name": "Jason" }],
            "engine": { "provider": "anthropic", "model": "claude-sonnet-4-5", "thinking": "off" },
            "context": { "files": ["seat.md"] },
        });
        Self {
            folder,
            api: discord.base_url(),
            discord,
            binding,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a check of the binding as it is now.
    async fn check(&self) -> Checked {
        self.check_with(Path::new(env!("CARGO_BIN_EXE_mosaic-discord")))
            .await
    }

    async fn check_with(&self, program: &Path) -> Checked {
        fs::create_dir_all(self.path("data/discord")).unwrap();
        private(
            &self.path("data/discord/sage.json"),
            &self.binding.to_string(),
        );
        let tree = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let output = tokio::process::Command::new(program)
            .args(["check", "sage", "--json", "--repo"])
            .arg(self.path("repo"))
            .arg("--install-dir")
            .arg(tree)
            .env_clear()
            .env("MOSAIC_DATA_ROOT", self.path("data"))
            .env("MOSAIC_DISCORD_API", &self.api)
            .output()
            .await
            .unwrap();
        let table: Vec<BTreeMap<String, String>> =
            serde_json::from_slice(&output.stdout).unwrap_or_default();
        let rows = table.into_iter().map(|mut row| {
            let mut take = |key| row.remove(key).unwrap();
            (take("check"), (take("state"), take("detail")))
        });
        Checked {
            code: output.status.code().unwrap(),
            rows: rows.collect(),
            said: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Checked {
    /// The detail of a row that failed.
    fn failed(&self, check: &str) -> &str {
        let (state, detail) = &self.rows[check];
        assert_eq!(state, "failed", "{check}: {detail}");
        detail
    }

    /// The names of all rows that are not ok.
    fn not_ok(&self) -> Vec<&str> {
        self.rows
            .iter()
            .filter(|(_, (state, _))| state != "ok")
            .map(|(check, _)| check.as_str())
            .collect()
    }
}

fn private(path: &Path, content: &str) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn acme() -> Builder {
    Discord::guild("Acme").channel("ideas").user("Jason")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_binding_passes_and_nothing_is_sent_or_written() {
    let root = Root::new(acme()).await;

    let checked = root.check().await;

    assert_eq!((checked.code, checked.not_ok()), (0, vec![]), "{checked:?}");
    assert_eq!(
        checked.rows.keys().map(String::as_str).collect::<Vec<_>>(),
        [
            "Discord",
            "binding",
            "bot",
            "broker",
            "channel ideas",
            "context files",
            "gateway",
            "identify budget",
            "interactions",
            "lock",
            "message content",
            "model",
            "pi",
            "server",
            "sockets",
            "token file",
        ]
    );
    assert!(
        root.discord
            .requests()
            .iter()
            .all(|request| request.method == "GET")
    );
    assert!(root.discord.messages("ideas").is_empty());
    let made = |folder: &str| fs::read_dir(root.path(folder)).unwrap().count();
    assert_eq!(
        (made("data/discord/sage"), made("data/discord/sage/pi")),
        (1, 1),
        "only the operator's own key is there"
    );
    assert!(!checked.said.contains(&root.discord.token()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_of_another_bot_is_found_before_discord_is_asked() {
    let mut root = Root::new(acme()).await;
    root.binding["botUserId"] = json!("100000000000000002");

    let checked = root.check().await;

    assert_eq!(checked.code, 2);
    assert!(checked.failed("token file").contains("another bot"));
    assert_eq!(root.discord.requests(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_discord_does_not_take_fails_once_and_is_not_tried_further() {
    let root = Root::new(acme()).await;
    let token = root.discord.token();
    private(&root.path("token"), &format!("{token}x"));

    let checked = root.check().await;

    assert_eq!(checked.code, 2);
    assert!(checked.failed("bot").contains("Reset Token"));
    assert_eq!(root.discord.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_file_others_may_read_is_refused_with_the_command_that_mends_it() {
    let root = Root::new(acme()).await;
    fs::set_permissions(root.path("token"), fs::Permissions::from_mode(0o644)).unwrap();

    let checked = root.check().await;

    assert_eq!(checked.code, 2);
    assert!(checked.failed("token file").contains("chmod 600"));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_message_content_intent_the_row_and_the_gateway_say_so() {
    let root = Root::new(acme().without_message_content()).await;

    let checked = root.check().await;

    assert_eq!(
        (checked.code, checked.not_ok()),
        (2, vec!["gateway", "message content"])
    );
    assert!(checked.failed("gateway").contains("4014"), "{checked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interactions_endpoint_is_a_fault() {
    let root = Root::new(acme().interactions_endpoint("https://example.org/hook")).await;

    let checked = root.check().await;

    assert_eq!((checked.code, checked.not_ok()), (2, vec!["interactions"]));
    assert!(!checked.failed("interactions").contains("example.org"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_the_bot_is_not_in_is_a_fault_and_its_channels_are_not_asked_for() {
    let mut root = Root::new(acme()).await;
    root.binding["guildId"] = json!("100000000000000001");

    let checked = root.check().await;

    assert_eq!(
        (checked.code, checked.not_ok()),
        (2, vec!["channels", "server"])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn each_listed_channel_is_judged_by_what_the_bot_may_do_there() {
    let mut root = Root::new(
        acme()
            .read_only_channel("news")
            .hidden_channel("board")
            .thread("ideas", "one"),
    )
    .await;
    let channels = ["ideas", "news", "board", "one"].map(|name| {
        json!({ "id": root.discord.channel_id(name).to_string(), "name": name, "mode": "open" })
    });
    root.binding["channels"] = json!(channels);

    let checked = root.check().await;

    assert_eq!(checked.code, 2);
    assert_eq!(
        checked.not_ok(),
        ["channel board", "channel news", "channel one"],
        "{checked:?}"
    );
    assert!(checked.failed("channel news").contains("Send Messages"));
    assert!(checked.failed("channel board").contains("View Channel"));
    assert!(checked.failed("channel one").contains("thread"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spent_identify_budget_is_not_spent_further() {
    let root = Root::new(acme().identify_budget(10)).await;

    let checked = root.check().await;

    assert_eq!(
        (checked.code, checked.not_ok()),
        (1, vec!["gateway", "identify budget"]),
        "{checked:?}"
    );
    assert_eq!(root.discord.connections().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_context_file_and_a_missing_broker_are_named() {
    let mut root = Root::new(acme()).await;
    root.binding["context"]["files"] = json!(["gone.md"]);
    root.binding["tools"] = json!({ "roots": [] });
    // Alone in its folder, so that no broker stands beside it.
    let program = root.path("mosaic-discord");
    fs::copy(env!("CARGO_BIN_EXE_mosaic-discord"), &program).unwrap();

    let checked = root.check_with(&program).await;

    assert_eq!(
        (checked.code, checked.not_ok()),
        (2, vec!["broker", "context files"]),
        "{checked:?}"
    );
    assert!(checked.failed("context files").contains("gone.md"));
    assert!(checked.failed("broker").contains("mosaic-broker"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_misspelt_provider_has_no_key_and_the_row_names_file_and_field() {
    let mut root = Root::new(acme()).await;
    root.binding["engine"]["provider"] = json!("antropic");

    let checked = root.check().await;

    assert_eq!((checked.code, checked.not_ok()), (2, vec!["model"]));
    let detail = checked.failed("model");
    for word in [
        "pi/auth.json",
        "it has one for anthropic",
        "engine.provider",
    ] {
        assert!(detail.contains(word), "{detail}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_binding_is_exit_2_and_nothing_else_is_looked_at() {
    let mut root = Root::new(acme()).await;
    root.binding["limits"] = json!({ "turnsPerDay": 0 });

    let checked = root.check().await;

    assert_eq!((checked.code, checked.not_ok()), (2, vec!["binding"]));
    assert!(
        checked
            .failed("binding")
            .starts_with("limits.turnsPerDay is the number 0; accepted is")
    );
    assert_eq!(root.discord.requests(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn discord_out_of_reach_is_exit_1_because_it_may_pass() {
    let mut root = Root::new(acme()).await;
    // A port that was just free: nobody listens there any more.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    root.api = format!("http://{free}");

    let checked = root.check().await;

    assert_eq!(
        (checked.code, checked.not_ok()),
        (1, vec!["bot"]),
        "{checked:?}"
    );
}
