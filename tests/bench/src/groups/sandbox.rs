//! What the fence costs a call: the broker as it serves beside the same source with its fence left out.

use crate::{
    broker::Broker,
    ground::Ground,
    report::{Goal, Row},
    rivals,
    samples::Samples,
    unmeasured::Unmeasured,
};

pub(super) const NAME: &str = "sandbox";

const ROUNDS: usize = 80;
const CALLS: usize = 50;

pub(super) fn rows(ground: &Ground) -> Result<Vec<Row>, Unmeasured> {
    let without = rivals::unconfined_broker(ground)?;
    let inside = Broker::start(ground, &ground.program("mosaic-broker"), "inside")?;
    let without = Broker::start(ground, &without, "without")?;
    super::on_one_thread(measure(&inside, &without))
}

async fn measure(inside: &Broker, without: &Broker) -> Result<Vec<Row>, Unmeasured> {
    let mut callers = [inside.caller().await?, without.caller().await?];
    let mut times = [Samples::default(), Samples::default()];
    for round in 0..ROUNDS {
        // Each goes first every other time: what the first one warms up serves the second.
        for turn in [round % 2, 1 - round % 2] {
            let caller = &mut callers[turn];
            caller.session.make_room(CALLS).await?;
            for _ in 0..CALLS {
                times[turn].time_async(caller.read("small.md")).await?;
            }
        }
    }
    let [inside, without] = times.map(|samples| samples.figures());
    Ok(vec![Row::times(
        NAME,
        "read_file 4 KiB",
        inside,
        ("the same, unconfined", without),
        Goal::AtMost(1.05),
    )])
}
