//! The profiles, one file each: a function from what the process must reach to its table. Rows that several profiles share
//! stand here. A new kind of child is a new file.

mod broker;
mod connector;
mod engine;

use std::path::PathBuf;

use crate::files::{FileRow, Grant, Place, Presence, READ, READ_BY_NAME, RUN, USE};
use crate::ports::{PortRow, Way};

pub use broker::{BrokerReach, broker};
pub use connector::{ConnectorReach, connector};
pub use engine::{EngineReach, engine};

fn required(path: impl Into<PathBuf>, grant: Grant, why: &'static str) -> FileRow {
    FileRow {
        place: Place::Path(path.into()),
        grant,
        presence: Presence::Required,
        why,
    }
}

fn if_there(path: &str, grant: Grant, why: &'static str) -> FileRow {
    FileRow {
        place: Place::Path(path.into()),
        grant,
        presence: Presence::IfThere,
        why,
    }
}

/// What the dynamic loader needs to start a program. Libraries are only read: the kernel asks for the execute right at
/// `execve`, which opens the program and the loader.
fn loader() -> Vec<FileRow> {
    #[cfg(target_arch = "x86_64")]
    const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
    #[cfg(target_arch = "aarch64")]
    const LOADER: &str = "/lib/ld-linux-aarch64.so.1";
    vec![
        if_there(LOADER, RUN, "the loader of programs"),
        if_there("/lib", READ_BY_NAME, "shared libraries"),
        if_there("/lib64", READ_BY_NAME, "shared libraries"),
        if_there("/usr/lib", READ_BY_NAME, "shared libraries"),
        if_there("/usr/lib64", READ_BY_NAME, "shared libraries"),
        if_there(
            "/etc/ld.so.cache",
            READ_BY_NAME,
            "where the loader finds libraries",
        ),
    ]
}

/// Devices every node process opens.
fn devices() -> Vec<FileRow> {
    vec![
        if_there("/dev/null", USE, "a place for output nobody reads"),
        if_there(
            "/dev/urandom",
            READ_BY_NAME,
            "randomness for libraries that do not ask the kernel directly",
        ),
    ]
}

/// Certificates and the settings of OpenSSL; node ends at once when it finds settings it may not read.
fn certificates() -> Vec<FileRow> {
    const WHY: &str = "public certificates, to know the server by";
    vec![
        if_there(
            "/etc/ssl/openssl.cnf",
            READ_BY_NAME,
            "node ends at once when it may not read this",
        ),
        if_there("/etc/ssl/certs", READ, WHY),
        if_there("/etc/ssl/cert.pem", READ_BY_NAME, WHY),
        if_there("/usr/share/ca-certificates", READ, WHY),
        if_there("/usr/local/share/ca-certificates", READ, WHY),
        if_there("/etc/pki/tls", READ, WHY),
        if_there("/etc/pki/ca-trust/extracted", READ, WHY),
    ]
}

/// Files the C library's resolver reads.
fn resolver_files() -> Vec<FileRow> {
    const WHY: &str = "resolving names";
    let mut rows = vec![FileRow {
        place: Place::FollowedFile("/etc/resolv.conf".into()),
        grant: READ_BY_NAME,
        presence: Presence::IfThere,
        why: "where to ask for names; a link's target is replaced while we run",
    }];
    for path in [
        "/etc/hosts",
        "/etc/nsswitch.conf",
        "/etc/host.conf",
        "/etc/gai.conf",
    ] {
        rows.push(if_there(path, READ_BY_NAME, WHY));
    }
    rows
}

/// Ports of the resolver, for kernels that look at datagrams.
fn resolver_ports() -> Vec<PortRow> {
    vec![
        PortRow {
            port: 53,
            way: Way::Udp,
            why: "resolving names",
        },
        PortRow {
            port: 0,
            way: Way::UdpSource,
            why: "the kernel's choice of a port to ask from",
        },
    ]
}

/// One row per TCP port, in order and once each.
fn tcp_ports(ports: &[(u16, &'static str)]) -> Vec<PortRow> {
    let mut rows: Vec<PortRow> = vec![];
    for (port, why) in ports {
        if !rows.iter().any(|row| row.port == *port) {
            rows.push(PortRow {
                port: *port,
                way: Way::Tcp,
                why,
            });
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    fn examples() -> Vec<Profile> {
        vec![broker::example(), connector::example(), engine::example()]
    }

    /// The prints are numbers and names of one architecture; the committed ones are x86-64's.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_prints_are_the_ones_a_reviewer_read() {
        insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
            for profile in examples() {
                insta::assert_snapshot!(profile.name(), profile.to_string());
            }
        });
    }

    #[test]
    fn no_group_allows_what_is_never_allowed() {
        for profile in examples() {
            for row in profile.refusals.iter().filter(|row| row.any_of.is_empty()) {
                for call in &row.calls {
                    let listed = profile
                        .groups
                        .iter()
                        .any(|group| group.calls().any(|allowed| allowed == *call));
                    assert!(!listed, "{} allows {}", profile.name(), call.name());
                }
            }
        }
    }

    /// The filter library reads "no condition" as always, and a further condition on the same call would replace it.
    #[test]
    fn a_call_refused_always_has_no_second_row() {
        for profile in examples() {
            let always = profile.refusals.iter().filter(|row| row.any_of.is_empty());
            for call in always.flat_map(|row| &row.calls) {
                let rows = profile
                    .refusals
                    .iter()
                    .filter(|row| row.calls.contains(call));
                assert_eq!(rows.count(), 1, "{}: {}", profile.name(), call.name());
            }
        }
    }

    #[test]
    fn every_refusal_can_be_tried() {
        for profile in examples() {
            for row in &profile.refusals {
                assert!(!row.tries.is_empty(), "{}: {:?}", profile.name(), row.calls);
            }
        }
    }

    #[test]
    fn every_condition_judges_a_call_that_is_allowed() {
        for profile in examples() {
            for row in profile.refusals.iter().filter(|row| !row.any_of.is_empty()) {
                for call in &row.calls {
                    assert!(
                        profile.allows(*call),
                        "{}: {} {}",
                        profile.name(),
                        call.name(),
                        row.when
                    );
                }
            }
        }
    }

    #[test]
    fn the_connector_allows_every_call_its_engine_makes() {
        let (connector, engine) = (connector::example(), engine::example());
        let missing: Vec<_> = engine
            .groups
            .iter()
            .flat_map(|group| group.calls().collect::<Vec<_>>())
            .filter(|call| !connector.allows(*call))
            .map(crate::call::Call::name)
            .collect();
        assert_eq!(missing, Vec::<&str>::new());
    }
}
