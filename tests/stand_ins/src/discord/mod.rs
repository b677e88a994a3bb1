//! A stand-in Discord: one server, its REST API and its gateway on one loopback port, honest by the rules H1 to H22 of the API sheet.
//!
//! It keeps everything it was sent, answers what it does not expect as Discord would and remembers it as a surprise, and misbehaves on
//! demand. It knows nothing of the programs it is used to test.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! use stand_ins::discord::Discord;
//!
//! let discord = Discord::guild("Acme").channel("ideas").user("Jason").start().await;
//! let question = discord.say("ideas", "Jason", "what is left to do?").await;
//! assert_eq!(discord.messages("ideas")[0].id, question);
//! # }
//! ```

mod acts;
mod builder;
mod buttons;
mod deeds;
mod draft;
mod fault;
mod gateway;
mod history;
mod message;
mod nonce;
mod people;
mod permissions;
mod places;
mod record;
mod refusal;
mod rest;
mod say;
mod server;
mod snowflake;
mod world;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

use self::gateway::Order;
pub use self::{
    builder::Builder,
    buttons::Press,
    fault::{Fault, Mishap, Scope},
    gateway::{Reception, Welcome},
    message::{Reaction, Reference, StoredMessage},
    people::User,
    permissions::Permissions,
    places::{Channel, ChannelKind, Guild},
    record::{Door, End, Happening, RecordedConnection, RecordedRequest},
    refusal::Refusal,
    rest::Endpoint,
    say::Say,
    snowflake::Snowflake,
    world::World,
};
use crate::openapi::Exchange;

/// The world behind its lock, and a bell that rings whenever somebody may have changed it.
///
/// A lock and not a task with a queue, because a test asks in plain synchronous code; it is never held across an await.
#[derive(Debug)]
struct Shared {
    world: Mutex<World>,
    bell: watch::Sender<()>,
}

impl Shared {
    fn look<T>(&self, look: impl FnOnce(&World) -> T) -> T {
        // A test that panicked with the lock in hand has failed already; the others may go on looking.
        look(&self.world.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn touch<T>(&self, touch: impl FnOnce(&mut World) -> T) -> T {
        let outcome = touch(&mut self.world.lock().unwrap_or_else(PoisonError::into_inner));
        self.bell.send_replace(());
        outcome
    }
}

/// A running stand-in; dropping it closes everything.
#[derive(Debug)]
pub struct Discord {
    shared: Arc<Shared>,
    address: SocketAddr,
    up: watch::Sender<bool>,
    server: JoinHandle<std::convert::Infallible>,
}

impl Drop for Discord {
    fn drop(&mut self) {
        self.server.abort();
        self.order(|| Order::Drop);
    }
}

/// Looks on; sees the world also after the stand-in itself is gone.
#[derive(Clone, Debug)]
pub struct Onlooker {
    shared: Arc<Shared>,
}

impl Onlooker {
    /// Every text that stands in a channel, whoever wrote it.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        self.shared.look(|world| {
            let messages = world.messages.values();
            messages.map(|message| message.content.clone()).collect()
        })
    }

    /// Every request that was answered as Discord would, with its answer.
    #[must_use]
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.shared.look(|world| world.exchanges.clone())
    }
}

/// Starting it and finding it.
impl Discord {
    /// Begins the description of a server of this name.
    pub fn guild(name: &str) -> Builder {
        Builder::new(name)
    }

    async fn start(port: u16, world: impl FnOnce(SocketAddr) -> World) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port))
            .await
            .unwrap_or_else(|error| panic!("listen on 127.0.0.1:{port}: {error}"));
        let address = listener
            .local_addr()
            .expect("a bound socket has an address");
        let shared = Arc::new(Shared {
            world: Mutex::new(world(address)),
            bell: watch::Sender::new(()),
        });
        let up = watch::Sender::new(true);
        let server = tokio::spawn(server::serve(
            listener,
            address,
            Arc::clone(&shared),
            up.subscribe(),
        ));
        Discord {
            shared,
            address,
            up,
            server,
        }
    }

    /// `http://127.0.0.1:PORT/api/v10`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/api/v10", self.address)
    }

    /// The gateway address that `GET /gateway/bot` names.
    #[must_use]
    pub fn gateway_url(&self) -> String {
        self.look(World::gateway_url)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The bot's token, without `Bot `.
    #[must_use]
    pub fn token(&self) -> String {
        self.look(World::token)
    }

    /// The bot's user id, which is also its application's.
    #[must_use]
    pub fn bot_id(&self) -> Snowflake {
        self.look(|world| world.bot.id)
    }

    /// The role Discord made for the bot.
    #[must_use]
    pub fn bot_role(&self) -> Snowflake {
        self.look(|world| world.guild.bot_role)
    }

    /// The server's id.
    #[must_use]
    pub fn guild_id(&self) -> Snowflake {
        self.look(|world| world.guild.id)
    }

    /// The id of a channel or thread.
    ///
    /// # Panics
    /// When there is none of that name, as all methods here that take a name do.
    #[must_use]
    pub fn channel_id(&self, name: &str) -> Snowflake {
        self.look(|world| world.channel_named(name).id)
    }

    /// The id of a user.
    ///
    /// # Panics
    /// When there is none of that name.
    #[must_use]
    pub fn user_id(&self, name: &str) -> Snowflake {
        self.look(|world| world.user_named(name).id)
    }
}

/// Looking at it. Each gives a copy of this moment; `look` and `wait_for` see the world itself.
impl Discord {
    /// Looks at the world.
    pub fn look<T>(&self, look: impl FnOnce(&World) -> T) -> T {
        self.shared.look(look)
    }

    /// The messages of a channel or thread, oldest first, deleted ones included.
    #[must_use]
    pub fn messages(&self, channel: &str) -> Vec<StoredMessage> {
        self.look(|world| world.messages(channel).into_iter().cloned().collect())
    }

    /// What the bot said in a channel and what still stands there, oldest first.
    #[must_use]
    pub fn said_by_bot(&self, channel: &str) -> Vec<StoredMessage> {
        self.look(|world| world.said_by_bot(channel).into_iter().cloned().collect())
    }

    /// The reactions on a message, oldest first.
    ///
    /// # Panics
    /// When there is no such message.
    #[must_use]
    pub fn reactions(&self, message: Snowflake) -> Vec<Reaction> {
        self.look(|world| {
            world
                .message(message)
                .expect("a message to look at")
                .reactions
                .clone()
        })
    }

    /// How often the bot said it was typing in a channel.
    #[must_use]
    pub fn typing_count(&self, channel: &str) -> usize {
        self.look(|world| world.typing_count(channel))
    }

    /// Every request so far.
    #[must_use]
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.look(|world| world.requests().to_vec())
    }

    /// Every gateway connection so far.
    #[must_use]
    pub fn connections(&self) -> Vec<RecordedConnection> {
        self.look(|world| world.connections().to_vec())
    }

    /// The ids of the sessions that have a live connection now.
    #[must_use]
    pub fn sessions(&self) -> Vec<String> {
        self.look(World::sessions)
    }

    /// Somebody who looks on, for a check after the test is over.
    #[must_use]
    pub fn onlooker(&self) -> Onlooker {
        Onlooker {
            shared: Arc::clone(&self.shared),
        }
    }

    /// What happened, in order.
    #[must_use]
    pub fn happenings(&self) -> Vec<Happening> {
        self.look(|world| world.happenings().to_vec())
    }

    /// Waits until the world is as described and gives what the description found. It looks again whenever something changed.
    ///
    /// # Panics
    /// When that takes longer than `patience`, with what was waited for and the last things that happened.
    pub async fn wait_for<T>(
        &self,
        what: &str,
        patience: Duration,
        mut found: impl FnMut(&World) -> Option<T>,
    ) -> T {
        let mut bell = self.shared.bell.subscribe();
        let waiting = async {
            loop {
                bell.mark_unchanged();
                if let Some(found) = self.look(&mut found) {
                    return found;
                }
                bell.changed().await.expect("the bell hangs in this server");
            }
        };
        match tokio::time::timeout(patience, waiting).await {
            Ok(found) => found,
            Err(_) => {
                let happenings = self.happenings();
                let last: Vec<String> = happenings
                    .iter()
                    .rev()
                    .take(20)
                    .rev()
                    .map(|happening| format!("  {happening:?}"))
                    .collect();
                panic!(
                    "waited {patience:?} in vain for {what}. What happened last:\n{}",
                    last.join("\n")
                )
            }
        }
    }

    /// Waits until the bot has this many messages standing in a channel and gives them.
    ///
    /// # Panics
    /// As `wait_for`.
    pub async fn wait_for_answers(
        &self,
        channel: &str,
        count: usize,
        patience: Duration,
    ) -> Vec<StoredMessage> {
        let what = format!("{count} message(s) of the bot in {channel}");
        self.wait_for(&what, patience, |world| {
            let said = world.said_by_bot(channel);
            (said.len() >= count).then(|| said.into_iter().cloned().collect())
        })
        .await
    }

    /// Waits until a session is connected and gives its id.
    ///
    /// # Panics
    /// As `wait_for`.
    pub async fn wait_for_session(&self, patience: Duration) -> String {
        self.wait_for("a connected session", patience, |world| {
            world.sessions().pop()
        })
        .await
    }

    /// Fails when anything came that nobody should send: unknown routes, wrong agents, frames out of place.
    ///
    /// # Panics
    /// Then.
    pub fn expect_no_surprises(&self) {
        let surprises = self.look(|world| {
            world
                .surprises()
                .into_iter()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        });
        assert!(
            surprises.is_empty(),
            "the stand-in Discord was surprised by:\n  {}",
            surprises.join("\n  ")
        );
    }
}
