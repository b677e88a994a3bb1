//! Closes the fence around the connector itself, before any thread exists. Below this line the process holds its data folder,
//! Discord's port, the control socket and the engine's program, and nothing else.

use std::path::PathBuf;

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
        install: install.root.clone(),
        node: install.node.clone(),
        confine,
        runtime_dir: runtime.folder().to_owned(),
        api_port,
        model_ports: vec![model.port],
    }
}

/// Enters the profile and proves it. The binding and the broker's own folder are among what must be out of reach.
///
/// # Errors
/// See [`ConfinementError`].
pub fn enter(reach: &ConnectorReach, paths: &Paths) -> Result<Report, ConfinementError> {
    let ground = Ground::lay(reach.runtime_dir.as_ref())?;
    let entered = profiles::connector(reach)
        .prepare(RequiredAbi::default())?
        .enter()?;
    let denied = [
        paths.binding_file(),
        paths.data().join("broker"),
        PathBuf::from("/etc/passwd"),
    ];
    let probes: Vec<Probe> = denied
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
