//! Folders for one test and a child process to be confined in it. Knows neither profiles nor what is tried.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::FromRawFd;
use std::path::PathBuf;

use tempfile::TempDir;

/// Folders of one test, gone with it.
pub(crate) struct Stage {
    folder: TempDir,
}

impl Stage {
    /// Makes the folders named, parents included.
    pub(crate) fn with_folders(names: &[&str]) -> Stage {
        let stage = Stage {
            folder: TempDir::new().unwrap(),
        };
        for name in names {
            std::fs::create_dir_all(stage.path(name)).unwrap();
        }
        stage
    }

    /// The same stage with a file on it.
    pub(crate) fn and_file(self, name: &str, content: &str) -> Stage {
        std::fs::write(self.path(name), content).unwrap();
        self
    }

    /// The path of a name on this stage.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Forked copy of the test with one thread, as a fence demands. It is killed with the value.
pub(crate) struct Child {
    pub(crate) pid: libc::pid_t,
    said: BufReader<File>,
    told: Option<File>,
}

/// The child's side of the conversation with the test.
pub(crate) struct Parent {
    said: File,
    told: BufReader<File>,
}

impl Parent {
    /// Tells the test one line.
    pub(crate) fn say(&mut self, line: &str) {
        self.said.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Waits until the test goes on, or is gone.
    pub(crate) fn wait(&mut self) {
        let _ = self.told.read_line(&mut String::new());
    }
}

impl Child {
    /// Starts `act` in a child. What it says last must be `end` when it came through; a panic in it ends it without.
    pub(crate) fn start(act: impl FnOnce(&mut Parent)) -> Child {
        let ((said, say), (told, tell)) = (pipe(), pipe());
        // SAFETY: the copy has one thread. It allocates, which glibc keeps safe across a fork, takes no lock of the test
        // harness, and ends by _exit.
        match unsafe { libc::fork() } {
            -1 => panic!("fork: {}", std::io::Error::last_os_error()),
            0 => {
                drop((said, tell));
                let mut parent = Parent {
                    said: say,
                    told: BufReader::new(told),
                };
                let outcome =
                    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| act(&mut parent)));
                let came_through = outcome.is_ok();
                if came_through {
                    parent.say("end");
                }
                // SAFETY: ends the child at once, without the harness's destructors.
                unsafe { libc::_exit(if came_through { 0 } else { 101 }) }
            }
            pid => Child {
                pid,
                said: BufReader::new(said),
                told: Some(tell),
            },
        }
    }

    /// The next line the child says.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Lets the child go on from where it waits.
    pub(crate) fn go_on(&mut self) {
        self.told
            .as_mut()
            .expect("the child is still told things")
            .write_all(b"\n")
            .unwrap();
    }

    /// Everything the child still says, when it came to its end.
    pub(crate) fn rest(mut self) -> Vec<String> {
        self.told = None;
        let mut text = String::new();
        self.said.read_to_string(&mut text).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        assert_eq!(
            lines.pop().as_deref(),
            Some("end"),
            "the child did not come to its end: {lines:?}"
        );
        lines
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: signals and reaps our own child, which nobody else waits for.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), 0);
        }
    }
}

/// Runs `act` in a child and returns what it said.
pub(crate) fn in_child(act: impl FnOnce(&mut Parent)) -> Vec<String> {
    Child::start(act).rest()
}

fn pipe() -> (File, File) {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for the two descriptors.
    let opened = unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) };
    assert_eq!(opened, 0);
    // SAFETY: both were just opened and belong to nobody else.
    unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) }
}
