//! The engine: node with pi and the extension. The model's words steer it, so it is the narrowest: its own folders, the
//! model's port, the descriptors it was born with.

use std::path::PathBuf;

use super::{certificates, devices, loader, required, resolver_files, resolver_ports, tcp_ports};
use crate::call::{
    CORE, ENGINE_OWN, EVENTS, EXEC_ONCE, FILE_READ, FILE_WRITE, FOLDERS, NET_CLIENT, THREADS,
};
use crate::files::{READ, RUN, WORK};
use crate::profile::{ExecutableMemory, Profile};
use crate::refusal::{self, Sockets};

/// What the engine of one binding must reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineReach {
    /// The node program, the only one that runs.
    pub node: PathBuf,
    /// Files and folders that are read: pi's package, the extension, the prompt.
    pub read: Vec<PathBuf>,
    /// Folders that are worked in: the agent folder, the session folder, a temporary folder, the working directory.
    pub write: Vec<PathBuf>,
    /// TCP ports of the model provider.
    pub model_ports: Vec<u16>,
    /// Whether the provider is known by a name that must be resolved. False when it is a loopback address; then no datagram
    /// socket exists at all.
    pub resolves_names: bool,
}

/// The engine's table. It is entered by the launcher [`confine`](crate::confine), whose own exec of node is the last.
#[must_use]
pub fn engine(reach: &EngineReach) -> Profile {
    let mut profile = Profile::bare(
        "engine",
        "runs pi in node, under the words of whoever writes to the model",
    );
    profile
        .files
        .push(required(&reach.node, RUN, "the engine's program"));
    profile.files.extend(
        reach
            .read
            .iter()
            .map(|path| required(path, READ, "pi, the extension, the prompt")),
    );
    profile.files.extend(
        reach
            .write
            .iter()
            .map(|path| required(path, WORK, "a folder of the engine's own")),
    );
    profile.files.extend(loader());
    profile.files.extend(certificates());
    profile.files.extend(devices());
    let ports: Vec<_> = reach
        .model_ports
        .iter()
        .map(|port| (*port, "the model provider"))
        .collect();
    profile.ports = tcp_ports(&ports);
    if reach.resolves_names {
        profile.files.extend(resolver_files());
        profile.ports.extend(resolver_ports());
    }
    profile.executable_memory = ExecutableMemory::Needed;
    profile.groups.extend([
        CORE, THREADS, EVENTS, FILE_READ, FILE_WRITE, FOLDERS, NET_CLIENT, ENGINE_OWN, EXEC_ONCE,
    ]);
    profile.refusals.extend(refusal::never());
    profile.refusals.extend([
        refusal::unshare_always(),
        refusal::second_exec(),
        refusal::new_process(),
        refusal::foreign_limits(),
        refusal::process_controls(),
        refusal::device_controls(),
        refusal::set_id_modes(),
        refusal::socket_pairs(),
    ]);
    profile
        .refusals
        .extend(refusal::sockets(if reach.resolves_names {
            Sockets::TcpUdp
        } else {
            Sockets::Tcp
        }));
    profile.refusals.extend(refusal::fast_open());
    profile
}

#[cfg(test)]
pub(super) fn example() -> Profile {
    engine(&EngineReach {
        node: "/opt/mosaic/node/bin/node".into(),
        read: vec![
            "/opt/mosaic/pi".into(),
            "/data/discord/desk/launches/7".into(),
        ],
        write: vec!["/data/discord/desk/pi".into(), "/data/sessions/desk".into()],
        model_ports: vec![11434],
        resolves_names: false,
    })
}
