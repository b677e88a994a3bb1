//! The broker inside its fence.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};

use mosaic_sandbox::profiles::{self, BrokerReach};
use mosaic_sandbox::selftest::{Ground, Probe};
use mosaic_sandbox::{Profile, RequiredAbi, SandboxError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::stage::{Child, Stage, in_child};
use super::{enter, errno, of_every_thread, say_broken};

fn stage() -> Stage {
    Stage::with_folders(&[
        "library",
        "vault/sub",
        "state",
        "data/pi",
        "secrets",
        "outside",
        "run",
    ])
    .and_file("library/a.md", "read me")
    .and_file("vault/b.md", "old")
    .and_file("secrets/token", "s3cret")
    .and_file("data/inbox.jsonl", "{}\n")
}

fn reach(stage: &Stage) -> BrokerReach {
    BrokerReach {
        read_roots: vec![stage.path("library")],
        write_roots: vec![stage.path("vault")],
        state: stage.path("state"),
    }
}

fn profile(stage: &Stage) -> Profile {
    profiles::broker(&reach(stage))
}

#[test]
fn the_self_test_holds_with_the_callers_own_attempts() {
    let stage = stage();
    fs::copy("/bin/true", stage.path("vault/true")).unwrap();
    let said = in_child(|parent| {
        let ground = Ground::lay(&stage.path("outside")).unwrap();
        let _listener = UnixListener::bind(stage.path("run/bus")).unwrap();
        let entered = enter(&profile(&stage));
        let extra = [
            Probe::open_denied(&stage.path("data/inbox.jsonl")),
            Probe::open_denied(&stage.path("secrets")),
            Probe::open_denied(&stage.path("secrets/token")),
            Probe::write_denied(&stage.path("library/a.md")),
            Probe::create_denied(&stage.path("library")),
            Probe::create_denied(&stage.path("data")),
            Probe::exec_denied(&stage.path("vault/true")),
            Probe::connect_denied(443),
            Probe::unix_connect_denied(&stage.path("run/bus")),
            Probe::open_works(&stage.path("library/a.md")),
        ];
        say_broken(parent, &entered, &ground, &extra);
    });
    assert_eq!(said, ["many attempts"]);
}

#[test]
fn reading_and_replacing_files_works_inside() {
    let stage = stage();
    let said = in_child(|parent| {
        enter(&profile(&stage));
        parent.say(&fs::read_to_string(stage.path("library/a.md")).unwrap());
        let names = fs::read_dir(stage.path("vault")).unwrap().count();
        parent.say(&format!("{names} names"));

        let temp = stage.path("vault/.temp");
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temp)
            .unwrap();
        file.write_all(b"new").unwrap();
        file.set_permissions(Permissions::from_mode(0o644)).unwrap();
        file.sync_all().unwrap();
        exchange(&temp, &stage.path("vault/b.md"));
        fs::remove_file(&temp).unwrap();
        File::open(stage.path("vault")).unwrap().sync_all().unwrap();
        parent.say(&fs::read_to_string(stage.path("vault/b.md")).unwrap());

        let mut ledger = OpenOptions::new()
            .append(true)
            .create(true)
            .open(stage.path("state/ledger.jsonl"))
            .unwrap();
        // SAFETY: a live descriptor and a number.
        let locked = unsafe { libc::flock(ledger.as_raw_fd(), libc::LOCK_EX) };
        assert_eq!(locked, 0);
        ledger.write_all(b"{}\n").unwrap();
        ledger.sync_data().unwrap();
        ledger.set_len(0).unwrap();
    });
    assert_eq!(said, ["read me", "2 names", "new"]);
}

#[test]
fn a_write_cannot_reach_from_one_folder_into_another_or_make_one() {
    let stage = stage();
    in_child(|_| {
        enter(&profile(&stage));
        let moved = fs::rename(stage.path("vault/b.md"), stage.path("vault/sub/b.md"));
        assert_eq!(errno(moved), Some(libc::EXDEV));
        assert_eq!(
            errno(fs::create_dir(stage.path("vault/new"))),
            Some(libc::ENOSYS)
        );
        assert_eq!(
            errno(std::os::unix::fs::symlink("/etc", stage.path("vault/etc"))),
            Some(libc::ENOSYS)
        );
        let path_mode =
            fs::set_permissions(stage.path("vault/b.md"), Permissions::from_mode(0o777));
        assert_eq!(errno(path_mode), Some(libc::EPERM));
        let set_id = File::open(stage.path("vault/b.md"))
            .unwrap()
            .set_permissions(Permissions::from_mode(0o4755));
        assert_eq!(errno(set_id), Some(libc::EPERM));
    });
    assert_eq!(
        fs::metadata(stage.path("vault/b.md"))
            .unwrap()
            .permissions()
            .mode()
            & 0o777,
        0o644
    );
}

#[test]
fn a_descriptor_from_before_opens_nothing_below_it_afterwards() {
    let stage = stage();
    in_child(|_| {
        let folder = File::open(stage.path("secrets")).unwrap();
        enter(&profile(&stage));
        // SAFETY: a live folder and a NUL-ended name.
        let opened = unsafe { libc::openat(folder.as_raw_fd(), c"token".as_ptr(), libc::O_RDONLY) };
        assert_eq!(
            (opened, std::io::Error::last_os_error().raw_os_error()),
            (-1, Some(libc::EACCES))
        );
    });
}

#[test]
fn a_120_a_root_that_is_missing_is_an_error_that_names_it() {
    let stage = stage();
    let missing = stage.path("not-there");
    let profile = profiles::broker(&BrokerReach {
        read_roots: vec![missing.clone()],
        ..reach(&stage)
    });
    match profile.prepare(RequiredAbi::default()) {
        Err(SandboxError::Path {
            profile: "broker",
            path,
            ..
        }) => assert_eq!(path, missing),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_121_a_second_thread_keeps_the_fence_from_being_entered() {
    let stage = stage();
    in_child(|_| {
        let fence = profile(&stage).prepare(RequiredAbi::default()).unwrap();
        let (_tell, told) = std::sync::mpsc::channel::<()>();
        std::thread::spawn(move || told.recv());
        assert!(matches!(fence.enter(), Err(SandboxError::Threads)));
    });
}

#[test]
fn a_121_every_thread_of_a_runtime_is_inside_and_serves_a_listener_of_before() {
    let stage = stage();
    let socket = stage.path("run/tools.sock");
    let mut child = Child::start(|parent| {
        let listener = UnixListener::bind(&socket).unwrap();
        listener.set_nonblocking(true).unwrap();
        enter(&profile(&stage));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(3)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let denied = tokio::spawn(async { errno(fs::read("/etc/passwd")) })
                .await
                .unwrap();
            let on_a_blocking_thread = tokio::fs::read("/etc/passwd").await;
            let allowed = tokio::fs::read_to_string(stage.path("library/a.md"))
                .await
                .unwrap();
            let _interrupts =
                tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt()).unwrap();
            parent.say(&format!(
                "{denied:?} {:?} {allowed}",
                errno(on_a_blocking_thread)
            ));

            let listener = tokio::net::UnixListener::from_std(listener).unwrap();
            let (mut stream, _) = listener.accept().await.unwrap();
            assert!(stream.peer_cred().is_ok());
            let mut asked = [0; 4];
            stream.read_exact(&mut asked).await.unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            stream.write_all(&asked).await.unwrap();
        });
        parent.wait();
    });

    assert_eq!(
        child.line(),
        format!("Some({0}) Some({0}) read me", libc::EACCES)
    );
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.write_all(b"ping").unwrap();
    let mut answer = [0; 4];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"ping");
    let filtered = of_every_thread(child.pid, "Seccomp:");
    assert!(filtered.len() >= 4, "{filtered:?}");
    for (field, value) in [
        ("Seccomp:", "2"),
        ("NoNewPrivs:", "1"),
        ("CapEff:", NO_CAPABILITIES),
        ("CapPrm:", NO_CAPABILITIES),
    ] {
        let values = of_every_thread(child.pid, field);
        assert!(
            values.iter().all(|held| held == value),
            "{field} {values:?}"
        );
    }
    child.go_on();
    child.rest();
}

const NO_CAPABILITIES: &str = "0000000000000000";

#[test]
fn a_125_another_process_of_the_user_cannot_read_it_and_it_leaves_no_core() {
    let stage = stage();
    let mut broker = Child::start(|parent| {
        enter(&profile(&stage));
        parent.say("inside");
        parent.wait();
    });
    assert_eq!(broker.line(), "inside");

    let pid = broker.pid;
    in_child(|_| {
        drop_capabilities(); // those of a root that runs the tests, who may read anything
        assert!(File::open("/proc/self/mem").is_ok());
        for file in ["environ", "mem", "maps"] {
            let opened = File::open(format!("/proc/{pid}/{file}"));
            assert_eq!(errno(opened), Some(libc::EACCES), "{file}");
        }
        let descriptor = fs::read_link(format!("/proc/{pid}/fd/0"));
        assert_eq!(errno(descriptor), Some(libc::EACCES));
        // SAFETY: asks to trace another process, with numbers only.
        assert_eq!(unsafe { libc::ptrace(libc::PTRACE_ATTACH, pid, 0, 0) }, -1);
    });

    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let core = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"))
        .unwrap();
    assert_eq!(
        core.split_whitespace().skip(4).take(2).collect::<Vec<_>>(),
        ["0", "0"]
    );
    let mut status = 0;
    // SAFETY: signals and reaps our own child.
    unsafe {
        libc::kill(pid, libc::SIGQUIT);
        libc::waitpid(pid, &raw mut status, 0);
    }
    assert!(
        libc::WIFSIGNALED(status) && !libc::WCOREDUMP(status),
        "{status:#x}"
    );
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_32_bit_way_into_the_kernel_kills() {
    let stage = stage();
    let mut child = Child::start(|parent| {
        enter(&profile(&stage));
        parent.say("inside");
        // SAFETY: getpid by the 32-bit entry touches no memory; the process is meant to end here.
        unsafe { std::arch::asm!("int 0x80", inout("rax") 20_u64 => _, options(nostack)) };
        parent.say("alive");
    });
    assert_eq!(child.line(), "inside");
    assert_eq!(child.line(), "");
}

fn drop_capabilities() {
    let header: [u32; 2] = [0x2008_0522, 0]; // _LINUX_CAPABILITY_VERSION_3, this thread
    let none = [0_u32; 6];
    // SAFETY: header and data are laid out as capset(2) reads them.
    let dropped = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
    assert_eq!(dropped, 0);
}

/// Swaps two names in one step, as the broker replaces files.
fn exchange(one: &std::path::Path, other: &std::path::Path) {
    use std::os::unix::ffi::OsStrExt;
    let [one, other] =
        [one, other].map(|path| std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap());
    // SAFETY: both names are NUL-ended and live across the call.
    let done = unsafe {
        libc::renameat2(
            libc::AT_FDCWD,
            one.as_ptr(),
            libc::AT_FDCWD,
            other.as_ptr(),
            libc::RENAME_EXCHANGE,
        )
    };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}
