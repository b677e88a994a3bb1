//! The way in: a prepared fence, and the proof that it was entered. Each step is fatal when it fails; a process that got an
//! error from here may be half confined and must end.

use std::ffi::OsString;
use std::marker::PhantomData;
use std::path::Path;

use landlock::{ABI, RulesetCreated, RulesetStatus};
use seccompiler::BpfProgram;

use crate::error::SandboxError;
use crate::exec::ExecPath;
use crate::profile::{ExecutableMemory, Profile};
use crate::{landlock_rules, process, seccomp_filter};

/// Rules and filter of one profile, built and not yet in force.
#[derive(Debug)]
pub struct Fence {
    profile: Profile,
    unheld: Vec<&'static str>,
    abi: ABI,
    rules: Option<RulesetCreated>,
    filter: BpfProgram,
    exec: Option<ExecPath>,
}

impl Fence {
    pub(crate) fn build(profile: &Profile, abi: ABI) -> Result<Fence, SandboxError> {
        let (profile, unheld) = profile.on(abi as u32);
        let rules = landlock_rules::build(&profile, abi)?;
        let filter = seccomp_filter::build(&profile, None)?;
        Ok(Fence {
            profile,
            unheld,
            abi,
            rules,
            filter,
            exec: None,
        })
    }

    /// Names the one program that may be started once the fence is entered, for a profile whose filter refuses every other.
    pub(crate) fn then_exec(mut self, program: &Path) -> Result<Fence, SandboxError> {
        let exec = ExecPath::place(program)?;
        self.filter = seccomp_filter::build(&self.profile, Some(&exec))?;
        self.exec = Some(exec);
        Ok(self)
    }

    /// Closes the fence around this process, in this order: no second thread, no capabilities, no_new_privs, no new
    /// executable memory, Landlock, the filter on all threads. Threads and programs started later are inside too; a thread
    /// started earlier would not be, so this comes before any runtime.
    ///
    /// # Errors
    /// Any step the kernel refuses, or enforces only in part. The process must then end: it may be half confined.
    pub fn enter(self) -> Result<Entered, SandboxError> {
        let Fence {
            profile,
            unheld,
            abi,
            rules,
            filter,
            exec,
        } = self;
        process::demand_single_thread()?;
        process::drop_capabilities()?;
        process::forbid_new_privileges()?;
        if profile.executable_memory == ExecutableMemory::Refused {
            process::forbid_executable_memory()?;
        }
        if let Some(rules) = rules {
            let status = rules.restrict_self().map_err(|cause| SandboxError::Rules {
                profile: profile.name,
                cause,
            })?;
            if status.ruleset != RulesetStatus::FullyEnforced || !status.no_new_privs {
                return Err(SandboxError::PartlyEnforced {
                    profile: profile.name,
                });
            }
        }
        seccompiler::apply_filter_all_threads(&filter).map_err(|cause| SandboxError::Filter {
            profile: profile.name,
            step: "installed",
            cause,
        })?;
        Ok(Entered {
            profile,
            unheld,
            abi,
            exec,
            this_process: PhantomData,
        })
    }
}

/// Proof that this process is inside a fence. Kept for the self-test and for what `Status` says.
#[derive(Debug)]
pub struct Entered {
    pub(crate) profile: Profile,
    unheld: Vec<&'static str>,
    abi: ABI,
    exec: Option<ExecPath>,
    /// Made by [`Fence::enter`] only.
    this_process: PhantomData<()>,
}

impl Entered {
    /// The Landlock ABI the rules were built for.
    #[must_use]
    pub fn abi(&self) -> u32 {
        self.abi as u32
    }

    /// The name of the profile.
    #[must_use]
    pub fn profile(&self) -> &'static str {
        self.profile.name
    }

    /// What this kernel's Landlock cannot deny although the profile would. On a kernel of the required ABI 6 these are rights
    /// that newer kernels added; with a lowered requirement also signals and device controls.
    #[must_use]
    pub fn unheld(&self) -> &[&'static str] {
        &self.unheld
    }

    /// Becomes the one program of this fence. Returns only when that failed.
    pub(crate) fn exec(self, arguments: &[OsString]) -> SandboxError {
        match self.exec {
            Some(exec) => exec.exec(arguments),
            None => SandboxError::NoExec(self.profile.name),
        }
    }
}
