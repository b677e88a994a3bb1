//! Which Landlock the kernel offers and whether that is enough. It does not know any profile.

use std::ffi::CStr;
use std::io;

use landlock::ABI;

use crate::error::SandboxError;

/// First kernel release of each ABI and what it added, for the sentence of a refusal (reference: Landlock by ABI version).
const ADDED: &[(u32, &str, &str)] = &[
    (1, "5.13", "files and folders"),
    (2, "5.19", "links and renames across folders"),
    (3, "6.2", "truncation"),
    (4, "6.7", "TCP ports"),
    (5, "6.10", "ioctl on devices"),
    (6, "6.12", "signals and abstract sockets"),
];

/// The lowest Landlock ABI a start accepts: 6 (Linux 6.12) unless the binding's explicit key lowers it to 4 or 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequiredAbi(u32);

impl Default for RequiredAbi {
    fn default() -> RequiredAbi {
        RequiredAbi(6)
    }
}

impl RequiredAbi {
    /// A requirement of 4, 5 or 6.
    ///
    /// # Errors
    /// [`SandboxError::RequirementOutOfRange`] for any other number: below 4 there is no fence around TCP.
    pub fn at_least(abi: u32) -> Result<RequiredAbi, SandboxError> {
        match abi {
            4..=6 => Ok(RequiredAbi(abi)),
            _ => Err(SandboxError::RequirementOutOfRange(abi)),
        }
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }

    /// Whether this is less than the rule, which the start log, `Status` and each turn record must say.
    #[must_use]
    pub fn is_lowered(self) -> bool {
        self.0 < RequiredAbi::default().0
    }
}

/// What `landlock_create_ruleset(…, VERSION)` answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offer {
    /// This ABI.
    Abi(u32),
    /// The call failed with this errno.
    Absent(i32),
}

/// Asks the running kernel.
pub(crate) fn offered() -> Offer {
    const VERSION: libc::c_long = 1; // LANDLOCK_CREATE_RULESET_VERSION
    // SAFETY: with a null pointer, size zero and this flag the kernel reads no memory and returns the ABI.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            0 as libc::c_long,
            0 as libc::c_long,
            VERSION,
        )
    };
    match u32::try_from(answer) {
        Ok(abi) => Offer::Abi(abi),
        Err(_) => Offer::Absent(
            io::Error::last_os_error()
                .raw_os_error()
                .unwrap_or(libc::ENOSYS),
        ),
    }
}

/// Decides which ABI to build rules for: the kernel's, when it satisfies `required`. A kernel newer than the library knows
/// is used as the newest known one; then every right the library can name is handled, and the rest stays as it was before.
///
/// # Errors
/// [`SandboxError::KernelTooOld`], naming `kernel` and what is missing. There is no best effort (DESIGN section 6).
pub(crate) fn decide(
    offer: Offer,
    required: RequiredAbi,
    kernel: &str,
) -> Result<ABI, SandboxError> {
    let abi = match offer {
        Offer::Abi(abi) => abi,
        Offer::Absent(_) => 0,
    };
    if abi >= required.0 {
        return Ok(ABI::from(i32::try_from(abi).unwrap_or(i32::MAX)));
    }
    let state = match offer {
        Offer::Abi(abi) => format!("offers Landlock ABI {abi}"),
        Offer::Absent(libc::EOPNOTSUPP) => {
            "has Landlock switched off (add landlock to the lsm= boot parameter)".to_owned()
        }
        Offer::Absent(libc::ENOSYS) => "has no Landlock".to_owned(),
        Offer::Absent(errno) => {
            format!("refuses Landlock ({})", io::Error::from_raw_os_error(errno))
        }
    };
    let missing: Vec<_> = ADDED
        .iter()
        .filter(|row| row.0 > abi && row.0 <= required.0)
        .map(|row| row.2)
        .collect();
    let since = ADDED
        .iter()
        .find(|row| row.0 == required.0)
        .map_or("", |row| row.1);
    Err(SandboxError::KernelTooOld {
        kernel: kernel.to_owned(),
        state,
        required: required.0,
        since,
        missing: missing.join(", "),
    })
}

/// The running kernel's name and release, as `Linux 6.12.3`.
pub(crate) fn kernel_name() -> String {
    // SAFETY: all-zero bytes are a valid utsname (six arrays of characters).
    let mut names: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: `names` is a live utsname for the kernel to fill.
    if unsafe { libc::uname(&raw mut names) } != 0 {
        return "this kernel".to_owned();
    }
    // SAFETY: the kernel ends both fields with a NUL inside their arrays.
    let (system, release) = unsafe {
        (
            CStr::from_ptr(names.sysname.as_ptr()),
            CStr::from_ptr(names.release.as_ptr()),
        )
    };
    format!("{} {}", system.to_string_lossy(), release.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(abi: u32, required: u32) -> Result<ABI, String> {
        decide(
            Offer::Abi(abi),
            RequiredAbi::at_least(required).unwrap(),
            "Linux X",
        )
        .map_err(|e| e.to_string())
    }

    #[test]
    fn a_119_the_decision_for_every_abi_from_0_to_10_and_every_requirement() {
        for required in 4..=6 {
            for abi in 0..=10 {
                let verdict = verdict(abi, required);
                if abi >= required {
                    assert_eq!(
                        verdict,
                        Ok(ABI::from(i32::try_from(abi).unwrap())),
                        "ABI {abi}, required {required}"
                    );
                } else {
                    let sentence = verdict.unwrap_err();
                    assert!(
                        sentence.starts_with(&format!("Linux X offers Landlock ABI {abi}; ")),
                        "{sentence}"
                    );
                    assert!(
                        sentence.contains(&format!("needs Landlock ABI {required} ")),
                        "{sentence}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_119_the_sentence_names_the_kernel_and_what_is_missing() {
        assert_eq!(
            verdict(3, 6).unwrap_err(),
            "Linux X offers Landlock ABI 3; this program needs Landlock ABI 6 (Linux 6.12) or newer. \
             Missing: TCP ports, ioctl on devices, signals and abstract sockets. Nothing was started."
        );
    }

    #[test]
    fn a_119_absent_and_switched_off_are_told_apart() {
        let sentence = |errno| {
            decide(Offer::Absent(errno), RequiredAbi::default(), "Linux X")
                .unwrap_err()
                .to_string()
        };
        assert!(sentence(libc::ENOSYS).starts_with("Linux X has no Landlock; "));
        assert!(
            sentence(libc::EOPNOTSUPP)
                .starts_with("Linux X has Landlock switched off (add landlock")
        );
        assert!(
            sentence(libc::EPERM).starts_with("Linux X refuses Landlock (Operation not permitted")
        );
    }

    #[test]
    fn a_kernel_newer_than_the_library_is_fenced_as_the_newest_known_one() {
        assert_eq!(verdict(11, 6), Ok(ABI::V10));
        assert_eq!(
            decide(Offer::Abi(u32::MAX), RequiredAbi::default(), "").ok(),
            Some(ABI::V10)
        );
    }

    #[test]
    fn the_requirement_is_6_and_can_be_lowered_to_4_and_no_further() {
        assert_eq!(RequiredAbi::default().get(), 6);
        assert!(!RequiredAbi::default().is_lowered());
        let accepted: Vec<u32> = (0..=12)
            .filter(|abi| RequiredAbi::at_least(*abi).is_ok())
            .collect();
        assert_eq!(accepted, [4, 5, 6]);
        assert!(RequiredAbi::at_least(5).unwrap().is_lowered());
    }
}
