//! `run`: the broker's life, in the order that makes each step safe for the next (DESIGN, section 6).

use std::{fmt::Display, future::Future, io, sync::Arc};

use jiff::Timestamp;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{
    Code, Place, PlaceArgs, RuntimeArgs, Stop, Surroundings,
    confined::{self, Confined},
    lock::Lock,
    notify::Notify,
};
use crate::{
    VERSION,
    audit::{Durable, Entry, Ledger, Unfinished},
    desk::Desk,
    effect,
    fence::{Reach, stale},
    listener::{self, Served, Sockets},
    private::Folder,
};

/// Serves one binding until it is told to stop.
///
/// Checks the binding, takes its lock, binds its two sockets, confines itself to what the binding permits, and proves
/// it by trying what must fail. Only then does it answer. SIGTERM or SIGINT let the running call end, then exit 0.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    runtime: RuntimeArgs,
}

/// Serves. Everything that can refuse the start comes before the first thread.
pub(crate) fn run(args: &Args, around: &Surroundings) -> Result<(), Stop> {
    log_to_stderr();
    hide_panic_messages();
    let place = Place::of(&args.place, around)?;
    let runtime = place.runtime(&args.runtime, around)?;
    let policy = place.policy()?;
    mosaic_sandbox::harden_process().map_err(|error| Stop::new(Code::Failed, error))?;
    let state = Folder::create(&place.state())?;
    let _lock = Lock::take(&state, &place.binding, Timestamp::now())?;
    let reach = Reach::open(policy).map_err(|error| Stop::new(Code::Invalid, error))?;
    let opened = Ledger::open(&state, Timestamp::now())?;
    let notify = Notify::connect(around.notify_socket.as_deref())?;
    let runtime = Folder::create(&runtime)?;
    // Built before the sockets exist, so that a kernel that cannot hold the fence leaves none behind.
    let prepared = confined::prepare(reach.policy(), &place, &state, &runtime)?;
    let sockets = listener::bind(&runtime)?;
    let confined = prepared.enter()?;
    confined.demand()?;

    let ledger = opened.ledger;
    if let Some(bytes) = opened.recovered {
        tracing::warn!(
            bytes,
            "the last line of the ledger was torn; it was set aside"
        );
    }
    write_start(&ledger, &reach, &confined)?;
    sweep(&ledger, &reach, &opened.unfinished)?;
    log_confinement(&confined, &reach);
    serve(
        Arc::new(Desk::new(reach, ledger)),
        &confined,
        sockets,
        &notify,
    )
}

fn write_start(ledger: &Ledger, reach: &Reach, confined: &Confined) -> Result<(), Stop> {
    let entry = Entry::Start {
        version: VERSION.to_owned(),
        pid: std::process::id(),
        policy: reach.policy().policy_digest().to_owned(),
        abi: confined.abi,
        required_abi: confined.required.get(),
        attempts: confined.message().attempts,
    };
    ledger
        .write(Timestamp::now(), &entry, Durable::Now)
        .map_err(ledger_failed)
}

/// Looks after writes that a killed broker left half done, and says in the ledger what was found.
fn sweep(ledger: &Ledger, reach: &Reach, unfinished: &[Unfinished]) -> Result<(), Stop> {
    for call in unfinished {
        let told = &call.call.facts;
        let fact = |name| told.text(name).map(str::to_owned);
        let write = (|| {
            Some(stale::Unfinished {
                root: fact("root")?,
                path: fact("path")?,
                temp: fact("temp")?,
                sha256: fact("sha256")?,
                replaces: fact("replaces"),
            })
        })();
        // A read leaves nothing to look for.
        let found = write.map_or("nothing", |write| effect::sweep(reach, &[write])[0].code());
        tracing::warn!(
            line = call.seq,
            tool = call.call.tool,
            found,
            "a call was cut off by the end of its broker"
        );
        let entry = Entry::Interrupted {
            turn: call.call.turn.clone(),
            call: call.call.call,
            tool: call.call.tool.clone(),
            found: found.to_owned(),
        };
        ledger
            .write(Timestamp::now(), &entry, Durable::Now)
            .map_err(ledger_failed)?;
    }
    Ok(())
}

fn serve(
    desk: Arc<Desk>,
    confined: &Confined,
    sockets: Sockets,
    notify: &Notify,
) -> Result<(), Stop> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()
        .map_err(|error| failed("the runtime cannot be started", error))?;
    let served = runtime.block_on(async {
        let stop = match stop_signal() {
            Ok(stop) => stop,
            Err(error) => return Served::Failed(error),
        };
        notify.ready();
        listener::serve(desk, confined.message(), sockets, stop).await
    });
    notify.stopping();
    // A call that did not end in time is left to the end of the process.
    runtime.shutdown_background();
    match served {
        Served::InOrder(chain) => {
            tracing::info!(seq = chain.seq, head = %chain.head, "stopped in order");
            Ok(())
        }
        Served::Unsealed(fault) => Err(ledger_failed(fault)),
        Served::CallStuck => Err(Stop::new(
            Code::Failed,
            "the running call did not end; the ledger shows which.",
        )),
        Served::Failed(error) => Err(failed("the sockets cannot be served", error)),
    }
}

/// Two threads are plenty: calls run one at a time, and beside them only small messages are moved.
const WORKERS: usize = 2;

fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let heard = async |signal: &mut Signal| signal.recv().await;
    Ok(async move {
        tokio::select! {
            _ = heard(&mut terminate) => {}
            _ = heard(&mut interrupt) => {}
        }
    })
}

/// Ids, counts and states only; a log line never carries content, a secret or the model's words.
fn log_to_stderr() {
    // The only global of the process; a second call would be a bug and changes nothing.
    let _ = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(false)
        .with_target(false)
        .try_init();
}

/// A panic message may quote what the call was about, such as the text of a bad slice. Where it happened is enough.
fn hide_panic_messages() {
    std::panic::set_hook(Box::new(|panic| {
        let at = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        tracing::error!(at, "something broke inside the broker");
    }));
}

fn log_confinement(confined: &Confined, reach: &Reach) {
    let roots = reach.policy().roots().len();
    let (abi, required_abi) = (confined.abi, confined.required.get());
    tracing::info!(abi, required_abi, roots, "{}", confined.report.summary());
    if confined.required.is_lowered() {
        tracing::warn!(
            required_abi,
            "the binding lowers what is demanded of the kernel"
        );
    }
}

fn ledger_failed(fault: impl Display) -> Stop {
    Stop::new(Code::Failed, format!("the ledger: {fault}."))
}

fn failed(what: &str, error: impl Display) -> Stop {
    Stop::new(Code::Failed, format!("{what}: {error}."))
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests lay out a binding and a leftover by path"
)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use mosaic_proto::v1::WriteFileRequest;

    use super::*;
    use crate::{
        audit::{CallStart, Told, verify},
        cancel::Cancel,
        policy::Policy,
        tools,
    };

    #[test]
    fn a_21_what_a_killed_broker_left_half_written_is_removed_and_on_record() {
        let dir = tempfile::Builder::new()
            .prefix("run-")
            .tempdir()
            .expect("a folder for the test");
        let place = |name: &str| dir.path().join(name);
        for folder in ["vault", "data"] {
            fs::create_dir(place(folder)).expect("mkdir");
            fs::set_permissions(place(folder), fs::Permissions::from_mode(0o700)).expect("chmod");
        }
        let tools = serde_json::json!({ "roots": [{ "name": "vault", "path": place("vault"), "write": true }] });
        fs::write(
            place("data/b.json"),
            serde_json::json!({ "tools": tools }).to_string(),
        )
        .expect("written");
        fs::set_permissions(place("data/b.json"), fs::Permissions::from_mode(0o600))
            .expect("chmod");
        let policy = Policy::read(&place("data/b.json"), &place("data"), None).expect("a policy");
        let reach = Reach::open(policy).expect("opened");
        let state = Folder::open(&place("data")).expect("private");
        let now = Timestamp::UNIX_EPOCH;

        // A write was cleared and written down, its temp file was made, and the broker died.
        let request = WriteFileRequest {
            root: "vault".into(),
            path: "new.md".into(),
            text: "half".into(),
        };
        let cleared = tools::clear(request.into(), &reach, &Cancel::default()).expect("cleared");
        let facts = Told::from(cleared.facts());
        let temp = place("vault").join(facts.text("temp").expect("named"));
        let call = CallStart {
            turn: "t1".into(),
            call: 1,
            tool: "write_file".into(),
            facts,
        };
        let ledger = Ledger::open(&state, now).expect("opened").ledger;
        ledger
            .write(now, &Entry::Intent(call), Durable::Now)
            .expect("written");
        fs::write(&temp, "half").expect("written");
        drop(ledger);

        let opened = Ledger::open(&state, now).expect("opened");
        sweep(&opened.ledger, &reach, &opened.unfinished).expect("swept");

        assert!(!temp.exists(), "the leftover is still there");
        let mut last = None;
        verify(&state, |line| last = Some(line.entry.clone())).expect("sound");
        let expected = Entry::Interrupted {
            turn: "t1".into(),
            call: 1,
            tool: "write_file".into(),
            found: "removed".into(),
        };
        assert_eq!(last, Some(expected));
        assert_eq!(Ledger::open(&state, now).expect("opened").unfinished, []);
    }
}
