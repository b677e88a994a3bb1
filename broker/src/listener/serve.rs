//! The two HTTP/2 servers over admitted connections, with every limit set here, from the first accept to an orderly end.

use std::{
    future::Future,
    io,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use mosaic_proto::v1::{self, control_server::ControlServer, tools_server::ToolsServer};
use tokio::{
    net::UnixListener,
    sync::{mpsc, watch},
    time::timeout,
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Server;

use super::{admission::Door, sockets::Sockets};
use crate::{
    audit::{Chain, LedgerFault},
    desk::Desk,
    service::{control::ControlService, tools::ToolsService},
};

/// Streams of one connection at a time. An engine calls tools in parallel at most this many wide; the rest waits.
const STREAMS: u32 = 16;

/// Bytes of all headers of one request.
const HEADER_BYTES: u32 = 8 * 1024;

/// Streams reset by the client before they were looked at; one more ends the connection (rapid reset).
const RESETS: usize = 32;

/// How often an idle peer is pinged, and how long it may take to answer: a stuck client is gone after both.
const PING_EVERY: Duration = Duration::from_secs(20);
const PING_ANSWER: Duration = Duration::from_secs(10);

/// Longest a call may take, queue included. Its caller is then answered, and the call cancelled.
const LONGEST_CALL: Duration = Duration::from_secs(120);

/// Room for a message beside the texts it carries: names, framing, context lines.
const MESSAGE_MARGIN: usize = 64 * 1024;

/// Largest message on `control.sock`, where nothing but names travels.
const CONTROL_MESSAGE: usize = 64 * 1024;

/// How long the running call may take once the broker is told to stop, and then to hear that nobody waits for it.
const GRACE: Duration = Duration::from_secs(30);
const LAST_GRACE: Duration = Duration::from_secs(5);

/// How serving ended.
pub(crate) enum Served {
    /// In order; the last line of the ledger is on disk.
    InOrder(Chain),
    /// The last line could not be written.
    Unsealed(LedgerFault),
    /// The running call did not end, even after it was cancelled.
    CallStuck,
    /// A socket could not be served at all.
    Failed(io::Error),
}

/// Serves both sockets until `stop`, then ends in order: nobody new, the running call to its end, the ledger synced.
pub(crate) async fn serve(
    desk: Arc<Desk>,
    confinement: v1::Confinement,
    sockets: Sockets,
    stop: impl Future<Output = ()>,
) -> Served {
    let listeners = UnixListener::from_std(sockets.control)
        .and_then(|control| Ok((control, UnixListener::from_std(sockets.tools)?)));
    let (control, tools) = match listeners {
        Ok(listeners) => listeners,
        Err(error) => return Served::Failed(error),
    };
    let (stop_accepting, stopping) = watch::channel(false);
    let (close, closing) = watch::channel(false);
    let (session, current_session) = watch::channel(None);
    let (to_control, control_connections) = mpsc::channel(1);
    let (to_tools, tools_connections) = mpsc::channel(1);
    let door = Door {
        uid: nix::unistd::geteuid().as_raw(),
        stopping,
        closing,
    };
    let first_connection = Arc::new(OnceLock::<Instant>::new());

    let max_file = usize::try_from(desk.reach().policy().max_file_bytes()).unwrap_or(usize::MAX);
    let tools_service = ToolsServer::new(ToolsService::new(Arc::clone(&desk)))
        // An edit carries two texts of a file's size.
        .max_decoding_message_size(max_file.saturating_mul(2).saturating_add(MESSAGE_MARGIN))
        .max_encoding_message_size(max_file.saturating_mul(2).saturating_add(MESSAGE_MARGIN));
    let control_service = ControlService::new(
        Arc::clone(&desk),
        confinement,
        Arc::clone(&first_connection),
    );
    let control_service =
        ControlServer::new(control_service).max_decoding_message_size(CONTROL_MESSAGE);

    let accepting = [
        tokio::spawn(door.clone().control(
            control,
            Arc::clone(&desk),
            session,
            to_control,
            first_connection,
        )),
        tokio::spawn(door.tools(tools, current_session, to_tools)),
    ];
    // Each socket serves its own service and answers "unimplemented" to the other's calls.
    let served = [
        tokio::spawn(
            hardened()
                .add_service(control_service)
                .serve_with_incoming_shutdown(
                    ReceiverStream::new(control_connections),
                    std::future::pending(),
                ),
        ),
        tokio::spawn(
            hardened()
                .timeout(LONGEST_CALL)
                .add_service(tools_service)
                .serve_with_incoming_shutdown(
                    ReceiverStream::new(tools_connections),
                    std::future::pending(),
                ),
        ),
    ];

    stop.await;
    tracing::info!("stopping: nobody new is let in, the running call goes to its end");
    stop_accepting.send_replace(true);
    for task in accepting {
        let _ = task.await;
    }
    let mut stopped = std::pin::pin!(desk.stop());
    let mut sealed = timeout(GRACE, &mut stopped).await;
    close.send_replace(true);
    if sealed.is_err() {
        sealed = timeout(LAST_GRACE, stopped).await;
    }
    for server in served {
        let _ = timeout(LAST_GRACE, server).await;
    }
    match sealed {
        Ok(Ok(chain)) => Served::InOrder(chain),
        Ok(Err(fault)) => Served::Unsealed(fault),
        Err(_) => Served::CallStuck,
    }
}

fn hardened() -> Server {
    Server::builder()
        .max_concurrent_streams(STREAMS)
        .concurrency_limit_per_connection(STREAMS as usize)
        .http2_max_header_list_size(HEADER_BYTES)
        .http2_max_pending_accept_reset_streams(Some(RESETS))
        .http2_keepalive_interval(Some(PING_EVERY))
        .http2_keepalive_timeout(Some(PING_ANSWER))
}
