//! The one command line pi is started with (`reference/pi-engine-1.6.md`, section 2). Each switch closes a door that was
//! measured open; the table says which.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    time::Duration,
};

use mosaic_sandbox::{RequiredAbi, launch_engine, profiles::EngineReach};

use super::{
    agent_folder::{EngineFolders, ModelEndpoint},
    install::Install,
    verify::Expected,
};
use crate::prompt::SystemPrompt;

/// What the extension reads to find its connection (DESIGN section 3).
const TOOLS_SETTING: &str = r#"{"version":1,"fd":3}"#;

/// Everything a start of the engine needs to know.
#[derive(Clone, Debug)]
pub struct EngineSpec {
    /// Name of the binding; it names the session that is continued.
    pub binding: String,
    /// The model the binding names.
    pub model: ModelChoice,
    /// Where it answers, from [`model_endpoint`](super::model_endpoint).
    pub endpoint: ModelEndpoint,
    /// Where the engine lives.
    pub folders: EngineFolders,
    /// Where pi is.
    pub install: Install,
    /// The launcher `confine`.
    pub confine: PathBuf,
    /// The broker's socket for the engine's one connection; `None` when the binding has no tools.
    pub tools_socket: Option<PathBuf>,
    /// The broker's list, from `Hello`. pi must show exactly these.
    pub tools: Vec<String>,
    /// The broker's policy digest, from `Hello`.
    pub policy_digest: String,
    /// What the model is told first.
    pub prompt: SystemPrompt,
    /// The kernel's fence the binding demands.
    pub required_abi: RequiredAbi,
    /// A line on the sandbox for the launch record.
    pub sandbox: String,
    /// How long pi may take until it is verified.
    pub start_timeout: Duration,
}

/// The binding's `engine` key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelChoice {
    /// pi's provider id.
    pub provider: String,
    /// The provider's model id.
    pub model: String,
    /// pi's thinking level.
    pub thinking: String,
}

/// Switches without a value. All stay even where two close the same door.
const SWITCHES: &[(&str, &str)] = &[
    (
        "--no-extensions",
        "user, package and settings extensions, and pi's built-in ones (MCP, codemode)",
    ),
    (
        "--no-skills",
        "skill text in the prompt, `/skill:` at the start of a message",
    ),
    (
        "--no-prompt-templates",
        "templates, expanded when a message begins with their name",
    ),
    ("--no-themes", "files of the agent folder nobody needs"),
    (
        "--no-context-files",
        "AGENTS and CLAUDE files of the agent folder and every parent of the working folder",
    ),
    ("--no-mcp", "commands of MCP servers, spawned"),
    (
        "--no-approve",
        "settings, packages and extensions of the working folder",
    ),
    (
        "--offline",
        "npm installs of packages in settings, requests to pi's makers",
    ),
];

/// Variables pi sees; nothing else of ours.
const VARIABLES: &[(&str, &str, &str)] = &[
    ("PI_OFFLINE", "1", "no request at start but the model's"),
    ("PI_TELEMETRY", "0", "no telemetry"),
    ("PI_SKIP_VERSION_CHECK", "1", "no version check"),
    (
        "HTTP_PROXY",
        "",
        "set and empty: `httpProxy` of settings cannot reroute the model's traffic",
    ),
    ("HTTPS_PROXY", "", "as above"),
    (
        "NODE_DISABLE_COMPILE_CACHE",
        "1",
        "no code is kept in TMPDIR",
    ),
    (
        "JITI_FS_CACHE",
        "false",
        "no sources are kept in TMPDIR, from where an edited one would run",
    ),
];

impl EngineSpec {
    /// The whole command: the launcher, the fence it enters, and pi inside it.
    pub(super) fn command(&self, prompt: &Path) -> Vec<OsString> {
        launch_engine(
            &self.confine,
            &self.reach(prompt),
            self.required_abi,
            self.connection(),
            &self.arguments(prompt),
        )
    }

    /// The socket the engine is born connected to. Without a listed tool there is nothing to connect for.
    fn connection(&self) -> Option<&Path> {
        self.tools_socket
            .as_deref()
            .filter(|_| !self.tools.is_empty())
    }

    /// pi's arguments after its program, with the system prompt in `prompt`.
    pub(super) fn arguments(&self, prompt: &Path) -> Vec<OsString> {
        let mut line: Vec<OsString> = Vec::new();
        let mut add = |words: &[&OsStr]| line.extend(words.iter().map(|&word| word.to_owned()));
        add(&[self.install.cli.as_os_str()]);
        for (option, value) in [
            ("--mode", OsStr::new("rpc")),
            ("--provider", OsStr::new(&self.model.provider)),
            ("--model", OsStr::new(&self.model.model)),
            ("--thinking", OsStr::new(&self.model.thinking)),
            ("--session-dir", self.folders.sessions.as_os_str()),
            ("--session-id", OsStr::new(&self.session())),
            ("--system-prompt", prompt.as_os_str()),
            // Empty, and there: otherwise a file of the agent folder is appended.
            ("--append-system-prompt", OsStr::new("")),
        ] {
            add(&[OsStr::new(option), value]);
        }
        if self.connection().is_some() {
            add(&[
                OsStr::new("--extension"),
                self.install.extension.as_os_str(),
            ]);
            add(&["--no-builtin-tools", "--tools", &self.tools.join(",")].map(OsStr::new));
        } else {
            add(&[OsStr::new("--no-tools")]);
        }
        for (switch, _why) in SWITCHES {
            add(&[OsStr::new(switch)]);
        }
        line
    }

    /// pi's whole environment.
    pub(super) fn environment(&self) -> Vec<(&'static str, OsString)> {
        let mut environment: Vec<(&'static str, OsString)> = VARIABLES
            .iter()
            .map(|&(name, value, _why)| (name, value.into()))
            .collect();
        environment.push(("HOME", self.folders.home().into()));
        environment.push(("TMPDIR", self.folders.tmp().into()));
        environment.push(("PI_CODING_AGENT_DIR", self.folders.agent.clone().into()));
        if self.connection().is_some() {
            environment.push(("MOSAIC_DISCORD_TOOLS", TOOLS_SETTING.into()));
        }
        environment
    }

    /// What the engine's fence leaves open.
    pub(super) fn reach(&self, prompt: &Path) -> EngineReach {
        let mut read = self.install.readable.clone();
        read.extend([prompt.to_owned(), self.folders.work(), self.folders.home()]);
        EngineReach {
            node: self.install.node.clone(),
            read,
            write: vec![
                self.folders.agent.clone(),
                self.folders.sessions.clone(),
                self.folders.tmp(),
            ],
            model_ports: vec![self.endpoint.port],
            resolves_names: self.endpoint.named,
        }
    }

    /// What pi is compared with once it runs.
    pub(super) fn expected(&self) -> Expected {
        Expected {
            provider: self.model.provider.clone(),
            model: self.model.model.clone(),
            thinking: self.model.thinking.clone(),
            tools: self.tools.clone(),
            policy_digest: self.policy_digest.clone(),
        }
    }

    fn session(&self) -> String {
        format!("discord-{}", self.binding)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::engine::install::Version;

    /// A spec that names everything and needs nothing to exist.
    pub(in crate::engine) fn spec() -> EngineSpec {
        EngineSpec {
            binding: "desk".to_owned(),
            model: ModelChoice {
                provider: "acme".to_owned(),
                model: "m-1".to_owned(),
                thinking: "off".to_owned(),
            },
            endpoint: ModelEndpoint {
                port: 443,
                named: true,
            },
            folders: EngineFolders::below(
                Path::new("/data/discord/desk"),
                "/data/sessions/discord-desk".into(),
            ),
            install: Install {
                root: "/opt".into(),
                node: "/opt/node".into(),
                node_version: Version(24, 22, 3),
                cli: "/opt/pi/dist/bundle/cli.js".into(),
                pi_version: Version(1, 6, 0),
                extension: "/opt/extension/tools.mjs".into(),
                readable: vec!["/opt/pi".into(), "/opt/extension".into()],
            },
            confine: "/opt/confine".into(),
            tools_socket: Some("/run/tools.sock".into()),
            tools: vec!["list_dir".to_owned(), "read_file".to_owned()],
            policy_digest: "d1".to_owned(),
            prompt: SystemPrompt::new(&[], "Sage", "One root."),
            required_abi: RequiredAbi::default(),
            sandbox: "landlock 7, 12 of 12 denied".to_owned(),
            start_timeout: Duration::from_secs(30),
        }
    }

    /// The arguments, one option with its value a line.
    fn line(spec: &EngineSpec) -> String {
        spec.arguments(Path::new("/data/prompt.md"))
            .iter()
            .map(|word| word.to_str().unwrap())
            .map(|word| {
                if word.starts_with("--") {
                    format!("\n{word}")
                } else {
                    format!(" {word:?}")
                }
            })
            .collect()
    }

    #[test]
    fn the_line_with_tools_is_the_measured_one() {
        insta::assert_snapshot!(line(&spec()));
    }

    #[test]
    fn without_tools_pi_gets_no_tools_and_no_extension() {
        let none_listed = EngineSpec {
            tools: vec![],
            ..spec()
        };
        let no_broker = EngineSpec {
            tools_socket: None,
            tools: vec![],
            ..spec()
        };
        for spec in [none_listed, no_broker] {
            let words = spec.arguments(Path::new("/p"));

            assert!(words.iter().any(|word| word == "--no-tools"));
            for word in ["--tools", "--extension", "--no-builtin-tools"] {
                assert!(!words.iter().any(|given| given == word), "{word}");
            }
        }
    }

    #[test]
    fn the_environment_is_the_table_and_the_folders() {
        let names: Vec<_> = spec()
            .environment()
            .into_iter()
            .map(|(name, _)| name)
            .collect();

        assert_eq!(
            names,
            [
                "PI_OFFLINE",
                "PI_TELEMETRY",
                "PI_SKIP_VERSION_CHECK",
                "HTTP_PROXY",
                "HTTPS_PROXY",
                "NODE_DISABLE_COMPILE_CACHE",
                "JITI_FS_CACHE",
                "HOME",
                "TMPDIR",
                "PI_CODING_AGENT_DIR",
                "MOSAIC_DISCORD_TOOLS",
            ]
        );
    }

    #[test]
    fn the_engine_writes_where_pi_must_and_not_where_it_stands() {
        let spec = spec();

        let reach = spec.reach(Path::new("/data/prompt.md"));

        assert_eq!(
            reach.write,
            [
                spec.folders.agent.clone(),
                spec.folders.sessions.clone(),
                spec.folders.tmp()
            ]
        );
        assert!(reach.read.contains(&spec.folders.work()));
    }
}
