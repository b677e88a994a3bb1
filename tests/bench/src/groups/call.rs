//! What the broker adds to a call: a read of 4 KiB through it, beside a bare call with a reply of the same size.

use crate::{
    bare::BareServer,
    broker::{Broker, done},
    ground::{Ground, SMALL_BYTES},
    report::{Goal, Row},
    samples::Samples,
    unmeasured::Unmeasured,
};
use mosaic_proto::v1::ReadFileRequest;

pub(super) const NAME: &str = "call";

const ROUNDS: usize = 40;
const CALLS: usize = 50;
/// A turn with one read, its end synced to disk.
const TURNS: usize = 5;

pub(super) fn rows(ground: &Ground) -> Result<Vec<Row>, Unmeasured> {
    let broker = Broker::start(ground, &ground.program("mosaic-broker"), "call")?;
    let bare = BareServer::start(ground.path("bare.sock"))?;
    super::on_one_thread(measure(&broker, &bare))
}

async fn measure(broker: &Broker, bare: &BareServer) -> Result<Vec<Row>, Unmeasured> {
    let mut caller = broker.caller().await?;
    let mut bare = bare.client().await?;
    let request = || ReadFileRequest {
        root: "docs".into(),
        path: "small.md".into(),
        from_line: None,
        lines: None,
    };
    let (mut reads, mut turns, mut bares) =
        (Samples::default(), Samples::default(), Samples::default());
    for round in 0..ROUNDS {
        caller.session.make_room(CALLS).await?;
        for _ in 0..CALLS {
            let text = reads.time_async(caller.read("small.md")).await?;
            if text.len() < SMALL_BYTES {
                return Err(Unmeasured::new("the read was cut"));
            }
        }
        for _ in 0..CALLS {
            bares
                .time_async(async { done(bare.read_file(request()).await) })
                .await?;
        }
        for _ in 0..TURNS {
            caller.session.close_turn().await?;
            let turn = async {
                caller.session.next_turn().await?;
                caller.read("small.md").await?;
                caller.session.close_turn().await
            };
            turns.time_async(turn).await?;
            caller.session.next_turn().await?;
        }
        if round == 0 {
            // Everything is warm from here on.
            (reads, turns, bares) = (Samples::default(), Samples::default(), Samples::default());
        }
    }
    let bare = || ("bare tonic call", bares.figures());
    Ok(vec![
        Row::times(
            NAME,
            "read_file 4 KiB",
            reads.figures(),
            bare(),
            Goal::AtMost(2.5),
        ),
        Row::times(
            NAME,
            "OpenTurn + read_file + CloseTurn, synced",
            turns.figures(),
            bare(),
            Goal::Shown,
        ),
    ])
}
