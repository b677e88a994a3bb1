//! From inside the connector: what it must reach works, and a root, a git token, the bot token, the ledger and the home are
//! out of reach. The test runs itself again as the process that enters the fence, since a fence cannot be left.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use mosaic_connector::{
    confinement,
    engine::{Install, ModelEndpoint, Version},
    paths::{BindingName, Paths, RuntimeDir},
};
use mosaic_sandbox::RequiredAbi;

/// What must stay reachable.
const OPEN: [&str; 4] = [
    "data/discord/sage/inbox.jsonl",
    "data/discord/sage/turns",
    "data/discord/sage/pi/models.json",
    "data/sessions/discord-sage",
];
/// What must not be, for reading, writing or making something in it.
const SHUT: [&str; 9] = [
    "vault/plan.md",
    "vault",
    "secrets/github.token",
    "secrets/bot.token",
    "data/discord/sage.json",
    "data/discord/sage/broker/ledger.jsonl",
    "data/discord/sage/broker",
    "home/.ssh/id_ed25519",
    "data/discord/other/inbox.jsonl",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().position(|word| word == "inside") {
        Some(at) => inside(Path::new(&arguments[at + 1])),
        None => outside(),
    }
}

fn outside() -> ExitCode {
    let folder = tempfile::Builder::new()
        .prefix("fence-")
        .tempdir()
        .expect("a folder");
    for file in OPEN.iter().chain(&SHUT).filter(|name| name.contains('.')) {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, "secret").expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a mode");
    }
    for name in [
        "data/discord/sage/turns",
        "data/sessions/discord-sage",
        "install",
        "run",
    ] {
        fs::create_dir_all(folder.path().join(name)).expect("a folder");
    }
    fs::set_permissions(folder.path().join("run"), fs::Permissions::from_mode(0o700))
        .expect("a mode");

    let run = Command::new(std::env::current_exe().expect("this test has a file"))
        .arg("inside")
        .arg(folder.path())
        .output()
        .expect("this test can run itself");
    let said =
        String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
    let untouched = SHUT.iter().filter(|name| name.contains('.')).all(|name| {
        fs::read_to_string(folder.path().join(name)).is_ok_and(|text| text == "secret")
    });
    if run.status.success() && untouched && said.contains("all as it must be") {
        println!("test from_inside_the_connector_a_root_and_a_git_token_are_out_of_reach ... ok");
        println!("\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out");
        return ExitCode::SUCCESS;
    }
    println!(
        "test from_inside_the_connector_a_root_and_a_git_token_are_out_of_reach ... FAILED\n{said}"
    );
    ExitCode::FAILURE
}

fn inside(base: &Path) -> ExitCode {
    mosaic_sandbox::harden_process().expect("a process can harden itself");
    let name = BindingName::parse("sage").expect("a name");
    let paths = Paths::new(base.join("data"), name);
    let runtime =
        RuntimeDir::choose(Some(&base.join("run")), None, &paths).expect("a folder for sockets");
    let program = |path: &str| fs::canonicalize(path).expect("a program every Linux has");
    let install = Install {
        root: base.join("install"),
        node: std::env::current_exe().expect("this test has a file"),
        node_version: Version(24, 0, 0),
        cli: base.join("install"),
        pi_version: Version(1, 6, 0),
        extension: base.join("install"),
        readable: vec![base.join("install")],
    };
    let model = ModelEndpoint {
        port: 443,
        named: false,
    };
    let reach = confinement::reach(
        &paths,
        &runtime,
        &install,
        program("/bin/true"),
        443,
        &model,
    );
    let secrets: Vec<PathBuf> = SHUT.iter().map(|name| base.join(name)).collect();
    let secrets: Vec<&Path> = secrets.iter().map(PathBuf::as_path).collect();
    confinement::enter(&reach, RequiredAbi::default(), &secrets).expect("the fence holds");

    let mut faults = Vec::new();
    for name in OPEN {
        let path = base.join(name);
        if fs::File::open(&path).is_err() {
            faults.push(format!("{name} cannot be opened"));
        }
    }
    for name in SHUT {
        let path = base.join(name);
        let tries = [
            ("read", fs::File::open(&path).is_ok()),
            (
                "written",
                fs::OpenOptions::new().append(true).open(&path).is_ok(),
            ),
            (
                "made beside",
                fs::write(path.with_file_name("new"), "").is_ok(),
            ),
            ("removed", fs::remove_file(&path).is_ok()),
            (
                "moved",
                fs::rename(&path, base.join("data/discord/sage/turns/taken")).is_ok(),
            ),
            (
                "linked",
                fs::hard_link(&path, base.join("data/discord/sage/turns/taken")).is_ok(),
            ),
        ];
        let done = tries.iter().filter(|(_, done)| *done);
        faults.extend(done.map(|(what, _)| format!("{name} was {what}")));
    }
    if Command::new("/bin/ls").spawn().is_ok() {
        faults.push("another program was started".into());
    }
    let words = if faults.is_empty() {
        "all as it must be".into()
    } else {
        faults.join("\n")
    };
    writeln!(std::io::stdout(), "{words}").expect("stdout is a pipe");
    if faults.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
