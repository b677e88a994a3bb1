//! The listener: hands each connection's requests to the REST side or the gateway, and can be taken down and brought back.

use std::{convert::Infallible, net::SocketAddr, sync::Arc};

use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

use super::{
    Shared, gateway,
    rest::{self, Body, Withheld},
};

/// Accepts until it is dropped; while `up` is false the port is closed, so that connecting is refused.
pub(super) async fn serve(
    first: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
    mut up: watch::Receiver<bool>,
) -> Infallible {
    let mut listener = Some(first);
    let mut connections = JoinSet::new();
    loop {
        if !*up.borrow_and_update() {
            listener = None;
            connections.shutdown().await;
        } else if listener.is_none() {
            listener = Some(
                TcpListener::bind(address)
                    .await
                    .expect("the port was ours a moment ago"),
            );
        }
        tokio::select! {
            accepted = accept(listener.as_ref()) => {
                connections.spawn(attend(accepted, Arc::clone(&shared)));
            }
            Some(_ended) = connections.join_next() => {}
            changed = up.changed() => changed.expect("whoever owns this task owns the switch"),
        }
    }
}

async fn accept(listener: Option<&TcpListener>) -> TcpStream {
    let Some(listener) = listener else {
        return std::future::pending().await;
    };
    loop {
        // A connection that broke before it was accepted is the client's affair.
        if let Ok((stream, _)) = listener.accept().await {
            return stream;
        }
    }
}

async fn attend(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(|request| route(request, Arc::clone(&shared)));
    // An error is a withheld answer or a client that went away: both are what the test wanted.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
}

async fn route(
    request: Request<Incoming>,
    shared: Arc<Shared>,
) -> Result<Response<Body>, Withheld> {
    if request.uri().path().starts_with("/gateway") {
        gateway::upgrade(request, &shared).await
    } else {
        rest::attend(request, &shared).await
    }
}
