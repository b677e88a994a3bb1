//! A broker of one page: lists what the test says, answers every verb by the test's word, and keeps what it was sent. It
//! has no fence, no turn and no ledger; the real one is in the stories.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use mosaic_proto::v1;
use prost::Message;
use tokio::{
    net::{UnixListener, UnixStream},
    sync::watch,
};
use tonic::codegen::{
    Bytes,
    http::{HeaderMap, Request, Response},
};

/// Digest the broker calls its policy by.
pub(crate) const POLICY: &str = "policy-1";

/// What a verb does.
#[derive(Clone, Debug)]
pub(crate) enum Verb {
    Done(&'static str),
    Refuse(&'static str, &'static str),
    /// Never answers.
    Hang,
}

/// What the broker saw.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// rpc path and body of each call of a verb.
    pub(crate) calls: Vec<(String, Vec<u8>)>,
    /// Calls the engine gave up.
    pub(crate) cancelled: usize,
    /// Process of the last connection.
    pub(crate) engine: Option<i32>,
}

#[derive(Debug)]
pub(crate) struct Broker {
    pub(crate) socket: PathBuf,
    seen: Arc<watch::Sender<Seen>>,
}

impl Broker {
    /// Listens in `folder`, lists these tools (name and rpc), and answers each verb by `verb`.
    pub(crate) fn listing(
        folder: &Path,
        tools: &'static [(&'static str, &'static str)],
        verb: Verb,
    ) -> Self {
        let socket = folder.join("tools.sock");
        let listener = UnixListener::bind(&socket).expect("the socket's folder is fresh");
        let seen = Arc::new(watch::Sender::new(Seen::default()));
        let house = House {
            tools,
            verb,
            seen: Arc::clone(&seen),
        };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(house.clone().serve(stream));
            }
        });
        Self { socket, seen }
    }

    pub(crate) fn seen(&self) -> Seen {
        self.seen.borrow().clone()
    }

    /// Waits until what was seen looks like that.
    pub(crate) async fn sees(&self, like: impl FnMut(&Seen) -> bool) {
        let mut seen = self.seen.subscribe();
        seen.wait_for(like)
            .await
            .expect("the broker lives as long as the test");
    }
}

#[derive(Clone)]
struct House {
    tools: &'static [(&'static str, &'static str)],
    verb: Verb,
    seen: Arc<watch::Sender<Seen>>,
}

impl House {
    async fn serve(self, stream: UnixStream) {
        let engine = stream.peer_cred().ok().and_then(|peer| peer.pid());
        self.seen.send_modify(|seen| seen.engine = engine);
        let Ok(mut connection) = h2::server::handshake(stream).await else {
            return;
        };
        while let Some(Ok((request, respond))) = connection.accept().await {
            tokio::spawn(self.clone().answer(request, respond));
        }
    }

    async fn answer(
        self,
        request: Request<h2::RecvStream>,
        mut respond: h2::server::SendResponse<Bytes>,
    ) {
        let path = request.uri().path().to_owned();
        let mut body = request.into_body();
        let mut sent = Vec::new();
        while let Some(Ok(chunk)) = body.data().await {
            // Replying without giving the window back would stall the second large request.
            let _ = body.flow_control().release_capacity(chunk.len());
            sent.extend_from_slice(&chunk);
        }
        let reply = match path.rsplit('/').next() {
            Some("Describe") => v1::DescribeReply {
                file_descriptor_set: mosaic_proto::DESCRIPTORS.to_vec(),
            }
            .encode_to_vec(),
            Some("List") => self.list().encode_to_vec(),
            _ => {
                let call = (path, sent.split_off(5));
                self.seen.send_modify(|seen| seen.calls.push(call));
                match self.verb {
                    Verb::Done(text) => done(text).encode_to_vec(),
                    Verb::Refuse(reason, text) => refusal(reason, text).encode_to_vec(),
                    Verb::Hang => {
                        let _ = std::future::poll_fn(|context| respond.poll_reset(context)).await;
                        self.seen.send_modify(|seen| seen.cancelled += 1);
                        return;
                    }
                }
            }
        };
        let _ = send(&mut respond, &reply);
    }

    fn list(&self) -> v1::ListReply {
        let tool = |(name, rpc): &(&str, &str)| {
            v1::Tool {
            name: (*name).to_owned(),
            description: format!("The tool {name}."),
            json_schema: r#"{"type":"object","properties":{"root":{"type":"string"},"path":{"type":"string"}},"required":["root"],"additionalProperties":false}"#.to_owned(),
            rpc_path: format!("/mosaic.broker.v1.Tools/{rpc}"),
        }
        };
        v1::ListReply {
            tools: self.tools.iter().map(tool).collect(),
            policy_digest: POLICY.to_owned(),
        }
    }
}

fn done(text: &str) -> v1::ToolReply {
    let done = v1::Done {
        text: text.to_owned(),
        facts: vec![],
    };
    v1::ToolReply {
        outcome: Some(v1::tool_reply::Outcome::Done(done)),
    }
}

fn refusal(reason: &str, text: &str) -> v1::ToolReply {
    let refusal = v1::Refusal {
        reason: reason.to_owned(),
        text: text.to_owned(),
    };
    v1::ToolReply {
        outcome: Some(v1::tool_reply::Outcome::Refusal(refusal)),
    }
}

fn send(respond: &mut h2::server::SendResponse<Bytes>, message: &[u8]) -> Result<(), h2::Error> {
    let head = Response::builder()
        .header("content-type", "application/grpc")
        .body(())
        .expect("a constant head");
    let mut stream = respond.send_response(head, false)?;
    let length = u32::try_from(message.len()).expect("replies are small");
    let mut framed = vec![0];
    framed.extend_from_slice(&length.to_be_bytes());
    framed.extend_from_slice(message);
    stream.send_data(framed.into(), false)?;
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", "0".parse().expect("a constant value"));
    stream.send_trailers(trailers)
}
