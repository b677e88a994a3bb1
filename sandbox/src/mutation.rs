//! Cuts one denial at a time out of each profile, enters what is left in a child process and demands that the self-test
//! notices (issue 3, "no dead rule, no missing rule"). A cut nobody notices is a rule that does nothing or a rule nobody tries.
//!
//! Landlock and the filter cover each other in places, so Landlock's denials are cut with the filter set to let everything
//! through, and the filter's with Landlock in force.

use landlock::ABI;

use self::stage::{Stage, in_child};
use crate::call::Call;
use crate::files::DeniedRight;
use crate::ports::{DeniedNet, DeniedScope};
use crate::profile::{ExecutableMemory, Unlisted};
use crate::profiles::{self, BrokerReach, ConnectorReach, EngineReach};
use crate::selftest::{self, Ground, Probe};
use crate::{Fence, Profile, RequiredAbi};

/// One denial of a profile.
#[derive(Debug, Clone, Copy)]
enum Cut {
    Right(DeniedRight),
    Net(DeniedNet),
    Scope(DeniedScope),
    ExecutableMemory,
    /// The row's place in the list, and one of the calls it names.
    Refusal(usize, Call),
    Unlisted,
}

impl Cut {
    /// The denial, for the failure message.
    fn name(&self, profile: &Profile) -> String {
        match self {
            Cut::Refusal(at, call) => format!("{} {}", call.name(), profile.refusals[*at].when),
            _ => self.attempt().to_owned(),
        }
    }

    /// How the attempts of the self-test that are about this denial begin.
    fn attempt(&self) -> &'static str {
        match self {
            Cut::Right(row) => row.name,
            Cut::Net(row) => row.name,
            Cut::Scope(row) => row.name,
            Cut::ExecutableMemory => "executable memory",
            Cut::Refusal(_, call) => call.name(),
            Cut::Unlisted => "unlisted",
        }
    }
}

impl Profile {
    /// Only what Landlock denies.
    fn landlock_alone(&self) -> Profile {
        let mut profile = self.clone();
        profile.executable_memory = ExecutableMemory::Needed;
        profile.refusals.clear();
        profile.unlisted = Unlisted::Allowed;
        profile
    }

    fn landlock_cuts(&self) -> Vec<Cut> {
        let rights = self.denied_rights.iter().copied().map(Cut::Right);
        let nets = self.denied_net.iter().copied().map(Cut::Net);
        rights
            .chain(nets)
            .chain(self.denied_scopes.iter().copied().map(Cut::Scope))
            .collect()
    }

    fn filter_cuts(&self) -> Vec<Cut> {
        let rows = self.refusals.iter().enumerate();
        let mut cuts: Vec<Cut> = rows
            .flat_map(|(at, row)| row.calls.iter().map(move |call| Cut::Refusal(at, *call)))
            .collect();
        cuts.push(Cut::Unlisted);
        if self.executable_memory == ExecutableMemory::Refused {
            cuts.push(Cut::ExecutableMemory);
        }
        cuts
    }

    fn without(&self, cut: Cut) -> Profile {
        let mut profile = self.clone();
        match cut {
            Cut::Right(denied) => profile.denied_rights.retain(|row| *row != denied),
            Cut::Net(denied) => profile.denied_net.retain(|row| *row != denied),
            Cut::Scope(denied) => profile.denied_scopes.retain(|row| *row != denied),
            Cut::ExecutableMemory => profile.executable_memory = ExecutableMemory::Needed,
            Cut::Refusal(at, call) => profile.refusals[at].calls.retain(|named| *named != call),
            Cut::Unlisted => profile.unlisted = Unlisted::Allowed,
        }
        profile
    }
}

#[path = "../tests/inside/stage.rs"]
#[expect(
    dead_code,
    reason = "these children are not talked to, those of the integration tests are"
)]
mod stage;

/// A stage for each profile's reach and, beside it, ground outside.
fn stage() -> Stage {
    let stage = Stage::with_folders(&[
        "read",
        "write",
        "state",
        "data/pi",
        "data/broker",
        "sessions",
        "install",
        "run",
        "outside",
    ]);
    // A program that may be read and not run, for the row on executing: elsewhere reading is denied already.
    for root in ["read", "install"] {
        std::fs::copy("/bin/true", stage.path(root).join("program")).unwrap();
    }
    stage
}

impl Stage {
    /// `/dev` is among the roots so that a device can be opened at all, which the row on device controls is about.
    fn broker(&self) -> Profile {
        profiles::broker(&BrokerReach {
            read_roots: vec![self.path("read"), "/dev".into()],
            write_roots: vec![self.path("write")],
            state: self.path("state"),
        })
    }

    fn connector(&self) -> Profile {
        profiles::connector(&ConnectorReach {
            data: self.path("data"),
            sessions: self.path("sessions"),
            install: vec![self.path("install")],
            node: std::env::current_exe().unwrap(),
            confine: std::env::current_exe().unwrap(),
            runtime_dir: self.path("run"),
            api_port: 443,
            model_ports: vec![8080],
        })
    }

    fn engine(&self) -> Profile {
        profiles::engine(&EngineReach {
            node: std::env::current_exe().unwrap(),
            read: vec![self.path("install")],
            write: vec![self.path("sessions")],
            model_ports: vec![8080],
            resolves_names: false,
        })
    }
}

/// Enters `cut` in a child and tells which attempts that the `whole` profile calls for did not go as expected.
fn broken_rows(whole: &Profile, cut: &Profile, stage: &Stage, program: &str) -> Vec<String> {
    in_child(|parent| {
        let ground = Ground::lay(&stage.path("outside")).unwrap();
        let mut entered = cut
            .prepare(RequiredAbi::default())
            .unwrap()
            .enter()
            .unwrap();
        entered.profile = whole.on(entered.abi()).0;
        let program = Probe::exec_denied(&stage.path(program));
        for row in selftest::run(&entered, Some(&ground), &[program]).broken() {
            parent.say(&format!(
                "{}: {} instead of {}",
                row.attempt, row.answer, row.expected
            ));
        }
    })
}

/// Whether the running kernel holds the row; the others are on the list for newer ones.
fn held_here(cut: &Cut) -> bool {
    let crate::abi::Offer::Abi(offered) = crate::abi::offered() else {
        panic!("no Landlock")
    };
    let abi = match cut {
        Cut::Right(row) => row.abi,
        Cut::Net(row) => row.abi,
        Cut::Scope(row) => row.abi,
        Cut::ExecutableMemory | Cut::Refusal(..) | Cut::Unlisted => 0,
    };
    abi <= offered
}

/// The names of the denials whose cut nobody notices, after the whole profile was found to hold.
fn unnoticed_cuts(profile_of: fn(&Stage) -> Profile, program: &str) -> Vec<String> {
    let stage = stage();
    let profile = profile_of(&stage);
    let broken = |whole: &Profile, cut: &Profile| broken_rows(whole, cut, &stage, program);
    let landlock = profile.landlock_alone();
    assert_eq!(
        broken(&profile, &profile),
        Vec::<String>::new(),
        "the whole profile"
    );
    assert_eq!(
        broken(&landlock, &landlock),
        Vec::<String>::new(),
        "its Landlock half"
    );

    let of_landlock = profile
        .landlock_cuts()
        .into_iter()
        .map(|cut| (cut, &landlock));
    let of_filter = profile.filter_cuts().into_iter().map(|cut| (cut, &profile));
    let cuts = of_landlock
        .chain(of_filter)
        .filter(|(cut, _)| held_here(cut));
    let unnoticed = cuts.filter(|(cut, whole)| {
        let rows = broken(whole, &whole.without(*cut));
        !rows.iter().any(|row| row.starts_with(cut.attempt()))
    });
    unnoticed.map(|(cut, _)| cut.name(&profile)).collect()
}

/// The kernel denies this in every domain, whether a ruleset names it or not; the row is there for the reader.
const DENIED_ANYWAY: &str = "link or rename across folders";

/// The rows an older kernel could hold, on this one; and the names of those it could not.
fn unheld_at(profile: &Profile, abi: ABI, stage: &Stage) -> Vec<String> {
    in_child(|parent| {
        let ground = Ground::lay(&stage.path("outside")).unwrap();
        let entered = Fence::build(profile, abi).unwrap().enter().unwrap();
        let report = selftest::run(&entered, Some(&ground), &[]);
        assert!(report.holds(), "{report}");
        assert_eq!(entered.abi(), abi as u32);
        entered.unheld().iter().for_each(|name| parent.say(name));
    })
}

#[test]
fn a_119_a_lowered_requirement_gives_a_fence_that_says_what_it_does_not_hold() {
    let stage = stage();
    let newer = ["connect to pathname sockets", "UDP send", "UDP bind"];
    let scopes = [
        "signals to processes outside",
        "abstract sockets of processes outside",
    ];
    for profile in [stage.broker(), stage.connector(), stage.engine()] {
        assert_eq!(unheld_at(&profile, ABI::V6, &stage), newer);
        assert_eq!(
            unheld_at(&profile, ABI::V5, &stage),
            [&newer[..], &scopes].concat()
        );
        assert_eq!(
            unheld_at(&profile, ABI::V4, &stage),
            [&["ioctl on devices"], &newer[..], &scopes].concat()
        );
    }
}

#[test]
fn each_denial_of_the_broker_is_needed_and_tried() {
    assert_eq!(
        unnoticed_cuts(Stage::broker, "read/program"),
        [DENIED_ANYWAY]
    );
}

#[test]
fn each_denial_of_the_connector_is_needed_and_tried() {
    assert_eq!(
        unnoticed_cuts(Stage::connector, "install/program"),
        [DENIED_ANYWAY]
    );
}

#[test]
fn each_denial_of_the_engine_is_needed_and_tried() {
    assert_eq!(
        unnoticed_cuts(Stage::engine, "install/program"),
        [DENIED_ANYWAY]
    );
}
