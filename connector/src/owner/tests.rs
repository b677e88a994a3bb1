//! The lock against every way an owner can have ended, with a kernel that answers as told and real folders.

use std::os::unix::fs::{MetadataExt as _, symlink};

use super::*;

const BOOT: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";

/// A kernel that knows one living process.
#[derive(Debug, Clone, Copy)]
struct OneProcess {
    pid: u32,
    start: u64,
}

impl Processes for OneProcess {
    fn boot_id(&self) -> io::Result<String> {
        Ok(BOOT.to_owned())
    }

    fn life(&self, pid: u32) -> Life {
        if pid == self.pid {
            Life::Running(Ok(self.start))
        } else {
            Life::Ended
        }
    }
}

const ME: OneProcess = OneProcess {
    pid: 41,
    start: 100,
};

struct Place {
    _root: tempfile::TempDir,
    paths: Paths,
}

fn place() -> Place {
    let root = tempfile::tempdir().unwrap();
    let paths = Paths::new(root.path(), BindingName::parse("sage").unwrap());
    paths.create_data().unwrap();
    Place { _root: root, paths }
}

impl Place {
    fn lock(&self) -> Lock<'_, OneProcess> {
        Lock::seen_by(&self.paths, ME)
    }

    fn with_record(self, record: &str) -> Self {
        fs::create_dir(self.paths.run_lock()).unwrap();
        fs::write(record_in(&self.paths.run_lock()), record).unwrap();
        self
    }

    fn record(&self) -> String {
        fs::read_to_string(record_in(&self.paths.run_lock())).unwrap()
    }
}

fn of_pid(pid: u32, start: u64) -> String {
    format!(r#"{{"pid":{pid},"start":{start},"boot":"{BOOT}"}}"#)
}

#[test]
fn a_claim_publishes_who_holds_the_binding_and_a_release_leaves_nothing() {
    let place = place();

    let owned = place.lock().claim(41).unwrap();

    assert_eq!(place.record(), of_pid(41, 100));
    assert_eq!(
        place.paths.run_lock().metadata().unwrap().mode() & 0o7777,
        0o700
    );
    assert!(matches!(
        place.lock().standing(),
        Standing::Held {
            pid: 41,
            fate: Fate::Runs,
            ..
        }
    ));

    owned.release().unwrap();
    assert_eq!(place.lock().standing(), Standing::Free);
    assert_eq!(fs::read_dir(place.paths.data()).unwrap().count(), 0);
}

#[test]
fn a_dropped_owner_gives_the_binding_back() {
    let place = place();

    drop(place.lock().claim(41).unwrap());

    assert_eq!(place.lock().standing(), Standing::Free);
}

#[test]
fn a_second_claim_is_refused_and_changes_nothing() {
    let place = place();
    let _owned = place.lock().claim(41).unwrap();

    let second = place.lock().claim(41).unwrap_err();

    assert!(matches!(
        second,
        ClaimError::Locked(Standing::Held {
            pid: 41,
            fate: Fate::Runs,
            ..
        })
    ));
    assert_eq!(place.record(), of_pid(41, 100));
}

#[test]
fn a_stale_lock_is_never_claimed_over() {
    for record in [of_pid(7, 1), of_pid(41, 99), "garbage".to_owned()] {
        let place = place().with_record(&record);

        assert!(matches!(place.lock().claim(41), Err(ClaimError::Locked(_))));
        assert_eq!(place.record(), record);
    }
}

#[test]
fn a_claim_under_stop_is_refused_before_anything_is_made() {
    let place = place();
    Brake::new(&place.paths).pull("stop").unwrap();

    assert!(matches!(place.lock().claim(41), Err(ClaimError::Braked)));
    assert_eq!(place.lock().standing(), Standing::Free);
}

/// A kernel in whose answer an operator pulls the brake: the moment between the first look for STOP and the record.
struct BrakesMeanwhile<'a>(&'a Paths);

impl Processes for BrakesMeanwhile<'_> {
    fn boot_id(&self) -> io::Result<String> {
        Brake::new(self.0).pull("operator")?;
        ME.boot_id()
    }

    fn life(&self, pid: u32) -> Life {
        ME.life(pid)
    }
}

#[test]
fn a_stop_pulled_during_the_start_releases_the_binding_again() {
    let place = place();

    let claim = Lock::seen_by(&place.paths, BrakesMeanwhile(&place.paths)).claim(41);

    assert!(matches!(claim, Err(ClaimError::Braked)));
    assert_eq!(place.lock().standing(), Standing::Free);
    assert!(Brake::new(&place.paths).is_on());
}

#[test]
fn a_lock_whose_owner_is_gone_is_cleared() {
    for (record, how) in [
        (of_pid(7, 1), Gone::Ended),
        (of_pid(41, 99), Gone::Reused),
        (
            of_pid(41, 100).replace(BOOT, "7c9e6679-7425-40de-944b-e07fc1f90ae7"),
            Gone::PreviousBoot,
        ),
        (r#"{"pid":7}"#.to_owned(), Gone::Ended),
    ] {
        let place = place().with_record(&record);

        let cleared = place.lock().clear().unwrap();

        assert!(
            matches!(cleared, Cleared::Gone { how: found, .. } if found == how),
            "{record}: {cleared:?}"
        );
        assert_eq!(place.lock().standing(), Standing::Free);
    }
}

#[test]
fn a_lock_without_a_record_is_cleared_with_what_was_half_written() {
    let place = place();
    fs::create_dir(place.paths.run_lock()).unwrap();
    fs::write(
        durable::part_of(&record_in(&place.paths.run_lock())),
        "{\"pi",
    )
    .unwrap();

    assert_eq!(place.lock().clear().unwrap(), Cleared::Unpublished);
    assert_eq!(place.lock().standing(), Standing::Free);
    assert_eq!(place.lock().clear().unwrap(), Cleared::Nothing);
}

#[test]
fn a_lock_that_may_still_be_held_is_not_cleared() {
    for record in [
        of_pid(41, 100),
        r#"{"pid":41,"start":100}"#.to_owned(),
        of_pid(41, 100).replace("100", "\"soon\""),
        "garbage".to_owned(),
        "".to_owned(),
    ] {
        let place = place().with_record(&record);

        assert!(
            matches!(place.lock().clear(), Err(ClearError::Kept(_))),
            "{record}"
        );
        assert_eq!(place.record(), record);
    }
}

#[test]
fn what_is_no_lock_of_ours_is_unreadable_and_stays() {
    let file = place();
    fs::write(file.paths.run_lock(), "").unwrap();
    let link = place();
    symlink("/", link.paths.run_lock()).unwrap();
    let odd = place();
    fs::create_dir_all(record_in(&odd.paths.run_lock())).unwrap();

    for place in [file, link, odd] {
        assert!(matches!(
            place.lock().standing(),
            Standing::Unreadable { .. }
        ));
        assert!(matches!(place.lock().clear(), Err(ClearError::Kept(_))));
        assert!(place.paths.run_lock().symlink_metadata().is_ok());
    }
}

#[test]
fn a_folder_somebody_put_something_into_is_not_emptied() {
    let place = place().with_record(&of_pid(7, 1));
    fs::write(place.paths.run_lock().join("note"), "mine").unwrap();

    assert!(matches!(place.lock().clear(), Err(ClearError::Io { .. })));
    assert_eq!(
        fs::read_to_string(place.paths.run_lock().join("note")).unwrap(),
        "mine"
    );
}

#[test]
fn a_release_leaves_the_record_of_another_owner() {
    let place = place();
    let owned = place.lock().claim(41).unwrap();
    fs::write(record_in(&place.paths.run_lock()), of_pid(42, 7)).unwrap();

    owned.release().unwrap();

    assert_eq!(place.record(), of_pid(42, 7));
}

#[test]
fn every_refusal_names_the_next_step() {
    let name = BindingName::parse("sage").unwrap();
    let held = |fate| Standing::Held {
        pid: 41,
        since: Some("2026-11-30T09:14:00Z".parse().unwrap()),
        fate,
        record: Vec::new(),
    };
    let all = [
        Standing::Unpublished,
        held(Fate::Runs),
        held(Fate::Gone(Gone::Reused)),
        held(Fate::InDoubt(Doubt::NoBoot)),
        Standing::Unreadable {
            path: "/d/run.lock/owner.json".into(),
            problem: "cannot be read".into(),
        },
    ];

    let words: Vec<String> = all
        .iter()
        .map(|s| crate::exit::wrap(&s.refusal(&name), 80))
        .collect();

    insta::assert_snapshot!(words.join("\n\n"));
}
