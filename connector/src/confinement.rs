//! Closes the fence around the connector itself, before any thread exists. Below this line the process holds its data folder,
//! Discord's port, the control socket and the engine's program, and nothing else.

use std::path::{Path, PathBuf};

use mosaic_sandbox::{
    RequiredAbi, SandboxError,
    profiles::{self, ConnectorReach},
    selftest::{self, Ground, Probe, Report},
};

use crate::{
    engine::{Install, ModelEndpoint},
    paths::{Paths, RuntimeDir},
};

/// Why the connector is not confined; it must not run then.
#[derive(Debug, thiserror::Error)]
pub enum ConfinementError {
    /// The kernel cannot do it, or a path of the profile is missing.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// Something the fence must deny was possible.
    #[error("The connector's fence does not hold; nothing was started.\n{0}")]
    Open(Box<Report>),
}

/// What the connector reaches, from where its things lie.
pub fn reach(
    paths: &Paths,
    runtime: &RuntimeDir,
    install: &Install,
    confine: PathBuf,
    api_port: u16,
    model: &ModelEndpoint,
) -> ConnectorReach {
    ConnectorReach {
        data: paths.data(),
        sessions: paths.sessions(),
        install: install.readable.clone(),
        node: install.node.clone(),
        confine,
        runtime_dir: runtime.folder().to_owned(),
        api_port,
        model_ports: vec![model.port],
    }
}

/// Enters the profile and proves it. `secrets` are files and folders that must be out of reach from here on, among them
/// the bot token; what does not exist proves nothing and is passed over.
///
/// # Errors
/// See [`ConfinementError`].
pub fn enter(
    reach: &ConnectorReach,
    required: RequiredAbi,
    secrets: &[&Path],
) -> Result<Report, ConfinementError> {
    let ground = Ground::lay(&reach.runtime_dir)?;
    let entered = profiles::connector(reach).prepare(required)?.enter()?;
    let probes: Vec<Probe> = secrets
        .iter()
        .filter(|path| path.symlink_metadata().is_ok())
        .map(|path| Probe::open_denied(path))
        .collect();
    let report = selftest::run(&entered, Some(&ground), &probes);
    if report.holds() {
        Ok(report)
    } else {
        Err(ConfinementError::Open(Box::new(report)))
    }
}
