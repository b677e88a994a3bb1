//! The switch of the crash tests: in a debug build, `MOSAIC_DISCORD_DIE_AFTER_LINES=n` makes the process kill itself
//! (SIGKILL, so nothing is flushed, released or said) right after the n-th durable line, synced journal lines and
//! records counted together. A release build does not contain it.

/// Counts one durable line, and does not return when it was the last one asked for.
#[cfg(debug_assertions)]
pub(super) fn line_is_durable() {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static LAST: OnceLock<Option<u64>> = OnceLock::new();
    static LINES: AtomicU64 = AtomicU64::new(0);

    let last = LAST.get_or_init(|| {
        std::env::var("MOSAIC_DISCORD_DIE_AFTER_LINES")
            .ok()?
            .parse()
            .ok()
    });
    let lines = LINES.fetch_add(1, Ordering::SeqCst) + 1;
    if last.is_some_and(|last| lines == last) {
        let _ = nix::sys::signal::kill(nix::unistd::getpid(), nix::sys::signal::Signal::SIGKILL);
    }
}

#[cfg(not(debug_assertions))]
pub(super) fn line_is_durable() {}
