//! Port rows and scopes: where a profile may connect, and which other network and signal rights Landlock denies. Landlock
//! knows ports, not addresses; which host answers there is judged by whoever connects.

use landlock::{AccessNet, BitFlags, Scope, make_bitflags};

/// Port that may be connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PortRow {
    pub(crate) port: u16,
    pub(crate) way: Way,
    pub(crate) why: &'static str,
}

/// What is granted on a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// TCP connections.
    Tcp,
    /// UDP datagrams, for kernels that ask (ABI 10).
    Udp,
    /// The port the kernel picks for an outgoing datagram, for kernels that ask (ABI 10).
    UdpSource,
}

impl Way {
    pub(crate) fn rights(self) -> BitFlags<AccessNet> {
        match self {
            Way::Tcp => make_bitflags!(AccessNet::{ConnectTcp}),
            Way::Udp => make_bitflags!(AccessNet::{ConnectSendUdp}),
            Way::UdpSource => make_bitflags!(AccessNet::{BindUdp}),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Way::Tcp => "TCP connect",
            Way::Udp => "UDP send",
            Way::UdpSource => "UDP from",
        }
    }
}

/// One network right that is denied on every port no row grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeniedNet {
    pub(crate) right: AccessNet,
    pub(crate) name: &'static str,
    pub(crate) abi: u32,
    pub(crate) why: &'static str,
}

/// Every network right there is.
pub(crate) const DENIED_NET: &[DeniedNet] = &[
    DeniedNet {
        right: AccessNet::ConnectTcp,
        name: "TCP connect",
        abi: 4,
        why: "no port but the named ones",
    },
    DeniedNet {
        right: AccessNet::BindTcp,
        name: "TCP bind",
        abi: 4,
        why: "nothing here listens",
    },
    DeniedNet {
        right: AccessNet::ConnectSendUdp,
        name: "UDP send",
        abi: 10,
        why: "datagrams leak; below ABI 10 only the socket refusals stop them",
    },
    DeniedNet {
        right: AccessNet::BindUdp,
        name: "UDP bind",
        abi: 10,
        why: "nothing here listens",
    },
];

/// One thing outside that a process inside cannot reach at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeniedScope {
    pub(crate) scope: Scope,
    pub(crate) name: &'static str,
    pub(crate) abi: u32,
    pub(crate) why: &'static str,
}

/// Every scope there is.
pub(crate) const DENIED_SCOPES: &[DeniedScope] = &[
    DeniedScope {
        scope: Scope::Signal,
        name: "signals to processes outside",
        abi: 6,
        why: "they are of the same user",
    },
    DeniedScope {
        scope: Scope::AbstractUnixSocket,
        name: "abstract sockets of processes outside",
        abi: 6,
        why: "they have no file mode to stop anyone",
    },
];

#[cfg(test)]
mod tests {
    use landlock::{ABI, Access};

    use super::*;

    #[test]
    fn every_network_right_and_scope_landlock_knows_is_denied_under_its_own_abi() {
        for abi in 4..=10 {
            let known = ABI::from(i32::try_from(abi).unwrap());
            let nets: BitFlags<AccessNet> = DENIED_NET
                .iter()
                .filter(|row| row.abi <= abi)
                .map(|row| row.right)
                .collect();
            let scopes: BitFlags<Scope> = DENIED_SCOPES
                .iter()
                .filter(|row| row.abi <= abi)
                .map(|row| row.scope)
                .collect();
            assert_eq!(
                (nets, scopes),
                (AccessNet::from_all(known), Scope::from_all(known)),
                "ABI {abi}"
            );
        }
    }
}
