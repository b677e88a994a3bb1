//! Prints a profile for the person who reviews it: one row a line, a reason on each, in the order the kernel is told.

use std::fmt::{self, Display, Formatter};

use crate::call::Call;
use crate::files::{FileRow, Place, Presence};
use crate::profile::{ExecutableMemory, Profile};

/// Columns a list of calls may fill.
const WIDTH: usize = 118;

impl Display for Profile {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "profile {}: {}", self.name, self.purpose)?;
        writeln!(
            f,
            "\nno capabilities, no new privileges, one thread until the fence is closed"
        )?;
        match self.executable_memory {
            ExecutableMemory::Refused => writeln!(
                f,
                "executable memory: none beyond what the program started with"
            )?,
            ExecutableMemory::Needed => writeln!(
                f,
                "executable memory: allowed, for the just-in-time compiler"
            )?,
        }
        self.print_files(f)?;
        self.print_ports(f)?;
        self.print_denied(f)?;
        self.print_groups(f)?;
        self.print_refusals(f)
    }
}

impl Profile {
    fn print_files(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nfiles it keeps, each with all below it")?;
        let places: Vec<String> = self.files.iter().map(place).collect();
        let width = places.iter().map(String::len).max().unwrap_or(0);
        let name = self
            .files
            .iter()
            .map(|row| row.grant.name.len())
            .max()
            .unwrap_or(0);
        for (row, place) in self.files.iter().zip(&places) {
            writeln!(f, "  {:name$}  {place:width$}  {}", row.grant.name, row.why)?;
        }
        Ok(())
    }

    fn print_ports(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nports it keeps")?;
        if self.ports.is_empty() {
            writeln!(f, "  none")?;
        }
        for row in &self.ports {
            writeln!(f, "  {:11}  {:5}  {}", row.way.name(), row.port, row.why)?;
        }
        Ok(())
    }

    fn print_denied(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\ndenied by Landlock everywhere else, from the ABI in brackets on"
        )?;
        let rights = self
            .denied_rights
            .iter()
            .map(|row| (row.name, row.abi, row.why));
        let nets = self
            .denied_net
            .iter()
            .map(|row| (row.name, row.abi, row.why));
        let scopes = self
            .denied_scopes
            .iter()
            .map(|row| (row.name, row.abi, row.why));
        for (name, abi, why) in rights.chain(nets).chain(scopes) {
            writeln!(f, "  {:44}  {why}", format!("{name} ({abi})"))?;
        }
        Ok(())
    }

    fn print_groups(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nsystem calls it may make; any other answers ENOSYS")?;
        for group in &self.groups {
            writeln!(f, "  {}: {}", group.name, group.why)?;
            let calls: Vec<Call> = group.calls().collect();
            print_calls(f, &calls, "    ")?;
        }
        Ok(())
    }

    fn print_refusals(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nrefused whatever is allowed above")?;
        for row in &self.refusals {
            print_calls(f, &row.calls, "  ")?;
            let when = if row.when.is_empty() {
                "always"
            } else {
                row.when
            };
            writeln!(f, "    {when}: {} ({})", row.why, row.answer.name())?;
        }
        Ok(())
    }
}

fn place(row: &FileRow) -> String {
    let path = match &row.place {
        Place::Path(path) => path.display().to_string(),
        Place::FollowedFile(path) => format!("{} or the folder it links into", path.display()),
        Place::EntriesOf { folder, except } => {
            let except: Vec<_> = except.iter().map(|name| name.to_string_lossy()).collect();
            format!("{}/* except {}", folder.display(), except.join(", "))
        }
    };
    match row.presence {
        Presence::Required => path,
        Presence::IfThere => format!("{path} (if there)"),
    }
}

fn print_calls(f: &mut Formatter<'_>, calls: &[Call], indent: &str) -> fmt::Result {
    let mut line = indent.to_owned();
    for call in calls {
        if line.len() + 1 + call.name().len() > WIDTH {
            writeln!(f, "{}", line.trim_end())?;
            indent.clone_into(&mut line);
        }
        line.push_str(call.name());
        line.push(' ');
    }
    writeln!(f, "{}", line.trim_end())
}
