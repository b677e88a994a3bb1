//! The engine's fence, entered by the test itself: the ways past Landlock's port rules that are known to work without it.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};

use mosaic_sandbox::profiles::{self, EngineReach};
use mosaic_sandbox::selftest::Ground;

use super::stage::{Stage, in_child};
use super::{enter, errno, say_broken};

fn stage() -> Stage {
    Stage::with_folders(&["read", "work", "run", "outside"])
}

fn reach(stage: &Stage, port: u16) -> EngineReach {
    EngineReach {
        node: "/bin/true".into(),
        read: vec![stage.path("read")],
        write: vec![stage.path("work")],
        model_ports: vec![port],
        resolves_names: false,
    }
}

/// Listener nobody may reach, and its address.
fn forbidden() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Nothing came: neither a connection nor, with it, a byte.
fn untouched(listener: &TcpListener) -> bool {
    listener
        .accept()
        .is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

#[test]
fn the_self_test_holds_whether_or_not_names_are_resolved() {
    let stage = stage();
    for resolves_names in [false, true] {
        let reach = EngineReach {
            resolves_names,
            ..reach(&stage, 8080)
        };
        let said = in_child(|parent| {
            let ground = Ground::lay(&stage.path("outside")).unwrap();
            let entered = enter(&profiles::engine(&reach));
            say_broken(parent, &entered, &ground, &[]);
        });
        assert_eq!(said, ["many attempts"]);
    }
}

#[test]
fn the_models_port_is_reached_and_no_other() {
    let stage = stage();
    let model = TcpListener::bind("127.0.0.1:0").unwrap();
    let model_address = model.local_addr().unwrap();
    let (other, other_address) = forbidden();
    in_child(|_| {
        enter(&profiles::engine(&reach(&stage, model_address.port())));
        TcpStream::connect(model_address).unwrap();
        assert_eq!(errno(TcpStream::connect(other_address)), Some(libc::EACCES));
    });
    assert!(untouched(&other));
}

#[test]
fn a_122_no_fast_open_multipath_datagram_vsock_netlink_or_raw_socket_gets_past_the_port_rules() {
    let stage = stage();
    let (other, address) = forbidden();
    in_child(|_| {
        enter(&profiles::engine(&reach(&stage, 8080)));
        let stream = socket(libc::AF_INET, libc::SOCK_STREAM, 0).unwrap();
        assert_eq!(
            errno(send_to(stream, address, libc::MSG_FASTOPEN)),
            Some(libc::EPERM)
        );
        for (family, kind, protocol) in [
            (libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_MPTCP),
            (libc::AF_INET6, libc::SOCK_STREAM, libc::IPPROTO_MPTCP),
            (libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_SCTP),
            (libc::AF_INET, libc::SOCK_DGRAM, 0),
            (
                libc::AF_INET6,
                libc::SOCK_DGRAM | libc::SOCK_NONBLOCK,
                libc::IPPROTO_UDP,
            ),
            (libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_TCP),
            (libc::AF_VSOCK, libc::SOCK_STREAM, 0),
            (libc::AF_NETLINK, libc::SOCK_RAW, 0),
            (libc::AF_PACKET, libc::SOCK_RAW, 0),
        ] {
            let refused = errno(socket(family, kind, protocol));
            assert_eq!(
                refused,
                Some(libc::EAFNOSUPPORT),
                "{family} {kind} {protocol}"
            );
        }
    });
    assert!(untouched(&other));
}

#[test]
fn a_123_a_pathname_socket_cannot_be_connected_to_even_one_in_its_own_folder() {
    let stage = stage();
    let (bus, own) = (stage.path("run/bus"), stage.path("work/own"));
    let _listeners = [
        UnixListener::bind(&bus).unwrap(),
        UnixListener::bind(&own).unwrap(),
    ];
    in_child(|_| {
        enter(&profiles::engine(&reach(&stage, 8080)));
        for path in [&bus, &own] {
            assert_eq!(errno(UnixStream::connect(path)), Some(libc::EAFNOSUPPORT));
        }
        UnixStream::pair().unwrap(); // talking to oneself is fine
    });
}

#[test]
fn a_124_no_second_process_and_no_program_from_memory() {
    let stage = stage();
    in_child(|_| {
        enter(&profiles::engine(&reach(&stage, 8080)));
        // SAFETY: a fork that is refused makes no copy; were it not, the copy would end with the test's failure.
        assert_eq!(unsafe { libc::fork() }, -1);
        // SAFETY: a name that ends in NUL and no flags.
        assert_eq!(unsafe { libc::memfd_create(c"x".as_ptr(), 0) }, -1);
        assert_eq!(
            errno(std::process::Command::new("/bin/true").spawn()),
            Some(libc::EPERM)
        );
        assert_eq!(std::thread::spawn(|| 7).join().ok(), Some(7));
    });
}

fn socket(
    family: libc::c_int,
    kind: libc::c_int,
    protocol: libc::c_int,
) -> io::Result<libc::c_int> {
    // SAFETY: numbers only; what is opened stays open to the end of the child.
    match unsafe { libc::socket(family, kind, protocol) } {
        -1 => Err(io::Error::last_os_error()),
        descriptor => Ok(descriptor),
    }
}

fn send_to(socket: libc::c_int, address: SocketAddr, flags: libc::c_int) -> io::Result<()> {
    let port = address.port().to_be();
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: port,
        sin_addr: libc::in_addr {
            s_addr: u32::from_ne_bytes([127, 0, 0, 1]),
        },
        sin_zero: [0; 8],
    };
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: three bytes to send and an address of the length given, both alive across the call.
    match unsafe {
        libc::sendto(
            socket,
            c"out".as_ptr().cast(),
            3,
            flags,
            (&raw const address).cast(),
            length,
        )
    } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
