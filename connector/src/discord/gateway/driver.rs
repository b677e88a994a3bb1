//! The gateway's clock, socket and dice: it waits, asks the machine, and does what it says in order. It decides nothing.
//!
//! The consumer cannot hold it up. Events go into a queue of [`QUEUE`]; when that is nearly full the socket is not read (so Discord's own
//! buffers hold the rest, and nothing is lost or dropped) while heartbeats go out as before and an acknowledgement that may lie unread is
//! not missed.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinHandle, unconstrained};
use tokio::time::{Instant, sleep_until};

use super::loss::{Loss, OpenFault};
use super::machine::Machine;
use super::socket::Socket;
use super::step::{Action, Input, Now, Pulse, Timer};
use super::{GatewayConfig, GatewayEvent, wire};
use crate::discord::address::{ApiBase, GatewayUrl};
use crate::discord::install_tls;
use crate::discord::model::SessionStartLimit;
use crate::discord::rest::Rest;

/// Events a consumer may be behind.
const QUEUE: usize = 4096;
/// Of these, kept for what is not read from the socket: losses and the end.
const QUEUE_RESERVE: usize = 64;

/// The running gateway. Dropping it ends the connection as [`close`](Self::close) does, without waiting.
#[derive(Debug)]
pub struct GatewayHandle {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
    pulse: watch::Receiver<Pulse>,
    began: Instant,
}

/// What a watchdog may look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Health {
    /// There is a session: READY or RESUMED was the last word.
    pub live: bool,
    /// Since the last acknowledgement (or the hello) of the connection there is.
    pub last_ack_age: Option<Duration>,
    /// How often it should come.
    pub heartbeat_interval: Option<Duration>,
}

impl Health {
    /// Whether acknowledgements come as they should: the last one is not older than two intervals.
    #[must_use]
    pub fn is_acknowledged(&self) -> bool {
        matches!((self.last_ack_age, self.heartbeat_interval), (Some(age), Some(interval)) if age <= 2 * interval)
    }
}

impl GatewayHandle {
    /// Ends the session with a close frame (1000) and waits until that is out, at most a few seconds.
    pub async fn close(self) {
        let Self { stop, task, .. } = self;
        drop(stop);
        if let Err(error) = task.await {
            tracing::error!(%error, "the gateway task failed");
        }
    }

    /// The state at this moment.
    #[must_use]
    pub fn health(&self) -> Health {
        let Pulse {
            live,
            interval,
            acked_at,
        } = *self.pulse.borrow();
        let now = self.began.elapsed();
        Health {
            live,
            last_ack_age: acked_at.map(|at| now.saturating_sub(at)),
            heartbeat_interval: interval,
        }
    }
}

/// Starts the gateway on the current runtime. It connects, stays connected, and ends with the handle, with the receiver, or after
/// [`GatewayEvent::Fatal`].
#[must_use]
pub fn spawn(
    config: GatewayConfig,
    rest: Arc<Rest>,
) -> (GatewayHandle, mpsc::Receiver<GatewayEvent>) {
    install_tls();
    let began = Instant::now();
    let (events, receiver) = mpsc::channel(QUEUE);
    let (stop, stopped) = oneshot::channel();
    let (pulse, pulse_reader) = watch::channel(Pulse::default());
    let driver = Driver {
        machine: Machine::new(config.base.clone()),
        config,
        rest,
        events,
        pulse,
        began,
        dice: Dice::seeded(),
        timers: Timers::default(),
        under_way: None,
        socket: None,
        ahead: None,
        farewell: None,
    };
    let task = tokio::spawn(driver.run(stopped));
    (
        GatewayHandle {
            stop,
            task,
            pulse: pulse_reader,
            began,
        },
        receiver,
    )
}

struct Driver {
    machine: Machine,
    config: GatewayConfig,
    rest: Arc<Rest>,
    events: mpsc::Sender<GatewayEvent>,
    pulse: watch::Sender<Pulse>,
    began: Instant,
    dice: Dice,
    timers: Timers,
    /// The look-up or opening that was begun.
    under_way: Option<UnderWay>,
    socket: Option<Socket>,
    /// Read from the socket while looking whether something was unread.
    ahead: Option<Input>,
    farewell: Option<JoinHandle<()>>,
}

type UnderWay = Pin<Box<dyn Future<Output = Arrival> + Send>>;

enum Arrival {
    LookedUp(Result<(GatewayUrl, SessionStartLimit), Loss>),
    Opened(Result<Box<Socket>, OpenFault>),
}

/// Whether the driver goes on.
#[derive(PartialEq, Eq)]
enum Course {
    On,
    End,
}

impl Driver {
    async fn run(mut self, mut stopped: oneshot::Receiver<()>) {
        let mut input = Input::Start;
        while self.step(input, &mut stopped).await == Course::On {
            input = self.wait(&mut stopped).await;
        }
        if let Some(farewell) = self.farewell.take() {
            // The task only closes a socket, within its own time limit.
            let _closed = farewell.await;
        }
    }

    /// The next thing that happens. Timers come before the socket, so that no flood keeps a heartbeat back.
    async fn wait(&mut self, stopped: &mut oneshot::Receiver<()>) -> Input {
        loop {
            let readable = self.events.capacity() > QUEUE_RESERVE;
            if readable && let Some(input) = self.ahead.take() {
                return input;
            }
            tokio::select! {
                biased;
                _ = &mut *stopped => return Input::Stop,
                () = self.events.closed() => return Input::Stop,
                timer = self.timers.next(self.began) => {
                    self.timers.clear(timer);
                    return Input::Timer(self.with_unread(timer, readable));
                }
                arrival = arrival(&mut self.under_way) => {
                    self.under_way = None;
                    return self.arrived(arrival);
                }
                input = next_input(&mut self.socket), if readable => return input,
                () = room(&self.events), if !readable => {}
            }
        }
    }

    /// Looks whether a heartbeat's acknowledgement may be waiting: in a socket that is not read for now, or right in front.
    fn with_unread(&mut self, timer: Timer, readable: bool) -> Timer {
        let Timer::Heartbeat { .. } = timer else {
            return timer;
        };
        if let (true, None, Some(socket)) = (readable, &self.ahead, &mut self.socket) {
            // Unconstrained, because the runtime's budget would make a full socket look empty.
            self.ahead = unconstrained(socket.next()).now_or_never();
        }
        Timer::Heartbeat {
            unread: !readable || self.ahead.is_some(),
        }
    }

    fn arrived(&mut self, arrival: Arrival) -> Input {
        match arrival {
            Arrival::LookedUp(answer) => Input::LookedUp(answer),
            Arrival::Opened(Ok(socket)) => {
                self.socket = Some(*socket);
                Input::Opened
            }
            Arrival::Opened(Err(fault)) => Input::OpenFailed(fault),
        }
    }

    async fn step(&mut self, input: Input, stopped: &mut oneshot::Receiver<()>) -> Course {
        let now = Now {
            at: self.began.elapsed(),
            chance: self.dice.throw(),
        };
        let mut course = Course::On;
        for action in self.machine.handle(input, now) {
            match action {
                Action::LookUp => {
                    let look_up = look_up(Arc::clone(&self.rest), self.config.base.clone());
                    self.under_way = Some(Box::pin(look_up));
                }
                Action::Open(url) => self.under_way = Some(Box::pin(open(url))),
                Action::Send(frame) => self.send(&frame).await,
                Action::HangUp(code) => self.hang_up(code),
                Action::Set(timer, at) => self.timers.set(timer, at),
                Action::Clear(timer) => self.timers.clear(timer),
                Action::Deliver(event) => self.deliver(event, stopped).await,
                Action::End => course = Course::End,
            }
        }
        let pulse = self.machine.pulse();
        self.pulse
            .send_if_modified(|last| std::mem::replace(last, pulse) != pulse);
        course
    }

    /// Never logged: two of the three frames hold the token.
    async fn send(&mut self, frame: &wire::Outbound) {
        let Some(socket) = &mut self.socket else {
            return;
        };
        if socket
            .send(wire::write(frame, &self.config.token, self.config.intents))
            .await
            .is_err()
        {
            self.socket = None;
            self.ahead = Some(Input::Cut);
        }
    }

    /// The old socket takes its leave on its own while the next one is opened.
    fn hang_up(&mut self, code: Option<u16>) {
        self.timers = Timers::default();
        self.ahead = None;
        self.farewell = self
            .socket
            .take()
            .map(|socket| tokio::spawn(socket.close(code)));
    }

    async fn deliver(&mut self, event: GatewayEvent, stopped: &mut oneshot::Receiver<()>) {
        if let GatewayEvent::Fatal { .. } = event {
            // The last word: it waits for room, unless nobody wants it any more.
            tokio::select! {
                _ = self.events.send(event) => {}
                _ = stopped => {}
            }
            return;
        }
        if self.events.try_send(event).is_err() && !self.events.is_closed() {
            // Only reports of losses can end here: frames are not read without room for what they say.
            tracing::warn!(
                "the gateway's consumer has stood still; a report of a lost connection was left out"
            );
        }
    }
}

async fn look_up(rest: Arc<Rest>, base: ApiBase) -> Arrival {
    Arrival::LookedUp(match rest.gateway_bot().await {
        Ok(gateway) => match GatewayUrl::parse(&gateway.url, &base) {
            Ok(url) => Ok((url, gateway.session_start_limit)),
            Err(_) => Err(Loss::Address),
        },
        Err(error) => Err(Loss::LookUp(error)),
    })
}

async fn open(url: GatewayUrl) -> Arrival {
    Arrival::Opened(Socket::open(&url).await.map(Box::new))
}

async fn arrival(under_way: &mut Option<UnderWay>) -> Arrival {
    match under_way {
        Some(future) => future.await,
        None => pending().await,
    }
}

async fn next_input(socket: &mut Option<Socket>) -> Input {
    match socket {
        Some(socket) => socket.next().await,
        None => pending().await,
    }
}

/// Waits until the consumer has made room again.
async fn room(events: &mpsc::Sender<GatewayEvent>) {
    // The room itself is given back at once; an error says that the consumer is gone, which is seen elsewhere.
    drop(events.reserve_many(2 * QUEUE_RESERVE).await);
}

/// When each timer is due, as the time since the driver began.
#[derive(Default)]
struct Timers {
    due: [Option<Duration>; 4],
}

impl Timers {
    const ALL: [Timer; 4] = [
        Timer::Heartbeat { unread: false },
        Timer::Deadline,
        Timer::Enter,
        Timer::Retry,
    ];

    fn set(&mut self, timer: Timer, at: Duration) {
        self.due[Self::index(timer)] = Some(at);
    }

    fn clear(&mut self, timer: Timer) {
        self.due[Self::index(timer)] = None;
    }

    /// Sleeps until the earliest is due, for ever when none is set.
    async fn next(&self, began: Instant) -> Timer {
        let earliest = Self::ALL
            .into_iter()
            .filter_map(|timer| Some((self.due[Self::index(timer)]?, timer)))
            .min_by_key(|&(at, _)| at);
        match earliest {
            Some((at, timer)) => {
                sleep_until(began + at).await;
                timer
            }
            None => pending().await,
        }
    }

    fn index(timer: Timer) -> usize {
        match timer {
            Timer::Heartbeat { .. } => 0,
            Timer::Deadline => 1,
            Timer::Enter => 2,
            Timer::Retry => 3,
        }
    }
}

/// Random fractions for jitter (SplitMix64). Nobody gains by guessing them.
struct Dice {
    state: u64,
}

impl Dice {
    fn seeded() -> Self {
        // Without the kernel's randomness all bots of this build would share their jitter, which is no reason not to run.
        Self {
            state: getrandom::u64().unwrap_or(0),
        }
    }

    /// A fraction in `0..1`.
    fn throw(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        // 53 bits: what a double holds exactly.
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests;
