//! Service `Control`, as the connector sees it: who the broker is, and turns opened, watched and closed.

use std::{
    pin::Pin,
    sync::{Arc, OnceLock},
    time::Instant,
};

use mosaic_proto::v1::{
    self, AbortTurnReply, AbortTurnRequest, BindApprovalRequest, CallEvent, CloseTurnReply,
    CloseTurnRequest, Confinement, HelloReply, HelloRequest, OpenTurnReply, OpenTurnRequest,
    RootState, StatusReply, StatusRequest, SubmitApprovalRequest, ToolReply, WatchCallsRequest,
    call_event, control_server::Control, tool_reply,
};
use tokio::sync::{broadcast::error::RecvError, mpsc};
use tokio_stream::{Stream, wrappers::ReceiverStream};
use tonic::{Request, Response, Status, async_trait};

use super::status::Misfit;
use crate::{
    VERSION,
    audit::{Ending, Who},
    desk::Desk,
    refusal::Refusal,
    tools,
    turn::{Call, CallState, Id},
};

/// Longest name of a requester, in bytes.
const NAME_BYTES: usize = 256;

/// Longest name of a client that is logged, in characters.
const CLIENT_CHARS: usize = 64;

/// Answers on `control.sock`.
pub(crate) struct ControlService {
    desk: Arc<Desk>,
    confinement: Confinement,
    first_connection: Arc<OnceLock<Instant>>,
}

impl ControlService {
    /// Turns of `desk`, in a process confined as told. `first_connection` is when the broker was first called.
    pub(crate) fn new(
        desk: Arc<Desk>,
        confinement: Confinement,
        first_connection: Arc<OnceLock<Instant>>,
    ) -> ControlService {
        ControlService {
            desk,
            confinement,
            first_connection,
        }
    }
}

#[async_trait]
impl Control for ControlService {
    async fn hello(&self, request: Request<HelloRequest>) -> Result<Response<HelloReply>, Status> {
        let shown = |c: &char| c.is_ascii_graphic() || *c == ' ';
        let client: String = request
            .into_inner()
            .client
            .chars()
            .filter(shown)
            .take(CLIENT_CHARS)
            .collect();
        tracing::info!(client, "a control session said hello");
        let policy = self.desk.reach().policy();
        Ok(Response::new(HelloReply {
            version: VERSION.to_owned(),
            tools: tools::enabled(policy)
                .into_iter()
                .map(|tool| tool.name.to_owned())
                .collect(),
            prompt: policy.prompt(),
            tools_digest: policy.tools_digest().to_owned(),
            policy_digest: policy.policy_digest().to_owned(),
            confinement: Some(self.confinement),
        }))
    }

    async fn open_turn(
        &self,
        request: Request<OpenTurnRequest>,
    ) -> Result<Response<OpenTurnReply>, Status> {
        let request = request.into_inner();
        let turn = id(
            &request.turn_id,
            "turn_id must be 1 to 64 characters of A-Z a-z 0-9 . _ -",
        )?;
        let event = id(
            &request.event,
            "event must be 1 to 64 characters of A-Z a-z 0-9 . _ -",
        )?;
        let requester = request.requester.map(who).transpose()?;
        self.desk
            .open_turn(&turn, &event, requester)
            .map_err(Misfit::from)?;
        Ok(Response::new(OpenTurnReply {}))
    }

    type WatchCallsStream = Pin<Box<dyn Stream<Item = Result<CallEvent, Status>> + Send>>;

    async fn watch_calls(
        &self,
        _: Request<WatchCallsRequest>,
    ) -> Result<Response<Self::WatchCallsStream>, Status> {
        let mut calls = self.desk.watch();
        let (events, stream) = mpsc::channel(16);
        tokio::spawn(async move {
            loop {
                let event = match calls.recv().await {
                    Ok(call) => Ok(event(&call)),
                    Err(RecvError::Lagged(_)) => Err(Misfit::Lagged.into()),
                    Err(RecvError::Closed) => return,
                };
                let last = event.is_err();
                if events.send(event).await.is_err() || last {
                    return;
                }
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(stream))))
    }

    async fn close_turn(
        &self,
        request: Request<CloseTurnRequest>,
    ) -> Result<Response<CloseTurnReply>, Status> {
        let turn = id(&request.into_inner().turn_id, "turn_id is not one")?;
        let calls = self
            .desk
            .close_turn(turn, Ending::Closed)
            .await
            .map_err(Misfit::from)?;
        Ok(Response::new(CloseTurnReply {
            calls: calls.iter().map(message).collect(),
        }))
    }

    async fn abort_turn(
        &self,
        request: Request<AbortTurnRequest>,
    ) -> Result<Response<AbortTurnReply>, Status> {
        let turn = id(&request.into_inner().turn_id, "turn_id is not one")?;
        self.desk.abort_turn(&turn).map_err(Misfit::from)?;
        Ok(Response::new(AbortTurnReply {}))
    }

    // The record service is the room of `tools.setspark`, a key this version does not take: no binding names one.
    async fn bind_approval(
        &self,
        _: Request<BindApprovalRequest>,
    ) -> Result<Response<ToolReply>, Status> {
        Ok(Response::new(no_records()))
    }

    async fn submit_approval(
        &self,
        _: Request<SubmitApprovalRequest>,
    ) -> Result<Response<ToolReply>, Status> {
        Ok(Response::new(no_records()))
    }

    async fn status(&self, _: Request<StatusRequest>) -> Result<Response<StatusReply>, Status> {
        let head = self.desk.ledger_head();
        let roots = self.desk.reach().root_states().into_iter();
        Ok(Response::new(StatusReply {
            version: VERSION.to_owned(),
            uptime_s: self
                .first_connection
                .get()
                .map_or(0, |first| first.elapsed().as_secs()),
            turn_id: self.desk.current_turn(),
            confinement: Some(self.confinement),
            roots: roots
                .map(|root| RootState {
                    name: root.name,
                    writable: root.writable,
                    present: root.present,
                })
                .collect(),
            ledger: Some(v1::Ledger {
                seq: head.seq,
                head: head.head.to_string(),
            }),
            kernel_denied: self.desk.kernel_denied(),
        }))
    }
}

fn no_records() -> ToolReply {
    let refusal = Refusal::RecordsNotOffered;
    let (reason, text) = (refusal.code().to_owned(), refusal.text());
    ToolReply {
        outcome: Some(tool_reply::Outcome::Refusal(v1::Refusal { reason, text })),
    }
}

fn id(text: &str, or: &'static str) -> Result<Id, Misfit> {
    Id::parse(text).ok_or(Misfit::Field(or))
}

/// The name a person chose for themselves is data and is not kept here.
fn who(requester: v1::Requester) -> Result<Who, Misfit> {
    let id = id(
        &requester.id,
        "requester.id must be 1 to 64 characters of A-Z a-z 0-9 . _ -",
    )?;
    let name = requester.name;
    if name.is_empty() || name.len() > NAME_BYTES || name.chars().any(char::is_control) {
        return Err(Misfit::Field(
            "requester.name must be 1 to 256 bytes without control characters",
        ));
    }
    Ok(Who {
        id: id.as_str().to_owned(),
        name,
    })
}

fn event(call: &Call) -> CallEvent {
    let message = message(call);
    let event = match call.state {
        CallState::Running => call_event::Event::Began(message),
        CallState::Done | CallState::Refused | CallState::Failed | CallState::Cancelled => {
            call_event::Event::Ended(message)
        }
    };
    CallEvent {
        turn_id: call.place.turn().to_owned(),
        event: Some(event),
    }
}

fn message(call: &Call) -> v1::Call {
    let outcome = match call.state {
        CallState::Running => v1::Outcome::Running,
        CallState::Done => v1::Outcome::Done,
        CallState::Refused => v1::Outcome::Refused,
        CallState::Failed => v1::Outcome::Failed,
        CallState::Cancelled => v1::Outcome::Cancelled,
    };
    v1::Call {
        index: call.place.index(),
        tool: call.tool.to_owned(),
        outcome: outcome.into(),
        reason: call.reason.to_owned(),
        started_ms: call.started_ms,
        duration_ms: call.duration_ms,
        facts: call.facts.to_proto(),
    }
}
