//! A literal in a tree of 20,000 files: the broker's `search` beside ripgrep with flags of the same meaning.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use crate::{
    broker::Broker,
    ground::{Ground, LARGE_BYTES, NEEDLE, SEARCHED},
    report::{Goal, Row},
    rivals,
    samples::Samples,
    unmeasured::Unmeasured,
};

pub(super) const NAME: &str = "search";

const ROUNDS: usize = 15;
/// Files that hold the literal.
const HITS: usize = SEARCHED / 500;

pub(super) fn rows(ground: &Ground) -> Result<Vec<Row>, Unmeasured> {
    let rg = rivals::ripgrep()?;
    let tree = ground.tree()?;
    let broker = Broker::start(ground, &ground.program("mosaic-broker"), "search")?;
    super::on_one_thread(measure(&broker, &rg, &tree))
}

async fn measure(broker: &Broker, rg: &Path, tree: &Path) -> Result<Vec<Row>, Unmeasured> {
    let mut caller = broker.caller().await?;
    let (mut ours, mut theirs, mut start) =
        (Samples::default(), Samples::default(), Samples::default());
    for round in 0..=ROUNDS {
        let mut cold = [Samples::default(), Samples::default()];
        // The first round only brings the tree into memory.
        let [ours, theirs] = if round == 0 {
            cold.each_mut()
        } else {
            [&mut ours, &mut theirs]
        };
        caller.session.make_room(1).await?;
        let found = ours.time_async(caller.search(NEEDLE)).await?;
        expect_hits(
            "ours",
            found.lines().filter(|line| line.contains(NEEDLE)).count(),
        )?;
        let found = theirs.time(|| output(&mut literal_search(rg, tree)))?;
        expect_hits("ripgrep", found.lines().count())?;
        start.time(|| output(Command::new(rg).arg("--version")))?;
    }
    let (theirs, start) = (theirs.figures(), start.figures().median);
    Ok(vec![
        Row::times(
            NAME,
            "a literal in 20,000 files",
            ours.figures(),
            ("ripgrep", theirs),
            Goal::AtMost(1.0),
        ),
        Row::times(
            NAME,
            "the same",
            ours.figures(),
            ("ripgrep less its process start", theirs.less(start)),
            Goal::Shown,
        ),
    ])
}

/// Hidden names skipped by default, ignore files not looked at, the size limit of the policy.
fn literal_search(rg: &Path, tree: &Path) -> Command {
    let mut command = Command::new(rg);
    command.args([
        "--no-config",
        "--fixed-strings",
        "--no-ignore",
        "--line-number",
        "--no-heading",
        "--color=never",
    ]);
    command
        .arg(format!("--max-filesize={LARGE_BYTES}"))
        .args(["--", NEEDLE])
        .arg(tree);
    command
}

fn output(command: &mut Command) -> Result<String, Unmeasured> {
    let out = command
        .stdin(Stdio::null())
        .output()
        .map_err(Unmeasured::at("ripgrep"))?;
    String::from_utf8(out.stdout).map_err(Unmeasured::at("ripgrep"))
}

fn expect_hits(who: &str, hits: usize) -> Result<(), Unmeasured> {
    if hits == HITS {
        return Ok(());
    }
    Err(Unmeasured::new(format!(
        "{who} found {hits} lines, and {HITS} hold the literal"
    )))
}
