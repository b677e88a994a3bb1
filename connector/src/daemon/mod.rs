//! The running connector: confines itself, greets the broker, settles what the last process left, starts the engine, opens
//! the gateway, and then hands events to the seat and does what it says until it says to end.

mod books;
mod driver;
mod keeper;
mod porter;
mod pulse;
mod reload;
mod standing;
mod supervisor;
mod typing;

use std::{sync::Arc, time::Duration};

use mosaic_proto::v1::call_event;
use tokio::{
    runtime,
    signal::unix::{SignalKind, signal},
    sync::{
        mpsc::{self, Receiver, UnboundedReceiver, UnboundedSender},
        watch,
    },
    time::{Interval, interval},
};

use books::Books;
use driver::Driver;
use porter::Porter;
use pulse::Pulse;
use reload::{Accepted, Reload};
use standing::{Gateway, Standing};
use supervisor::Supervisor;

use crate::{
    binding::Binding,
    broker::{self, Broker, Greeting},
    commands::Prepared,
    confinement,
    discord::{GatewayConfig, GatewayEvent, GatewayHandle, Rest, gateway, rest::Timing},
    engine::{Engine, EngineError, EngineFolders, EngineSpec, ModelChoice, model_endpoint},
    exit::Exit,
    journal::{
        At, Digest, Sandbox,
        lines::{self, Inbox},
    },
    owner::Brake,
    paths::Paths,
    prompt::SystemPrompt,
    seat::{Ending, Event, Identity, Seat},
};

/// How long pi may take from its start until it is verified.
const ENGINE_START: Duration = Duration::from_secs(60);

/// Serves turns until asked to end.
///
/// # Errors
/// Why it ended otherwise, with the exit code a supervisor acts on.
pub fn run(prepared: Prepared) -> Result<(), Exit> {
    crate::logs::start();
    let Prepared {
        binding,
        paths,
        runtime: sockets,
        install,
        confine,
        api,
        ..
    } = &prepared;

    paths.create_folders().map_err(Exit::invalid)?;
    let folders = EngineFolders::below(&paths.data(), paths.sessions());
    folders.create().map_err(|error| no_engine(&error))?;
    // Of the last process. While it is not there, `reload` sends nobody a signal that nobody waits for.
    forget_binding_in_force(paths)?;
    let model = model_endpoint(
        &folders.agent,
        &binding.engine.provider,
        &binding.engine.model,
    )
    .map_err(|error| no_engine(&error))?;
    let (books, past) = Books::open(paths, At::now()).map_err(Exit::failed)?;

    // Before the fence, which would not let it be reached.
    let supervisor = Supervisor::connect(prepared.notify_socket.as_deref(), prepared.watchdog)
        .map_err(|error| {
            Exit::failed(format_args!(
                "The supervisor's NOTIFY_SOCKET cannot be reached: {error}."
            ))
        })?;
    let reach = confinement::reach(paths, sockets, install, confine.clone(), api.port(), &model);
    let broker_state = paths.data().join("broker");
    let secrets = [
        prepared.binding_file.as_path(),
        &binding.token_file,
        &broker_state,
    ];
    let report =
        confinement::enter(&reach, binding.required_abi, &secrets).map_err(Exit::invalid)?;
    tracing::info!(
        denied = report.denied(),
        attempts = report.attempts(),
        "confined"
    );

    // Discord has a thread of its own, so that heartbeats go out while this one waits for a disk or reads pi. Seat, broker
    // and engine share this one: a message's way to pi is then a queue, not three threads waking each other.
    let network = runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("network")
        .enable_all()
        .build()
        .map_err(Exit::failed)?;
    let seat = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Exit::failed)?;
    let spec = EngineSpec {
        binding: binding.name.clone(),
        model: ModelChoice {
            provider: binding.engine.provider.clone(),
            model: binding.engine.model.clone(),
            thinking: binding.engine.thinking.clone(),
        },
        endpoint: model,
        folders,
        install: install.clone(),
        confine: confine.clone(),
        tools_socket: binding.tools.is_some().then(|| sockets.tools_socket()),
        tools: Vec::new(),
        policy_digest: String::new(),
        prompt: SystemPrompt::new(&prepared.contexts, &binding.seat, ""),
        required_abi: binding.required_abi,
        sandbox: format!(
            "connector: {} of {} attempts denied",
            report.denied(),
            report.attempts()
        ),
        start_timeout: ENGINE_START,
    };
    let discord = network.handle().clone();
    let ended = seat.block_on(serve(&prepared, books, past, spec, supervisor, discord));
    prepared
        .owner
        .release()
        .map_err(|error| Exit::failed(format!("The run lock stays: {error}.")))?;
    ended
}

async fn serve(
    prepared: &Prepared,
    books: Books,
    past: crate::seat::Past,
    mut spec: EngineSpec,
    mut supervisor: Supervisor,
    network: runtime::Handle,
) -> Result<(), Exit> {
    let Prepared {
        binding,
        paths,
        runtime: sockets,
        token,
        api,
        ..
    } = prepared;
    let (events, mut heard) = mpsc::unbounded_channel();
    let reloads = signal(SignalKind::hangup()).map_err(Exit::failed)?;
    stop_on_signals(events.clone()).map_err(Exit::failed)?;
    supervisor.status("Greeting the broker.".into());
    let broker = match &binding.tools {
        None => None,
        Some(tools) => {
            let (broker, greeting) = Broker::connect(&sockets.control_socket())
                .await
                .map_err(Exit::failed)?;
            agree(&greeting, &tools.sha256)?;
            watch(&broker, events.clone()).await?;
            Some((broker, greeting))
        }
    };
    let greeting = broker.as_ref().map(|(_, greeting)| greeting.clone());
    if let Some(greeting) = &greeting {
        spec.tools = greeting.tools.clone();
        spec.policy_digest = greeting.policy_digest.clone();
        spec.prompt = SystemPrompt::new(&prepared.contexts, &binding.seat, &greeting.prompt);
    }

    let rest = Arc::new(Rest::new(api.clone(), token, Timing::STANDARD).map_err(Exit::failed)?);
    let identity = identity(binding, greeting.as_ref());
    let requester = |id| binding.user(id).map(|user| user.name.clone());
    let plan = past.plan(&identity, binding.limits.max_age, requester, At::now());
    if !plan.lost.is_empty() {
        return Err(Exit::failed(format!(
            "These deliveries were begun and their text is lost, so they cannot be settled: {}. Look in the channel, then \
             close each in outbox.jsonl by hand.",
            plan.lost.join(", ")
        )));
    }
    let pending = plan.pending.clone();
    let (seat, first) = Seat::new(identity, binding.limits.clone(), plan, At::now());
    let driver = Driver {
        books,
        rest: Arc::clone(&rest),
        network: network.clone(),
        bot: binding.bot_user,
        guild_name: binding.guild_name.clone(),
        turn_timeout: binding.limits.turn_timeout,
        timeout_in_hand: binding.limits.turn_timeout,
        broker: broker.map(|(broker, _)| broker),
        engine: None,
        events: events.clone(),
        typing: None,
    };
    let mut house = House {
        seat,
        driver,
        supervisor,
        pulse: Pulse::default(),
        gateway: Gateway::Opening,
        bindings: watch::Sender::new(Arc::new(binding.clone())),
    };
    house
        .supervisor
        .status("Bringing begun answers to their end.".into());

    if let Some(ending) = house.settle(first, &mut heard).await? {
        return ended(ending);
    }
    house.supervisor.status("Starting pi.".into());
    let engine = Engine::start(spec.clone())
        .await
        .map_err(|error| no_engine(&error))?;
    let (orders, ordered) = mpsc::channel(4);
    house.driver.engine = Some(orders);
    let keeper = tokio::spawn(keeper::keep(engine, spec, ordered, events.clone()));
    let _ = events.send(Event::EngineReady);

    stop_turns_on_signal(events.clone()).map_err(Exit::failed)?;
    // From here on a reload is heard; it is taken as soon as messages are.
    let books = &house.driver.books;
    books
        .in_force(&prepared.binding_bytes)
        .map_err(Exit::failed)?;
    let config = GatewayConfig {
        token: token.clone(),
        intents: gateway::INTENTS,
        base: api.clone(),
    };
    let (connection, dispatches) = {
        let _on_network = network.enter();
        gateway::spawn(config, Arc::clone(&rest))
    };
    let (notes, mut noted) = mpsc::unbounded_channel();
    let in_force = Arc::clone(&house.bindings.borrow());
    let reloader = network.spawn(reload::serve(
        reloads,
        in_force,
        paths.clone(),
        Arc::clone(&rest),
        notes.clone(),
    ));
    let porter = Porter::new(house.bindings.subscribe(), rest, Brake::new(paths));
    let door = network.spawn(receive(porter, pending, dispatches, events, notes));

    let ending = house.live(&mut heard, &mut noted, &connection).await;
    house.supervisor.stopping();
    reloader.abort();
    door.abort();
    finish(house.driver, connection, keeper).await;
    ended(ending?)
}

fn forget_binding_in_force(paths: &Paths) -> Result<(), Exit> {
    let path = paths.binding_in_force();
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Exit::failed(
            format_args!("{} cannot be removed: {error}.", path.display()),
        )),
        _ => Ok(()),
    }
}

/// Without an engine nothing is served. Trying again helps only where nothing is to be corrected.
fn no_engine(error: &EngineError) -> Exit {
    let sentence = format!("The engine: {error}.");
    if error.is_to_be_corrected() {
        Exit::invalid(sentence)
    } else {
        Exit::failed(sentence)
    }
}

/// The broker must have read the same `tools` value: otherwise the model would be told of other rules than hold.
fn agree(greeting: &Greeting, ours: &Digest) -> Result<(), Exit> {
    if greeting.tools_digest == ours.as_str() {
        return Ok(());
    }
    Err(Exit::failed(
        "The broker runs with another `tools` key than the binding has now. Restart the broker first.",
    ))
}

fn identity(binding: &Binding, greeting: Option<&Greeting>) -> Identity {
    Identity {
        provider: binding.engine.provider.clone(),
        model: binding.engine.model.clone(),
        sandbox: greeting.map_or_else(Sandbox::default, |greeting| Sandbox {
            landlock_abi: greeting.confinement.landlock_abi,
            required_abi: greeting.confinement.required_abi,
            denied: greeting.confinement.denied,
            attempts: greeting.confinement.attempts,
        }),
        policy_digest: greeting.map(|greeting| greeting.policy_digest.clone()),
    }
}

/// Hears the broker's calls, and its end.
async fn watch(broker: &Broker, events: UnboundedSender<Event>) -> Result<(), Exit> {
    let mut calls = broker.watch().await.map_err(Exit::failed)?;
    tokio::spawn(async move {
        while let Ok(Some(call)) = calls.message().await {
            match call.event {
                Some(call_event::Event::Began(call)) => {
                    tracing::info!(tool = %call.tool, index = call.index, "call began");
                }
                Some(call_event::Event::Ended(call)) => {
                    tracing::info!(tool = %call.tool, index = call.index, outcome = ?call.outcome(), "call ended");
                    let _ = events.send(Event::CallEnded(broker::tool_call(call)));
                }
                None => {}
            }
        }
        let _ = events.send(Event::BrokerGone);
    });
    Ok(())
}

/// `abort` sends SIGUSR1, to nobody who does not listen yet: it looks for the binding in force first.
fn stop_turns_on_signal(events: UnboundedSender<Event>) -> std::io::Result<()> {
    let mut abort = signal(SignalKind::user_defined1())?;
    tokio::spawn(async move {
        while abort.recv().await.is_some() {
            let _ = events.send(Event::Abort);
        }
    });
    Ok(())
}

fn stop_on_signals(events: UnboundedSender<Event>) -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("asked to stop; the turn in hand is finished first");
        let _ = events.send(Event::End(Ending::Asked));
    });
    Ok(())
}

/// The door: what the last process had taken and never begun comes first, then what the gateway brings.
async fn receive(
    mut porter: Porter,
    pending: Vec<Inbox>,
    mut dispatches: Receiver<GatewayEvent>,
    events: UnboundedSender<Event>,
    notes: UnboundedSender<Note>,
) {
    for line in pending {
        match porter.fetch(&line, At::now()).await {
            Ok(message) => drop(events.send(Event::Message(message))),
            Err(error) => {
                tracing::warn!(message = %line.id, %error, "a held message could not be fetched; it waits for the next start");
            }
        }
    }
    while let Some(event) = dispatches.recv().await {
        let event = match event {
            GatewayEvent::Dispatch(event) => match porter.receive(event).await {
                Some(message) => Event::Message(message),
                None => continue,
            },
            GatewayEvent::Ready { .. } => {
                tracing::info!("the gateway is ready");
                let _ = notes.send(Note::Gateway(Gateway::Up));
                continue;
            }
            GatewayEvent::Resumed => {
                tracing::info!("the gateway session goes on");
                let _ = notes.send(Note::Gateway(Gateway::Up));
                continue;
            }
            GatewayEvent::Down { reason } => {
                tracing::warn!(%reason, "the gateway connection is down");
                let _ = notes.send(Note::Gateway(Gateway::Down));
                continue;
            }
            GatewayEvent::Malformed { reason } => {
                tracing::warn!(%reason, "a gateway frame could not be read");
                continue;
            }
            GatewayEvent::Fatal { code, sentence } => {
                tracing::error!(code, "the gateway stopped for good");
                Event::End(Ending::Misconfigured(sentence.to_owned()))
            }
        };
        if events.send(event).is_err() {
            return;
        }
    }
}

/// The seat, the hands that do what it says, and the supervisor that is told of both.
struct House {
    seat: Seat,
    driver: Driver,
    supervisor: Supervisor,
    pulse: Pulse,
    gateway: Gateway,
    /// The binding in force, for whoever judges messages.
    bindings: watch::Sender<Arc<Binding>>,
}

/// What the house hears beside the seat's events.
#[derive(Debug)]
enum Note {
    /// The gateway is up or down.
    Gateway(Gateway),
    /// A reload was asked for, or came to something.
    Reload(Reload),
}

impl House {
    /// Brings what the last process left on its way to its end; nothing is begun before (seeds 002, "On start").
    async fn settle(
        &mut self,
        first: Vec<crate::seat::Action>,
        heard: &mut UnboundedReceiver<Event>,
    ) -> Result<Option<Ending>, Exit> {
        let mut ending = self.driver.perform(first).await.map_err(Exit::failed)?;
        while ending.is_none() && !self.seat.nothing_outgoing() {
            let Some(event) = heard.recv().await else {
                break;
            };
            ending = self.step(event).await?;
        }
        let unsettled = self.seat.unsettled();
        if !unsettled.is_empty() {
            return Err(Exit::failed(format!(
                "Whether these were delivered cannot be told: {}. Discord did not let the channel be read back; try again, or \
                 give the bot Read Message History.",
                unsettled.join(", ")
            )));
        }
        Ok(ending)
    }

    async fn live(
        &mut self,
        heard: &mut UnboundedReceiver<Event>,
        noted: &mut UnboundedReceiver<Note>,
        connection: &GatewayHandle,
    ) -> Result<Ending, Exit> {
        let mut signs = self.supervisor.sign_of_life_every().map(interval);
        loop {
            self.supervisor.status(self.standing().to_string());
            tokio::select! {
                event = heard.recv() => {
                    let Some(event) = event else { return Ok(Ending::Asked) };
                    if let Some(ending) = self.step(event).await? {
                        return Ok(ending);
                    }
                    if self.seat.is_ending() {
                        self.supervisor.stopping();
                    }
                }
                Some(note) = noted.recv() => {
                    if let Some(ending) = self.take_note(note).await? {
                        return Ok(ending);
                    }
                }
                () = due(&mut signs) => self.sign_of_life(connection),
            }
        }
    }

    async fn take_note(&mut self, note: Note) -> Result<Option<Ending>, Exit> {
        match note {
            Note::Gateway(gateway) => {
                self.gateway = gateway;
                if gateway == Gateway::Up {
                    // pi was verified before the gateway was opened: now all is there.
                    self.supervisor.ready();
                }
                Ok(None)
            }
            Note::Reload(Reload::Asked) => {
                self.supervisor.reloading();
                Ok(None)
            }
            Note::Reload(Reload::Refused(why)) => {
                tracing::warn!(
                    ?why,
                    "the reload was refused; the binding from before stays"
                );
                self.write_reload(&lines::Reload::Refused { why, at: At::now() })?;
                self.supervisor.reloaded();
                Ok(None)
            }
            Note::Reload(Reload::Accepted(accepted)) => {
                let ended = self.rebind(*accepted).await?;
                self.supervisor.reloaded();
                Ok(ended)
            }
        }
    }

    /// Swaps what may be swapped. The line is the last step: when it stands, the binding is in force.
    async fn rebind(&mut self, accepted: Accepted) -> Result<Option<Ending>, Exit> {
        let Accepted {
            binding,
            bytes,
            changes,
        } = accepted;
        tracing::info!(?changes, "the edited binding is in force");
        self.driver.guild_name.clone_from(&binding.guild_name);
        self.driver.turn_timeout = binding.limits.turn_timeout;
        self.bindings.send_replace(Arc::clone(&binding));
        let ended = self.step(Event::Rebound(binding)).await?;
        self.driver.books.in_force(&bytes).map_err(Exit::failed)?;
        self.write_reload(&lines::Reload::Applied {
            changes,
            at: At::now(),
        })?;
        Ok(ended)
    }

    fn write_reload(&mut self, line: &lines::Reload) -> Result<(), Exit> {
        self.driver.books.reload(line).map_err(Exit::failed)
    }

    fn sign_of_life(&mut self, connection: &GatewayHandle) {
        let Some(keeper) = &self.driver.engine else {
            return;
        };
        let written = self.driver.books.probe();
        if let Err(error) = &written {
            tracing::warn!(%error, "a file beside the journals could not be written");
        }
        match self
            .pulse
            .look(connection.health(), keeper, written.is_ok())
        {
            Ok(()) => self.supervisor.alive(),
            Err(silence) => tracing::warn!(%silence, "no sign of life is given"),
        }
    }

    fn standing(&self) -> Standing {
        Standing {
            gateway: self.gateway,
            ending: self.seat.is_ending(),
            turn: self.seat.turn(),
            held: self.seat.held(),
            today: self.seat.admitted_today(),
            ceiling: self.seat.limits().turns_per_day,
        }
    }

    async fn step(&mut self, event: Event) -> Result<Option<Ending>, Exit> {
        let actions = self.seat.handle(event, At::now());
        self.driver.perform(actions).await.map_err(Exit::failed)
    }
}

/// The next beat of a clock; of none, never.
async fn due(signs: &mut Option<Interval>) {
    match signs {
        Some(signs) => drop(signs.tick().await),
        None => std::future::pending().await,
    }
}

/// Ends the engine and the gateway session; what is on disk is already complete.
async fn finish(
    mut driver: Driver,
    connection: GatewayHandle,
    keeper: tokio::task::JoinHandle<()>,
) {
    driver.engine = None;
    if let Some(typing) = driver.typing.take() {
        typing.stop().await;
    }
    connection.close().await;
    let _ = keeper.await;
}

fn ended(ending: Ending) -> Result<(), Exit> {
    match ending {
        Ending::Asked => Ok(()),
        Ending::Failed(sentence) => Err(Exit::failed(sentence)),
        Ending::Misconfigured(sentence) => Err(Exit::invalid(sentence)),
    }
}
