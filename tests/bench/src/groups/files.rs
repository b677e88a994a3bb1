//! The file verbs beside two MCP servers of files, each over the wire it speaks. Neither rival has a ledger or a fence of the
//! kernel, and neither syncs what it writes.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use serde_json::json;

use crate::{
    broker::Broker,
    ground::{Ground, LARGE_BYTES, LISTED, SMALL_BYTES},
    node::NodeCaller,
    report::{Goal, Row},
    rivals::{self, FileServer},
    samples::Samples,
    unmeasured::Unmeasured,
};

pub(super) const NAME: &str = "files";

const ROUNDS: usize = 20;
/// Calls of one contestant in a round.
const CALLS: usize = 15;
/// Small reads of one contestant in a round: as short as they are, the first few after a pause say little.
const SMALL_CALLS: usize = 50;
/// Names that are written in turn, as a seat edits the same few notes.
const WRITTEN: usize = 4;

pub(super) fn rows(ground: &Ground) -> Result<Vec<Row>, Unmeasured> {
    let rivals = [
        rivals::npm_file_server(ground)?,
        rivals::rust_file_server(ground)?,
    ];
    let mut rows = {
        let broker = Broker::start(ground, &ground.program("mosaic-broker"), "native")?;
        super::on_one_thread(native(ground, &broker, &rivals))?
    };
    let broker = Broker::start(ground, &ground.program("mosaic-broker"), "node")?;
    rows.extend(super::on_one_thread(from_node(ground, &broker, &rivals))?);
    Ok(rows)
}

/// Ours, and the two rivals in their order.
type Three = [Samples; 3];

fn rows_of(name: &str, three: &Three, rivals: &[FileServer; 2], goals: [Goal; 2]) -> [Row; 2] {
    let row = |at: usize| {
        let rival = (rivals[at].name, three[at + 1].figures());
        Row::times(NAME, name, three[0].figures(), rival, goals[at])
    };
    [row(0), row(1)]
}

async fn native(
    ground: &Ground,
    broker: &Broker,
    rivals: &[FileServer; 2],
) -> Result<Vec<Row>, Unmeasured> {
    let mut caller = broker.caller().await?;
    let mut servers = [rivals[0].start()?, rivals[1].start()?];
    let (mut small, mut large, mut list, mut write) = (
        Three::default(),
        Three::default(),
        Three::default(),
        Three::default(),
    );
    let mut bare_write = Samples::default();
    let mut bare = BareWriter::new(ground);
    let text = "Plain words in a note.\n".repeat(SMALL_BYTES / 23 + 1)[..SMALL_BYTES].to_owned();

    for round in 0..ROUNDS {
        for (path, bytes, calls, three) in [
            ("small.md", SMALL_BYTES, SMALL_CALLS, &mut small),
            ("large.md", LARGE_BYTES, CALLS, &mut large),
        ] {
            caller.session.make_room(calls).await?;
            for _ in 0..calls {
                expect_length(
                    "ours",
                    bytes,
                    &three[0].time_async(caller.read(path)).await?,
                )?;
            }
            let call = FileServer::read(&ground.path("docs").join(path));
            for (server, samples) in servers.iter_mut().zip(&mut three[1..]) {
                for _ in 0..calls {
                    expect_length("a rival", bytes, &samples.time(|| server.call(&call))?)?;
                }
            }
        }

        caller.session.make_room(CALLS).await?;
        for _ in 0..CALLS {
            list[0].time_async(caller.list("many")).await?;
        }
        let call = FileServer::list(&ground.path("docs/many"));
        for (server, samples) in servers.iter_mut().zip(&mut list[1..]) {
            for _ in 0..CALLS {
                let listed = samples.time(|| server.call(&call))?;
                if listed.lines().count() < LISTED {
                    return Err(Unmeasured::new("a rival left entries out"));
                }
            }
        }

        caller.session.make_room(CALLS).await?;
        for call in 0..CALLS {
            let name = |who: &str| format!("{who}-{}.md", call % WRITTEN);
            write[0]
                .time_async(caller.write(&name("ours"), text.clone()))
                .await?;
            bare_write.time(|| bare.write(&name("bare"), &text))?;
            for (at, server) in servers.iter_mut().enumerate() {
                let call = FileServer::write(
                    &ground.path("vault").join(name(&format!("rival{at}"))),
                    &text,
                );
                write[at + 1].time(|| server.call(&call))?;
            }
        }
        if round == 0 {
            // Programs are warm and files in memory from here on.
            (small, large, list, write) = (
                Three::default(),
                Three::default(),
                Three::default(),
                Three::default(),
            );
            bare_write = Samples::default();
        }
    }

    let faster = |than: f64| Goal::AtLeast(than);
    let mut rows = Vec::new();
    rows.extend(rows_of(
        "read_file 4 KiB, native client",
        &small,
        rivals,
        [faster(4.0), Goal::Shown],
    ));
    rows.extend(rows_of(
        "read_file 256 KiB, native client",
        &large,
        rivals,
        [faster(4.0), Goal::Shown],
    ));
    rows.extend(rows_of(
        "list_dir of 1,000 (ours shows 500)",
        &list,
        rivals,
        [faster(1.5), faster(1.5)],
    ));
    let bare = ("bare synced write and rename", bare_write.figures());
    rows.push(Row::times(
        NAME,
        "write_file 4 KiB, synced",
        write[0].figures(),
        bare,
        Goal::AtMost(1.5),
    ));
    let unsynced = "write_file 4 KiB, synced (rivals do not sync)";
    rows.extend(rows_of(
        unsynced,
        &write,
        rivals,
        [Goal::Shown, Goal::Shown],
    ));
    Ok(rows)
}

async fn from_node(
    ground: &Ground,
    broker: &Broker,
    rivals: &[FileServer; 2],
) -> Result<Vec<Row>, Unmeasured> {
    let mut session = broker.session().await?;
    let mut node = NodeCaller::start(ground, &broker.tools_socket(), &[&rivals[0], &rivals[1]])?;
    let (mut small, mut large) = (Three::default(), Three::default());
    for round in 0..ROUNDS {
        for (path, calls, three) in [
            ("small.md", SMALL_CALLS, &mut small),
            ("large.md", CALLS, &mut large),
        ] {
            session.make_room(calls).await?;
            node.ours(
                "read_file",
                &json!({ "root": "docs", "path": path }),
                calls,
                &mut three[0],
            )?;
            let call = FileServer::read(&ground.path("docs").join(path));
            node.rival(0, &call, calls, &mut three[1])?;
            node.rival(1, &call, calls, &mut three[2])?;
        }
        if round < 2 {
            // Node compiles what runs often; this is over by now.
            (small, large) = (Three::default(), Three::default());
        }
    }
    let goals = || [Goal::AtLeast(1.5), Goal::AtLeast(1.0)];
    let mut rows = Vec::from(rows_of(
        "read_file 4 KiB, from Node over fd 3",
        &small,
        rivals,
        goals(),
    ));
    rows.extend(rows_of(
        "read_file 256 KiB, from Node over fd 3",
        &large,
        rivals,
        goals(),
    ));
    Ok(rows)
}

fn expect_length(who: &str, bytes: usize, text: &str) -> Result<(), Unmeasured> {
    if text.len() >= bytes {
        return Ok(());
    }
    Err(Unmeasured::new(format!(
        "{who} read {} bytes of {bytes}",
        text.len()
    )))
}

/// The least a write can be that is there after a power cut: a temp file, synced, renamed, its folder synced.
struct BareWriter {
    folder: PathBuf,
}

impl BareWriter {
    fn new(ground: &Ground) -> Self {
        Self {
            folder: ground.path("vault"),
        }
    }

    fn write(&mut self, name: &str, text: &str) -> Result<(), Unmeasured> {
        self.put(&self.folder.join(name), text)
            .map_err(Unmeasured::at("the bare write"))
    }

    fn put(&self, path: &Path, text: &str) -> io::Result<()> {
        let temp = self.folder.join("bare.part");
        let mut file = fs::File::create(&temp)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temp, path)?;
        fs::File::open(&self.folder)?.sync_all()
    }
}
