//! The rivals: which, at which version, and how they are put in place. Each is installed by the bench and used by nothing
//! else; what cannot be installed here is named with the command that would.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::{ground::Ground, mcp::Mcp, unmeasured::Unmeasured};

/// The version of the crate `rust-mcp-filesystem`. Those of the npm packages stand in `rivals/package.json`.
const RUST_MCP_FILESYSTEM: &str = "0.4.5";

/// How a program is started: itself and its arguments.
pub(crate) type CommandLine = Vec<String>;

/// An MCP server of files, and what it calls its verbs.
pub(crate) struct FileServer {
    /// As the report names it.
    pub(crate) name: &'static str,
    /// Starts it on the whole ground.
    pub(crate) line: CommandLine,
}

impl FileServer {
    /// Starts it and says hello.
    pub(crate) fn start(&self) -> Result<Mcp, Unmeasured> {
        Mcp::start(self.name, &self.line)
    }

    /// The verb that reads a whole text file, and its arguments. Both rivals took the names of one contract.
    pub(crate) fn read(path: &Path) -> (&'static str, Value) {
        ("read_text_file", json!({ "path": path }))
    }

    /// The verb that lists a folder.
    pub(crate) fn list(path: &Path) -> (&'static str, Value) {
        ("list_directory", json!({ "path": path }))
    }

    /// The verb that writes a whole file.
    pub(crate) fn write(path: &Path, text: &str) -> (&'static str, Value) {
        ("write_file", json!({ "path": path, "content": text }))
    }
}

/// `@modelcontextprotocol/server-filesystem`, on the same Node as pi.
pub(crate) fn npm_file_server(ground: &Ground) -> Result<FileServer, Unmeasured> {
    let main =
        npm(ground)?.join("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
    let line = vec![text(&ground.node()), text(&main), text(&ground.path(""))];
    Ok(FileServer {
        name: "server-filesystem (npm)",
        line,
    })
}

/// `rust-mcp-filesystem`.
pub(crate) fn rust_file_server(ground: &Ground) -> Result<FileServer, Unmeasured> {
    let root = ground.report_folder().join("rivals");
    let program = root.join("bin/rust-mcp-filesystem");
    if !says_version(&program, RUST_MCP_FILESYSTEM) {
        let mut install = Command::new(cargo());
        install.args([
            "install",
            "--locked",
            "--force",
            "--version",
            &format!("={RUST_MCP_FILESYSTEM}"),
            "--root",
        ]);
        run(install.arg(&root).arg("rust-mcp-filesystem"))?;
    }
    let line = vec![
        text(&program),
        "--allow-write".into(),
        text(&ground.path("")),
    ];
    Ok(FileServer {
        name: "rust-mcp-filesystem",
        line,
    })
}

/// A discord.js client that logs in at the `api` given to it and stays.
pub(crate) fn discord_js(ground: &Ground) -> Result<CommandLine, Unmeasured> {
    npm(ground)?;
    Ok(vec![
        text(&ground.node()),
        text(&ground.source("tests/bench/node/idle-client.mjs")),
    ])
}

/// ripgrep, from the system.
pub(crate) fn ripgrep() -> Result<PathBuf, Unmeasured> {
    let found = Command::new("rg")
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .is_ok_and(|out| out.status.success());
    if found {
        Ok("rg".into())
    } else {
        Err(Unmeasured::new("apt-get install ripgrep"))
    }
}

/// The broker of this source with its fence left out, which is built for nothing but this comparison.
pub(crate) fn unconfined_broker(ground: &Ground) -> Result<PathBuf, Unmeasured> {
    const NAME: &str = "mosaic-broker-unconfined";
    let mut build = Command::new(cargo());
    build.args([
        "build",
        "--quiet",
        "--package",
        "mosaic-broker",
        "--features",
        "unconfined-for-bench",
        "--bin",
        NAME,
    ]);
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    run(build.current_dir(ground.source("")))?;
    Ok(ground.program(NAME))
}

/// Puts the npm rivals in place and gives their folder.
fn npm(ground: &Ground) -> Result<PathBuf, Unmeasured> {
    let folder = ground.source("tests/bench/rivals");
    let changed = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
    // npm writes the second from the first at the end of an install.
    let (lock, installed) = (
        folder.join("package-lock.json"),
        folder.join("node_modules/.package-lock.json"),
    );
    if changed(&installed) < changed(&lock) {
        let mut install = Command::new("npm");
        install.args([
            "ci",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--loglevel=error",
        ]);
        run(install.current_dir(&folder))?;
    }
    Ok(folder)
}

fn cargo() -> std::ffi::OsString {
    // Set for programs started by `cargo run`: the same cargo.
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn says_version(program: &Path, version: &str) -> bool {
    let said = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    said.is_ok_and(|said| {
        String::from_utf8_lossy(&said.stdout)
            .trim()
            .ends_with(version)
    })
}

fn run(command: &mut Command) -> Result<(), Unmeasured> {
    let shown = format!("{command:?}");
    eprintln!("bench: {shown}");
    // Its talk goes with ours to stderr: stdout is for the table.
    let out = command
        .stdin(Stdio::null())
        .output()
        .map_err(Unmeasured::at(&shown))?;
    if out.status.success() {
        return Ok(());
    }
    Err(Unmeasured::new(format!(
        "{shown} ended with {}: {}",
        out.status,
        String::from_utf8_lossy(&out.stderr).trim()
    )))
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
