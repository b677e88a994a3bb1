//! Stands at the door: turns gateway events into messages for the seat, looking up what the gate must know first. It holds
//! what is known of threads and asks Discord for the rest, once.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::{sync::watch, time::Instant};

use crate::{
    admission::{self, Place, Verdict},
    binding::Binding,
    delivery::answered_by,
    discord::{self, Rest, RestError, Snowflake, Threads, model::Message, threads},
    journal::{
        At,
        lines::{Drop, DropReason, Inbox},
    },
    owner::Brake,
    seat::{self, Arrival},
};

/// A look-up that failed is not repeated for each message of the same place (D-42).
const LOOK_UP_AGAIN: Duration = Duration::from_secs(60);

pub(super) struct Porter {
    /// The binding in force; a reload replaces it.
    bindings: watch::Receiver<Arc<Binding>>,
    /// The one the message in hand is judged by.
    binding: Arc<Binding>,
    rest: Arc<Rest>,
    brake: Brake,
    threads: Threads,
    thread_names: HashMap<Snowflake, String>,
    failed: HashMap<Snowflake, Instant>,
}

impl Porter {
    pub(super) fn new(
        bindings: watch::Receiver<Arc<Binding>>,
        rest: Arc<Rest>,
        brake: Brake,
    ) -> Self {
        let binding = Arc::clone(&bindings.borrow());
        let (threads, thread_names, failed) = (Threads::default(), HashMap::new(), HashMap::new());
        Self {
            bindings,
            binding,
            rest,
            brake,
            threads,
            thread_names,
            failed,
        }
    }

    /// What the event means for the seat; `None` when it only taught the porter something.
    pub(super) async fn receive(&mut self, event: discord::Event) -> Option<seat::Message> {
        self.binding = Arc::clone(&self.bindings.borrow());
        self.threads.observe(&event);
        match event {
            discord::Event::MessageCreate(message) => {
                let received = At::now();
                let judged = self.judge(&message, false, received).await;
                if matches!(judged, seat::Message::Passed { .. }) {
                    tracing::info!(message = %message.id, "a message passed the gate");
                }
                Some(judged)
            }
            discord::Event::Thread(discord::gateway::ThreadChange::Upsert(thread)) => {
                self.remember(&thread);
                None
            }
            discord::Event::GuildCreate { threads, .. } => {
                threads.iter().for_each(|thread| self.remember(thread));
                None
            }
            _ => None,
        }
    }

    /// A message that the last process had taken and never begun: fetched again and judged anew (DESIGN 7.25).
    ///
    /// # Errors
    /// When Discord cannot be asked now; the message stays for the next start.
    pub(super) async fn fetch(
        &mut self,
        line: &Inbox,
        now: At,
    ) -> Result<seat::Message, RestError> {
        let age = Duration::from_millis(now.ms().saturating_sub(line.id.created_ms()));
        let drop = |reason| {
            let Inbox {
                id,
                channel,
                author,
                ..
            } = *line;
            Ok(seat::Message::Dropped(Drop {
                id,
                channel,
                author,
                reason,
                at: now,
            }))
        };
        if age > self.binding.limits.max_age {
            return drop(DropReason::TooOld);
        }
        match self.rest.message(line.channel, line.id).await {
            Ok(mut message) => {
                // REST leaves the server out; the place was admitted as the server's when the message came.
                message.guild_id = Some(self.binding.guild);
                Ok(self.judge(&message, true, line.at).await)
            }
            Err(RestError::Refused { .. }) => drop(DropReason::Deleted),
            Err(other) => Err(other),
        }
    }

    async fn judge(&mut self, message: &Message, known: bool, received: At) -> seat::Message {
        let binding = Arc::clone(&self.binding);
        let mut verdict = admission::judge(message, self.place(message.channel_id), &binding);
        if verdict == Verdict::LookUp {
            self.look_up(message.channel_id).await;
            let place = match self.place(message.channel_id) {
                Place::Unseen => Place::NoThread,
                seen => seen,
            };
            verdict = admission::judge(message, place, &binding);
        }
        let reason = match verdict {
            Verdict::Turn(channel) => {
                let arrival = self.arrival(message, channel, received);
                return seat::Message::Passed {
                    arrival,
                    braked: self.brake.is_on(),
                    known,
                };
            }
            Verdict::Drop(reason) => reason,
            Verdict::LookUp => DropReason::ChannelNotListed,
        };
        let Message {
            id,
            channel_id: channel,
            ..
        } = *message;
        let line = Drop {
            id,
            channel,
            author: message.author.id,
            reason,
            at: At::now(),
        };
        if reason == DropReason::OwnMessage {
            let answers = message.nonce.as_deref().and_then(answered_by);
            return seat::Message::Own { line, answers };
        }
        seat::Message::Dropped(line)
    }

    fn place(&self, channel: Snowflake) -> Place {
        match self.threads.place(channel) {
            None => Place::Unseen,
            Some(threads::Place::Channel) => Place::NoThread,
            Some(threads::Place::Thread { parent }) => Place::ThreadOf(parent),
        }
    }

    async fn look_up(&mut self, channel: Snowflake) {
        if self
            .failed
            .get(&channel)
            .is_some_and(|at| at.elapsed() < LOOK_UP_AGAIN)
        {
            return;
        }
        match self.rest.channel(channel).await {
            Ok(found) if found.guild_id == Some(self.binding.guild) => {
                self.threads.learn(&found);
                self.remember(&found);
                self.failed.remove(&channel);
            }
            Ok(_) => {
                self.failed.insert(channel, Instant::now());
            }
            Err(error) => {
                tracing::warn!(%channel, %error, "thread look-up failed; its messages are dropped");
                self.failed.insert(channel, Instant::now());
            }
        }
    }

    fn remember(&mut self, thread: &discord::model::Channel) {
        let listed = thread
            .parent_id
            .is_some_and(|parent| self.binding.channel(parent).is_some());
        if let Some(name) = thread.name.clone().filter(|_| listed) {
            self.thread_names.insert(thread.id, name);
        }
    }

    fn arrival(
        &self,
        message: &Message,
        channel: &crate::binding::Channel,
        received: At,
    ) -> Arrival {
        let requester = self
            .binding
            .user(message.author.id)
            .map(|user| user.name.clone());
        Arrival {
            message: message.id,
            place: message.channel_id,
            channel: channel.id,
            channel_name: channel.name.clone(),
            thread_name: self.thread_names.get(&message.channel_id).cloned(),
            author: message.author.id,
            requester: requester.unwrap_or_default(),
            server_name: message
                .author
                .server_name(message.member.as_ref())
                .to_owned(),
            text: message.content.clone(),
            received,
        }
    }
}
