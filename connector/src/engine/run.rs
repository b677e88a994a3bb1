//! One run: from the prompt to the settle, or to the point where waiting makes no sense. A machine: it takes pi's
//! records and the time, and says what to do; it owns no process, pipe or clock.

use std::time::{Duration, Instant};

use serde::{Serialize, Serializer};

use super::{
    error::Broken,
    protocol::{AssistantMessage, Command, Record, Response, Spent, StopReason},
};
use crate::visible::is_blank;

/// How long a run may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// From the prompt to the settle; then the run is aborted.
    pub timeout: Duration,
    /// From the abort to the settle; then pi is killed.
    pub grace: Duration,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunOutcome {
    /// The text to post, or why there is none. Written to records without the text.
    #[serde(rename = "failure", serialize_with = "failure_alone")]
    pub reply: Result<String, Failure>,
    /// The model ran into its output limit: the reply ends in mid-sentence.
    pub cut: bool,
    /// The HTTP status a failed provider answered with, if it said one.
    pub provider_status: Option<u16>,
    /// Sum over the model's messages of this run, failed attempts included.
    pub usage: Usage,
    /// Answers asked of the model (seeds 002: `engine.turns`).
    pub turns: u32,
    /// Times pi asked again after a failure.
    pub retries: u32,
    /// Times pi shortened the conversation.
    pub compactions: u32,
    /// From the prompt to this outcome, in milliseconds.
    pub duration_ms: u64,
}

/// Why a run gave no reply. A closed list for records; no words of a provider are in it (DESIGN 7.20).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// pi did not take the prompt: no credential, or its store cannot be read.
    #[error("pi did not accept the prompt")]
    PromptRejected,
    /// The provider failed and pi gave up.
    #[error("the model's provider failed")]
    ProviderFailed,
    /// Somebody asked to stop.
    #[error("the run was aborted")]
    Aborted,
    /// The turn's time was over.
    #[error("the run took too long")]
    TimedOut,
    /// The model announced tool calls and made none.
    #[error("the model announced tool calls and made none")]
    NoCalls,
    /// The model stopped for a reason this program does not know.
    #[error("the model stopped for an unknown reason")]
    UnknownStop,
    /// The reply holds nothing to see.
    #[error("the model's reply was empty")]
    EmptyReply,
    /// pi died or lost step; it has to be started again.
    #[error("the engine was lost during the run")]
    EngineLost,
}

/// Tokens and money of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Input tokens that no cache held.
    pub input: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// Input tokens read from the provider's cache.
    pub cache_read: u64,
    /// Input tokens written to it.
    pub cache_write: u64,
    /// Cost in US dollars by the prices of `models.json` or pi's catalogue.
    pub cost: f64,
}

/// What the driver has to do, in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    Send {
        id: String,
        command: Command,
    },
    /// The run is over; nothing more comes from it.
    End(RunOutcome),
    /// pi cannot be trusted with another prompt: kill it.
    Discard(Broken),
}

/// The run in progress.
#[derive(Debug)]
pub(super) struct Run {
    id: String,
    limits: RunLimits,
    began: Instant,
    /// pi said it took the prompt.
    accepted: bool,
    /// An `agent_start` of this run was seen.
    agent: bool,
    /// The model's last finished message since the last `agent_start`.
    last: Option<AssistantMessage>,
    settled: bool,
    stopping: Option<Stopping>,
    usage: Usage,
    turns: u32,
    retries: u32,
    compactions: u32,
}

#[derive(Clone, Copy, Debug)]
struct Stopping {
    why: Failure,
    kill_at: Instant,
    /// pi answered the abort. Before that it would reject the next prompt.
    answered: bool,
}

impl Run {
    /// Begins the run numbered `number` with this prompt.
    pub(super) fn begin(
        number: u64,
        text: String,
        limits: RunLimits,
        now: Instant,
    ) -> (Self, Action) {
        let id = format!("run-{number}");
        let send = Action::Send {
            id: id.clone(),
            command: Command::Prompt { message: text },
        };
        let run = Self {
            id,
            limits,
            began: now,
            accepted: false,
            agent: false,
            last: None,
            settled: false,
            stopping: None,
            usage: Usage::default(),
            turns: 0,
            retries: 0,
            compactions: 0,
        };
        (run, send)
    }

    /// When [`Run::tick`] is due.
    pub(super) fn deadline(&self) -> Instant {
        self.stopping
            .map_or(self.began + self.limits.timeout, |stopping| {
                stopping.kill_at
            })
    }

    /// Time has passed.
    pub(super) fn tick(&mut self, now: Instant) -> Vec<Action> {
        if now < self.deadline() {
            return vec![];
        }
        match self.stopping {
            None => self.stop(Failure::TimedOut, now),
            Some(stopping) => vec![
                Action::End(self.outcome(Err(stopping.why), now)),
                Action::Discard(Broken::DidNotStop),
            ],
        }
    }

    /// Somebody asks to stop. A second request, or one after the time is over, changes nothing.
    pub(super) fn abort(&mut self, now: Instant) -> Vec<Action> {
        if self.stopping.is_some() {
            return vec![];
        }
        self.stop(Failure::Aborted, now)
    }

    fn stop(&mut self, why: Failure, now: Instant) -> Vec<Action> {
        self.stopping = Some(Stopping {
            why,
            kill_at: now + self.limits.grace,
            answered: false,
        });
        vec![Action::Send {
            id: self.abort_id(),
            command: Command::Abort,
        }]
    }

    fn abort_id(&self) -> String {
        format!("{}-abort", self.id)
    }

    /// pi is gone or lost step.
    pub(super) fn lost(&self, now: Instant) -> RunOutcome {
        // Who asked to stop, or let the time run out, is told so whatever pi died of meanwhile.
        let why = self
            .stopping
            .map_or(Failure::EngineLost, |stopping| stopping.why);
        self.outcome(Err(why), now)
    }

    /// pi said something.
    pub(super) fn handle(&mut self, record: Record, now: Instant) -> Vec<Action> {
        match record {
            Record::Response(response) if response.id == self.id => {
                self.prompt_answered(&response, now)
            }
            Record::Response(response) if response.id == self.abort_id() => {
                if let Some(stopping) = &mut self.stopping {
                    stopping.answered = true;
                }
                self.end_if_over(now)
            }
            Record::AgentStart => {
                self.agent = true;
                self.last = None;
                vec![]
            }
            Record::TurnStart => {
                self.turns += 1;
                vec![]
            }
            Record::Assistant(message) => {
                self.usage.add(&message.usage);
                self.last = self.agent.then_some(message);
                vec![]
            }
            Record::RetryStart => {
                self.retries += 1;
                vec![]
            }
            Record::CompactionStart => {
                self.compactions += 1;
                vec![]
            }
            // A settle without a message of the model after this run's start is pi's false one: the prompt is lost
            // (DESIGN 7.16).
            Record::Settled if !self.accepted || self.last.is_none() => {
                self.discard(Broken::FalseSettle, now)
            }
            Record::Settled => {
                self.settled = true;
                self.end_if_over(now)
            }
            Record::Announcement(_) | Record::Response(_) | Record::Other => vec![],
        }
    }

    fn prompt_answered(&mut self, response: &Response, now: Instant) -> Vec<Action> {
        if !response.success {
            return vec![Action::End(self.outcome(Err(Failure::PromptRejected), now))];
        }
        // Any other disposition means that somebody else put words into pi: no run of ours follows.
        if response.data["disposition"] != "started" {
            return self.discard(Broken::OutOfStep, now);
        }
        self.accepted = true;
        vec![]
    }

    fn discard(&self, why: Broken, now: Instant) -> Vec<Action> {
        vec![Action::End(self.lost(now)), Action::Discard(why)]
    }

    fn end_if_over(&self, now: Instant) -> Vec<Action> {
        let abort_open = self.stopping.is_some_and(|stopping| !stopping.answered);
        if !self.settled || abort_open {
            return vec![];
        }
        vec![Action::End(self.outcome(self.reply(), now))]
    }

    /// What the settled run amounts to, by its last message.
    fn reply(&self) -> Result<String, Failure> {
        if let Some(Stopping {
            why: Failure::Aborted,
            ..
        }) = self.stopping
        {
            // Whoever asked to stop gets no answer, even one that was finished in the same moment.
            return Err(Failure::Aborted);
        }
        let last = self.last.as_ref().ok_or(Failure::EngineLost)?;
        match last.stop {
            StopReason::Stop | StopReason::Length if is_blank(&last.text) => {
                Err(Failure::EmptyReply)
            }
            StopReason::Stop | StopReason::Length => Ok(last.text.clone()),
            StopReason::ToolUse => Err(Failure::NoCalls),
            StopReason::Error => Err(Failure::ProviderFailed),
            StopReason::Aborted => Err(self
                .stopping
                .map_or(Failure::Aborted, |stopping| stopping.why)),
            StopReason::Unknown => Err(Failure::UnknownStop),
        }
    }

    fn outcome(&self, reply: Result<String, Failure>, now: Instant) -> RunOutcome {
        let last = self.last.as_ref();
        RunOutcome {
            cut: reply.is_ok() && last.is_some_and(|last| last.stop == StopReason::Length),
            provider_status: match reply {
                Err(Failure::ProviderFailed) => last.and_then(|last| last.status),
                _ => None,
            },
            reply,
            usage: self.usage,
            turns: self.turns,
            retries: self.retries,
            compactions: self.compactions,
            duration_ms: u64::try_from((now - self.began).as_millis()).unwrap_or(u64::MAX),
        }
    }
}

impl Failure {
    /// Its name in records.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::PromptRejected => "prompt-rejected",
            Self::ProviderFailed => "provider-failed",
            Self::Aborted => "aborted",
            Self::TimedOut => "timed-out",
            Self::NoCalls => "no-calls",
            Self::UnknownStop => "unknown-stop",
            Self::EmptyReply => "empty-reply",
            Self::EngineLost => "engine-lost",
        }
    }
}

impl Usage {
    fn add(&mut self, spent: &Spent) {
        self.input = self.input.saturating_add(spent.input);
        self.output = self.output.saturating_add(spent.output);
        self.cache_read = self.cache_read.saturating_add(spent.cache_read);
        self.cache_write = self.cache_write.saturating_add(spent.cache_write);
        // Infinity has no form in JSON: a record that holds it could not be read back.
        self.cost = (self.cost + spent.cost.total).min(f64::MAX);
    }
}

fn failure_alone<S: Serializer>(
    reply: &Result<String, Failure>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    reply
        .as_ref()
        .err()
        .map(|failure| failure.code())
        .serialize(serializer)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::protocol::Cost;

    const LIMITS: RunLimits = RunLimits {
        timeout: Duration::from_secs(180),
        grace: Duration::from_secs(10),
    };

    fn begin(now: Instant) -> Run {
        Run::begin(1, "hello".to_owned(), LIMITS, now).0
    }

    fn answer(id: &str, success: bool, data: serde_json::Value) -> Record {
        Record::Response(Response {
            id: id.to_owned(),
            success,
            data,
        })
    }

    fn started() -> Record {
        answer("run-1", true, json!({ "disposition": "started" }))
    }

    fn said(text: &str, stop: StopReason) -> Record {
        Record::Assistant(AssistantMessage {
            text: text.to_owned(),
            stop,
            usage: Spent {
                input: 60,
                output: 20,
                cache_read: 40,
                cache_write: 1,
                cost: Cost { total: 0.25 },
            },
            status: None,
        })
    }

    /// Plays records into the run and returns what it wanted done.
    fn play(run: &mut Run, records: impl IntoIterator<Item = Record>, now: Instant) -> Vec<Action> {
        records
            .into_iter()
            .flat_map(|record| run.handle(record, now))
            .collect()
    }

    /// The outcome of a run that went like this after it was accepted.
    fn outcome_of(records: impl IntoIterator<Item = Record>) -> RunOutcome {
        let now = Instant::now();
        let mut run = begin(now);
        let mut actions = play(
            &mut run,
            [started(), Record::AgentStart].into_iter().chain(records),
            now,
        );
        match (actions.pop(), actions.is_empty()) {
            (Some(Action::End(outcome)), true) => outcome,
            other => panic!("one end, not {other:?}"),
        }
    }

    #[test]
    fn a_run_begins_with_its_prompt() {
        let (_, action) = Run::begin(7, "hello".to_owned(), LIMITS, Instant::now());

        let command = Command::Prompt {
            message: "hello".to_owned(),
        };
        assert_eq!(
            action,
            Action::Send {
                id: "run-7".to_owned(),
                command
            }
        );
    }

    #[test]
    fn a_cost_beyond_all_numbers_stays_one_that_a_record_can_hold() {
        let mut usage = Usage::default();
        for _ in 0..2 {
            usage.add(&Spent {
                cost: Cost { total: f64::MAX },
                ..Spent::default()
            });
        }

        let written = serde_json::to_string(&usage.cost).unwrap();

        assert_eq!(serde_json::from_str::<f64>(&written).unwrap(), f64::MAX);
    }

    #[test]
    fn the_reply_is_the_last_message_and_the_usage_the_sum_of_all() {
        let t0 = Instant::now();
        let mut run = begin(t0);

        let actions = play(
            &mut run,
            [
                started(),
                Record::AgentStart,
                Record::TurnStart,
                said("Let me look.", StopReason::ToolUse),
                Record::Other,
                Record::TurnStart,
                said("Nothing yet.", StopReason::Stop),
                Record::Settled,
            ],
            t0 + Duration::from_millis(1500),
        );

        assert_eq!(
            actions,
            [Action::End(RunOutcome {
                reply: Ok("Nothing yet.".to_owned()),
                cut: false,
                provider_status: None,
                usage: Usage {
                    input: 120,
                    output: 40,
                    cache_read: 80,
                    cache_write: 2,
                    cost: 0.5
                },
                turns: 2,
                retries: 0,
                compactions: 0,
                duration_ms: 1500,
            })]
        );
    }

    #[test]
    fn every_stop_reason_has_its_outcome() {
        for (text, stop, reply) in [
            ("yes", StopReason::Stop, Ok("yes")),
            ("ye", StopReason::Length, Ok("ye")),
            ("", StopReason::Stop, Err(Failure::EmptyReply)),
            (
                " \n\u{200b}\u{2060}\u{feff}",
                StopReason::Stop,
                Err(Failure::EmptyReply),
            ),
            ("", StopReason::Length, Err(Failure::EmptyReply)),
            ("let me", StopReason::ToolUse, Err(Failure::NoCalls)),
            ("part", StopReason::Error, Err(Failure::ProviderFailed)),
            ("part", StopReason::Aborted, Err(Failure::Aborted)),
            ("part", StopReason::Unknown, Err(Failure::UnknownStop)),
        ] {
            let outcome = outcome_of([said(text, stop), Record::Settled]);

            assert_eq!(
                outcome.reply.as_deref(),
                reply.as_ref().copied(),
                "{stop:?} {text:?}"
            );
            assert_eq!(outcome.cut, reply == Ok("ye"));
        }
    }

    #[test]
    fn a_provider_that_fails_is_known_by_its_status() {
        let failed = Record::Assistant(AssistantMessage {
            text: String::new(),
            stop: StopReason::Error,
            usage: Spent::default(),
            status: Some(401),
        });

        let outcome = outcome_of([failed, Record::Settled]);

        assert_eq!(
            (outcome.reply, outcome.provider_status),
            (Err(Failure::ProviderFailed), Some(401))
        );
    }

    #[test]
    fn a_retry_that_succeeds_is_a_reply() {
        let outcome = outcome_of([
            said("", StopReason::Error),
            Record::RetryStart,
            Record::AgentStart,
            said("after all", StopReason::Stop),
            Record::Settled,
        ]);

        assert_eq!(
            (outcome.reply.as_deref(), outcome.retries),
            (Ok("after all"), 1)
        );
    }

    #[test]
    fn a_compaction_between_answer_and_settle_changes_nothing() {
        let outcome = outcome_of([
            said("done", StopReason::Stop),
            Record::CompactionStart,
            Record::Settled,
        ]);

        assert_eq!(
            (outcome.reply.as_deref(), outcome.compactions),
            (Ok("done"), 1)
        );
    }

    #[test]
    fn a_settle_without_a_message_of_this_run_breaks_the_engine() {
        for records in [
            vec![started(), Record::Settled],
            vec![started(), Record::AgentStart, Record::Settled],
            vec![
                started(),
                said("of another run", StopReason::Stop),
                Record::Settled,
            ],
            vec![
                Record::AgentStart,
                said("not accepted", StopReason::Stop),
                Record::Settled,
            ],
            vec![
                started(),
                Record::AgentStart,
                said("first", StopReason::Error),
                Record::AgentStart,
                Record::Settled,
            ],
        ] {
            let now = Instant::now();
            let mut run = begin(now);

            let actions = play(&mut run, records.clone(), now);

            assert!(
                matches!(
                    actions.as_slice(),
                    [
                        Action::End(RunOutcome {
                            reply: Err(Failure::EngineLost),
                            ..
                        }),
                        Action::Discard(Broken::FalseSettle),
                    ]
                ),
                "{records:?} gave {actions:?}"
            );
        }
    }

    #[test]
    fn a_rejected_prompt_fails_the_run_and_leaves_the_engine() {
        let now = Instant::now();
        let mut run = begin(now);

        let actions = run.handle(answer("run-1", false, json!(null)), now);

        assert!(matches!(
            actions.as_slice(),
            [Action::End(RunOutcome {
                reply: Err(Failure::PromptRejected),
                ..
            })]
        ));
    }

    #[test]
    fn a_prompt_that_was_queued_or_handled_breaks_the_engine() {
        for disposition in ["queued", "handled", ""] {
            let now = Instant::now();
            let mut run = begin(now);

            let actions = run.handle(
                answer("run-1", true, json!({ "disposition": disposition })),
                now,
            );

            assert!(matches!(
                actions.as_slice(),
                [Action::End(_), Action::Discard(Broken::OutOfStep)]
            ));
        }
    }

    #[test]
    fn answers_to_others_are_not_ours() {
        let now = Instant::now();
        let mut run = begin(now);

        assert_eq!(run.handle(answer("run-2", false, json!(null)), now), []);
    }

    fn abort() -> Action {
        Action::Send {
            id: "run-1-abort".to_owned(),
            command: Command::Abort,
        }
    }

    #[test]
    fn a_run_past_its_time_is_aborted_once_and_ends_when_pi_answered_that() {
        let t0 = Instant::now();
        let mut run = begin(t0);
        play(&mut run, [started(), Record::AgentStart], t0);
        let late = t0 + LIMITS.timeout;

        assert_eq!(run.deadline(), late);
        assert_eq!(run.tick(late - Duration::from_millis(1)), []);
        assert_eq!(run.tick(late), [abort()]);
        assert_eq!(run.deadline(), late + LIMITS.grace);
        assert_eq!(run.abort(late), []);
        assert_eq!(
            play(
                &mut run,
                [said("par", StopReason::Aborted), Record::Settled],
                late
            ),
            []
        );
        let end = run.handle(answer("run-1-abort", true, json!(null)), late);

        assert!(matches!(
            end.as_slice(),
            [Action::End(RunOutcome {
                reply: Err(Failure::TimedOut),
                ..
            })]
        ));
    }

    #[test]
    fn a_run_that_does_not_settle_after_the_abort_costs_the_engine() {
        let t0 = Instant::now();
        let mut run = begin(t0);
        play(&mut run, [started(), Record::AgentStart], t0);

        assert_eq!(run.abort(t0), [abort()]);
        let end = run.tick(t0 + LIMITS.grace);

        assert!(matches!(
            end.as_slice(),
            [
                Action::End(RunOutcome {
                    reply: Err(Failure::Aborted),
                    ..
                }),
                Action::Discard(Broken::DidNotStop),
            ]
        ));
    }

    #[test]
    fn an_answer_that_came_in_time_survives_the_time_out_but_not_a_stop() {
        for (asked, reply) in [(false, Ok("in time")), (true, Err(Failure::Aborted))] {
            let t0 = Instant::now();
            let late = t0 + LIMITS.timeout;
            let mut run = begin(t0);
            play(&mut run, [started(), Record::AgentStart], t0);
            if asked {
                run.abort(late);
            } else {
                run.tick(late);
            }

            let rest = [
                said("in time", StopReason::Stop),
                Record::Settled,
                answer("run-1-abort", true, json!(null)),
            ];
            let end = play(&mut run, rest, late);

            let [Action::End(outcome)] = end.as_slice() else {
                panic!("one end, not {end:?}")
            };
            assert_eq!(outcome.reply.as_deref(), reply.as_ref().copied());
        }
    }

    #[test]
    fn a_lost_engine_fails_the_run_but_not_the_reason_to_stop_it() {
        let t0 = Instant::now();
        let mut run = begin(t0);
        assert_eq!(run.lost(t0).reply, Err(Failure::EngineLost));

        run.abort(t0);
        assert_eq!(run.lost(t0).reply, Err(Failure::Aborted));
    }

    #[test]
    fn the_record_of_an_outcome_holds_no_text() {
        let now = Instant::now();
        let mut run = begin(now);
        let fine = run.outcome(Ok("secret words".to_owned()), now);
        let failed = run.outcome(Err(Failure::EmptyReply), now);
        run.turns = 1;

        assert_eq!(
            serde_json::to_value(fine).unwrap(),
            json!({
                "failure": null, "cut": false, "providerStatus": null, "turns": 0, "retries": 0, "compactions": 0,
                "usage": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "cost": 0.0 }, "durationMs": 0,
            })
        );
        assert_eq!(
            serde_json::to_value(failed).unwrap()["failure"],
            "empty-reply"
        );
    }
}
