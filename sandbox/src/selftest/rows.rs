//! Turns the rows of a profile into attempts: one at least for every denial a kernel of the running ABI holds, one for every
//! grant that can be looked at without changing anything.

use std::io;

use landlock::AccessFs;

use super::ground::Ground;
use super::outside;
use super::probe::{Probe, raw};
use crate::call::{Call, calls};
use crate::files::{FileRow, Place};
use crate::landlock_rules;
use crate::process;
use crate::profile::{ExecutableMemory, Profile, Unlisted};

/// A call of no group and no refusal: what a filter without an end would let pass.
const UNLISTED: &[Call] = calls!(SYS_getpriority SYS_clone3 SYS_inotify_init1);

/// Every attempt for `profile`, whose rows are those the running kernel holds.
pub(super) fn probes(profile: &Profile, ground: Option<&Ground>) -> Vec<Probe> {
    let mut probes = vec![];
    probes.extend(profile.files.iter().filter_map(granted));
    probes.extend(
        profile
            .denied_rights
            .iter()
            .filter_map(|row| outside::right(profile, row, ground)),
    );
    probes.extend(
        profile
            .denied_net
            .iter()
            .filter_map(|row| outside::net(profile, row.right, row.name)),
    );
    probes.extend(
        profile
            .denied_scopes
            .iter()
            .filter_map(|row| outside::scope(profile, row.scope, row.name, ground)),
    );
    probes.push(Probe::denied(
        "hold a capability".to_owned(),
        vec![libc::EPERM],
        hold_capability,
    ));
    probes.extend(executable_memory(profile));
    probes.extend(refusals(profile));
    probes.extend(unlisted(profile));
    probes
}

/// Grants that must work: a fence that is narrower than its profile is a start error too, not a riddle at the first call.
fn granted(row: &FileRow) -> Option<Probe> {
    let Place::Path(path) = &row.place else {
        return None;
    };
    let readable = row.grant.rights.contains(AccessFs::ReadFile);
    let listable = row.grant.rights.contains(AccessFs::ReadDir);
    let there = landlock_rules::present(row) && readable && (listable || !path.is_dir());
    there.then(|| Probe::open_works(path))
}

fn hold_capability() -> io::Result<()> {
    match process::holds_capabilities() {
        Ok(true) => Ok(()),
        Ok(false) => Err(io::Error::from_raw_os_error(libc::EPERM)),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

fn executable_memory(profile: &Profile) -> Vec<Probe> {
    if profile.executable_memory == ExecutableMemory::Needed {
        return vec![];
    }
    vec![
        Probe::denied(
            "executable memory: writable at once".to_owned(),
            vec![libc::EACCES],
            || map(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC, None),
        ),
        Probe::denied(
            "executable memory: written before".to_owned(),
            vec![libc::EACCES],
            || {
                map(
                    libc::PROT_READ | libc::PROT_WRITE,
                    Some(libc::PROT_READ | libc::PROT_EXEC),
                )
            },
        ),
    ]
}

/// Maps a page, changes its protection when told to, and unmaps it.
fn map(first: libc::c_int, then: Option<libc::c_int>) -> io::Result<()> {
    const PAGE: usize = 4096;
    // SAFETY: a fresh anonymous page at an address of the kernel's choice.
    let page = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            PAGE,
            first,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if page == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the page was just mapped and nothing refers to it.
    let changed =
        then.is_none_or(|protection| unsafe { libc::mprotect(page, PAGE, protection) } == 0);
    let error = io::Error::last_os_error();
    // SAFETY: as above; it is not used afterwards.
    unsafe { libc::munmap(page, PAGE) };
    if changed { Ok(()) } else { Err(error) }
}

/// Every refusal, on every call it names, with arguments that meet its condition. The answer must be the row's own.
fn refusals(profile: &Profile) -> Vec<Probe> {
    let mut probes = vec![];
    for row in &profile.refusals {
        for call in row.calls.iter().copied() {
            for (with, arguments) in row.tries.iter().copied() {
                let phrase = if with.is_empty() {
                    call.name().to_owned()
                } else {
                    format!("{}: {with}", call.name())
                };
                probes.push(Probe::denied(phrase, vec![row.answer.errno()], move || {
                    raw(call, arguments)
                }));
            }
        }
    }
    probes
}

fn unlisted(profile: &Profile) -> Vec<Probe> {
    match profile.unlisted {
        Unlisted::Enosys => UNLISTED
            .iter()
            .map(|call| {
                Probe::denied(
                    format!("unlisted: {}", call.name()),
                    vec![libc::ENOSYS],
                    || raw(*call, [0; 6]),
                )
            })
            .collect(),
        #[cfg(test)]
        Unlisted::Allowed => vec![],
    }
}
