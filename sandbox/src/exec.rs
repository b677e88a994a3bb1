//! The path of the one program a launcher may start, kept at a random address. The filter lets `execve` pass only with that
//! address as its first argument; the program that is started has other memory, cannot read the filter, and so can start
//! nothing.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use crate::error::SandboxError;

/// Bytes of the mapping: room for a path of PATH_MAX after an offset of up to as much again.
const ROOM: usize = 4 * 4096;
/// Longest path, its NUL included.
const PATH_MAX: usize = 4096;

/// Path of a program at an address nobody can know in advance.
#[derive(Debug)]
pub(crate) struct ExecPath {
    path: *const libc::c_char,
}

impl ExecPath {
    /// Places `program` at a random address.
    pub(crate) fn place(program: &Path) -> Result<ExecPath, SandboxError> {
        let path = CString::new(program.as_os_str().as_bytes())
            .ok()
            .filter(|path| path.as_bytes_with_nul().len() <= PATH_MAX)
            .ok_or_else(|| {
                SandboxError::Arguments(format!("{} cannot be a program's path", program.display()))
            })?;
        let mut random = [0u8; 8];
        // SAFETY: the kernel fills at most the eight bytes of `random`.
        if unsafe { libc::getrandom(random.as_mut_ptr().cast(), random.len(), 0) } != 8 {
            return Err(SandboxError::last("ask for a random address"));
        }
        let random = usize::from_ne_bytes(random);
        // A page among 2^34 of the lower half of the address space as a hint, and a byte among 4096 within it.
        let hint = 0x1000_0000_0000 + (random & ((1 << 34) - 1)) * 4096;
        let offset = (random >> 34) % 4096;
        // SAFETY: an anonymous private mapping of fresh memory; without MAP_FIXED nothing existing is replaced.
        let memory = unsafe {
            libc::mmap(
                ptr::without_provenance_mut(hint),
                ROOM,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(SandboxError::last("map the launcher's page"));
        }
        let bytes = path.as_bytes_with_nul();
        // SAFETY: offset (below 4096) plus the path (at most 4096) stays inside the ROOM bytes just mapped writable, which
        // nothing else refers to.
        let start = unsafe {
            let start = memory.cast::<u8>().add(offset);
            ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len());
            start
        };
        Ok(ExecPath { path: start.cast() })
    }

    /// The address, as the filter compares it.
    pub(crate) fn address(&self) -> u64 {
        self.path.addr() as u64
    }

    /// Becomes the program, with the path as its own name, `arguments` after it and the environment as it is. Returns only
    /// when the kernel refused.
    pub(crate) fn exec(&self, arguments: &[OsString]) -> SandboxError {
        // SAFETY: `place` wrote a NUL-ended string there, and the mapping is never changed or removed.
        let path = unsafe { CStr::from_ptr(self.path) };
        let own_name = OsStr::from_bytes(path.to_bytes());
        let named = std::iter::once(own_name).chain(arguments.iter().map(OsString::as_os_str));
        let Ok(arguments) = named
            .map(|argument| CString::new(argument.as_bytes()))
            .collect::<Result<Vec<_>, _>>()
        else {
            return SandboxError::Arguments("an argument holds a NUL byte".to_owned());
        };
        let mut pointers: Vec<_> = arguments.iter().map(|argument| argument.as_ptr()).collect();
        pointers.push(ptr::null());
        unsafe extern "C" {
            static environ: *const *const libc::c_char;
        }
        // SAFETY: path and pointers are NUL-ended strings in a NULL-ended array that live until the call returns, which it
        // does only when it failed; `environ` is libc's own array, and no other thread exists that could change it.
        unsafe { libc::execve(self.path, pointers.as_ptr(), environ) };
        SandboxError::Step {
            step: "start the program",
            cause: io::Error::last_os_error(),
        }
    }
}
