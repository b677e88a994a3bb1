//! The stand-in Discord is driven by twilight, a client nobody here wrote: what it understands and what it gets past is what every other
//! story may rely on. Nothing of this project is under test here but the stand-in.

use std::{num::NonZeroU64, time::Duration};

use stand_ins::discord::{Discord, Door, Endpoint, Fault, Mishap, Reception, Scope, Snowflake};
use twilight_gateway::{
    ConfigBuilder, Event, EventTypeFlags, Intents, Shard, ShardId, ShardState, StreamExt as _,
    queue::InMemoryQueue,
};
use twilight_http::{Client, request::channel::reaction::RequestReactionType};
use twilight_model::{
    application::interaction::InteractionData,
    channel::{
        ChannelType,
        message::{
            Component, MessageType,
            component::{ActionRow, Button, ButtonStyle},
        },
    },
    gateway::payload::incoming::GuildCreate,
    http::interaction::{InteractionResponse, InteractionResponseType},
    id::Id,
};

/// Nothing here takes long; this only keeps a broken run from hanging.
const PATIENCE: Duration = Duration::from_secs(20);

/// A twilight bot: one shard and one REST client.
struct Bot {
    shard: Shard<InMemoryQueue>,
    http: Client,
}

impl Bot {
    fn of(discord: &Discord) -> Self {
        let intents = Intents::GUILDS
            | Intents::GUILD_MESSAGES
            | Intents::GUILD_MESSAGE_REACTIONS
            | Intents::MESSAGE_CONTENT;
        // Many identifies at once, as the stand-in of a story that reconnects allows them too.
        let queue = InMemoryQueue::new(16, 1000, Duration::from_secs(86_400), 1000);
        let config = ConfigBuilder::new(discord.token(), intents)
            .proxy_url(discord.gateway_url())
            .queue(queue)
            .build();
        let http = Client::builder()
            .token(discord.token())
            .proxy(discord.address().to_string(), true)
            .build();
        Bot {
            shard: Shard::with_config(ShardId::ONE, config),
            http,
        }
    }

    /// Reads events until one is picked. Errors of the connection are twilight's to get over.
    async fn until<T>(&mut self, what: &str, mut pick: impl FnMut(Event) -> Option<T>) -> T {
        let reading = async {
            loop {
                match self.shard.next_event(EventTypeFlags::all()).await {
                    Some(Ok(event)) => {
                        if let Some(picked) = pick(event) {
                            return picked;
                        }
                    }
                    Some(Err(_)) => {}
                    None => panic!("the shard ended while waiting for {what}"),
                }
            }
        };
        tokio::time::timeout(PATIENCE, reading)
            .await
            .unwrap_or_else(|_| panic!("no {what} came"))
    }

    async fn logged_in(&mut self) {
        self.until("GUILD_CREATE", |event| {
            matches!(event, Event::GuildCreate(_)).then_some(())
        })
        .await;
    }

    async fn next_text(&mut self) -> String {
        self.until("MESSAGE_CREATE", |event| match event {
            Event::MessageCreate(message) if !message.author.bot => Some(message.content.clone()),
            _ => None,
        })
        .await
    }
}

fn id<T>(snowflake: Snowflake) -> Id<T> {
    Id::from(NonZeroU64::new(snowflake.0).expect("an id is not zero"))
}

#[tokio::test]
async fn twilight_logs_in_and_sees_the_server() {
    let discord = Discord::guild("Acme")
        .channel("ideas")
        .thread("ideas", "plan")
        .user("Jason")
        .start()
        .await;
    let mut bot = Bot::of(&discord);

    let me = bot
        .http
        .current_user()
        .await
        .expect("answered")
        .model()
        .await
        .expect("a user");
    let gateway = bot
        .http
        .gateway()
        .authed()
        .await
        .expect("answered")
        .model()
        .await
        .expect("a gateway");
    let ready = bot
        .until("READY", |event| match event {
            Event::Ready(ready) => Some(ready),
            _ => None,
        })
        .await;
    let guild = bot
        .until("GUILD_CREATE", |event| match event {
            Event::GuildCreate(guild) => Some(*guild),
            _ => None,
        })
        .await;

    assert_eq!((me.id.get(), me.bot), (discord.bot_id().0, true));
    assert_eq!(gateway.url, discord.gateway_url());
    assert_eq!(ready.guilds[0].id.get(), discord.guild_id().0);
    assert_ne!(ready.resume_gateway_url, gateway.url);
    let GuildCreate::Available(guild) = guild else {
        panic!("the server is up")
    };
    assert_eq!(guild.channels[0].name.as_deref(), Some("ideas"));
    assert_eq!(
        (guild.threads[0].kind, guild.threads[0].parent_id),
        (
            ChannelType::PublicThread,
            Some(id(discord.channel_id("ideas")))
        )
    );
    discord.expect_no_surprises();
}

#[tokio::test]
async fn twilight_reads_reacts_types_and_replies() {
    let discord = Discord::guild("Acme")
        .channel("ideas")
        .user("Jason")
        .start()
        .await;
    let mut bot = Bot::of(&discord);
    bot.logged_in().await;

    let question = discord
        .say("ideas", "Jason", "what is left to do?")
        .mentioning_bot()
        .nick("JJ")
        .await;
    let heard = bot
        .until("MESSAGE_CREATE", |event| match event {
            Event::MessageCreate(message) => Some(message),
            _ => None,
        })
        .await;
    let eyes = RequestReactionType::Unicode { name: "👀" };
    bot.http
        .create_reaction(heard.channel_id, heard.id, &eyes)
        .await
        .expect("reacted");
    bot.http
        .create_typing_trigger(heard.channel_id)
        .await
        .expect("typing");
    let reply = bot
        .http
        .create_message(heard.channel_id)
        .content("Nothing.")
        .reply(heard.id);
    let reply = reply
        .nonce(7)
        .await
        .expect("answered")
        .model()
        .await
        .expect("a message");
    let echo = bot
        .until("our own MESSAGE_CREATE", |event| match event {
            Event::MessageCreate(message) => Some(message),
            _ => None,
        })
        .await;

    assert_eq!(
        heard.content,
        format!("<@{}> what is left to do?", discord.bot_id())
    );
    assert_eq!(heard.mentions[0].id.get(), discord.bot_id().0);
    assert_eq!(
        heard
            .member
            .as_ref()
            .and_then(|member| member.nick.as_deref()),
        Some("JJ")
    );
    assert_eq!((echo.id, echo.kind), (reply.id, MessageType::Reply));
    assert!(discord.look(|world| world.bot_reacted(question, "👀")));
    assert_eq!(discord.typing_count("ideas"), 1);
    let stored = &discord.said_by_bot("ideas")[0];
    assert_eq!(stored.content, "Nothing.");
    assert_eq!(
        stored.reference.as_ref().map(|reference| reference.message),
        Some(question)
    );
    let read = bot
        .http
        .channel_messages(heard.channel_id)
        .await
        .expect("answered");
    let read = read.models().await.expect("messages");
    assert_eq!(
        read.iter().map(|message| message.id).collect::<Vec<_>>(),
        [reply.id, heard.id]
    );
    discord.expect_no_surprises();
}

#[tokio::test]
async fn twilight_resumes_after_a_drop_and_misses_nothing() {
    let discord = Discord::guild("Acme")
        .channel("ideas")
        .user("Jason")
        .start()
        .await;
    let mut bot = Bot::of(&discord);
    bot.logged_in().await;

    discord.drop_connections();
    discord
        .say("ideas", "Jason", "said while nobody listened")
        .await;
    let heard = bot.next_text().await;
    bot.until("RESUMED", |event| {
        matches!(event, Event::Resumed).then_some(())
    })
    .await;
    discord.say("ideas", "Jason", "said after").await;

    assert_eq!(heard, "said while nobody listened");
    assert_eq!(bot.next_text().await, "said after");
    let doors: Vec<Door> = discord
        .connections()
        .iter()
        .map(|connection| connection.door)
        .collect();
    assert_eq!(doors, [Door::Front, Door::Resume]);
    assert_eq!(discord.connections()[1].frames_of(6).count(), 1);
}

#[tokio::test]
async fn twilight_follows_op_7_and_identifies_anew_after_op_9() {
    let discord = Discord::guild("Acme")
        .channel("ideas")
        .user("Jason")
        .identify_every(Duration::ZERO)
        .start()
        .await;
    let mut bot = Bot::of(&discord);
    bot.logged_in().await;

    discord.ask_to_reconnect();
    bot.until("RESUMED", |event| {
        matches!(event, Event::Resumed).then_some(())
    })
    .await;
    discord.invalidate_sessions(false);
    bot.logged_in().await;
    discord.say("ideas", "Jason", "still there?").await;

    assert_eq!(bot.next_text().await, "still there?");
    let doors: Vec<Door> = discord
        .connections()
        .iter()
        .map(|connection| connection.door)
        .collect();
    assert_eq!(doors, [Door::Front, Door::Resume, Door::Front]);
}

#[tokio::test]
async fn twilight_gives_up_a_session_that_cannot_be_resumed() {
    let discord = Discord::guild("Acme")
        .identify_every(Duration::ZERO)
        .start()
        .await;
    let mut bot = Bot::of(&discord);
    bot.logged_in().await;

    discord.next_resumes(1, Reception::Invalid { resumable: false });
    discord.drop_connections();
    bot.logged_in().await;

    let last = discord.connections().pop().expect("it connected");
    assert_eq!((last.door, last.frames_of(2).count()), (Door::Front, 1));
}

#[tokio::test]
async fn twilight_notices_a_zombie_by_its_missing_acknowledgement() {
    let discord = Discord::guild("Acme")
        .heartbeat_interval(Duration::from_millis(200))
        .start()
        .await;
    let mut bot = Bot::of(&discord);
    bot.logged_in().await;

    discord.stop_acknowledging();

    bot.until("RESUMED", |event| {
        matches!(event, Event::Resumed).then_some(())
    })
    .await;
}

#[tokio::test]
async fn twilight_stops_for_good_when_message_content_is_not_granted() {
    let discord = Discord::guild("Acme")
        .without_message_content()
        .start()
        .await;
    let mut bot = Bot::of(&discord);

    let reading = async { while bot.shard.next_event(EventTypeFlags::all()).await.is_some() {} };
    tokio::time::timeout(PATIENCE, reading)
        .await
        .expect("the shard ends");

    assert_eq!(bot.shard.state(), ShardState::FatallyClosed);
    assert_eq!(discord.connections().len(), 1);
}

#[tokio::test]
async fn twilight_waits_out_a_429_and_posts_once() {
    let discord = Discord::guild("Acme").channel("ideas").start().await;
    let bot = Bot::of(&discord);
    let limited = Mishap::RateLimited {
        retry_after: 0.3,
        scope: Scope::User,
    };
    discord.fault(Fault::next(Endpoint::CreateMessage, limited));

    let started = tokio::time::Instant::now();
    bot.http
        .create_message(id(discord.channel_id("ideas")))
        .content("once")
        .await
        .expect("posted");

    assert!(started.elapsed() >= Duration::from_millis(300));
    assert_eq!(discord.requests().len(), 2);
    assert_eq!(discord.said_by_bot("ideas").len(), 1);
}

#[tokio::test]
async fn twilight_understands_the_errors_of_the_api() {
    let discord = Discord::guild("Acme")
        .channel("ideas")
        .read_only_channel("rules")
        .start()
        .await;
    let bot = Bot::of(&discord);
    let refused = bot
        .http
        .create_message(id(discord.channel_id("rules")))
        .content("x")
        .await;
    let unknown = bot
        .http
        .message(id(discord.channel_id("ideas")), Id::new(1))
        .await;

    let code = |kind: &twilight_http::error::ErrorType| match kind {
        twilight_http::error::ErrorType::Response {
            error: twilight_http::api_error::ApiError::General(error),
            ..
        } => error.code,
        other => panic!("an error of the API was expected: {other:?}"),
    };
    assert_eq!(code(refused.expect_err("refused").kind()), 50013);
    assert_eq!(code(unknown.expect_err("refused").kind()), 10008);
}

#[tokio::test]
async fn twilight_answers_the_press_of_a_button() {
    let discord = Discord::guild("Acme")
        .channel("ideas")
        .user("Jason")
        .start()
        .await;
    let mut bot = Bot::of(&discord);
    bot.logged_in().await;
    let button = Button {
        custom_id: Some("approve".into()),
        disabled: false,
        emoji: None,
        id: None,
        label: Some("Approve".into()),
        sku_id: None,
        style: ButtonStyle::Success,
        url: None,
    };
    let row = Component::ActionRow(ActionRow {
        id: None,
        components: vec![Component::Button(button)],
    });
    let posted = bot
        .http
        .create_message(id(discord.channel_id("ideas")))
        .content("Proposal")
        .components(&[row])
        .await
        .expect("answered")
        .model()
        .await
        .expect("a message");

    let press = discord.press(Snowflake(posted.id.get()), "approve", "Jason");
    let interaction = bot
        .until("INTERACTION_CREATE", |event| match event {
            Event::InteractionCreate(interaction) => Some(interaction),
            _ => None,
        })
        .await;
    let deferred = InteractionResponse {
        kind: InteractionResponseType::DeferredUpdateMessage,
        data: None,
    };
    bot.http
        .interaction(interaction.application_id)
        .create_response(interaction.id, &interaction.token, &deferred)
        .await
        .expect("acknowledged");
    bot.http
        .update_message(posted.channel_id, posted.id)
        .content(Some("Approved."))
        .components(Some(&[]))
        .await
        .expect("edited");

    assert_eq!(interaction.id.get(), press.0);
    assert_eq!(
        interaction.author_id().map(Id::get),
        Some(discord.user_id("Jason").0)
    );
    let Some(InteractionData::MessageComponent(data)) = &interaction.data else {
        panic!("a press carries the button")
    };
    assert_eq!(data.custom_id, "approve");
    let stored = &discord.said_by_bot("ideas")[0];
    assert_eq!(
        (stored.content.as_str(), &stored.components),
        ("Approved.", &serde_json::json!([]))
    );
    discord.expect_no_surprises();
}
