//! The way into the fence, for `run` and `selftest` alike: rules built, entered, and tried from inside.

use std::path::{Path, PathBuf};

use mosaic_proto::v1;
use mosaic_sandbox::{
    Fence, RequiredAbi,
    profiles::{self, BrokerReach},
    selftest::{self, Ground, Probe, Report},
};

use super::{Code, Place, Stop};
use crate::{
    policy::{Policy, RootPolicy},
    private::Folder,
};

/// False in the one binary that `make bench` measures the fence against; see `unconfined-for-bench` in `Cargo.toml`.
const FENCED: bool = !cfg!(feature = "unconfined-for-bench");

/// A fence that is built and not yet entered. Until then every path is in reach.
pub(crate) struct Prepared {
    fence: Fence,
    required: RequiredAbi,
    ground: Ground,
    probes: Vec<Probe>,
}

/// A process inside its fence, with the proof.
#[derive(Debug)]
pub(crate) struct Confined {
    /// Landlock ABI the rules were built for.
    pub(crate) abi: u32,
    /// ABI the binding demands.
    pub(crate) required: RequiredAbi,
    /// What was tried and what the kernel answered.
    pub(crate) report: Report,
}

/// The requirement of a binding, as the sandbox takes it.
pub(crate) fn required_abi(policy: &Policy) -> Result<RequiredAbi, Stop> {
    RequiredAbi::at_least(policy.required_abi()).map_err(|error| Stop::new(Code::Invalid, error))
}

/// Builds the fence of the broker: the roots, its state, and nothing else. `runtime` is where the sockets go, which the
/// broker cannot touch once it is inside; a few files of the self-test are laid there.
pub(crate) fn prepare(
    policy: &Policy,
    place: &Place,
    state: &Folder,
    runtime: &Folder,
) -> Result<Prepared, Stop> {
    let required = required_abi(policy)?;
    let fence = profiles::broker(&reach(policy, state.path()))
        .prepare(required)
        .map_err(invalid)?;
    let ground = Ground::lay(runtime.path()).map_err(invalid)?;
    let mut probes = vec![
        Probe::open_denied(Path::new("/etc/passwd")),
        Probe::create_denied(runtime.path()),
    ];
    // Everything of the binding beside the ledger belongs to the connector: its journals, its records, the engine's folder.
    probes.extend(state.path().parent().map(Probe::create_denied));
    if place.config.starts_with(&place.data_root) {
        probes.push(Probe::open_denied(&place.config));
    }
    probes.extend(
        policy
            .roots()
            .iter()
            .map(|root| Probe::open_works(root.path())),
    );
    let read_only = policy.roots().iter().filter(|root| !root.writable());
    probes.extend(read_only.map(|root| Probe::create_denied(root.path())));
    Ok(Prepared {
        fence,
        required,
        ground,
        probes,
    })
}

impl Prepared {
    /// Enters the fence and tries it. From here on the process reaches its roots and its state.
    pub(crate) fn enter(self) -> Result<Confined, Stop> {
        if !FENCED {
            let (required, report) = (self.required, Report::untried("broker"));
            return Ok(Confined {
                abi: 0,
                required,
                report,
            });
        }
        let entered = self.fence.enter().map_err(invalid)?;
        let report = selftest::run(&entered, Some(&self.ground), &self.probes);
        Ok(Confined {
            abi: entered.abi(),
            required: self.required,
            report,
        })
    }
}

impl Confined {
    /// Refuses to go on unless every attempt ended as it must.
    pub(crate) fn demand(&self) -> Result<(), Stop> {
        if self.report.holds() || !FENCED {
            return Ok(());
        }
        let broken: Vec<_> = self
            .report
            .broken()
            .map(|row| format!("{}: {}", row.attempt, row.answer))
            .collect();
        let why = format!(
            "the self-test failed, so nothing is served ({}). Run `mosaic-broker selftest` for the whole table.",
            broken.join("; ")
        );
        Err(Stop::new(Code::Invalid, why))
    }

    /// What `Hello` and `Status` say of it.
    pub(crate) fn message(&self) -> v1::Confinement {
        v1::Confinement {
            landlock_abi: self.abi,
            required_abi: self.required.get(),
            denied: count(self.report.denied()),
            attempts: count(self.report.attempts()),
        }
    }
}

/// What the broker of a binding must reach: its roots and its state, nothing else.
pub(crate) fn reach(policy: &Policy, state: &Path) -> BrokerReach {
    let paths = |writable: bool| -> Vec<PathBuf> {
        let roots = policy
            .roots()
            .iter()
            .filter(|root| root.writable() == writable);
        roots.map(RootPolicy::path).map(Path::to_owned).collect()
    };
    BrokerReach {
        read_roots: paths(false),
        write_roots: paths(true),
        state: state.to_owned(),
    }
}

fn count(rows: usize) -> u32 {
    u32::try_from(rows).unwrap_or(u32::MAX)
}

fn invalid(error: impl std::error::Error) -> Stop {
    let mut sentence = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        sentence = format!("{sentence}: {cause}");
        source = cause.source();
    }
    Stop::new(Code::Invalid, sentence)
}
