//! The user's systemd manager, asked through `systemctl --user`. It knows the names of our units and no binding.

use std::process::{Command, Output, Stdio};

/// The manager. What it cannot do is said as a sentence with the next step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manager;

impl Manager {
    /// Makes it read the unit files again.
    pub(super) fn daemon_reload(self) -> Result<(), String> {
        ask(&["daemon-reload"]).map(drop)
    }

    /// Instances of our templates that are up, on their way up, or on their way down.
    pub(super) fn active_instances(self) -> Result<Vec<String>, String> {
        let listed = ask(&[
            "list-units",
            "--plain",
            "--no-legend",
            "--state=active,activating,deactivating,reloading",
            "mosaic-broker@*.service",
            "mosaic-discord@*.service",
        ])?;
        let names = listed
            .lines()
            .filter_map(|line| line.split_whitespace().next());
        Ok(names.map(str::to_owned).collect())
    }

    /// Properties of a unit, as `name=value` lines in the order of the names.
    pub(super) fn show(self, unit: &str, names: &[&str]) -> Result<Vec<(String, String)>, String> {
        let wanted = format!("--property={}", names.join(","));
        let shown = ask(&["show", &wanted, "--", unit])?;
        let found: Vec<(&str, &str)> = shown
            .lines()
            .filter_map(|line| line.split_once('='))
            .collect();
        let value = |name: &str| found.iter().find(|(found, _)| *found == name);
        Ok(names
            .iter()
            .filter_map(|name| value(name))
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect())
    }
}

fn ask(words: &[&str]) -> Result<String, String> {
    let asked = Command::new("systemctl")
        .args(["--user", "--no-pager"])
        .args(words)
        .stdin(Stdio::null())
        .output();
    let Output {
        status,
        stdout,
        stderr,
    } = asked.map_err(|error| format!("systemctl cannot be run ({error})."))?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&stderr);
    let said = said
        .lines()
        .next()
        .unwrap_or("it gave no reason")
        .trim_end_matches('.');
    Err(format!(
        "systemctl --user says: {said}. Log in as the user who owns the units, or set XDG_RUNTIME_DIR."
    ))
}
