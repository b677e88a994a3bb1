//! `check`: would `run` start? Looks at everything `run` looks at, and makes and changes nothing.

use mosaic_sandbox::profiles;

use super::{Code, Place, PlaceArgs, RuntimeArgs, Stop, Surroundings, confined, out};
use crate::{
    audit::{LEDGER, verify},
    fence::Reach,
    listener,
    private::Folder,
};

/// Says whether `run` would start: the binding, its roots, the kernel, the folders, the ledger.
///
/// Creates and changes nothing. What does not exist yet and `run` would create is said so.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    runtime: RuntimeArgs,
}

/// Prints one line for each thing that is in order; the first that is not ends the command.
pub(crate) fn run(args: &Args, around: &Surroundings) -> Result<(), Stop> {
    let place = Place::of(&args.place, around)?;
    let runtime = place.runtime(&args.runtime, around)?;

    let policy = place.policy()?;
    out::text(format!(
        "binding: {} is valid, policy {}",
        place.config.display(),
        policy.policy_digest()
    ));
    let required = confined::required_abi(&policy)?;
    let reach = Reach::open(policy).map_err(|error| Stop::new(Code::Invalid, error))?;
    for root in reach.root_states() {
        let how = if root.writable {
            "read and write"
        } else {
            "read"
        };
        out::text(format!("root: {} can be opened, {how}", root.name));
    }
    listener::check_length(&runtime)?;
    look("sockets", &runtime)?;
    let state = look("state", &place.state())?;
    if let Some(state) = &state {
        check_ledger(state)?;
    }
    let fenced = state
        .as_ref()
        .map_or(place.data_root.as_path(), Folder::path);
    profiles::broker(&confined::reach(reach.policy(), fenced))
        .prepare(required)
        .map_err(|error| Stop::new(Code::Invalid, error))?;
    out::text(format!(
        "kernel: offers what is required, Landlock ABI {}; `selftest` tries it",
        required.get()
    ));
    Ok(())
}

fn look(what: &str, path: &std::path::Path) -> Result<Option<Folder>, Stop> {
    if !path.exists() {
        out::text(format!("{what}: {} will be created", path.display()));
        return Ok(None);
    }
    let folder = Folder::open(path)?;
    out::text(format!("{what}: {} is ours alone", path.display()));
    Ok(Some(folder))
}

fn check_ledger(state: &Folder) -> Result<(), Stop> {
    if !state.has(LEDGER)? {
        out::text("ledger: will be created");
        return Ok(());
    }
    let ledger = verify(state, |_| {})?;
    out::text(format!(
        "ledger: {} lines, head {}",
        ledger.chain.seq, ledger.chain.head
    ));
    Ok(())
}
