//! The connector's end of `Control`: opens and closes turns, and hears calls begin and end. Knows no verb; names, texts and
//! facts of calls pass through to the record as they come.

use std::path::Path;

use mosaic_proto::v1::{
    AbortTurnRequest, CallEvent, CloseTurnRequest, Confinement, Fact, HelloRequest,
    OpenTurnRequest, Outcome, Requester, WatchCallsRequest, control_client::ControlClient, fact,
};
use tonic::{
    Code, Status, Streaming,
    transport::{Channel, Endpoint},
};

use crate::journal::{At, CallOutcome, ToolCall};

/// What the broker said of itself when the session began.
#[derive(Debug, Clone, PartialEq)]
pub struct Greeting {
    /// Its version.
    pub version: String,
    /// Names of the verbs it enables, in its order.
    pub tools: Vec<String>,
    /// Its paragraph for the system prompt; empty without verbs.
    pub prompt: String,
    /// Digest of the binding's `tools` value as the broker read it.
    pub tools_digest: String,
    /// Digest of the policy the verbs run under.
    pub policy_digest: String,
    /// How it is confined.
    pub confinement: Confinement,
}

/// Who asked, as the binding and the message have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asker {
    /// The author's id.
    pub id: String,
    /// The role the binding gives this person.
    pub name: String,
    /// The name the person chose; data, never a key.
    pub server_name: String,
}

/// Why the broker could not be asked. Its words carry no message text: the broker's status codes and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrokerError {
    /// Nothing answers on the control socket.
    #[error(
        "No broker answers on {0}. Start the broker of this binding first, with `mosaic-broker run`."
    )]
    Absent(String),
    /// The broker refused the call: a second session, a turn out of order.
    #[error("the broker refused {call}: {code:?}")]
    Refused {
        /// The rpc.
        call: &'static str,
        /// The gRPC code.
        code: Code,
    },
}

/// A control session. It ends with the connection, and with it the open turn.
#[derive(Debug, Clone)]
pub struct Broker {
    client: ControlClient<Channel>,
}

impl Broker {
    /// Opens the session on `socket`.
    ///
    /// # Errors
    /// [`BrokerError::Absent`] when nothing listens there, [`BrokerError::Refused`] when another session lives.
    pub async fn connect(socket: &Path) -> Result<(Self, Greeting), BrokerError> {
        let absent = || BrokerError::Absent(socket.display().to_string());
        let endpoint =
            Endpoint::from_shared(format!("unix://{}", socket.display())).map_err(|_| absent())?;
        let channel = endpoint.connect().await.map_err(|_| absent())?;
        let mut client = ControlClient::new(channel);
        let hello = HelloRequest {
            client: format!("mosaic-discord {}", env!("CARGO_PKG_VERSION")),
        };
        let reply = client
            .hello(hello)
            .await
            .map_err(refused("Hello"))?
            .into_inner();
        let greeting = Greeting {
            version: reply.version,
            tools: reply.tools,
            prompt: reply.prompt,
            tools_digest: reply.tools_digest,
            policy_digest: reply.policy_digest,
            confinement: reply.confinement.unwrap_or_default(),
        };
        Ok((Self { client }, greeting))
    }

    /// Opens the turn that the engine's calls run in.
    ///
    /// # Errors
    /// [`BrokerError::Refused`] while another is open, or when the broker is gone.
    pub async fn open_turn(
        &self,
        turn: &str,
        event: &str,
        asker: &Asker,
    ) -> Result<(), BrokerError> {
        let Asker {
            id,
            name,
            server_name,
        } = asker.clone();
        let requester = Some(Requester {
            id,
            name,
            server_name,
        });
        let request = OpenTurnRequest {
            turn_id: turn.into(),
            requester,
            event: event.into(),
        };
        self.client
            .clone()
            .open_turn(request)
            .await
            .map_err(refused("OpenTurn"))?;
        Ok(())
    }

    /// Closes the turn and returns its calls in the order they began.
    ///
    /// # Errors
    /// [`BrokerError::Refused`] when no such turn is open, or when the broker is gone.
    pub async fn close_turn(&self, turn: &str) -> Result<Vec<ToolCall>, BrokerError> {
        let request = CloseTurnRequest {
            turn_id: turn.into(),
        };
        let reply = self
            .client
            .clone()
            .close_turn(request)
            .await
            .map_err(refused("CloseTurn"))?;
        Ok(reply
            .into_inner()
            .calls
            .into_iter()
            .map(tool_call)
            .collect())
    }

    /// Refuses every further call of the turn.
    ///
    /// # Errors
    /// [`BrokerError::Refused`] when no such turn is open, or when the broker is gone.
    pub async fn abort_turn(&self, turn: &str) -> Result<(), BrokerError> {
        let request = AbortTurnRequest {
            turn_id: turn.into(),
        };
        self.client
            .clone()
            .abort_turn(request)
            .await
            .map_err(refused("AbortTurn"))?;
        Ok(())
    }

    /// Hears each call begin and end. The stream ends when the broker does.
    ///
    /// # Errors
    /// [`BrokerError::Refused`] when the broker is gone.
    pub async fn watch(&self) -> Result<Streaming<CallEvent>, BrokerError> {
        let reply = self
            .client
            .clone()
            .watch_calls(WatchCallsRequest {})
            .await
            .map_err(refused("WatchCalls"))?;
        Ok(reply.into_inner())
    }
}

fn refused(call: &'static str) -> impl Fn(Status) -> BrokerError {
    move |status| BrokerError::Refused {
        call,
        code: status.code(),
    }
}

/// A call of the wire as the record has it.
pub fn tool_call(call: mosaic_proto::v1::Call) -> ToolCall {
    ToolCall {
        index: call.index,
        outcome: match call.outcome() {
            Outcome::Done => CallOutcome::Done,
            Outcome::Refused => CallOutcome::Refused,
            Outcome::Cancelled => CallOutcome::Cancelled,
            Outcome::Failed | Outcome::Running | Outcome::Unspecified => CallOutcome::Failed,
        },
        name: call.tool,
        reason: call.reason,
        at: At::from_ms(call.started_ms),
        duration_ms: call.duration_ms,
        facts: call.facts.into_iter().filter_map(fact_entry).collect(),
    }
}

fn fact_entry(fact: Fact) -> Option<(String, serde_json::Value)> {
    let value = match fact.value? {
        fact::Value::Text(text) => text.into(),
        fact::Value::Number(number) => number.into(),
        fact::Value::Flag(flag) => flag.into(),
    };
    Some((fact.name, value))
}
