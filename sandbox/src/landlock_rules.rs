//! Lowers the file rows, port rows and scopes of a profile to a Landlock ruleset. Every path is opened here and by hand: the
//! library's own helper leaves out what it cannot open.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

use crate::error::SandboxError;
use crate::files::{FileRow, Place, Presence};
use crate::profile::Profile;

/// Opened file row: the descriptor a rule is made from.
struct Opened {
    descriptor: fs::File,
    rights: BitFlags<AccessFs>,
}

/// Builds the ruleset of `profile`, whose rows must already be those a kernel of `abi` holds. `None` when the profile denies
/// nothing through Landlock, which no profile outside the mutation test does.
pub(crate) fn build(profile: &Profile, abi: ABI) -> Result<Option<RulesetCreated>, SandboxError> {
    let mut opened = vec![];
    for row in &profile.files {
        open_row(profile.name, row, &mut opened)?;
    }
    lower(profile, abi, opened).map_err(|cause| SandboxError::Rules {
        profile: profile.name,
        cause,
    })
}

fn lower(
    profile: &Profile,
    abi: ABI,
    opened: Vec<Opened>,
) -> Result<Option<RulesetCreated>, RulesetError> {
    let rights: BitFlags<AccessFs> = profile.denied_rights.iter().map(|row| row.right).collect();
    let nets: BitFlags<AccessNet> = profile.denied_net.iter().map(|row| row.right).collect();
    let scopes: BitFlags<Scope> = profile.denied_scopes.iter().map(|row| row.scope).collect();
    if rights.is_empty() && nets.is_empty() && scopes.is_empty() {
        return Ok(None);
    }
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    if !rights.is_empty() {
        ruleset = ruleset.handle_access(rights)?;
    }
    if !nets.is_empty() {
        ruleset = ruleset.handle_access(nets)?;
    }
    if !scopes.is_empty() {
        ruleset = ruleset.scope(scopes)?;
    }
    let mut rules = ruleset
        .create()?
        .set_compatibility(CompatLevel::HardRequirement);
    if abi >= ABI::V7 {
        rules = rules.log_new_exec(true)?; // denials of the programs started from here reach the audit log too
    }
    for row in opened {
        let granted = row.rights & rights; // a right this kernel does not know cannot be granted, and is not denied
        if !granted.is_empty() {
            rules = rules.add_rule(PathBeneath::new(row.descriptor.as_fd(), granted))?;
        }
    }
    for row in &profile.ports {
        let granted = row.way.rights() & nets;
        if !granted.is_empty() {
            rules = rules.add_rule(NetPort::new(row.port, granted))?;
        }
    }
    Ok(Some(rules))
}

fn open_row(
    profile: &'static str,
    row: &FileRow,
    opened: &mut Vec<Opened>,
) -> Result<(), SandboxError> {
    let failed = |path: &Path, cause| SandboxError::Path {
        profile,
        path: path.to_owned(),
        cause,
    };
    let paths: Vec<PathBuf> = match &row.place {
        Place::Path(path) => vec![path.clone()],
        Place::FollowedFile(path) => match followed(path) {
            Ok(path) => vec![path],
            Err(error) if absent(&error) && row.presence == Presence::IfThere => return Ok(()),
            Err(error) => return Err(failed(path, error)),
        },
        Place::EntriesOf { folder, except } => {
            let mut paths = vec![];
            for entry in fs::read_dir(folder).map_err(|error| failed(folder, error))? {
                let entry = entry.map_err(|error| failed(folder, error))?;
                let kind = entry
                    .file_type()
                    .map_err(|error| failed(&entry.path(), error))?;
                if except.contains(&entry.file_name()) || kind.is_socket() {
                    continue;
                }
                if kind.is_symlink() {
                    return Err(SandboxError::Link {
                        profile,
                        path: entry.path(),
                    });
                }
                paths.push(entry.path());
            }
            paths
        }
    };
    for path in paths {
        let descriptor = match fs::OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_PATH)
            .open(&path)
        {
            Ok(descriptor) => descriptor,
            Err(error) if absent(&error) && row.presence == Presence::IfThere => continue,
            Err(error) => return Err(failed(&path, error)),
        };
        let folder = descriptor
            .metadata()
            .map_err(|error| failed(&path, error))?
            .is_dir();
        // Rights about what is in a folder do not exist on a file; the kernel refuses them there.
        let rights = if folder {
            row.grant.rights
        } else {
            row.grant.rights & AccessFs::from_file(ABI::V10)
        };
        opened.push(Opened { descriptor, rights });
    }
    Ok(())
}

/// The path itself, or the folder of the file it links to.
fn followed(path: &Path) -> io::Result<PathBuf> {
    if !fs::symlink_metadata(path)?.is_symlink() {
        return Ok(path.to_owned());
    }
    let target = fs::canonicalize(path)?;
    Ok(target.parent().unwrap_or(&target).to_owned())
}

fn absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

/// Whether a path is something a rule of `Place::Path` with this presence would cover: used by the self-test, which tries
/// what must work too.
pub(crate) fn present(row: &FileRow) -> bool {
    row.presence == Presence::Required || fs::metadata(row.place.path()).is_ok()
}
