//! The launcher's command line, written and read in one place. Both sides are ours; the reader still trusts nothing: it
//! refuses what it does not know, what is missing and what comes twice.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::abi::RequiredAbi;
use crate::error::SandboxError;
use crate::profiles::EngineReach;

/// Everything the launcher is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) reach: EngineReach,
    pub(crate) required: RequiredAbi,
    /// The Unix socket the child gets a connection to, as descriptor 3.
    pub(crate) connect: Option<PathBuf>,
    /// Arguments of the program, which is always the reach's node.
    pub(crate) arguments: Vec<OsString>,
}

/// The command that starts the engine: the launcher first, its arguments after it, for `Command::new(&line[0]).args(&line[1..])`.
/// It runs `reach.node` with `arguments`; with `connect` the engine finds a connection to that socket as descriptor 3.
///
/// The caller clears and sets the environment, makes the process group its own (`process_group(0)`), gives it pipes for 0, 1
/// and 2, and starts it from a thread that lives as long as the engine should: the child is killed when that thread ends.
#[must_use]
pub fn launch_engine(
    confine: &Path,
    reach: &EngineReach,
    required: RequiredAbi,
    connect: Option<&Path>,
    arguments: &[OsString],
) -> Vec<OsString> {
    let mut line: Vec<OsString> = vec![confine.into(), "engine".into()];
    let mut option = |name: &str, value: &OsStr| line.extend([name.into(), value.to_owned()]);
    option("--abi", required.get().to_string().as_ref());
    option("--node", reach.node.as_ref());
    reach
        .read
        .iter()
        .for_each(|path| option("--read", path.as_ref()));
    reach
        .write
        .iter()
        .for_each(|path| option("--write", path.as_ref()));
    reach
        .model_ports
        .iter()
        .for_each(|port| option("--port", port.to_string().as_ref()));
    option(
        "--resolve",
        if reach.resolves_names { "yes" } else { "no" }.as_ref(),
    );
    if let Some(socket) = connect {
        option("--connect", socket.as_ref());
    }
    line.push("--".into());
    line.extend_from_slice(arguments);
    line
}

impl Launch {
    /// Reads what [`launch_engine`] wrote, without the launcher's own name.
    pub(crate) fn parse(line: impl IntoIterator<Item = OsString>) -> Result<Launch, SandboxError> {
        let mut line = line.into_iter();
        match line.next() {
            Some(profile) if profile == "engine" => {}
            Some(profile) => return Err(wrong(format!("there is no profile {}; it can be engine", profile.display()))),
            None => return Err(wrong("no profile is named; mosaic-discord writes this command line, it is not for people".into())),
        }
        let (mut abi, mut node, mut resolve, mut connect) = (None, None, None, None);
        let (mut read, mut write, mut model_ports) = (vec![], vec![], vec![]);
        loop {
            let name = line
                .next()
                .ok_or_else(|| wrong("the arguments end before --".into()))?;
            let name = name.to_str().unwrap_or("an option that is not UTF-8");
            if name == "--" {
                break;
            }
            let value = line
                .next()
                .ok_or_else(|| wrong(format!("{name} has no value")))?;
            match name {
                "--abi" => once(name, &mut abi, number::<u32>(name, &value)?)?,
                "--node" => once(name, &mut node, absolute(name, value)?)?,
                "--resolve" => once(name, &mut resolve, yes_or_no(name, &value)?)?,
                "--connect" => once(name, &mut connect, absolute(name, value)?)?,
                "--read" => read.push(absolute(name, value)?),
                "--write" => write.push(absolute(name, value)?),
                "--port" => model_ports.push(number::<u16>(name, &value)?),
                _ => return Err(wrong(format!("{name} is not known"))),
            }
        }
        let node = node.ok_or_else(|| wrong("--node is missing".into()))?;
        let resolves_names = resolve.ok_or_else(|| wrong("--resolve is missing".into()))?;
        let required = RequiredAbi::at_least(abi.ok_or_else(|| wrong("--abi is missing".into()))?)?;
        let reach = EngineReach {
            node,
            read,
            write,
            model_ports,
            resolves_names,
        };
        Ok(Launch {
            reach,
            required,
            connect,
            arguments: line.collect(),
        })
    }
}

fn wrong(sentence: String) -> SandboxError {
    SandboxError::Arguments(sentence)
}

fn once<T>(name: &str, slot: &mut Option<T>, value: T) -> Result<(), SandboxError> {
    if slot.replace(value).is_some() {
        Err(wrong(format!("{name} comes twice")))
    } else {
        Ok(())
    }
}

fn absolute(name: &str, value: OsString) -> Result<PathBuf, SandboxError> {
    let path = PathBuf::from(value);
    if path.is_absolute() {
        Ok(path)
    } else {
        Err(wrong(format!(
            "{name} {} is not an absolute path",
            path.display()
        )))
    }
}

fn number<T: std::str::FromStr>(name: &str, value: &OsStr) -> Result<T, SandboxError> {
    let number = value.to_str().and_then(|text| text.parse().ok());
    number.ok_or_else(|| {
        wrong(format!(
            "{name} {} is not a number in range",
            value.display()
        ))
    })
}

fn yes_or_no(name: &str, value: &OsStr) -> Result<bool, SandboxError> {
    match value.to_str() {
        Some("yes") => Ok(true),
        Some("no") => Ok(false),
        _ => Err(wrong(format!(
            "{name} {} is neither yes nor no",
            value.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch() -> Launch {
        Launch {
            reach: EngineReach {
                node: "/opt/node".into(),
                read: vec!["/opt/pi".into(), "/opt/extension".into()],
                write: vec!["/data/pi".into()],
                model_ports: vec![443, 8080],
                resolves_names: true,
            },
            required: RequiredAbi::at_least(5).unwrap(),
            connect: Some("/run/tools.sock".into()),
            arguments: vec!["cli.js".into(), "--".into(), "--mode".into(), "rpc".into()],
        }
    }

    fn refused(line: &[&str]) -> String {
        Launch::parse(line.iter().map(OsString::from))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let launch = launch();
        let line = launch_engine(
            "/bin/confine".as_ref(),
            &launch.reach,
            launch.required,
            launch.connect.as_deref(),
            &launch.arguments,
        );
        assert_eq!(line[0], "/bin/confine");
        assert_eq!(Launch::parse(line.into_iter().skip(1)).unwrap(), launch);
    }

    #[test]
    fn every_strange_command_line_is_refused_by_name() {
        assert_eq!(
            refused(&["root"]),
            "confine: there is no profile root; it can be engine"
        );
        assert_eq!(refused(&["engine"]), "confine: the arguments end before --");
        assert_eq!(
            refused(&["engine", "--reed", "/x", "--"]),
            "confine: --reed is not known"
        );
        assert_eq!(
            refused(&["engine", "--node"]),
            "confine: --node has no value"
        );
        assert_eq!(
            refused(&["engine", "--node", "bin/node", "--"]),
            "confine: --node bin/node is not an absolute path"
        );
        assert_eq!(
            refused(&["engine", "--node", "/n", "--node", "/n", "--"]),
            "confine: --node comes twice"
        );
        assert_eq!(
            refused(&["engine", "--port", "65536", "--"]),
            "confine: --port 65536 is not a number in range"
        );
        assert_eq!(
            refused(&["engine", "--resolve", "maybe", "--"]),
            "confine: --resolve maybe is neither yes nor no"
        );
        assert_eq!(refused(&["engine", "--"]), "confine: --node is missing");
        assert_eq!(
            refused(&["engine", "--node", "/n", "--"]),
            "confine: --resolve is missing"
        );
        assert_eq!(
            refused(&["engine", "--node", "/n", "--resolve", "no", "--"]),
            "confine: --abi is missing"
        );
    }

    #[test]
    fn the_requirement_cannot_be_lowered_below_4_on_the_command_line() {
        let sentence = refused(&[
            "engine",
            "--abi",
            "3",
            "--node",
            "/n",
            "--resolve",
            "no",
            "--",
        ]);
        assert!(
            sentence.starts_with("Landlock ABI 3 cannot be required"),
            "{sentence}"
        );
    }
}
