//! Many schedules, or one again: `soak --schedules 1000000`, `soak --seed 4711`.

#![forbid(unsafe_code)]

use std::{
    env,
    process::ExitCode,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

const USAGE: &str = "usage: soak [--from <seed>] --schedules <count>\n       soak --seed <seed>";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |word: &str| word.parse::<u64>().ok();
    match words.as_slice() {
        ["--seed", seed] => number(seed).map(replay),
        ["--schedules", count] => number(count).map(|count| soak(0, count)),
        ["--from", from, "--schedules", count] => number(from)
            .zip(number(count))
            .map(|(from, count)| soak(from, count)),
        _ => None,
    }
    .unwrap_or_else(|| {
        eprintln!("{USAGE}");
        ExitCode::from(2)
    })
}

fn replay(seed: u64) -> ExitCode {
    let ran = simulation::replay(seed);
    for step in &ran.trace {
        println!("{step}");
    }
    for rule in &ran.broken {
        println!("BROKEN: {rule}");
    }
    println!(
        "seed {seed}: {} actions, {} processes",
        ran.actions, ran.lives
    );
    ExitCode::from(u8::from(!ran.broken.is_empty()))
}

/// All processors, each taking the next seed; the failing ones are told as they are found.
fn soak(from: u64, count: u64) -> ExitCode {
    let (next, failed, actions) = (AtomicU64::new(from), AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= from + count {
                        return;
                    }
                    let ran = simulation::run(seed);
                    actions.fetch_add(ran.actions as u64, Ordering::Relaxed);
                    if !ran.broken.is_empty() {
                        failed.fetch_add(1, Ordering::Relaxed);
                        println!("seed {seed}: {}", ran.broken.join("; "));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner();
    println!(
        "{count} schedules, {} actions, {failed} failed",
        actions.into_inner()
    );
    ExitCode::from(u8::from(failed > 0))
}
