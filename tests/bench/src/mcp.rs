//! A native client of an MCP server over its stdio: one JSON line out, one in. As little as the protocol needs, so that what
//! is timed is the server.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use crate::{rivals::CommandLine, unmeasured::Unmeasured};

/// A running server; killed when dropped.
pub(crate) struct Mcp {
    name: &'static str,
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    asked: u64,
    line: String,
}

impl Mcp {
    pub(crate) fn start(name: &'static str, line: &CommandLine) -> Result<Self, Unmeasured> {
        let (program, arguments) = line
            .split_first()
            .ok_or_else(|| Unmeasured::new("an empty command line"))?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(Unmeasured::at(name))?;
        let to = child
            .stdin
            .take()
            .ok_or_else(|| Unmeasured::new("no stdin"))?;
        let from = BufReader::new(
            child
                .stdout
                .take()
                .ok_or_else(|| Unmeasured::new("no stdout"))?,
        );
        let mut mcp = Self {
            name,
            child,
            to,
            from,
            asked: 0,
            line: String::new(),
        };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" },
        });
        mcp.ask("initialize", &hello)?;
        mcp.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(mcp)
    }

    /// Calls a verb and gives its text.
    pub(crate) fn call(
        &mut self,
        (verb, arguments): &(&'static str, Value),
    ) -> Result<String, Unmeasured> {
        let result = self.ask(
            "tools/call",
            &json!({ "name": verb, "arguments": arguments }),
        )?;
        match result["content"][0]["text"].as_str() {
            Some(text) if result["isError"] != true => Ok(text.to_owned()),
            _ => Err(Unmeasured::new(format!("{}: {verb}: {result}", self.name))),
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, Unmeasured> {
        self.asked += 1;
        self.say(
            &json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params }),
        )?;
        loop {
            self.line.clear();
            if self
                .from
                .read_line(&mut self.line)
                .map_err(Unmeasured::at(self.name))?
                == 0
            {
                return Err(Unmeasured::new(format!("{} ended at {method}", self.name)));
            }
            let mut reply: Value =
                serde_json::from_str(&self.line).map_err(Unmeasured::at(self.name))?;
            if let Some(error) = reply.get("error") {
                return Err(Unmeasured::new(format!("{}: {method}: {error}", self.name)));
            }
            // Notifications and questions to the client have other ids, or none.
            if reply["id"] == self.asked && reply.get("result").is_some() {
                return Ok(reply["result"].take());
            }
        }
    }

    fn say(&mut self, message: &Value) -> Result<(), Unmeasured> {
        let mut line = message.to_string();
        line.push('\n');
        self.to
            .write_all(line.as_bytes())
            .map_err(Unmeasured::at(self.name))
    }
}

impl Drop for Mcp {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
