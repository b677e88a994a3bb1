//! Describes a server before it starts, as a sentence. Starting it is `Discord::start`'s affair.

use std::{
    collections::{BTreeMap, HashMap},
    net::SocketAddr,
    time::Duration,
};

use super::{
    Discord,
    fault::Plan,
    gateway::{Greetings, Lines},
    nonce::{self, NonceBook},
    people::User,
    permissions::Permissions,
    places::{Channel, ChannelKind, Guild},
    rest::{Buckets, Endpoint},
    snowflake::{Mint, Now, Snowflake},
    world::World,
};

/// The numbers Discord does not promise (discord-api, section 12), each a setting with a plausible default.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) nonce_window: Duration,
    /// What hello tells the client.
    pub(super) heartbeat_interval: Duration,
    /// How long a lost session can be resumed.
    pub(super) session_life: Duration,
    /// How far apart IDENTIFYs must be; closer ones get op 9.
    pub(super) identify_every: Duration,
    /// IDENTIFYs left for the day.
    pub(super) identify_budget: u32,
    /// Whether the portal grants the message content intent.
    pub(super) content_granted: bool,
    pub(super) interactions_endpoint: Option<String>,
    pub(super) resume_url: Option<String>,
    pub(super) rate_limits: HashMap<Endpoint, (u32, Duration)>,
    pub(super) port: u16,
}

/// A server to be: `Discord::guild("Acme").channel("ideas").user("Jason").start().await`.
#[derive(Debug)]
#[must_use = "a builder does nothing until it is started"]
pub struct Builder {
    settings: Settings,
    now: Now,
    mint: Mint,
    guild: Guild,
    bot: User,
    users: Vec<User>,
    channels: Vec<Channel>,
}

impl Builder {
    pub(super) fn new(guild: &str) -> Self {
        let now = Now::read();
        let mut mint = Mint::default();
        // The server and its people are a day older than anything said in it.
        let mut id = || mint.at(now.unix_ms - 86_400_000);
        let bot = User {
            id: id(),
            name: "Sage".into(),
            bot: true,
        };
        let owner = User {
            id: id(),
            name: "Owner".into(),
            bot: false,
        };
        let guild = Guild {
            id: id(),
            name: guild.into(),
            bot_role: id(),
            owner: owner.id,
        };
        let settings = Settings {
            nonce_window: nonce::DEFAULT_WINDOW,
            heartbeat_interval: Duration::from_millis(41_250),
            session_life: Duration::from_secs(180),
            identify_every: Duration::from_secs(5),
            identify_budget: 1000,
            content_granted: true,
            interactions_endpoint: None,
            resume_url: None,
            rate_limits: HashMap::new(),
            port: 0,
        };
        Builder {
            settings,
            now,
            mint,
            guild,
            users: vec![bot.clone(), owner],
            bot,
            channels: Vec::new(),
        }
    }

    fn id(&mut self) -> Snowflake {
        self.mint.at(self.now.unix_ms - 86_400_000)
    }

    fn add_channel(mut self, name: &str, kind: ChannelKind, denied: Permissions) -> Self {
        let id = self.id();
        self.channels.push(Channel {
            id,
            name: name.into(),
            kind,
            parent: None,
            denied,
            archived: false,
            locked: false,
            announced: true,
        });
        self
    }

    /// Names the bot; "Sage" otherwise.
    pub fn bot(mut self, name: &str) -> Self {
        self.bot.name = name.into();
        self.users[0].name = name.into();
        self
    }

    /// A text channel the bot may do everything in.
    pub fn channel(self, name: &str) -> Self {
        self.add_channel(name, ChannelKind::Text, Permissions::NONE)
    }

    /// A channel the bot may read and not write in.
    pub fn read_only_channel(self, name: &str) -> Self {
        self.channel_denying(
            name,
            Permissions::SEND_MESSAGES
                .and(Permissions::SEND_MESSAGES_IN_THREADS)
                .and(Permissions::ADD_REACTIONS),
        )
    }

    /// A channel the bot cannot see.
    pub fn hidden_channel(self, name: &str) -> Self {
        self.channel_denying(name, Permissions::VIEW_CHANNEL)
    }

    /// A channel where the bot lacks these permissions.
    pub fn channel_denying(self, name: &str, denied: Permissions) -> Self {
        self.add_channel(name, ChannelKind::Text, denied)
    }

    /// A forum; its posts are threads.
    pub fn forum(self, name: &str) -> Self {
        self.add_channel(name, ChannelKind::Forum, Permissions::NONE)
    }

    /// An active thread of a channel, which GUILD_CREATE tells of.
    ///
    /// # Panics
    /// When there is no channel of that name yet.
    pub fn thread(self, channel: &str, name: &str) -> Self {
        self.add_thread(channel, name, true)
    }

    /// A thread no event has ever told of: the bot must look its parent up.
    ///
    /// # Panics
    /// When there is no channel of that name yet.
    pub fn unannounced_thread(self, channel: &str, name: &str) -> Self {
        self.add_thread(channel, name, false)
    }

    fn add_thread(mut self, channel: &str, name: &str, announced: bool) -> Self {
        let id = self.id();
        let parent = self.channels.iter().find(|known| known.name == channel);
        let parent = parent
            .unwrap_or_else(|| panic!("a thread of {channel:?} needs that channel first"))
            .clone();
        self.channels.push(Channel {
            id,
            name: name.into(),
            kind: ChannelKind::PublicThread,
            parent: Some(parent.id),
            announced,
            ..parent
        });
        self
    }

    /// A person.
    pub fn user(mut self, name: &str) -> Self {
        let id = self.id();
        self.users.push(User {
            id,
            name: name.into(),
            bot: false,
        });
        self
    }

    /// Another bot.
    pub fn other_bot(mut self, name: &str) -> Self {
        let id = self.id();
        self.users.push(User {
            id,
            name: name.into(),
            bot: true,
        });
        self
    }

    /// How long an enforced nonce is remembered; five minutes otherwise.
    pub fn nonce_window(mut self, window: Duration) -> Self {
        self.settings.nonce_window = window;
        self
    }

    /// The heartbeat interval of hello; 41.25 s otherwise.
    pub fn heartbeat_interval(mut self, interval: Duration) -> Self {
        self.settings.heartbeat_interval = interval;
        self
    }

    /// How long a session can be resumed after it lost its connection; 180 s otherwise.
    pub fn session_life(mut self, life: Duration) -> Self {
        self.settings.session_life = life;
        self
    }

    /// How far apart two IDENTIFYs must be; 5 s otherwise, as with Discord. Zero for stories that restart the bot quickly.
    pub fn identify_every(mut self, pause: Duration) -> Self {
        self.settings.identify_every = pause;
        self
    }

    /// How many IDENTIFYs are left today; 1000 otherwise. One more, and the token is dead.
    pub fn identify_budget(mut self, left: u32) -> Self {
        self.settings.identify_budget = left;
        self
    }

    /// The message content intent is not granted in the portal: asking for it closes with 4014.
    pub fn without_message_content(mut self) -> Self {
        self.settings.content_granted = false;
        self
    }

    /// An Interactions Endpoint URL is set in the portal: presses would go there and not to the gateway.
    pub fn interactions_endpoint(mut self, url: &str) -> Self {
        self.settings.interactions_endpoint = Some(url.into());
        self
    }

    /// READY names this address for resuming, whatever answers there.
    pub fn resume_url(mut self, url: &str) -> Self {
        self.settings.resume_url = Some(url.into());
        self
    }

    /// A real limit on an endpoint, per channel: so many requests in that time, then 429. Otherwise a thousand a second.
    pub fn rate_limit(mut self, endpoint: Endpoint, requests: u32, per: Duration) -> Self {
        self.settings.rate_limits.insert(endpoint, (requests, per));
        self
    }

    /// The port to listen on; any free one otherwise.
    pub fn port(mut self, port: u16) -> Self {
        self.settings.port = port;
        self
    }

    /// Starts it on loopback.
    ///
    /// # Panics
    /// When the port cannot be had.
    pub async fn start(self) -> Discord {
        Discord::start(self.settings.port, |address| self.build(address)).await
    }

    /// The world as it is before anyone connected.
    pub(super) fn build(self, address: SocketAddr) -> World {
        World {
            address,
            nonces: NonceBook::new(self.settings.nonce_window),
            settings: self.settings,
            guild: self.guild,
            bot: self.bot,
            users: self.users,
            channels: self.channels,
            mint: self.mint,
            messages: BTreeMap::new(),
            presses: Vec::new(),
            typing: HashMap::new(),
            token_dead: false,
            sessions: Vec::new(),
            lines: Lines::default(),
            greetings: Greetings::default(),
            identified_at: Vec::new(),
            plan: Plan::default(),
            buckets: Buckets::default(),
            requests: Vec::new(),
            exchanges: Vec::new(),
            connections: Vec::new(),
            happenings: Vec::new(),
        }
    }
}
