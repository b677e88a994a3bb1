//! Who is let in: peers of the expected uid, one control connection, and beside it one engine connection. Decides
//! before a byte of HTTP/2 is read.

use std::{
    io,
    pin::pin,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use tokio::{
    net::{UnixListener, UnixStream},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch},
    time::{sleep, timeout},
};

use super::connection::{Connection, Over};
use crate::desk::Desk;

/// How long a client of `control.sock` may take for its first bytes.
const CONTROL_PATIENCE: Duration = Duration::from_secs(5);

/// The same for `tools.sock`, where the connection is made before the engine's program is loaded.
const TOOLS_PATIENCE: Duration = Duration::from_secs(60);

/// How long a second engine waits for the first to end; a restarted one overlaps with its predecessor's last moments.
const ENGINE_OVERLAP: Duration = Duration::from_secs(1);

/// How long a second control connection is held in case the first has just ended.
const CONTROL_OVERLAP: Duration = Duration::from_millis(100);

/// Engines that may wait at a time. The rest is dropped at once.
const ENGINES_WAITING: usize = 4;

/// Pause after an accept that failed for want of descriptors, so that the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Connections on their way to the HTTP/2 server.
pub(crate) type Let<H> = mpsc::Sender<io::Result<Connection<H>>>;

/// What a control connection holds: its end is the session's end.
pub(crate) struct ControlPlace {
    _alive: watch::Sender<bool>,
}

/// What an engine connection holds: the session's one place.
pub(crate) type EnginePlace = OwnedSemaphorePermit;

/// One control connection and what hangs on it.
#[derive(Clone)]
pub(crate) struct Session {
    over: Over,
    engine: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// The door of one broker.
#[derive(Clone)]
pub(crate) struct Door {
    /// The uid that may connect.
    pub(crate) uid: u32,
    /// Nobody is let in any more.
    pub(crate) stopping: Over,
    /// Everybody inside is put out.
    pub(crate) closing: Over,
}

impl Door {
    /// Serves `control.sock`: lets one connection in, drops all others while it lives, and ends its turn with it.
    pub(crate) async fn control(
        mut self,
        listener: UnixListener,
        desk: Arc<Desk>,
        session: watch::Sender<Option<Session>>,
        admitted: Let<ControlPlace>,
        first_connection: Arc<OnceLock<Instant>>,
    ) {
        let mut successor = None;
        loop {
            let next = match successor.take() {
                Some(stream) => Some(stream),
                None => self.next(&listener).await,
            };
            let Some(stream) = next else { return };
            first_connection.get_or_init(Instant::now);
            let (alive, over) = watch::channel(false);
            let engine = Arc::new(Semaphore::new(1));
            let waiting = Arc::new(Semaphore::new(ENGINES_WAITING));
            session.send_replace(Some(Session {
                over: over.clone(),
                engine,
                waiting,
            }));
            let overs = [over.clone(), self.closing.clone()];
            let connection = Connection::new(
                stream,
                overs,
                CONTROL_PATIENCE,
                ControlPlace { _alive: alive },
            );
            if admitted.send(Ok(connection)).await.is_err() {
                return;
            }
            tracing::info!("a control session began");

            let mut ended = over;
            // The end of a connection may be noticed after its successor came, so the first that comes is held for a
            // moment. All others are dropped at once.
            let mut patience = pin!(sleep(Duration::ZERO));
            loop {
                tokio::select! {
                    // The connection, and with it the sender, is gone.
                    _ = ended.changed() => break,
                    () = &mut patience, if successor.is_some() => {
                        successor = None;
                        tracing::warn!("a second control connection was dropped");
                    }
                    second = self.next(&listener) => match second {
                        None => return,
                        Some(second) if successor.is_none() => {
                            successor = Some(second);
                            patience.set(sleep(CONTROL_OVERLAP));
                        }
                        Some(_) => tracing::warn!("one control connection too many was dropped"),
                    }
                }
            }
            session.send_replace(None);
            desk.end_session().await;
            tracing::info!("the control session ended");
        }
    }

    /// Serves `tools.sock`: lets one connection in while a control session lives.
    pub(crate) async fn tools(
        mut self,
        listener: UnixListener,
        session: watch::Receiver<Option<Session>>,
        admitted: Let<EnginePlace>,
    ) {
        while let Some(stream) = self.next(&listener).await {
            let current = session.borrow().clone();
            let Some(session) = current else {
                tracing::warn!("an engine connection without a control session was dropped");
                continue;
            };
            let Ok(waiting) = Arc::clone(&session.waiting).try_acquire_owned() else {
                tracing::warn!("one engine connection too many was dropped");
                continue;
            };
            let (closing, admitted) = (self.closing.clone(), admitted.clone());
            tokio::spawn(async move {
                let Ok(Ok(place)) = timeout(ENGINE_OVERLAP, session.engine.acquire_owned()).await
                else {
                    tracing::warn!("a second engine connection was dropped");
                    return;
                };
                drop(waiting);
                let connection =
                    Connection::new(stream, [session.over, closing], TOOLS_PATIENCE, place);
                // Nobody listens when the broker is about to end.
                let _ = admitted.send(Ok(connection)).await;
            });
        }
    }

    /// The next peer of the expected uid; `None` once the broker stops.
    async fn next(&mut self, listener: &UnixListener) -> Option<UnixStream> {
        loop {
            let accepted = tokio::select! {
                _ = self.stopping.wait_for(|stopping| *stopping) => return None,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) if stream.peer_cred().is_ok_and(|peer| peer.uid() == self.uid) => {
                    return Some(stream);
                }
                Ok(_) => tracing::warn!("a connection of another user was dropped"),
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}
