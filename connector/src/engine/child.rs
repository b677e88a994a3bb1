//! pi's process and its three pipes. It moves bytes and records; what they mean is decided elsewhere. pi's stderr may
//! hold a provider's or a user's words: it is read, never logged, and only its end is kept.

use std::{
    collections::VecDeque, ffi::OsString, io, path::Path, process::ExitStatus, process::Stdio,
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{self, ChildStderr, ChildStdin, ChildStdout},
    sync::mpsc,
    task::JoinHandle,
};

use super::{
    error::Broken,
    protocol::{Command, LINE_MAX, Line, Lines, Record},
};

/// Records that may wait. pi waits with them: its pipe fills.
const WAITING: usize = 256;
/// Bytes of stderr that are kept.
const LAST_WORDS: usize = 2048;

/// A running pi.
#[derive(Debug)]
pub(super) struct Child {
    process: process::Child,
    group: Group,
    input: Option<mpsc::UnboundedSender<Vec<u8>>>,
    output: mpsc::Receiver<Spoken>,
    last_words: JoinHandle<Vec<u8>>,
}

/// Something came out of pi.
#[derive(Debug, PartialEq)]
pub(super) enum Spoken {
    Record(Record),
    /// A line that is no record; how many there were so far.
    BadLine(u64),
    /// There will be no more; with the reason when it is not simply over.
    End(Option<Broken>),
}

impl Child {
    /// Starts `command` in `folder` with exactly this environment, in a process group of its own.
    ///
    /// The launcher lets the kernel kill pi when the *thread* that started it ends, so call this from a worker of the
    /// runtime, never from a blocking thread.
    pub(super) fn spawn(
        command: &[OsString],
        environment: Vec<(&'static str, OsString)>,
        folder: &Path,
    ) -> io::Result<Self> {
        let (program, arguments) = command
            .split_first()
            .expect("a command begins with its program");
        let mut process = process::Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(environment)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let group = Group::of(&process);
        let (input, lines) = mpsc::unbounded_channel();
        let (spoken, output) = mpsc::channel(WAITING);
        tokio::spawn(write(process.stdin.take().expect("stdin is piped"), lines));
        tokio::spawn(read(
            process.stdout.take().expect("stdout is piped"),
            spoken,
        ));
        let last_words = tokio::spawn(keep_end(process.stderr.take().expect("stderr is piped")));
        Ok(Self {
            process,
            group,
            input: Some(input),
            output,
            last_words,
        })
    }

    /// Sends one command. It never waits: a pi that does not read is found by its silence.
    pub(super) fn send(&self, id: &str, command: &Command) {
        if let Some(input) = &self.input {
            // A closed pipe shows as the end of the output.
            let _ = input.send(command.line(id));
        }
    }

    /// What pi says next. Safe to cancel. After the end it says the end again.
    pub(super) async fn next(&mut self) -> Spoken {
        self.output.recv().await.unwrap_or(Spoken::End(None))
    }

    /// Closes pi's input, on which it ends by itself.
    pub(super) fn close_input(&mut self) {
        self.input = None;
    }

    /// Kills the whole group and waits for pi. An exit that was already under way keeps its own status.
    pub(super) async fn end(&mut self) -> io::Result<ExitStatus> {
        self.group.kill();
        let status = self.process.wait().await;
        self.group.reaped();
        status
    }

    /// The end of what pi wrote to stderr, in one printable line, once it is gone.
    pub(super) async fn last_words(self) -> String {
        let Self {
            last_words,
            process,
            group,
            ..
        } = self;
        drop((process, group));
        printable(&last_words.await.unwrap_or_default())
    }
}

/// pi's process group. Killed when dropped, so that no way out of this program's code leaves one behind.
#[derive(Debug)]
struct Group(Option<Pid>);

impl Group {
    fn of(process: &process::Child) -> Self {
        let leader = process.id().and_then(|id| i32::try_from(id).ok());
        Self(leader.map(Pid::from_raw))
    }

    fn kill(&self) {
        if let Some(leader) = self.0 {
            // It fails only when the group is gone, which is what is wanted.
            let _ = killpg(leader, Signal::SIGKILL);
        }
    }

    /// The leader's number may be given to another process now.
    fn reaped(&mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn write(mut pipe: ChildStdin, mut lines: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if pipe.write_all(&line).await.is_err() {
            return;
        }
        // The moment a prompt leaves, to the microsecond: for whoever looks for lost time, as the bench does.
        tracing::info!(bytes = line.len(), "a line was written to pi");
    }
}

async fn read(pipe: ChildStdout, spoken: mpsc::Sender<Spoken>) {
    let mut lines = Lines::new(BufReader::with_capacity(64 * 1024, pipe), LINE_MAX);
    let mut bad = 0;
    loop {
        let said = match lines.next().await {
            Ok(Line::Whole(line)) => match Record::parse(&line) {
                Ok(Record::Other) => continue,
                Ok(record) => Spoken::Record(record),
                Err(_) => {
                    bad += 1;
                    Spoken::BadLine(bad)
                }
            },
            Ok(Line::Half | Line::End) => Spoken::End(None),
            Ok(Line::TooLong) => Spoken::End(Some(Broken::EndlessLine)),
            Err(_) => Spoken::End(Some(Broken::Unreadable)),
        };
        let over = matches!(said, Spoken::End(_));
        if spoken.send(said).await.is_err() || over {
            return;
        }
    }
}

async fn keep_end(mut pipe: ChildStderr) -> Vec<u8> {
    let mut end = VecDeque::with_capacity(LAST_WORDS);
    let mut chunk = [0; 1024];
    while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
        end.extend(&chunk[..count]);
        end.drain(..end.len().saturating_sub(LAST_WORDS));
    }
    end.into()
}

/// Text of a stranger, fit for one line of a terminal.
fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let words = text
        .split(|character: char| character.is_whitespace() || character.is_control())
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    fn shell(script: &str) -> Child {
        let command = ["/bin/sh", "-c", script].map(OsString::from);
        Child::spawn(&command, vec![("NAME", "value".into())], Path::new("/")).unwrap()
    }

    #[tokio::test]
    async fn records_come_in_order_and_bad_lines_are_counted() {
        let mut child = shell(
            r#"echo '{"type":"agent_start"}'; echo nonsense; echo '{"type":"unknown"}'; echo null
            echo '{"type":"agent_settled"}'; printf '{"type":"half'"#,
        );

        let mut said = Vec::new();
        while !matches!(said.last(), Some(Spoken::End(_))) {
            said.push(child.next().await);
        }

        assert_eq!(
            said,
            [
                Spoken::Record(Record::AgentStart),
                Spoken::BadLine(1),
                Spoken::BadLine(2),
                Spoken::Record(Record::Settled),
                Spoken::End(None),
            ]
        );
        assert_eq!(child.next().await, Spoken::End(None));
    }

    #[tokio::test]
    async fn the_environment_is_what_was_given() {
        let mut child = shell("[ \"$(env | grep -v '^PWD=\\|^_=\\|^SHLVL=')\" = NAME=value ]");

        while child.next().await != Spoken::End(None) {}

        assert!(child.process.wait().await.unwrap().success());
    }

    #[tokio::test]
    async fn an_end_of_its_own_keeps_its_status() {
        let mut child = shell("exit 7");
        while child.next().await != Spoken::End(None) {}

        assert_eq!(child.process.wait().await.unwrap().code(), Some(7));
    }

    #[tokio::test]
    async fn the_whole_group_dies_with_its_leader() {
        // The grandchild holds the output open: the end comes only when it is dead too.
        let mut child = shell("sleep 1000 & sleep 1000");

        let status = child.end().await.unwrap();

        assert_eq!(status.signal(), Some(9));
        assert_eq!(child.next().await, Spoken::End(None));
    }

    #[tokio::test]
    async fn last_words_are_the_end_in_one_printable_line() {
        let mut child = shell("printf '%05000d' 1 >&2; printf '\\033[1mone\\n\\ttwo\\n' >&2");
        while child.next().await != Spoken::End(None) {}

        let words = child.last_words().await;

        assert!(words.ends_with("1 [1mone two"), "{words}");
        assert!(words.len() <= LAST_WORDS);
    }

    #[tokio::test]
    async fn commands_reach_its_input_and_closing_it_ends_it() {
        let mut child = shell(
            "read line; [ \"$line\" = '{\"id\":\"1\",\"type\":\"abort\"}' ] && echo '{\"type\":\"agent_start\"}'; cat",
        );

        child.send("1", &Command::Abort);

        assert_eq!(child.next().await, Spoken::Record(Record::AgentStart));
        child.close_input();
        assert_eq!(child.next().await, Spoken::End(None));
    }
}
