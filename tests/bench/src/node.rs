//! Node programs of the bench as processes: the caller, which stands where pi stands with the broker's connection as its
//! descriptor 3, and the idle discord.js client. It starts them and talks to them in JSON lines.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::Path,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use crate::{
    ground::Ground,
    rivals::{CommandLine, FileServer},
    samples::Samples,
    unmeasured::Unmeasured,
};

/// A Node process that calls the broker over fd 3 and the rivals over pipes of its own; killed when dropped.
pub(crate) struct NodeCaller {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStderr>,
}

impl NodeCaller {
    /// Starts it on a connection to `tools_socket`. `rivals` are its children, called by their index.
    pub(crate) fn start(
        ground: &Ground,
        tools_socket: &Path,
        rivals: &[&FileServer],
    ) -> Result<Self, Unmeasured> {
        let connection =
            UnixStream::connect(tools_socket).map_err(Unmeasured::at(tools_socket.display()))?;
        let lines: Vec<_> = rivals.iter().map(|rival| &rival.line).collect();
        // The standard library hands on descriptors 0 to 2 only; the shell moves them: 1 becomes 3, 2 becomes 1.
        let mut child = Command::new("/bin/sh")
            .args(["-c", "exec \"$@\" 3<&1 1>&2", "sh"])
            .arg(ground.node())
            .arg(ground.source("tests/bench/node/caller.mjs"))
            .arg(ground.source("connector/extension"))
            .arg(json!(lines).to_string())
            .stdin(Stdio::piped())
            .stdout(OwnedFd::from(connection))
            .stderr(Stdio::piped())
            .spawn()
            .map_err(Unmeasured::at("start the caller in Node"))?;
        let to = child
            .stdin
            .take()
            .ok_or_else(|| Unmeasured::new("no stdin"))?;
        let from = BufReader::new(
            child
                .stderr
                .take()
                .ok_or_else(|| Unmeasured::new("no stderr"))?,
        );
        Ok(Self { child, to, from })
    }

    /// Has it call one verb of the broker so often.
    pub(crate) fn ours(
        &mut self,
        verb: &str,
        arguments: &Value,
        count: usize,
        into: &mut Samples,
    ) -> Result<(), Unmeasured> {
        self.ask(
            &json!({ "rival": null, "verb": verb, "arguments": arguments, "count": count }),
            into,
        )
    }

    /// Has it call one verb of a rival so often.
    pub(crate) fn rival(
        &mut self,
        index: usize,
        (verb, arguments): &(&'static str, Value),
        count: usize,
        into: &mut Samples,
    ) -> Result<(), Unmeasured> {
        self.ask(
            &json!({ "rival": index, "verb": verb, "arguments": arguments, "count": count }),
            into,
        )
    }

    fn ask(&mut self, order: &Value, into: &mut Samples) -> Result<(), Unmeasured> {
        writeln!(self.to, "{order}").map_err(Unmeasured::at("the caller in Node"))?;
        let mut line = String::new();
        self.from
            .read_line(&mut line)
            .map_err(Unmeasured::at("the caller in Node"))?;
        let times: Vec<f64> = serde_json::from_str(&line).map_err(|_| {
            Unmeasured::new(format!("the caller in Node said: {}{}", line, self.rest()))
        })?;
        times.into_iter().for_each(|us| into.add_us(us));
        Ok(())
    }

    /// What else it said before it ended; an error is several lines.
    fn rest(&mut self) -> String {
        let _ = self.child.kill();
        std::io::read_to_string(&mut self.from).unwrap_or_default()
    }
}

impl Drop for NodeCaller {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A discord.js client that has logged in; killed when dropped.
pub(crate) struct IdleClient {
    child: Child,
    _from: BufReader<ChildStdout>,
}

impl IdleClient {
    /// Logs in at `api` (`http://host:port/api`) and waits until the client is ready.
    pub(crate) fn log_in(line: &CommandLine, api: &str, token: &str) -> Result<Self, Unmeasured> {
        let (program, arguments) = line
            .split_first()
            .ok_or_else(|| Unmeasured::new("an empty command line"))?;
        let mut child = Command::new(program)
            .args(arguments)
            .args([api, token])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Unmeasured::at("start discord.js"))?;
        let mut from = BufReader::new(
            child
                .stdout
                .take()
                .ok_or_else(|| Unmeasured::new("no stdout"))?,
        );
        let mut word = String::new();
        from.read_line(&mut word)
            .map_err(Unmeasured::at("discord.js"))?;
        if word.trim() != "ready" {
            let _ = child.kill();
            let _ = child.wait();
            return Err(Unmeasured::new(format!(
                "discord.js did not log in: {word}"
            )));
        }
        Ok(Self { child, _from: from })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for IdleClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
