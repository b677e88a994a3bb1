//! One schedule: people write, the process lives, dies and comes back, and everything around it takes its time and fails as
//! its [`Faults`] say. Time passes only from one happening to the next.

mod asks;
mod door;
mod engine;
mod life;
mod rest;

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use mosaic_connector::{
    binding::Limits,
    delivery::{Answer, News, Sighting},
    discord::Snowflake,
    journal::{
        At, EngineShare, Reaction, Sandbox,
        lines::{Drop, DropReason, Inbox, Outbox},
    },
    seat::{Action, Arrival, Ending, Event, Identity, Message, Seat, Settled},
};

use crate::{
    dice::Dice,
    discord::{Discord, LostReference, Post},
    disk::Disk,
    faults::Faults,
    keeper::{Keeper, Order},
    rules::{JudgedBy, Rules},
};

/// 2027-01-15, ten minutes before midnight UTC.
const LATE_EVENING_MS: u64 = 1_800_057_000_000;
/// No schedule that comes to rest takes so many happenings.
const ENDLESS: usize = 20_000;
/// The longest a request may be under way when its outcome is not known: the client's patience and time-out.
const SLOWEST_ANSWER_MS: u64 = 35_000;
/// A request that was given up arrives at most so much later.
const LATEST_MS: u64 = 10_000;

/// What happens at a moment. `life` names the process it is for: another one does not hear of it.
#[derive(Debug)]
enum Happening {
    Say(usize),
    Boot,
    Serve {
        life: u32,
    },
    Connect {
        life: u32,
    },
    Disconnect {
        life: u32,
    },
    Resume {
        life: u32,
    },
    Deliver {
        life: u32,
        message: usize,
    },
    Door {
        life: u32,
    },
    Tell {
        life: u32,
        event: Event,
    },
    EngineStarted {
        life: u32,
    },
    RunEnds {
        life: u32,
        run: u64,
    },
    EngineDies {
        life: u32,
    },
    Land {
        life: u32,
        post: Post,
        answer: Option<u64>,
    },
    Look {
        life: u32,
        action: Box<Action>,
    },
    Delete,
    SetClock(i64),
    Stop,
    Calm,
    Quit,
}

/// What one person writes.
#[derive(Debug)]
struct Script {
    arrival: Arrival,
    dropped: Option<DropReason>,
    braked: bool,
}

struct Process {
    seat: Seat,
    life: u32,
    serving: bool,
    connected: bool,
    /// In the gap between two connections of one session.
    missed: Vec<usize>,
    session_alive: bool,
    /// What waits at the door: first what the last process had taken.
    pending: VecDeque<Inbox>,
    door: VecDeque<usize>,
    door_busy: bool,
    keeper: Keeper,
    open_turn: Option<Snowflake>,
    broker_gone: bool,
    typing: bool,
    /// Actions until the power goes.
    power_for: Option<u64>,
}

pub(crate) struct World {
    dice: Dice,
    faults: Faults,
    limits: Limits,
    now_ms: u64,
    clock_is_off_by: i64,
    queue: BTreeMap<(u64, u64), Happening>,
    number: u64,
    scripts: Vec<Script>,
    delivered: Vec<usize>,
    disk: Disk,
    discord: Discord,
    rules: Rules,
    judged_by: JudgedBy,
    process: Option<Process>,
    life: u32,
    boot_is_due: bool,
    resting: bool,
    actions: usize,
    trace: Option<Vec<String>>,
}

/// What became of a schedule.
#[derive(Debug)]
pub struct Ran {
    /// How many actions the machines asked for.
    pub actions: usize,
    /// How many processes it took.
    pub lives: u32,
    /// What did not hold; none when all is well.
    pub broken: Vec<String>,
    /// Each step, when that was asked for.
    pub trace: Vec<String>,
}

fn id(number: u64) -> Snowflake {
    Snowflake::new(number).expect("not zero")
}

fn identity(tools: bool) -> Identity {
    Identity {
        provider: "simulated".into(),
        model: "dice".into(),
        sandbox: Sandbox::default(),
        policy_digest: tools.then(|| "digest".into()),
    }
}

impl World {
    pub(crate) fn new(seed: u64, traced: bool) -> Self {
        let mut dice = Dice::new(seed);
        let faults = Faults::thrown(&mut dice);
        let limits = Limits {
            turns_per_day: dice.one_of(&[1, 2, 4, 200, 200]),
            turn_timeout: Duration::from_secs(180),
            reply_chunk_chars: 60,
            inbound_max_chars: 40,
            max_age: Duration::from_secs(900),
        };
        let mut discord = Discord::default();
        discord.lost_reference = dice.one_of(&[
            LostReference::Dropped,
            LostReference::FormError,
            LostReference::UnknownMessage,
        ]);
        let judged_by = JudgedBy {
            turns_per_day: limits.turns_per_day,
            clock_goes_back: faults.clock_back > 0,
            in_order: faults.unfetched == 0,
        };
        let mut world = Self {
            now_ms: LATE_EVENING_MS + dice.within(0..1_200_000),
            dice,
            faults,
            limits,
            clock_is_off_by: 0,
            queue: BTreeMap::new(),
            number: 0,
            scripts: Vec::new(),
            delivered: Vec::new(),
            disk: Disk::default(),
            discord,
            rules: Rules::default(),
            judged_by,
            process: None,
            life: 0,
            boot_is_due: false,
            resting: false,
            actions: 0,
            trace: traced.then(Vec::new),
        };
        world.plan();
        world
    }

    fn tell(&mut self, what: impl FnOnce() -> String) {
        let now = self.now_ms;
        if let Some(trace) = &mut self.trace {
            trace.push(format!(
                "{:>9.3} {}",
                (now % 100_000_000) as f64 / 1000.0,
                what()
            ));
        }
    }

    fn wall(&self) -> At {
        At::from_ms(self.now_ms.saturating_add_signed(self.clock_is_off_by))
    }

    fn after(&mut self, ms: u64, happening: Happening) {
        self.number += 1;
        self.queue
            .insert((self.now_ms + ms, self.number), happening);
    }

    /// Who says what when, and when the clock is set: fixed before anything runs.
    fn plan(&mut self) {
        self.boot(0);
        let mut at = 3000;
        for _ in 0..self.dice.within(2..8) {
            at += self.dice.one_of(&[0, 1, 300, 2000, 20_000, 200_000]);
            let number = self.scripts.len();
            self.scripts
                .push(self_script(&mut self.dice, number as u64));
            self.after(at, Happening::Say(number));
            if self.dice.happens(self.faults.deletion) {
                let later = self.dice.within(0..30_000);
                self.after(at + later, Happening::Delete);
            }
            if self.dice.happens(self.faults.stop) {
                let later = self.dice.within(0..60_000);
                self.after(at + later, Happening::Stop);
            }
        }
        let jumps = [(self.faults.clock_forward, 1), (self.faults.clock_back, -1)];
        for (likely, sign) in jumps {
            for _ in 0..2 {
                if self.dice.happens(likely) {
                    let by = self.dice.one_of(&[5, 200, 301, 901, 3600, 90_000]);
                    let when = self.dice.within(0..at + 60_000);
                    self.after(when, Happening::SetClock(sign * by * 1000));
                }
            }
        }
        self.after(at + 120_000, Happening::Calm);
    }

    pub(crate) fn run(mut self) -> Ran {
        let mut happenings = 0;
        while let Some(((at, _), happening)) = self.queue.pop_first() {
            self.now_ms = self.now_ms.max(at);
            self.happen(happening);
            happenings += 1;
            if happenings > ENDLESS {
                self.rules.refuse("it does not come to rest");
                break;
            }
            if self.queue.is_empty() && !self.resting {
                self.rest();
            }
            if !self.rules.broken.is_empty() {
                break;
            }
        }
        if self.rules.broken.is_empty() {
            self.rules.judge(&self.disk, &self.discord, &self.judged_by);
        }
        Ran {
            actions: self.actions,
            lives: self.life,
            broken: self.rules.broken,
            trace: self.trace.unwrap_or_default(),
        }
    }

    /// Nothing is due any more. One last start settles what only a start may, then that is the end.
    fn rest(&mut self) {
        self.resting = true;
        self.after(0, Happening::Stop);
        self.after(400_000, Happening::Quit);
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Say(number) => self.say(number),
            Happening::Boot => self.start(),
            Happening::SetClock(by) => {
                self.tell(|| format!("the clock is set by {} s", by / 1000));
                self.clock_is_off_by += by;
            }
            Happening::Delete => {
                let question = self.dice.happens(500);
                self.tell(|| {
                    format!(
                        "deleted: the newest {}",
                        if question { "question" } else { "answer" }
                    )
                });
                self.discord.delete_newest(question);
            }
            Happening::Calm => {
                self.tell(|| "from here on nothing goes wrong".into());
                self.faults = Faults::default();
                if let Some(process) = &mut self.process {
                    process.power_for = None;
                }
            }
            Happening::Land { life, post, answer } => self.land(life, post, answer),
            Happening::Stop => self.stop(),
            Happening::Quit => self.stop(),
            Happening::Serve { life }
            | Happening::Connect { life }
            | Happening::Disconnect { life }
            | Happening::Resume { life }
            | Happening::Deliver { life, .. }
            | Happening::Door { life }
            | Happening::Tell { life, .. }
            | Happening::EngineStarted { life }
            | Happening::RunEnds { life, .. }
            | Happening::EngineDies { life }
            | Happening::Look { life, .. }
                if self
                    .process
                    .as_ref()
                    .is_none_or(|process| process.life != life) => {}
            Happening::Serve { .. } => self.serve(),
            Happening::Connect { .. } => self.connect(),
            Happening::Disconnect { .. } => self.disconnect(),
            Happening::Resume { .. } => self.resume(),
            Happening::Deliver { message, .. } => self.deliver(message),
            Happening::Door { .. } => self.open_door(),
            Happening::Tell { event, .. } => self.hear(event),
            Happening::EngineStarted { .. } => self.engine_started(),
            Happening::RunEnds { run, .. } => self.run_ends(run),
            Happening::EngineDies { .. } => self.engine_dies(),
            Happening::Look { action, .. } => self.look(*action),
        }
    }

    fn process(&mut self) -> &mut Process {
        self.process.as_mut().expect("looked at before")
    }

    fn later(&mut self, ms: u64, event: Event) {
        let life = self.life;
        self.after(ms, Happening::Tell { life, event });
    }
}

fn self_script(dice: &mut Dice, number: u64) -> Script {
    let place = dice.one_of(&[20, 20, 20, 21]);
    let over_size = dice.happens(100);
    let arrival = Arrival {
        // Set when it is said.
        message: id(1 + number),
        place: id(place),
        channel: id(20),
        channel_name: "ideas".into(),
        thread_name: None,
        author: id(30),
        requester: "Jason".into(),
        server_name: "jay".into(),
        text: if over_size {
            "x".repeat(41)
        } else {
            "hello".into()
        },
        received: At::from_ms(0),
    };
    Script {
        arrival,
        dropped: dice.happens(100).then_some(DropReason::NoText),
        braked: dice.happens(50),
    }
}
