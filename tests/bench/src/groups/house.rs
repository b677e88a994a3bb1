//! What only the whole house can show: the memory of connector and broker after a turn beside that of a discord.js client,
//! and the time from a message to the prompt beside the bare syncs it cannot do without.

use std::{
    fs::{self, File, OpenOptions},
    io::Write as _,
    path::Path,
    time::Duration,
};

use jiff::Timestamp;
use serde_json::json;
use stand_ins::{
    discord::Discord,
    model::{Answer, Model},
};
use stories::{House, Layout, PATIENCE, Program, start_stand_ins};

use crate::{
    ground::Ground,
    node::IdleClient,
    report::{Goal, Row},
    rivals,
    samples::Samples,
    unmeasured::Unmeasured,
};

pub(super) const NAME: &str = "house";

const TURNS: usize = 40;
/// How long everything is left alone before its memory is read.
const REST: Duration = Duration::from_secs(3);
/// The connector's word in its log for a message it takes, before anything is done about it.
const RECEIVED: &str = "a message passed the gate";
/// Its word for a command that has gone to pi.
const WRITTEN: &str = "a line was written to pi";

pub(super) fn rows(ground: &Ground) -> Result<Vec<Row>, Unmeasured> {
    let discord_js = rivals::discord_js(ground)?;
    // The stand-ins serve on one thread while the bench waits on the other.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime
        .map_err(Unmeasured::at("the runtime"))?
        .block_on(async {
            let (discord, model) =
                start_stand_ins(Model::answering_by(|_| Answer::text("Done."))).await;
            let layout = Layout {
                limits: json!({ "turnsPerDay": 1000 }),
                ..Layout::default()
            };
            let mut house = House::build(&discord, &model, &layout);
            house.open(&discord).await;

            let mut rows = vec![prompt_row(&house, &discord).await?];
            let api = discord.base_url();
            let client =
                IdleClient::log_in(&discord_js, api.trim_end_matches("/v10"), &discord.token())?;
            tokio::time::sleep(REST).await;
            let ours =
                resident(pid(house.connector.as_ref())?)? + resident(pid(house.broker.as_ref())?)?;
            let rival = ("discord.js 14 client", resident(client.pid())?);
            let name = "resident memory, connector and broker, idle after turns";
            rows.push(Row::values(
                NAME,
                name,
                "MiB",
                ours,
                rival,
                Goal::AtMost(0.2),
            ));
            house.close().await;
            Ok(rows)
        })
}

async fn prompt_row(house: &House, discord: &Discord) -> Result<Row, Unmeasured> {
    let (mut ours, mut bare) = (Samples::default(), Samples::default());
    let mut journals = BareJournals::open(&house.path("data"))?;
    for turn in 0..TURNS {
        let message = discord.say("ideas", "Jason", "a question").await;
        house.wait_for_record(message).await;
        // The turn ends here; the bare syncs come between two of them.
        let lines = [
            last_line(house, "inbox.jsonl")?,
            last_line(house, "admissions.jsonl")?,
        ];
        bare.time(|| journals.append(&lines))?;
        let took = to_the_prompt(house)?;
        if turn > 0 {
            ours.add(took);
        }
        discord.wait_for_answers("ideas", turn + 1, PATIENCE).await;
    }
    let bare = ("append and fdatasync of the same lines", bare.figures());
    Ok(Row::times(
        NAME,
        "message received to prompt written, journals synced",
        ours.figures(),
        bare,
        Goal::AtMost(2.0),
    ))
}

/// From the last message to the first command to pi after it, by the connector's own log: the record rounds to milliseconds.
fn to_the_prompt(house: &House) -> Result<Duration, Unmeasured> {
    let said = house.connector_said();
    let last = said.rfind(RECEIVED).and_then(|at| said[..at].rfind('\n'));
    let turn = &said[last.map_or(0, |end_of_line| end_of_line + 1)..];
    let moment = |what: &str| -> Option<Timestamp> {
        let line = turn.lines().find(|line| line.contains(what))?;
        line.split_whitespace().next()?.parse().ok()
    };
    match (moment(RECEIVED), moment(WRITTEN)) {
        (Some(received), Some(written)) => Ok(written.duration_since(received).unsigned_abs()),
        _ => Err(Unmeasured::new(
            "the connector's log does not say when it received and prompted",
        )),
    }
}

fn last_line(house: &House, journal: &str) -> Result<String, Unmeasured> {
    let text = fs::read_to_string(house.data(journal)).map_err(Unmeasured::at(journal))?;
    let line = text
        .lines()
        .next_back()
        .ok_or_else(|| Unmeasured::new(format!("{journal} is empty")))?;
    Ok(format!("{line}\n"))
}

/// What the connector cannot do without: each line on disk, one after the other, on files that stay open.
struct BareJournals([File; 2]);

impl BareJournals {
    fn open(folder: &Path) -> Result<Self, Unmeasured> {
        let open = |name: &str| {
            let file = OpenOptions::new()
                .create(true)
                .append(true)
                .open(folder.join(name));
            file.map_err(Unmeasured::at("a bare journal"))
        };
        Ok(Self([
            open("bare-inbox.jsonl")?,
            open("bare-admissions.jsonl")?,
        ]))
    }

    fn append(&mut self, lines: &[String; 2]) -> Result<(), Unmeasured> {
        for (file, line) in self.0.iter_mut().zip(lines) {
            file.write_all(line.as_bytes())
                .and_then(|()| file.sync_data())
                .map_err(Unmeasured::at("a bare journal"))?;
        }
        Ok(())
    }
}

fn pid(program: Option<&Program>) -> Result<u32, Unmeasured> {
    program
        .and_then(Program::pid)
        .ok_or_else(|| Unmeasured::new("a program of the house has ended"))
}

/// Resident memory in MiB.
fn resident(pid: u32) -> Result<f64, Unmeasured> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))
        .map_err(Unmeasured::at("the memory of a process"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| {
        line.trim()
            .trim_end_matches("kB")
            .trim()
            .parse::<f64>()
            .ok()
    });
    kib.map(|kib| kib / 1024.0)
        .ok_or_else(|| Unmeasured::new("a process without a memory"))
}
