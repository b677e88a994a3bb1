//! A real systemd user manager of the test's own: in namespaces, so that it sees no other process and is gone with the test.
//! It runs commands inside and knows no unit.

use std::{
    path::Path,
    process::{Command as Blocking, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

const SYSTEMD: &str = "/usr/lib/systemd/systemd";
/// What ends the output of one command; the exit code follows.
const END: &str = "-- ended ";

/// Becomes the first process of new namespaces with a control group of its own.
const OUTER: &str = r#"
mount --make-rprivate / && umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup || exit 1
mkdir "/sys/fs/cgroup/$GROUP" && echo $$ > "/sys/fs/cgroup/$GROUP/cgroup.procs" || exit 1
exec unshare --cgroup sh -c "$INNER"
"#;

/// Removes the control group and all below it, once nothing lives in them.
const SWEEP: &str = r#"
mount --make-rprivate / && umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup || exit 1
tries=0
until find "/sys/fs/cgroup/$GROUP" -depth -type d -exec rmdir {} + 2> /dev/null; do
  tries=$((tries + 1)); [ $tries -lt 50 ] || exit 1
  sleep 0.1
done
"#;

/// Starts the manager, waits for it, and runs what comes on stdin, a line at a time.
const INNER: &str = r#"
umount /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup || exit 1
mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system /run/user || exit 1
chmod 700 /run/user
export XDG_RUNTIME_DIR=/run/user
$SYSTEMD --user > "$HOME/manager.log" 2>&1 &
tries=0
until systemctl --user is-system-running > /dev/null 2>&1; do
  tries=$((tries + 1)); [ $tries -lt 100 ] || exit 1
  sleep 0.1
done
while read -r line; do
  (eval "$line") < /dev/null 2>&1
  code=$?; echo; echo "-- ended $code"
done
"#;

/// The manager, and a shell beside it.
#[derive(Debug)]
pub struct UserManager {
    shell: Child,
    group: String,
    commands: ChildStdin,
    said: Lines<BufReader<ChildStdout>>,
}

impl UserManager {
    /// Starts one whose home is `home`; nothing, with the reason printed, where this machine cannot.
    ///
    /// # Panics
    /// When the namespaces are there and the manager does not come up in them.
    pub async fn start(home: &Path) -> Option<Self> {
        if !Path::new(SYSTEMD).exists() {
            println!("skipped: there is no {SYSTEMD} on this machine");
            return None;
        }
        if !nix::unistd::geteuid().is_root() {
            println!("skipped: a control group of the test's own needs root");
            return None;
        }
        let group = format!("units-{}", home.display().to_string().replace('/', "-"));
        let mut shell = Command::new("unshare")
            .args(["--mount", "--pid", "--fork", "--mount-proc", "--kill-child"])
            .args(["sh", "-c", OUTER])
            .env_clear()
            .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
            .env("HOME", home)
            .env("SYSTEMD", SYSTEMD)
            .env("INNER", INNER)
            .env("GROUP", &group)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("unshare comes with every Linux");
        let commands = shell.stdin.take().expect("stdin is piped");
        let said = BufReader::new(shell.stdout.take().expect("stdout is piped")).lines();
        let mut manager = Self {
            shell,
            group,
            commands,
            said,
        };
        let (code, said) = manager.run("systemctl --user is-system-running").await;
        assert_eq!((code, said.as_str()), (0, "running"));
        Some(manager)
    }

    /// Runs a line of shell beside the manager: its exit code and what it said.
    ///
    /// # Panics
    /// When the shell is gone or the line takes more than two minutes.
    pub async fn run(&mut self, line: &str) -> (i32, String) {
        let line = format!("{line}\n");
        self.commands
            .write_all(line.as_bytes())
            .await
            .expect("the shell beside the manager lives");
        let mut said: Vec<String> = Vec::new();
        loop {
            let next = timeout(Duration::from_secs(120), self.said.next_line()).await;
            let next = next.unwrap_or_else(|_| panic!("{line} takes too long: {said:?}"));
            let next = next
                .expect("a pipe")
                .expect("the shell beside the manager lives");
            if let Some(code) = next.strip_prefix(END) {
                let code = code.parse().expect("a code");
                return (code, said.join("\n").trim_end().to_owned());
            }
            said.push(next);
        }
    }

    /// One property of a unit.
    ///
    /// # Panics
    /// As [`Self::run`].
    pub async fn property(&mut self, unit: &str, name: &str) -> String {
        let line = format!("systemctl --user show --value --property={name} {unit}");
        self.run(&line).await.1
    }

    /// Waits until a property of a unit is what it should be.
    ///
    /// # Panics
    /// When it is not in a minute.
    pub async fn wait_for(&mut self, unit: &str, name: &str, value: &str) {
        let mut last = String::new();
        for _ in 0..600 {
            last = self.property(unit, name).await;
            if last == value {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{name} of {unit} is {last}, not {value}");
    }
}

impl Drop for UserManager {
    /// The kernel ends all of it with the shell, but for the folders of the control group.
    fn drop(&mut self) {
        let _ = self.shell.start_kill();
        let _ = Blocking::new("unshare")
            .args(["--mount", "sh", "-c", SWEEP])
            .env("GROUP", &self.group)
            .status();
    }
}
