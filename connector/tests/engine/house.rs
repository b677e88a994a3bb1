//! A house for one engine: folders of its own, the stand-in model, the small broker, the real node, pi and extension.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use mosaic_connector::{
    engine::{
        Engine, EngineError, EngineEvent, EngineFolders, EngineSpec, Install, ModelChoice,
        RunLimits, RunOutcome, model_endpoint,
    },
    prompt::SystemPrompt,
};
use mosaic_sandbox::RequiredAbi;
use stand_ins::model::{Answer, MODEL, Model, PROVIDER};
use tempfile::TempDir;
use tokio::time::timeout;

use crate::broker::{Broker, POLICY, Verb};

/// How long anything may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Limits no run of a test reaches unless it means to.
pub(crate) const LIMITS: RunLimits = RunLimits {
    timeout: PATIENCE,
    grace: Duration::from_secs(10),
};

/// The tools of the house.
pub(crate) const TOOLS: &[(&str, &str)] = &[("list_dir", "ListDir"), ("read_file", "ReadFile")];

#[derive(Debug)]
pub(crate) struct House {
    pub(crate) folder: TempDir,
    pub(crate) model: Model,
    pub(crate) broker: Broker,
    pub(crate) spec: EngineSpec,
}

impl House {
    /// A house whose model plays `script` and whose broker answers by `verb`.
    pub(crate) async fn new(script: impl IntoIterator<Item = Answer>, verb: Verb) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("engine-")
            .tempdir()
            .unwrap();
        let root = folder.path().canonicalize().unwrap();
        let model = Model::answering(script).await.unwrap();
        let broker = Broker::listing(&root, TOOLS, verb);
        let folders = EngineFolders::below(&root.join("data"), root.join("sessions"));
        folders.create().unwrap();
        private_file(
            &folders.agent.join("models.json"),
            &model.models_json().to_string(),
        );
        let tree = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let spec = EngineSpec {
            binding: "desk".to_owned(),
            model: ModelChoice {
                provider: PROVIDER.to_owned(),
                model: MODEL.to_owned(),
                thinking: "off".to_owned(),
            },
            endpoint: model_endpoint(&folders.agent, PROVIDER, MODEL).unwrap(),
            folders,
            install: Install::find(Some(tree), None, tree).unwrap(),
            confine: confine(),
            tools_socket: Some(broker.socket.clone()),
            tools: TOOLS.iter().map(|(name, _)| (*name).to_owned()).collect(),
            policy_digest: POLICY.to_owned(),
            prompt: SystemPrompt::new(
                &[("seat.md".to_owned(), "You are careful.".to_owned())],
                "Sage",
                "One root.",
            ),
            required_abi: RequiredAbi::default(),
            sandbox: "a test".to_owned(),
            start_timeout: PATIENCE,
        };
        Self {
            folder,
            model,
            broker,
            spec,
        }
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(below)
    }

    pub(crate) async fn start(&self) -> Engine {
        self.try_start().await.unwrap()
    }

    pub(crate) async fn try_start(&self) -> Result<Engine, EngineError> {
        timeout(PATIENCE, Engine::start(self.spec.clone()))
            .await
            .expect("a start takes a second or two")
    }
}

/// Prompts and waits for the run's end.
pub(crate) async fn ask(engine: &mut Engine, text: &str) -> RunOutcome {
    engine.prompt(text, LIMITS).unwrap();
    ended(engine).await
}

/// The outcome of the run that is going on.
pub(crate) async fn ended(engine: &mut Engine) -> RunOutcome {
    match next(engine).await {
        EngineEvent::RunEnded(outcome) => outcome,
        other => panic!("the run ends first, not {other:?}"),
    }
}

pub(crate) async fn next(engine: &mut Engine) -> EngineEvent {
    timeout(PATIENCE, engine.next())
        .await
        .expect("something happens in time")
}

pub(crate) fn private_file(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// The launcher of this build.
fn confine() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.ancestors()
        .map(|folder| folder.join("confine"))
        .find(|confine| confine.is_file())
        .expect("confine is built beside the tests: cargo build --workspace --bins")
}
