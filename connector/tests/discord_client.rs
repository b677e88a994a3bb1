//! The Discord client against the stand-in Discord, which was built from the reference and not for this client.
//! What a message means to the seat is not here; only that it arrives, and that what is sent arrives once.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::sync::Arc;
use std::time::Duration;

use mosaic_connector::discord::gateway::{INTENTS, Loss, spawn};
use mosaic_connector::discord::model::{Application, Message};
use mosaic_connector::discord::rest::Timing;
use mosaic_connector::discord::threads::Place;
use mosaic_connector::discord::{
    ApiBase, CreateMessage, Event, GatewayConfig, GatewayEvent, GatewayHandle, Rest, RestError,
    Snowflake, Threads, Token, permissions,
};
use stand_ins::discord::{
    Builder, Discord, Door, End, Endpoint, Fault, Mishap, Reception, Scope, Welcome,
};
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

/// Longer than anything here takes; only a failure waits for it.
const PATIENCE: Duration = Duration::from_secs(40);

fn id(id: stand_ins::discord::Snowflake) -> Snowflake {
    Snowflake::new(id.0).unwrap()
}

fn acme() -> Builder {
    // The five seconds are kept by the client; the stand-in need not make the tests wait for its own measure of them.
    Discord::guild("Acme")
        .channel("ideas")
        .user("Jason")
        .identify_every(Duration::ZERO)
}

fn rest(discord: &Discord, timing: Timing) -> Arc<Rest> {
    let base = ApiBase::from_override(Some(&discord.base_url())).unwrap();
    Arc::new(Rest::new(base, &Token::parse(&discord.token()).unwrap(), timing).unwrap())
}

/// A client that is connected, or about to be.
struct Client {
    rest: Arc<Rest>,
    gateway: GatewayHandle,
    events: Receiver<GatewayEvent>,
    threads: Threads,
}

impl Client {
    fn of(discord: &Discord) -> Self {
        let rest = rest(discord, Timing::STANDARD);
        let base = ApiBase::from_override(Some(&discord.base_url())).unwrap();
        let config = GatewayConfig {
            token: Token::parse(&discord.token()).unwrap(),
            intents: INTENTS,
            base,
        };
        let (gateway, events) = spawn(config, Arc::clone(&rest));
        Self {
            rest,
            gateway,
            events,
            threads: Threads::default(),
        }
    }

    async fn in_session(discord: &Discord) -> Self {
        let mut client = Self::of(discord);
        client
            .until(|event| matches!(event, GatewayEvent::Ready { .. }).then_some(()))
            .await;
        client
            .until(|event| {
                matches!(event, GatewayEvent::Dispatch(Event::GuildCreate { .. })).then_some(())
            })
            .await;
        client
    }

    /// Takes events until one is what is looked for.
    async fn until<T>(&mut self, mut wanted: impl FnMut(&GatewayEvent) -> Option<T>) -> T {
        let looking = async {
            loop {
                let event = self.events.recv().await.expect("the gateway goes on");
                if let GatewayEvent::Dispatch(event) = &event {
                    self.threads.observe(event);
                }
                if let Some(found) = wanted(&event) {
                    return found;
                }
            }
        };
        timeout(PATIENCE, looking)
            .await
            .expect("it happens in time")
    }

    async fn message(&mut self) -> Message {
        self.until(|event| match event {
            GatewayEvent::Dispatch(Event::MessageCreate(message)) => Some((**message).clone()),
            _ => None,
        })
        .await
    }

    async fn loss(&mut self) -> Loss {
        self.until(|event| match event {
            GatewayEvent::Down { reason } => Some(reason.loss.clone()),
            _ => None,
        })
        .await
    }

    async fn resumed(&mut self) {
        self.until(|event| matches!(event, GatewayEvent::Resumed).then_some(()))
            .await;
    }
}

fn text(content: &str, nonce: &str, reply_to: Option<Snowflake>) -> CreateMessage {
    CreateMessage::new(content, nonce, reply_to).unwrap()
}

fn doors(discord: &Discord) -> Vec<Door> {
    discord
        .connections()
        .iter()
        .map(|connection| connection.door)
        .collect()
}

#[tokio::test]
async fn a_question_arrives_and_its_answer_stands_below_it() {
    let discord = acme().start().await;
    let mut client = Client::in_session(&discord).await;
    let ideas = id(discord.channel_id("ideas"));

    let question = discord.say("ideas", "Jason", "what is left?").await;
    let message = client.message().await;
    assert_eq!(
        (message.id, message.channel_id, message.content.as_str()),
        (id(question), ideas, "what is left?")
    );
    assert_eq!(message.author.id, id(discord.user_id("Jason")));

    client.rest.react(ideas, message.id, "👀").await.unwrap();
    client.rest.typing(ideas).await.unwrap();
    let posted = client
        .rest
        .create_message(ideas, &text("nothing", "n-1", Some(message.id)))
        .await
        .unwrap();

    let echo = client.message().await;
    assert_eq!(
        (echo.id, echo.reply_to(), echo.nonce.as_deref()),
        (posted.id, Some(message.id), Some("n-1"))
    );
    assert!(discord.look(|world| world.bot_reacted(question, "👀")));
    assert_eq!(discord.typing_count("ideas"), 1);
    client.gateway.close().await;
    discord
        .wait_for("the end", PATIENCE, |world| world.connections()[0].end)
        .await;
    assert_eq!(
        discord.connections()[0].end,
        Some(End::ClientClosed(Some(1000)))
    );
    discord.expect_no_surprises();
}

#[tokio::test]
async fn what_check_asks_for_is_answered() {
    let discord = acme().read_only_channel("news").start().await;
    let rest = rest(&discord, Timing::STANDARD);
    let (guild, bot) = (id(discord.guild_id()), id(discord.bot_id()));

    assert_eq!(rest.me().await.map(|me| me.id), Ok(bot));
    let application = rest.application().await.unwrap();
    assert!(Application::grants_message_content(application.flags));
    assert_eq!(
        rest.gateway_bot()
            .await
            .map(|gateway| gateway.session_start_limit.total),
        Ok(1000)
    );

    let server = rest.guild(guild).await.unwrap();
    let member = rest.member(guild, bot).await.unwrap();
    for (name, may_send) in [("ideas", true), ("news", false)] {
        let channel = rest.channel(id(discord.channel_id(name))).await.unwrap();
        assert_eq!(channel.guild_id, Some(guild));
        let bits = permissions::in_channel(&server, &channel, bot, &member);
        assert_eq!(bits & permissions::SEND_MESSAGES != 0, may_send, "{name}");
    }
    discord.expect_no_surprises();
}

#[tokio::test]
async fn d_40_d_42_threads_are_known_by_their_events_and_an_unannounced_one_by_asking() {
    let discord = acme()
        .thread("ideas", "old")
        .unannounced_thread("ideas", "quiet")
        .start()
        .await;
    let mut client = Client::in_session(&discord).await;
    let ideas = id(discord.channel_id("ideas"));

    assert_eq!(
        client.threads.parent(id(discord.channel_id("old"))),
        Some(ideas)
    );
    assert_eq!(client.threads.place(ideas), Some(Place::Channel));
    let quiet = id(discord.channel_id("quiet"));
    assert_eq!(client.threads.place(quiet), None);

    client
        .threads
        .learn(&client.rest.channel(quiet).await.unwrap());
    assert_eq!(client.threads.parent(quiet), Some(ideas));

    let fresh = id(discord.open_thread("ideas", "fresh"));
    discord.say("fresh", "Jason", "here").await;
    assert_eq!(client.message().await.channel_id, fresh);
    assert_eq!(client.threads.parent(fresh), Some(ideas));
}

#[tokio::test]
async fn a_message_said_while_the_connection_was_gone_arrives_after_the_resume() {
    let discord = acme().start().await;
    let mut client = Client::in_session(&discord).await;

    discord.drop_connections();
    assert_eq!(client.loss().await, Loss::Cut);
    discord.say("ideas", "Jason", "are you there?").await;

    assert_eq!(client.message().await.content, "are you there?");
    client.resumed().await;
    assert_eq!(doors(&discord), [Door::Front, Door::Resume]);
    discord.expect_no_surprises();
}

#[tokio::test]
async fn d_23_a_session_that_cannot_be_resumed_is_given_up_for_a_new_one() {
    let discord = acme().start().await;
    let mut client = Client::in_session(&discord).await;
    discord.next_resumes(9, Reception::Dropped);

    discord.ask_to_reconnect();
    client
        .until(|event| matches!(event, GatewayEvent::Ready { .. }).then_some(()))
        .await;

    assert_eq!(
        doors(&discord),
        [
            Door::Front,
            Door::Resume,
            Door::Resume,
            Door::Resume,
            Door::Front
        ]
    );
    assert_eq!(
        discord.connections()[0].end,
        Some(End::ClientClosed(Some(4000))),
        "D-28"
    );
}

#[tokio::test]
async fn d_27_op_9_begins_a_new_session_at_the_first_address() {
    let discord = acme().start().await;
    let mut client = Client::in_session(&discord).await;

    discord.invalidate_sessions(false);
    client
        .until(|event| matches!(event, GatewayEvent::Ready { .. }).then_some(()))
        .await;

    assert_eq!(doors(&discord), [Door::Front, Door::Front]);
    discord.expect_no_surprises();
}

#[tokio::test]
async fn e_22_op_7_before_hello_and_a_refused_handshake_are_survived() {
    let discord = acme().start().await;
    discord.next_connections(1, Welcome::ReconnectBeforeHello);
    let mut client = Client::of(&discord);

    assert_eq!(client.loss().await, Loss::Asked);
    client
        .until(|event| matches!(event, GatewayEvent::Ready { .. }).then_some(()))
        .await;
}

#[tokio::test]
async fn d_29_a_frozen_server_is_left_within_two_intervals_and_resumed() {
    let discord = acme()
        .heartbeat_interval(Duration::from_millis(200))
        .start()
        .await;
    let mut client = Client::in_session(&discord).await;

    discord.freeze_connections();

    assert_eq!(client.loss().await, Loss::NoAck);
    client.resumed().await;
}

#[tokio::test]
async fn d_30_five_megabytes_before_an_acknowledgement_cost_no_connection() {
    let discord = acme()
        .heartbeat_interval(Duration::from_millis(100))
        .start()
        .await;
    let mut client = Client::in_session(&discord).await;

    for _ in 0..5000 {
        discord.dispatch("PADDING", serde_json::json!({ "pad": "x".repeat(1000) }));
    }
    discord.say("ideas", "Jason", "done").await;

    assert_eq!(client.message().await.content, "done");
    assert_eq!(discord.connections().len(), 1);
    discord.expect_no_surprises();
}

#[tokio::test]
async fn d_32_an_intent_that_is_not_granted_ends_it_after_one_try() {
    let discord = acme().without_message_content().start().await;
    let mut client = Client::of(&discord);

    let fatal = client
        .until(|event| matches!(event, GatewayEvent::Fatal { code: 4014, .. }).then_some(()))
        .await;

    assert_eq!((fatal, client.events.recv().await), ((), None));
    assert_eq!(discord.connections().len(), 1);
}

#[tokio::test]
async fn a_spent_identify_budget_is_not_overdrawn() {
    let discord = acme().identify_budget(3).start().await;
    let mut client = Client::of(&discord);

    assert_eq!(client.loss().await, Loss::Budget { remaining: 3 });
    assert_eq!(discord.connections(), []);
}

#[tokio::test]
async fn a_repeated_nonce_gives_the_message_that_is_already_there() {
    let discord = acme().start().await;
    let rest = rest(
        &discord,
        Timing {
            whole: Duration::from_millis(500),
            ..Timing::STANDARD
        },
    );
    let ideas = id(discord.channel_id("ideas"));
    let message = text("once", "n-1", None);

    // D-02, D-03 and their kin: each leaves the outcome unknown, and the same nonce settles it.
    for mishap in [
        Mishap::LostAfter,
        Mishap::Stalled { acted: true },
        Mishap::CutBody,
        Mishap::Page {
            status: 502,
            acted: true,
        },
    ] {
        discord.fault(Fault::next(Endpoint::CreateMessage, mishap.clone()));
        let doubt = rest.create_message(ideas, &message).await;
        assert!(
            matches!(doubt, Err(RestError::Unknown(_))),
            "{mishap:?}: {doubt:?}"
        );
    }
    let posted = rest.create_message(ideas, &message).await.unwrap();

    let said = discord.said_by_bot("ideas");
    assert_eq!(
        said.iter()
            .map(|message| id(message.id))
            .collect::<Vec<_>>(),
        [posted.id]
    );
}

#[tokio::test]
async fn d_06_d_11_a_limit_in_the_middle_costs_time_and_no_message() {
    let discord = acme()
        .rate_limit(Endpoint::CreateMessage, 2, Duration::from_millis(300))
        .start()
        .await;
    let rest = rest(&discord, Timing::STANDARD);
    let ideas = id(discord.channel_id("ideas"));

    for part in 0..6 {
        rest.create_message(
            ideas,
            &text(&format!("part {part}"), &format!("n-{part}"), None),
        )
        .await
        .unwrap();
    }
    discord.fault(Fault::next(
        Endpoint::CreateMessage,
        Mishap::RateLimited {
            retry_after: 0.3,
            scope: Scope::User,
        },
    ));
    let last = text("part 6", "n-6", None);
    let RestError::Limited {
        global: false,
        html: false,
        ..
    } = rest.create_message(ideas, &last).await.unwrap_err()
    else {
        panic!("not limited")
    };
    rest.create_message(ideas, &last).await.unwrap();

    let said: Vec<_> = discord
        .said_by_bot("ideas")
        .into_iter()
        .map(|message| message.content)
        .collect();
    assert_eq!(
        said,
        (0..7)
            .map(|part| format!("part {part}"))
            .collect::<Vec<_>>()
    );
}

/// The processor is taken away for longer than a call may take, while its answer waits in the socket.
#[tokio::test]
async fn d_04_a_process_that_was_held_up_posts_one_message() {
    let discord = {
        // The stand-in lives on threads of its own: it answers while ours is held up.
        let (send, receive) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let threads = tokio::runtime::Runtime::new().unwrap();
            threads.block_on(async {
                let _ = send.send(acme().start().await);
                std::future::pending::<()>().await;
            });
        });
        receive.recv().unwrap()
    };
    let whole = Duration::from_millis(200);
    let rest = rest(
        &discord,
        Timing {
            whole,
            ..Timing::STANDARD
        },
    );
    let ideas = id(discord.channel_id("ideas"));
    let message = text("once", "n-1", None);

    let call = {
        let (rest, message) = (Arc::clone(&rest), message.clone());
        tokio::spawn(async move { rest.create_message(ideas, &message).await })
    };
    while discord.said_by_bot("ideas").is_empty() {
        tokio::task::yield_now().await;
    }
    std::thread::sleep(2 * whole);
    if call.await.unwrap().is_err() {
        rest.create_message(ideas, &message).await.unwrap();
    }

    assert_eq!(discord.said_by_bot("ideas").len(), 1);
}

#[tokio::test]
async fn d_09_the_answer_to_a_deleted_question_is_posted_all_the_same() {
    let discord = acme().start().await;
    let rest = rest(&discord, Timing::STANDARD);
    let question = discord.say("ideas", "Jason", "never mind").await;
    discord.delete(question);

    let answer = rest
        .create_message(
            id(discord.channel_id("ideas")),
            &text("too late", "n-1", Some(id(question))),
        )
        .await;

    assert_eq!(answer.map(|answer| answer.reply_to()), Ok(None));
}

#[tokio::test]
async fn a_message_that_was_posted_and_deleted_is_told_from_one_that_never_was() {
    let discord = acme().start().await;
    let rest = rest(&discord, Timing::STANDARD);
    let ideas = id(discord.channel_id("ideas"));
    let message = text("gone", "n-1", None);
    rest.create_message(ideas, &message).await.unwrap();
    discord.delete(discord.said_by_bot("ideas")[0].id);

    let again = rest
        .create_message(ideas, &message)
        .await
        .map(|posted| posted.id);

    assert!(
        matches!(
            again,
            Err(RestError::Refused {
                code: Some(10008),
                ..
            })
        ),
        "{again:?}"
    );
}

#[tokio::test]
async fn d_62_a_ban_on_the_first_call_is_waited_out_in_silence() {
    let discord = acme().start().await;
    discord.fault(Fault::next(
        Endpoint::GatewayBot,
        Mishap::Banned { retry_after: None },
    ));
    let mut client = Client::of(&discord);

    let Loss::LookUp(RestError::Limited {
        retry_after,
        html: true,
        ..
    }) = client.loss().await
    else {
        panic!("no ban")
    };

    assert_eq!(retry_after, Duration::from_secs(60));
    assert_eq!(discord.requests().len(), 1);
    client.gateway.close().await;
}

#[tokio::test]
async fn a_revoked_token_ends_the_gateway() {
    let discord = acme().start().await;
    discord.revoke_token();
    let mut client = Client::of(&discord);

    client
        .until(|event| matches!(event, GatewayEvent::Fatal { code: 401, .. }).then_some(()))
        .await;
}
