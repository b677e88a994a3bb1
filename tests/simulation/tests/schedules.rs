//! Ten thousand schedules in each run of the tests; `make soak` runs a million.

/// Seeds of this range are run each time.
const SEEDS: std::ops::Range<u64> = 0..10_000;

#[test]
fn in_ten_thousand_schedules_nothing_is_lost_nothing_is_said_twice_and_every_record_is_true() {
    let middle = SEEDS.end / 2;
    let failed: Vec<String> = std::thread::scope(|scope| {
        let halves = [SEEDS.start..middle, middle..SEEDS.end];
        let halves = halves.map(|seeds| scope.spawn(move || failures(seeds)));
        halves
            .into_iter()
            .flat_map(|half| half.join().expect("a schedule does not panic"))
            .collect()
    });

    assert!(
        failed.is_empty(),
        "replay one with `cargo run -p simulation --bin soak -- --seed <n>`:\n{}",
        failed.join("\n")
    );
}

fn failures(seeds: std::ops::Range<u64>) -> Vec<String> {
    seeds
        .filter_map(|seed| {
            let broken = simulation::run(seed).broken;
            (!broken.is_empty()).then(|| format!("seed {seed}: {}", broken.join("; ")))
        })
        .collect()
}

#[test]
fn a_seed_replays_to_the_same_end() {
    let (once, again) = (simulation::replay(4711), simulation::replay(4711));

    assert_eq!(once.trace, again.trace);
    assert!(once.actions > 0);
}
