//! Signaling the owner of a binding, and nobody else: the process is pinned by a descriptor before it is judged, so the
//! one that gets the signal is the one that was looked at, whatever becomes of its id.

use std::io;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::{Fate, Lock, Processes, Standing};

impl<P: Processes> Lock<'_, P> {
    /// Sends SIGTERM to the process that holds the binding, if one does beyond doubt. Returns how the lock stood; the
    /// signal went out exactly when that is [`Fate::Runs`].
    ///
    /// # Errors
    /// When the system refuses the descriptor or the signal.
    pub fn terminate(&self) -> io::Result<Standing> {
        self.signal(Signal::TERM)
    }

    /// Sends SIGHUP, which makes the connector take the binding that was handed over; else as [`Lock::terminate`].
    ///
    /// # Errors
    /// As [`Lock::terminate`].
    pub fn hang_up(&self) -> io::Result<Standing> {
        self.signal(Signal::HUP)
    }

    /// Sends SIGUSR1, which makes the connector stop the turn in hand; else as [`Lock::terminate`].
    ///
    /// # Errors
    /// As [`Lock::terminate`].
    pub fn interrupt_turn(&self) -> io::Result<Standing> {
        self.signal(Signal::USR1)
    }

    fn signal(&self, signal: Signal) -> io::Result<Standing> {
        let before = self.standing();
        let Standing::Held {
            pid,
            fate: Fate::Runs,
            record,
            ..
        } = &before
        else {
            return Ok(before);
        };
        let Some(raw) = i32::try_from(*pid).ok().and_then(Pid::from_raw) else {
            return Ok(before);
        };
        let process = match pidfd_open(raw, PidfdFlags::empty()) {
            Ok(process) => process,
            // It ended since it was looked at.
            Err(rustix::io::Errno::SRCH) => return Ok(self.standing()),
            Err(errno) => return Err(errno.into()),
        };
        // Between the look and the descriptor the id may have changed hands; look again, now that it cannot any more.
        let pinned = self.standing();
        match &pinned {
            Standing::Held {
                fate: Fate::Runs,
                record: again,
                ..
            } if again == record => {}
            _ => return Ok(pinned),
        }
        match pidfd_send_signal(&process, signal) {
            Ok(()) => Ok(pinned),
            Err(rustix::io::Errno::SRCH) => Ok(self.standing()),
            Err(errno) => Err(errno.into()),
        }
    }
}
