//! Reads a checked file, and never more of it than its limit and one byte: that byte tells that it grew.

use rustix::io::{Errno, read};

use super::Trouble;
use crate::fence::file::Checked;

/// Reads the file into `scratch`, which is reused and only ever grows, and returns what was read: at most
/// `file.limit() + 1` bytes.
///
/// # Errors
///
/// [`Trouble::Storage`].
pub fn whole<'a>(file: &Checked, scratch: &'a mut Vec<u8>) -> Result<&'a [u8], Trouble> {
    let most = usize::try_from(file.limit())
        .unwrap_or(usize::MAX)
        .saturating_add(1);
    // One byte more than it had, so that the last read can find the end.
    let expected = usize::try_from(file.size())
        .unwrap_or(usize::MAX)
        .saturating_add(1)
        .min(most);
    if scratch.len() < expected {
        scratch.resize(expected, 0);
    }
    let mut filled = 0;
    while filled < most {
        if filled == scratch.len() {
            scratch.resize(
                scratch.len().saturating_mul(2).clamp(4_096.min(most), most),
                0,
            );
        }
        let asked = scratch.len().min(most) - filled;
        match read(file, &mut scratch[filled..filled + asked]) {
            Ok(0) => break,
            Ok(count) => {
                filled += count;
                // Less than asked for, and all it had: the end was met. Asking once more would cost a search a tenth.
                if count < asked && filled == expected - 1 {
                    break;
                }
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(&scratch[..filled])
}
