//! Lowers the call groups and refusals of a profile to one seccomp program: first every refusal, then the list of what is
//! allowed, and ENOSYS for the rest. Another architecture's call numbers kill the process at once.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

use crate::error::SandboxError;
use crate::exec::ExecPath;
use crate::profile::{Profile, Unlisted};
use crate::refusal::{Answer, Arg};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Builds the program. `exec` is the launcher's path for profiles with [`Arg::NotLauncherPath`]; without one that row
/// refuses every exec.
pub(crate) fn build(
    profile: &Profile,
    exec: Option<&ExecPath>,
) -> Result<BpfProgram, SandboxError> {
    lower(profile, exec).map_err(|error| SandboxError::Filter {
        profile: profile.name,
        step: "built",
        cause: error.into(),
    })
}

fn lower(profile: &Profile, exec: Option<&ExecPath>) -> Result<BpfProgram, BackendError> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let mut program = vec![];
    for answer in [Answer::Eperm, Answer::Eafnosupport, Answer::Enosys] {
        let refused = refused_with(profile, answer, exec)?;
        if !refused.is_empty() {
            let action = SeccompAction::Errno(answer.errno().cast_unsigned());
            append(
                &mut program,
                SeccompFilter::new(refused, SeccompAction::Allow, action, arch)?.try_into()?,
            );
        }
    }
    match profile.unlisted {
        Unlisted::Enosys => {
            let allowed: Rules = profile
                .groups
                .iter()
                .flat_map(crate::call::Group::calls)
                .map(|call| (call.number, vec![]))
                .collect();
            let unlisted = SeccompAction::Errno(Answer::Enosys.errno().cast_unsigned());
            append(
                &mut program,
                SeccompFilter::new(allowed, unlisted, SeccompAction::Allow, arch)?.try_into()?,
            );
        }
        #[cfg(test)]
        Unlisted::Allowed => {
            append(
                &mut program,
                SeccompFilter::new(
                    Rules::new(),
                    SeccompAction::Allow,
                    SeccompAction::Trap,
                    arch,
                )?
                .try_into()?,
            );
        }
    }
    Ok(program)
}

/// The rules of every refusal with this answer. A rule with no condition is how the library spells "always".
fn refused_with(
    profile: &Profile,
    answer: Answer,
    exec: Option<&ExecPath>,
) -> Result<Rules, BackendError> {
    let mut rules = Rules::new();
    for row in profile.refusals.iter().filter(|row| row.answer == answer) {
        for call in &row.calls {
            let of_call = rules.entry(call.number).or_default();
            for all in &row.any_of {
                let conditions = all
                    .iter()
                    .map(|arg| condition(*arg, exec))
                    .collect::<Result<Vec<_>, _>>()?;
                of_call.push(SeccompRule::new(conditions)?);
            }
        }
    }
    Ok(rules)
}

fn condition(arg: Arg, exec: Option<&ExecPath>) -> Result<SeccompCondition, BackendError> {
    use SeccompCmpArgLen::{Dword, Qword};
    match arg {
        Arg::Is(at, value) => SeccompCondition::new(at, Dword, SeccompCmpOp::Eq, value.into()),
        Arg::IsNot(at, value) => SeccompCondition::new(at, Dword, SeccompCmpOp::Ne, value.into()),
        Arg::Masked(at, mask, value) => {
            SeccompCondition::new(at, Dword, SeccompCmpOp::MaskedEq(mask.into()), value.into())
        }
        // Address 0 holds no path: without a launcher path every exec is refused.
        Arg::NotLauncherPath(at) => SeccompCondition::new(
            at,
            Qword,
            SeccompCmpOp::Ne,
            exec.map_or(0, ExecPath::address),
        ),
    }
}

/// Appends a filter to a program so that what the program lets pass is judged by the filter: every "allow" of the program
/// becomes a jump past its end.
fn append(program: &mut BpfProgram, filter: BpfProgram) {
    const RETURN: u16 = 0x06; // BPF_RET | BPF_K
    const JUMP: u16 = 0x05; // BPF_JMP | BPF_JA
    let allow = u32::from(SeccompAction::Allow);
    let end = program.len();
    for (at, instruction) in program.iter_mut().enumerate() {
        if instruction.code == RETURN && instruction.k == allow {
            let past_the_end =
                u32::try_from(end - at - 1).expect("a filter has at most 4096 instructions");
            *instruction = sock_filter {
                code: JUMP,
                jt: 0,
                jf: 0,
                k: past_the_end,
            };
        }
    }
    program.extend(filter);
}
