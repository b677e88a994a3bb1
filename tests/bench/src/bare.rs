//! The bare rival of a call: the same rpc with a reply of the same size, from a server that does nothing else. It runs as
//! a process of its own, on as many threads as the broker, so that the two differ in the broker's work only.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use mosaic_proto::v1::{
    DescribeReply, DescribeRequest, Done, EditFileRequest, ListDirRequest, ListReply, ListRequest,
    ReadFileRequest, SearchRequest, ToolReply, WriteFileRequest, tool_reply,
    tools_client::ToolsClient,
    tools_server::{Tools, ToolsServer},
};
use tokio::net::UnixListener;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::{Request, Response, Status, async_trait, transport::Channel};

use crate::{broker::connect, ground::SMALL_BYTES, unmeasured::Unmeasured};

/// As many as the broker has.
const WORKERS: usize = 2;

struct Bare;

#[async_trait]
impl Tools for Bare {
    async fn read_file(&self, _: Request<ReadFileRequest>) -> Result<Response<ToolReply>, Status> {
        let done = Done {
            text: "x".repeat(SMALL_BYTES),
            facts: Vec::new(),
        };
        Ok(Response::new(ToolReply {
            outcome: Some(tool_reply::Outcome::Done(done)),
        }))
    }

    async fn list(&self, _: Request<ListRequest>) -> Result<Response<ListReply>, Status> {
        Err(only_reads())
    }

    async fn describe(
        &self,
        _: Request<DescribeRequest>,
    ) -> Result<Response<DescribeReply>, Status> {
        Err(only_reads())
    }

    async fn list_dir(&self, _: Request<ListDirRequest>) -> Result<Response<ToolReply>, Status> {
        Err(only_reads())
    }

    async fn search(&self, _: Request<SearchRequest>) -> Result<Response<ToolReply>, Status> {
        Err(only_reads())
    }

    async fn write_file(
        &self,
        _: Request<WriteFileRequest>,
    ) -> Result<Response<ToolReply>, Status> {
        Err(only_reads())
    }

    async fn edit_file(&self, _: Request<EditFileRequest>) -> Result<Response<ToolReply>, Status> {
        Err(only_reads())
    }
}

fn only_reads() -> Status {
    Status::unimplemented("the bare rival answers reads only")
}

/// Serves until killed.
pub(crate) fn serve(socket: &Path) -> Result<(), Unmeasured> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build();
    runtime
        .map_err(Unmeasured::at("the runtime"))?
        .block_on(async {
            let listener =
                UnixListener::bind(socket).map_err(Unmeasured::at("bind the bare rival"))?;
            let server = tonic::transport::Server::builder().add_service(ToolsServer::new(Bare));
            server
                .serve_with_incoming(UnixListenerStream::new(listener))
                .await
                .map_err(Unmeasured::at("serve"))
        })
}

/// The running rival; killed when dropped.
pub(crate) struct BareServer {
    child: Child,
    socket: PathBuf,
}

impl BareServer {
    pub(crate) fn start(socket: PathBuf) -> Result<Self, Unmeasured> {
        let own = std::env::current_exe().map_err(Unmeasured::at("find this program"))?;
        let child = Command::new(own)
            .arg("--serve-bare")
            .arg(&socket)
            .stdin(Stdio::null())
            .spawn()
            .map_err(Unmeasured::at("start the bare rival"))?;
        Ok(Self { child, socket })
    }

    /// A client, as soon as it listens.
    pub(crate) async fn client(&self) -> Result<ToolsClient<Channel>, Unmeasured> {
        let give_up = Instant::now() + Duration::from_secs(10);
        loop {
            match connect(&self.socket).await {
                Ok(channel) => return Ok(ToolsClient::new(channel)),
                Err(why) if Instant::now() > give_up => return Err(why),
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }
}

impl Drop for BareServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
