//! The house itself: what lies where, and the two services in it.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};
use stand_ins::{
    discord::{Discord, Happening, Onlooker},
    model::{MODEL, Model, PROVIDER},
    openapi::Oracle,
};
use tempfile::TempDir;

use crate::{
    discretion::Discretion,
    program::{Log, Notify, Program, Programs},
};

/// The binding's name.
pub const BINDING: &str = "sage";
/// How long anything may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// What stands in the file outside the roots, which nobody may ever read.
pub const SECRET_TEXT: &str = "outside-the-roots-7f3a";

/// What the house is built with.
#[derive(Debug, Clone)]
pub struct Layout {
    /// The `tools` key; `None` leaves it out. `VAULT` and `DOCS` in it stand for the folders of the house.
    pub tools: Option<Value>,
    /// Further keys of the binding's `limits`.
    pub limits: Value,
    /// The folder with pi and the extension, when it is not the tree this was built from.
    pub install: Option<PathBuf>,
}

impl Default for Layout {
    fn default() -> Self {
        let roots = json!([
            { "name": "docs", "path": "DOCS" },
            { "name": "vault", "path": "VAULT", "write": true },
        ]);
        Self {
            tools: Some(json!({ "roots": roots, "maxCallsPerTurn": 8 })),
            limits: json!({}),
            install: None,
        }
    }
}

/// A data root with a binding, and the services that run on it.
#[derive(Debug)]
pub struct House {
    folder: TempDir,
    programs: Programs,
    install: PathBuf,
    api: String,
    notify: Notify,
    onlooker: Onlooker,
    discretion: Discretion,
    /// What every program of this house has said.
    logs: Mutex<Vec<Log>>,
    /// Gateway sessions that connectors of this house have begun.
    sessions: usize,
    /// The broker, while it runs.
    pub broker: Option<Program>,
    /// The connector, while it runs.
    pub connector: Option<Program>,
}

/// A Discord with two channels, three people of whom two are listed, and a model that plays this script.
///
/// # Panics
/// When no loopback port is to be had.
pub async fn start_stand_ins(
    model: impl Future<Output = std::io::Result<Model>>,
) -> (Discord, Model) {
    let discord = Discord::guild("Acme")
        .channel("ideas")
        .channel("quiet")
        .user("Jason")
        .user("Carmen")
        .user("Mallory")
        .identify_every(Duration::ZERO)
        .start()
        .await;
    (discord, model.await.expect("a loopback port"))
}

impl House {
    /// Lays everything out for these stand-ins; nothing runs yet.
    ///
    /// # Panics
    /// When the disk does not take it.
    #[must_use]
    pub fn build(discord: &Discord, model: &Model, layout: &Layout) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("house-")
            .tempdir()
            .expect("a temporary folder");
        let tree = Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .nth(2)
            .expect("the tree above this crate");
        let notify = Notify::bind(folder.path().join("notify.sock"));
        let house = Self {
            install: layout.install.clone().unwrap_or_else(|| tree.to_owned()),
            programs: Programs::of_this_build(),
            api: discord.base_url(),
            notify,
            onlooker: discord.onlooker(),
            discretion: Discretion::new(secrets(discord, model), discord.onlooker()),
            logs: Mutex::default(),
            sessions: 0,
            folder,
            broker: None,
            connector: None,
        };
        house.furnish(discord, model, layout);
        house
    }

    fn furnish(&self, discord: &Discord, model: &Model, layout: &Layout) {
        for folder in [
            "data",
            "data/discord",
            "data/discord/sage",
            "data/discord/sage/pi",
            "secrets",
            "run",
            "home",
        ] {
            private_folder(&self.path(folder));
        }
        for folder in ["docs", "vault", "vault/notes", "repo", "outside"] {
            fs::create_dir(self.path(folder)).expect("a fresh folder");
        }
        fs::write(
            self.path("docs/plan.md"),
            "# Plan\n\nShip the connector in December.\n",
        )
        .expect("a file");
        fs::write(self.path("vault/names.md"), "- Aurora\n- Mosaic\n").expect("a file");
        fs::write(self.path("outside/secret.txt"), SECRET_TEXT).expect("a file");
        fs::write(
            self.path("repo/sage.md"),
            "You are Sage, the strategy seat.\n",
        )
        .expect("a file");
        private_file(&self.path("secrets/bot.token"), &discord.token());
        private_file(
            &self.path("data/discord/sage/pi/models.json"),
            &model.models_json().to_string(),
        );
        self.write_binding(&self.binding(discord, layout));
    }

    /// The binding as it is written at first.
    ///
    /// # Panics
    /// When the stand-in lacks the people the house is built for.
    #[must_use]
    pub fn binding(&self, discord: &Discord, layout: &Layout) -> Value {
        let id = |id: stand_ins::discord::Snowflake| id.to_string();
        let mut binding = json!({
            "bindingVersion": 1,
            "name": BINDING,
            "seat": "sage",
            "guildId": id(discord.guild_id()),
            "guildName": "Acme",
            "botUserId": id(discord.bot_id()),
            "tokenFile": self.path("secrets/bot.token"),
            "channels": [
                { "id": id(discord.channel_id("ideas")), "name": "ideas", "mode": "open" },
                { "id": id(discord.channel_id("quiet")), "name": "quiet", "mode": "mention" },
            ],
            "users": [
                { "id": id(discord.user_id("Jason")), "name": "Jason" },
                { "id": id(discord.user_id("Carmen")), "name": "Carmen" },
            ],
            "engine": { "provider": PROVIDER, "model": MODEL, "thinking": "off" },
            "limits": layout.limits,
            "context": { "files": ["sage.md"] },
        });
        if let Some(tools) = &layout.tools {
            let text = tools.to_string();
            let text = text.replace("\"VAULT\"", &json!(self.path("vault")).to_string());
            let text = text.replace("\"DOCS\"", &json!(self.path("docs")).to_string());
            binding["tools"] = serde_json::from_str(&text).expect("still JSON");
        }
        binding
    }

    /// Puts a binding in place, 0600.
    ///
    /// # Panics
    /// When the disk does not take it.
    pub fn write_binding(&self, binding: &Value) {
        let text = serde_json::to_string_pretty(binding).expect("a value prints");
        private_file(&self.path("data/discord/sage.json"), &text);
    }

    /// Replaces the binding the way an editor does: a new file, renamed over the old one.
    ///
    /// # Panics
    /// When the disk does not take it.
    pub fn replace_binding(&self, binding: &Value) {
        let new = self.path("data/discord/.sage.json.new");
        // Laid out as the first one was: another layout of `tools` is another `tools` to both programs.
        let text = serde_json::to_string_pretty(binding).expect("a value prints");
        private_file(&new, &text);
        fs::rename(new, self.path("data/discord/sage.json")).expect("a rename");
    }

    /// The folder with pi and the extension.
    #[must_use]
    pub fn install(&self) -> &Path {
        &self.install
    }

    /// A path of the house.
    #[must_use]
    pub fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    /// A path of the binding's data folder.
    #[must_use]
    pub fn data(&self, below: &str) -> PathBuf {
        self.path("data/discord/sage").join(below)
    }

    /// A file of the house as text.
    ///
    /// # Panics
    /// When it is not there.
    #[must_use]
    pub fn read(&self, below: &str) -> String {
        fs::read_to_string(self.path(below)).unwrap_or_else(|error| panic!("{below}: {error}"))
    }

    /// The lines of a journal of the binding; none when it is not there.
    ///
    /// # Panics
    /// When a line does not parse.
    #[must_use]
    pub fn journal(&self, name: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.data(name)).unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).expect("a journal holds JSON lines"))
            .collect()
    }

    /// The record of a message's turn; nothing when it is not written.
    ///
    /// # Panics
    /// When it does not parse.
    #[must_use]
    pub fn record(&self, message: impl std::fmt::Display) -> Option<Value> {
        let text = fs::read_to_string(self.data(&format!("turns/{message}.json"))).ok()?;
        Some(serde_json::from_str(&text).expect("a record is JSON"))
    }

    /// The record of a message's turn, as soon as it is written.
    ///
    /// # Panics
    /// When it is not written in time.
    pub async fn wait_for_record(&self, message: impl std::fmt::Display) -> Value {
        let give_up = tokio::time::Instant::now() + PATIENCE;
        loop {
            if let Some(record) = self.record(&message) {
                return record;
            }
            assert!(
                tokio::time::Instant::now() < give_up,
                "no record of {message}:\n{}",
                self.connector_said()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn arguments<'a>(&self, command: &'a str, own: &[&'a str]) -> Vec<String> {
        let folder = |name: &str| self.path(name).display().to_string();
        let mut line: Vec<String> = vec![command.into(), BINDING.into()];
        line.extend(own.iter().map(ToString::to_string));
        line.extend([
            "--data-root".into(),
            folder("data"),
            "--runtime-dir".into(),
            folder("run"),
        ]);
        line
    }

    /// A command of the broker, run to its end: exit code and everything it said.
    pub async fn broker_says(&self, words: &[&str]) -> (Option<i32>, String) {
        let (command, own) = words.split_at(
            words
                .iter()
                .position(|word| word.starts_with('-'))
                .unwrap_or(words.len()),
        );
        let mut line: Vec<String> = command.iter().map(ToString::to_string).collect();
        line.push(BINDING.into());
        line.extend(own.iter().map(ToString::to_string));
        line.extend([
            "--data-root".into(),
            self.path("data").display().to_string(),
        ]);
        self.finish("mosaic-broker", &line).await
    }

    /// A command of the connector, run to its end: exit code and everything it said.
    pub async fn connector_says(&self, command: &str, own: &[&str]) -> (Option<i32>, String) {
        self.finish("mosaic-discord", &self.arguments(command, own))
            .await
    }

    /// A command of the connector that reads what is on record, run to its end: exit code and everything it said. The binding
    /// stands between the words of the command and the rest.
    pub async fn record_says(&self, command: &str, own: &[&str]) -> (Option<i32>, String) {
        let mut line: Vec<String> = command.split(' ').map(str::to_owned).collect();
        line.push(BINDING.into());
        line.extend(own.iter().map(ToString::to_string));
        line.extend([
            "--data-root".into(),
            self.path("data").display().to_string(),
        ]);
        self.finish("mosaic-discord", &line).await
    }

    async fn finish(&self, program: &str, line: &[String]) -> (Option<i32>, String) {
        let words: Vec<&str> = line.iter().map(String::as_str).collect();
        let home = self.path("home").display().to_string();
        let mut program = Program::start(
            &self.programs.path(program),
            &words,
            &[("HOME", &home), ("MOSAIC_DISCORD_API", &self.api)],
        );
        self.hear(&program);
        let status = program.ended(PATIENCE).await;
        (status.code(), program.said())
    }

    /// Starts the broker and waits until it is ready.
    ///
    /// # Panics
    /// When it does not become ready, with what it said.
    pub async fn start_broker(&mut self) {
        let line = self.arguments("run", &[]);
        let words: Vec<&str> = line.iter().map(String::as_str).collect();
        let home = self.path("home").display().to_string();
        let environment = [
            ("HOME", home.as_str()),
            ("NOTIFY_SOCKET", self.notify.path()),
        ];
        let mut broker = Program::start(&self.programs.path("mosaic-broker"), &words, &environment);
        self.hear(&broker);
        let ready = tokio::select! {
            ready = self.notify.ready(PATIENCE) => ready,
            // One that refuses to start says why; nobody has to wait for it.
            _ = broker.ended(PATIENCE) => false,
        };
        assert!(
            ready,
            "the broker is not ready. It said:\n{}",
            broker.said()
        );
        self.broker = Some(broker);
    }

    /// Starts the connector; whoever starts it waits for what they need of it.
    pub fn start_connector(&mut self, environment: &[(&str, &str)]) {
        let install = self.install.display().to_string();
        let repo = self.path("repo").display().to_string();
        let line = self.arguments(
            "run",
            &["--supervised", "--install-dir", &install, "--repo", &repo],
        );
        let words: Vec<&str> = line.iter().map(String::as_str).collect();
        let home = self.path("home").display().to_string();
        let mut all = vec![
            ("HOME", home.as_str()),
            ("MOSAIC_DISCORD_API", self.api.as_str()),
        ];
        all.extend_from_slice(environment);
        let connector = Program::start(&self.programs.path("mosaic-discord"), &words, &all);
        self.hear(&connector);
        self.connector = Some(connector);
    }

    fn hear(&self, program: &Program) {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        logs.push(program.log());
    }

    /// Starts both and waits for the gateway session.
    ///
    /// # Panics
    /// When there is none in time, with what the two said.
    pub async fn open(&mut self, discord: &Discord) {
        self.start_broker().await;
        self.start_connector(&[]);
        self.wait_for_session(discord).await;
    }

    /// Waits until the connector's session is up, or fails with what it said. A session of an earlier connector, which the
    /// stand-in may not have seen end yet, does not count.
    ///
    /// # Panics
    /// When the connector ends or takes too long.
    pub async fn wait_for_session(&mut self, discord: &Discord) {
        let connector = self.connector.as_mut().expect("the connector was started");
        let earlier = self.sessions;
        let fresh = discord.wait_for("a session of this connector", PATIENCE, |world| {
            let begun = |happening: &&Happening| matches!(happening, Happening::Identified { .. });
            let sessions = world.happenings().iter().filter(begun).count();
            (sessions > earlier).then_some(sessions)
        });
        tokio::select! {
            sessions = fresh => self.sessions = sessions,
            status = connector.ended(PATIENCE) => {
                panic!("the connector ended with {status}. It said:\n{}", connector.said())
            }
        }
    }

    /// What the connector has said so far.
    #[must_use]
    pub fn connector_said(&self) -> String {
        self.connector
            .as_ref()
            .map(Program::said)
            .unwrap_or_default()
    }

    /// What the broker has said so far.
    #[must_use]
    pub fn broker_said(&self) -> String {
        self.broker.as_ref().map(Program::said).unwrap_or_default()
    }

    /// Stops both, the connector first, and expects that both end well.
    ///
    /// # Panics
    /// When one does not end, or not with exit 0.
    pub async fn close(&mut self) {
        for program in [&mut self.connector, &mut self.broker]
            .into_iter()
            .flatten()
        {
            let status = program.stop(PATIENCE).await;
            assert!(
                status.success(),
                "it ended with {status}. It said:\n{}",
                program.said()
            );
        }
        (self.connector, self.broker) = (None, None);
    }
}

/// However the story ends: its logs and journals were discreet, and every exchange with Discord is as published.
impl Drop for House {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        let logs: Vec<String> = logs.iter().map(Log::text).collect();
        let breaches = self
            .discretion
            .breaches(&self.path("data/discord/sage"), &logs);
        assert!(breaches.is_empty(), "{}", breaches.join("\n"));

        let oracle = Oracle::published();
        let exchanges = self.onlooker.exchanges();
        let objections: Vec<String> = exchanges
            .iter()
            .flat_map(|exchange| oracle.objections(exchange))
            .collect();
        assert!(objections.is_empty(), "{}", objections.join("\n"));
    }
}

/// What lies in the house and may stand in no log: the bot's token, the provider's key, the file outside the roots.
fn secrets(discord: &Discord, model: &Model) -> Vec<String> {
    let keys = model.models_json()["providers"].clone();
    let keys = keys.as_object().cloned().unwrap_or_default();
    let keys = keys
        .values()
        .filter_map(|provider| provider["apiKey"].as_str())
        .map(str::to_owned);
    let mut secrets = vec![discord.token(), SECRET_TEXT.to_owned()];
    secrets.extend(keys);
    assert_eq!(secrets.len(), 3, "the provider's key is among them");
    secrets
}

fn private_folder(path: &Path) {
    fs::create_dir(path).expect("a fresh folder");
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).expect("a mode can be set");
}

fn private_file(path: &Path, text: &str) {
    fs::write(path, text).expect("a file can be written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("a mode can be set");
}
