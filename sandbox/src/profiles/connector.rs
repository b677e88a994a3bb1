//! The connector: it talks to Discord, keeps its journals and starts the engine. It has no root, no git or record secret and
//! not the broker's state.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{certificates, devices, loader, required, resolver_files, resolver_ports, tcp_ports};
use crate::call::{
    CHILDREN, CORE, ENGINE_OWN, EVENTS, FILE_READ, FILE_WRITE, FOLDERS, NARROWING, NET_CLIENT,
    THREADS,
};
use crate::files::{CONNECT, FileRow, Place, Presence, READ, REMOVE_EMPTY, RUN, WORK};
use crate::profile::Profile;
use crate::refusal::{self, Sockets};

/// The broker's folder within the data folder of a binding (DESIGN section 8).
const BROKER_STATE: &str = "broker";

/// What the connector of one binding must reach, its engine included: a child's fence only narrows the parent's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectorReach {
    /// `<dataRoot>/discord/<binding>`. What lies in it when the fence is built is granted, entry by entry, except `broker`:
    /// create journals and folders before. A new name directly in this folder cannot be made later; within its folders it
    /// can. Empty folders directly in it can be removed, for the ownership folder `run.lock`.
    pub data: PathBuf,
    /// The folder of pi's sessions.
    pub sessions: PathBuf,
    /// Folders of pi and the extension, which the engine reads; nothing of the tree around them.
    pub install: Vec<PathBuf>,
    /// The node program.
    pub node: PathBuf,
    /// The launcher [`confine`](crate::confine).
    pub confine: PathBuf,
    /// The folder of `control.sock`. Connecting is all that is done there.
    pub runtime_dir: PathBuf,
    /// TCP port of Discord: 443, or the stand-in's.
    pub api_port: u16,
    /// TCP ports of the model provider, for the engine.
    pub model_ports: Vec<u16>,
}

/// The connector's table. The bot token and the binding are read before the fence is entered; an edited binding comes by hand
/// into a folder of `data`, since a rule on the file dies with the file and one on its folder opens too much. Below Landlock
/// ABI 9 the kernel does not look at connections to pathname sockets, so this process, which needs one, could reach any that
/// file modes allow; the engine, which makes none, cannot.
#[must_use]
pub fn connector(reach: &ConnectorReach) -> Profile {
    let mut profile = Profile::bare(
        "connector",
        "speaks with Discord, keeps the journals, starts and watches the engine",
    );
    let mut except: Vec<OsString> = vec![BROKER_STATE.into()];
    if reach.runtime_dir.parent() == Some(&reach.data) {
        except.extend(reach.runtime_dir.file_name().map(Into::into));
    }
    profile.files.extend([
        FileRow {
            place: Place::EntriesOf {
                folder: reach.data.clone(),
                except,
            },
            grant: WORK,
            presence: Presence::Required,
            why: "journals, records and the agent folder; the broker's ledger is not among them",
        },
        required(
            &reach.data,
            REMOVE_EMPTY,
            "the ownership folder run.lock is let go at the end",
        ),
        required(&reach.sessions, WORK, "pi's sessions"),
        required(&reach.runtime_dir, CONNECT, "the broker's control socket"),
        required(&reach.confine, RUN, "the launcher"),
        required(&reach.node, RUN, "the engine's program"),
    ]);
    let installed = reach.install.iter();
    profile.files.extend(
        installed.map(|folder| required(folder, READ, "pi and the extension, for the engine")),
    );
    profile.files.extend(loader());
    profile.files.extend(certificates());
    profile.files.extend(resolver_files());
    profile.files.extend(devices());
    let mut ports = vec![(reach.api_port, "Discord")];
    ports.extend(
        reach
            .model_ports
            .iter()
            .map(|port| (*port, "the model provider, for the engine")),
    );
    profile.ports = tcp_ports(&ports);
    profile.ports.extend(resolver_ports());
    profile.groups.extend([
        CORE, THREADS, EVENTS, FILE_READ, FILE_WRITE, FOLDERS, NET_CLIENT, CHILDREN, NARROWING,
        ENGINE_OWN,
    ]);
    profile.refusals.extend(refusal::never());
    profile.refusals.extend([
        refusal::unshare_anything(),
        refusal::new_namespace(),
        refusal::foreign_limits(),
        refusal::process_controls_of_a_launcher(),
        refusal::device_controls(),
        refusal::set_id_modes(),
        refusal::socket_pairs(),
    ]);
    profile
        .refusals
        .extend(refusal::sockets(Sockets::TcpUdpUnix));
    profile.refusals.extend(refusal::fast_open());
    profile
}

#[cfg(test)]
pub(super) fn example() -> Profile {
    connector(&ConnectorReach {
        data: "/data/discord/desk".into(),
        sessions: "/data/sessions/desk".into(),
        install: vec!["/opt/mosaic/pi".into(), "/opt/mosaic/extension".into()],
        node: "/opt/mosaic/node/bin/node".into(),
        confine: "/opt/mosaic/bin/confine".into(),
        runtime_dir: "/run/user/1000/mosaic-discord/desk".into(),
        api_port: 443,
        model_ports: vec![443, 11434],
    })
}
