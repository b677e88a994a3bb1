//! Sockets a profile may make, and the ways around the port rules.

use super::{Answer, Arg, Refusal, bits};
use crate::call::{Call, calls};

const STREAM: u32 = libc::SOCK_STREAM.cast_unsigned();
const DGRAM: u32 = libc::SOCK_DGRAM.cast_unsigned();
const SOCK_TYPE_MASK: u32 = 0xf;

/// Which sockets a profile may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sockets {
    /// TCP over IPv4 and IPv6.
    Tcp,
    /// TCP, and UDP for a resolver.
    TcpUdp,
    /// TCP, UDP for a resolver, and Unix streams for the control socket.
    TcpUdpUnix,
}

/// Families, types and protocols of sockets, one row each.
pub(crate) fn sockets(kind: Sockets) -> Vec<Refusal> {
    let unix = kind == Sockets::TcpUdpUnix;
    let udp = kind != Sockets::Tcp;
    let mut families = vec![
        Arg::IsNot(0, bits(libc::AF_INET)),
        Arg::IsNot(0, bits(libc::AF_INET6)),
    ];
    let mut family_tries = vec![
        ("AF_NETLINK", socket_of(libc::AF_NETLINK, libc::SOCK_RAW, 0)),
        ("AF_VSOCK", socket_of(libc::AF_VSOCK, libc::SOCK_STREAM, 0)),
        ("AF_PACKET", socket_of(libc::AF_PACKET, libc::SOCK_RAW, 0)),
        ("AF_ALG", socket_of(libc::AF_ALG, libc::SOCK_SEQPACKET, 0)),
    ];
    if unix {
        families.push(Arg::IsNot(0, bits(libc::AF_UNIX)));
    } else {
        family_tries.push(("AF_UNIX", socket_of(libc::AF_UNIX, libc::SOCK_STREAM, 0)));
    }
    let types = (0..=SOCK_TYPE_MASK).filter(|kind| *kind != STREAM && !(udp && *kind == DGRAM));
    let mut type_tries = vec![
        (
            "raw",
            socket_of(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP),
        ),
        (
            "SCTP sequence",
            socket_of(libc::AF_INET, libc::SOCK_SEQPACKET, 132),
        ),
    ];
    if !udp {
        type_tries.push((
            "datagram",
            socket_of(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0),
        ));
    }
    let socket = |when, any_of, why, tries| Refusal {
        calls: calls!(SYS_socket).to_vec(),
        when,
        any_of,
        answer: Answer::Eafnosupport,
        why,
        tries,
    };
    let mut rows = vec![
        socket(
            if unix {
                "of a family other than INET, INET6, UNIX"
            } else {
                "of a family other than INET, INET6"
            },
            vec![families],
            if unix {
                "netlink, vsock, packet sockets and the rest pass Landlock by"
            } else {
                "pathname sockets (session bus, container daemon, the broker's own), netlink and vsock pass Landlock by (A-123)"
            },
            family_tries,
        ),
        socket(
            if udp {
                "of a type other than stream and datagram"
            } else {
                "of a type other than stream"
            },
            types
                .map(|kind| vec![Arg::Masked(1, SOCK_TYPE_MASK, kind)])
                .collect(),
            if udp {
                "raw and sequenced sockets pass the port rules by"
            } else {
                "datagrams pass the port rules by"
            },
            type_tries,
        ),
        socket(
            "of type stream with a protocol other than 0 and TCP",
            vec![vec![
                Arg::Masked(1, SOCK_TYPE_MASK, STREAM),
                Arg::IsNot(2, 0),
                Arg::IsNot(2, bits(libc::IPPROTO_TCP)),
            ]],
            "an MPTCP socket talks to plain TCP listeners on any port, past the port rules",
            vec![(
                "MPTCP",
                socket_of(libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_MPTCP),
            )],
        ),
    ];
    if udp {
        rows.push(socket(
            "of type datagram with a protocol other than 0 and UDP",
            vec![vec![
                Arg::Masked(1, SOCK_TYPE_MASK, DGRAM),
                Arg::IsNot(2, 0),
                Arg::IsNot(2, bits(libc::IPPROTO_UDP)),
            ]],
            "datagrams are for the resolver only",
            vec![(
                "ICMP",
                socket_of(libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_ICMP),
            )],
        ));
    }
    if unix {
        rows.push(socket(
            "of family UNIX and type datagram",
            vec![vec![Arg::Is(0, bits(libc::AF_UNIX)), Arg::Masked(1, SOCK_TYPE_MASK, DGRAM)]],
            "the control socket is a stream; the system log and notify sockets are not its business",
            vec![("AF_UNIX datagram", socket_of(libc::AF_UNIX, libc::SOCK_DGRAM, 0))],
        ));
    }
    rows
}

/// Pairs of sockets other than Unix ones.
pub(crate) fn socket_pairs() -> Refusal {
    Refusal {
        calls: calls!(SYS_socketpair).to_vec(),
        when: "of a family other than UNIX",
        any_of: vec![vec![Arg::IsNot(0, bits(libc::AF_UNIX))]],
        answer: Answer::Eafnosupport,
        why: "a pair is for talking to oneself",
        tries: vec![(
            "AF_TIPC",
            [
                i64::from(libc::AF_TIPC),
                i64::from(libc::SOCK_STREAM),
                0,
                -1,
                0,
                0,
            ],
        )],
    }
}

/// Connecting by sending.
pub(crate) fn fast_open() -> Vec<Refusal> {
    let row = |call: &[Call], flags: u8| {
        let mut nonsense = [-1, 0, 0, 0, 0, 0];
        nonsense[usize::from(flags)] = i64::from(libc::MSG_FASTOPEN);
        Refusal {
            calls: call.to_vec(),
            when: "with MSG_FASTOPEN",
            any_of: vec![vec![Arg::Masked(
                flags,
                bits(libc::MSG_FASTOPEN),
                bits(libc::MSG_FASTOPEN),
            )]],
            answer: Answer::Eperm,
            why: "it connects without asking the port rules (A-122)",
            tries: vec![("MSG_FASTOPEN", nonsense)],
        }
    };
    vec![
        row(calls!(SYS_sendto), 3),
        row(calls!(SYS_sendmsg), 2),
        row(calls!(SYS_sendmmsg), 3),
    ]
}

fn socket_of(family: libc::c_int, kind: libc::c_int, protocol: libc::c_int) -> [i64; 6] {
    [
        i64::from(family),
        i64::from(kind),
        i64::from(protocol),
        0,
        0,
        0,
    ]
}
