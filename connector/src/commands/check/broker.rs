//! The broker's own check, asked of the program beside this one: what its rules say is not known here, only how it ended.

use std::io::ErrorKind;
use std::process::{Command, Stdio};

use super::Ground;
use crate::commands::Surroundings;
use crate::exit::{Code, Exit};

/// Runs `mosaic-broker check` for the same binding.
pub(super) fn check(ground: &Ground, around: &Surroundings) -> Result<((), String), Exit> {
    if ground.binding.tools.is_none() {
        return Ok(((), "not needed: the binding has no tools".to_owned()));
    }
    let program = around.sibling("mosaic-broker")?;
    let mut command = Command::new(&program);
    command
        .arg("check")
        .arg(ground.paths.name().as_str())
        .arg("--data-root")
        .arg(ground.paths.data_root())
        .arg("--config")
        .arg(&ground.binding_file)
        .arg("--runtime-dir")
        .arg(ground.runtime.folder())
        .env_clear()
        .stdin(Stdio::null());
    if let Some(home) = &around.home {
        // The broker refuses a root that is the home folder, and must know which one that is.
        command.env("HOME", home);
    }

    let output = command.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => Exit::invalid(format_args!(
            "There is no {}. Install both programs in one folder.",
            program.display()
        )),
        _ => Exit::failed(format_args!(
            "{} does not start: {error}.",
            program.display()
        )),
    })?;
    if output.status.success() {
        return Ok(((), "its own check passed".to_owned()));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim_start_matches("mosaic-broker: ");
    let said: Vec<&str> = said.split_whitespace().collect();
    let sentence = format!(
        "{} To see all of it: mosaic-broker check {}",
        said.join(" "),
        ground.paths.name()
    );
    Err(match output.status.code() {
        Some(2) => Exit {
            code: Code::Invalid,
            sentence,
        },
        _ => Exit::failed(sentence),
    })
}
