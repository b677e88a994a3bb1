//! Does what the seat asks for, in order: writes lines, posts, asks the broker and the engine. It decides nothing; what
//! comes back goes to the seat as events.

use std::{sync::Arc, time::Duration};

use tokio::{
    runtime::Handle,
    sync::mpsc::{Sender, UnboundedSender},
};

use super::{
    books::{BookError, Books},
    keeper::Order,
    typing::{self, Typing},
};
use crate::{
    broker::Broker,
    delivery::{Answer, News, Read, ReadBack, Sighting, Sought, Standing, read_back::PAGE},
    discord::{CreateMessage, Rest, RestError, Snowflake, model::Message},
    journal::{Reaction, lines::DropReason},
    prompt::Envelope,
    seat::{Action, Arrival, Ending, Event},
};

/// The read receipt (seeds 002, step 4).
const EYES: &str = "👀";
/// Discord's code for a message that is not there (any more).
const UNKNOWN_MESSAGE: u64 = 10_008;

pub(super) struct Driver {
    pub(super) books: Books,
    pub(super) rest: Arc<Rest>,
    /// Where everything that talks to Discord runs.
    pub(super) network: Handle,
    pub(super) bot: Snowflake,
    pub(super) guild_name: String,
    /// How long the engine may work on a turn that is admitted now.
    pub(super) turn_timeout: Duration,
    /// The same for the turn in hand, as it was when that was admitted.
    pub(super) timeout_in_hand: Duration,
    pub(super) broker: Option<Broker>,
    pub(super) engine: Option<Sender<Order>>,
    pub(super) events: UnboundedSender<Event>,
    pub(super) typing: Option<Typing>,
}

impl Driver {
    /// Performs the actions in order. Returns how to end, when that was among them.
    ///
    /// # Errors
    /// When a line could not be written: then nothing that comes after it was done.
    pub(super) async fn perform(
        &mut self,
        actions: Vec<Action>,
    ) -> Result<Option<Ending>, BookError> {
        for action in actions {
            match action {
                Action::Exit(ending) => return Ok(Some(ending)),
                Action::StopTyping => {
                    if let Some(typing) = self.typing.take() {
                        typing.stop().await;
                    }
                }
                Action::Type(place) => {
                    let _on_network = self.network.enter();
                    let rest = Arc::clone(&self.rest);
                    self.typing = Some(Typing::start(rest, place, typing::EVERY));
                }
                // A sync may take seconds: the seat waits for it, and nothing that must not wait runs on its thread.
                line @ (Action::Inbox(_)
                | Action::Admission(_)
                | Action::Drop(_)
                | Action::Notice(_)
                | Action::Outbox(_)
                | Action::Keep(_)
                | Action::Forget(_)
                | Action::Record(_)) => self.write(line)?,
                asked => self.ask(asked).await,
            }
        }
        Ok(None)
    }

    fn write(&mut self, line: Action) -> Result<(), BookError> {
        match line {
            Action::Inbox(line) => self.books.inbox(&line),
            Action::Admission(line) => {
                tracing::info!(message = %line.id, "turn admitted");
                self.timeout_in_hand = self.turn_timeout;
                self.books.admission(&line)
            }
            Action::Drop(line) => {
                if line.reason == DropReason::ForeignOwnMessage {
                    tracing::error!(message = %line.id, "this bot's account said something this connector did not: another process has the token");
                }
                self.books.drop(&line)
            }
            Action::Notice(line) => self.books.notice(&line),
            Action::Outbox(line) => self.books.outbox(&line),
            Action::Keep(parcel) => self.books.keep(&parcel),
            Action::Forget(message) => self.books.forget(message),
            Action::Record(record) => {
                let calls = record.tools.len();
                tracing::info!(message = %record.id, outcome = ?record.outcome, calls, "turn recorded");
                self.books.record(&record)
            }
            _ => Ok(()),
        }
    }

    async fn ask(&self, action: Action) {
        match action {
            Action::React { place, message } => {
                self.on_network(react(Arc::clone(&self.rest), place, message));
            }
            Action::Post {
                place,
                reply_to,
                nonce,
                content,
            } => {
                self.on_network(post(
                    Arc::clone(&self.rest),
                    place,
                    reply_to,
                    nonce,
                    content,
                ));
            }
            Action::LookFor { place, sought } => {
                self.on_network(look_for(Arc::clone(&self.rest), self.bot, place, sought));
            }
            Action::WakeCourier(after) => self.later(async move {
                tokio::time::sleep(after).await;
                Event::Courier(News::Woken)
            }),
            Action::OpenTurn { message, asker } => {
                let broker = self.broker.clone();
                self.later(async move {
                    let turn = message.to_string();
                    Event::TurnOpened(match broker {
                        None => Ok(()),
                        Some(broker) => broker
                            .open_turn(&turn, &turn, &asker)
                            .await
                            .map_err(|error| broker_refused(&error)),
                    })
                });
            }
            Action::CloseTurn(message) => {
                let broker = self.broker.clone();
                self.later(async move {
                    Event::TurnClosed(match broker {
                        None => Ok(Vec::new()),
                        Some(broker) => broker
                            .close_turn(&message.to_string())
                            .await
                            .map_err(|error| broker_refused(&error)),
                    })
                });
            }
            Action::Abort(message) => {
                tracing::info!(%message, "the turn in hand is stopped");
                // The broker first: what the model still asks for while it ends is refused.
                if let Some(broker) = &self.broker
                    && let Err(error) = broker.abort_turn(&message.to_string()).await
                {
                    tracing::warn!(%message, %error, "the broker did not take the stop");
                }
                self.order(Order::Abort).await;
            }
            Action::Prompt(arrival) => {
                let text = self.envelope(&arrival);
                let timeout = self.timeout_in_hand;
                self.order(Order::Prompt { text, timeout }).await;
            }
            Action::StartEngine(pause) => self.order(Order::Start(pause)).await,
            _ => {}
        }
    }

    fn envelope(&self, arrival: &Arrival) -> String {
        let envelope = Envelope {
            server: &self.guild_name,
            channel: &arrival.channel_name,
            thread: arrival.thread_name.as_deref(),
            author: &arrival.author.to_string(),
            requester: &requester(arrival),
            message: &arrival.message.to_string(),
        };
        envelope.around(&arrival.text)
    }

    async fn order(&self, order: Order) {
        if let Some(engine) = &self.engine {
            // The keeper ends only with the process.
            let _ = engine.send(order).await;
        }
    }

    fn later(&self, event: impl Future<Output = Event> + Send + 'static) {
        tokio::spawn(told(self.events.clone(), event));
    }

    fn on_network(&self, event: impl Future<Output = Event> + Send + 'static) {
        self.network.spawn(told(self.events.clone(), event));
    }
}

async fn told(events: UnboundedSender<Event>, event: impl Future<Output = Event>) {
    // The seat is gone only when the process ends.
    let _ = events.send(event.await);
}

/// The role, and the name the person chose where it says something else (DESIGN 7.1).
fn requester(arrival: &Arrival) -> String {
    let Arrival {
        requester,
        server_name,
        ..
    } = arrival;
    if requester == server_name {
        requester.clone()
    } else {
        format!("{requester} ({server_name})")
    }
}

fn broker_refused(error: &crate::broker::BrokerError) -> String {
    tracing::error!(%error, "the broker refused the turn");
    "broker-refused".to_owned()
}

async fn react(rest: Arc<Rest>, place: Snowflake, message: Snowflake) -> Event {
    let reaction = match rest.react(place, message, EYES).await {
        Ok(()) => Reaction::Added,
        Err(error) => {
            tracing::warn!(%message, %error, "the read receipt was refused");
            Reaction::Refused {
                reason: reason(&error),
            }
        }
    };
    Event::Reacted { message, reaction }
}

async fn post(
    rest: Arc<Rest>,
    place: Snowflake,
    reply_to: Option<Snowflake>,
    nonce: String,
    content: String,
) -> Event {
    let answer = match CreateMessage::new(content, nonce, reply_to) {
        Err(bad) => Answer::Refused(bad.to_string()),
        Ok(message) => match rest.create_message(place, &message).await {
            Ok(posted) => Answer::Posted(posted.id),
            Err(error) => {
                tracing::warn!(%place, %error, "a chunk was not confirmed");
                answer(error)
            }
        },
    };
    Event::Courier(News::Answered(answer))
}

/// What an error says about whether the message stands there.
fn answer(error: RestError) -> Answer {
    let reason = reason(&error);
    match error {
        RestError::NotSent(_) => Answer::NotSent,
        RestError::Unknown(_) => Answer::Unknown,
        // Posted, but the answer cannot be read: the nonce will tell.
        RestError::Body(_) => Answer::Unknown,
        RestError::Limited { retry_after, .. } => Answer::Limited(retry_after),
        RestError::Refused {
            code: Some(UNKNOWN_MESSAGE),
            ref leaf,
            ..
        } if leaf.is_empty() => Answer::Gone,
        RestError::Refused { code, leaf, .. } if bad_reference(code, &leaf) => {
            Answer::BadReference(reason)
        }
        RestError::Refused { .. } | RestError::Unauthorized | RestError::Blocked => {
            Answer::Refused(reason)
        }
    }
}

/// The reply target is gone, a system message, or not readable for the bot: the text itself was not judged (D-09).
fn bad_reference(code: Option<u64>, leaf: &[String]) -> bool {
    const LEAVES: [&str; 3] = [
        "MESSAGE_REFERENCE_UNKNOWN_MESSAGE",
        "REPLIES_UNKNOWN_MESSAGE",
        "REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE",
    ];
    code == Some(160_002)
        || (code == Some(50_035) && leaf.iter().any(|name| LEAVES.contains(&name.as_str())))
}

/// Status and code, never words from outside.
fn reason(error: &RestError) -> String {
    match error {
        RestError::Refused {
            status,
            code: Some(code),
            ..
        } => format!("{status} {code}"),
        RestError::Refused { status, .. } => status.to_string(),
        RestError::Unauthorized => "401".into(),
        RestError::Blocked => "blocked".into(),
        RestError::Limited { .. } => "rate-limited".into(),
        RestError::NotSent(_) => "not-sent".into(),
        RestError::Unknown(_) | RestError::Body(_) => "unknown".into(),
    }
}

/// Reads the place back and looks for a chunk of ours (DESIGN 7.7).
async fn look_for(rest: Arc<Rest>, bot: Snowflake, place: Snowflake, sought: Sought) -> Event {
    let sighting = match read_back(&rest, bot, place, sought).await {
        Ok(sighting) => sighting,
        Err(error) => {
            tracing::error!(%place, %error, "the channel could not be read back");
            Sighting::Unclear
        }
    };
    Event::Courier(News::Seen(sighting))
}

async fn read_back(
    rest: &Rest,
    bot: Snowflake,
    place: Snowflake,
    sought: Sought,
) -> Result<Sighting, RestError> {
    let question = sought.message;
    let (mut search, mut next) = ReadBack::begin(sought);
    loop {
        match next {
            Read::Done(sighting) => return Ok(sighting),
            Read::Page(after) => {
                let page = rest.messages_after(place, after, PAGE).await?;
                next = search.page(page.iter().map(|message| standing(message, bot)));
            }
            Read::Question => {
                let answer = rest.message(place, question).await;
                let gone = matches!(
                    answer,
                    Err(RestError::Refused {
                        code: Some(UNKNOWN_MESSAGE),
                        ..
                    })
                );
                return Ok(search.question(gone));
            }
        }
    }
}

fn standing(message: &Message, bot: Snowflake) -> Standing<'_> {
    Standing {
        id: message.id,
        ours: message.author.id == bot,
        reply_to: message
            .message_reference
            .and_then(|reference| reference.message_id),
        content: &message.content,
    }
}
