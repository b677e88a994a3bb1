//! The gateway: sessions that outlive connections, connections that follow the protocol, and how both misbehave on demand.
//!
//! `session.rs` remembers what a session was sent, `line.rs` decides what a frame means, `socket.rs` moves bytes, `wire.rs` compresses.

mod line;
mod session;
mod socket;
mod wire;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use tokio::sync::mpsc::UnboundedSender;

pub(super) use self::{line::application_flags, session::Session, socket::upgrade};

/// What a connection is told to do from outside its own conversation.
#[derive(Debug)]
pub(super) enum Order {
    /// Send this frame.
    Frame(Arc<str>),
    /// Send this as a text message, whatever it is.
    Text(String),
    /// Send these bytes as a binary message, uncompressed.
    Binary(Vec<u8>),
    /// Write these bytes past the WebSocket layer.
    Bytes(Vec<u8>),
    /// Send a close frame.
    Close(u16),
    /// Close the socket without a close frame.
    Drop,
    /// Reset the TCP connection.
    Reset,
    /// Neither read nor write any more, keep the socket open.
    Freeze,
}

/// How the next gateway connection is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Welcome {
    /// The handshake is answered with this status and an HTML page.
    RefusedWith(u16),
    /// The handshake is never answered.
    NoHandshake,
    /// The socket opens and nothing is ever sent, no hello and no acknowledgement.
    Silence,
    /// The socket is dropped as soon as it is open.
    Dropped,
    /// Op 7 comes in place of hello.
    ReconnectBeforeHello,
}

/// How the next IDENTIFY or RESUME is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reception {
    /// With a bare close of the socket.
    Dropped,
    /// With a close frame.
    Closed(u16),
    /// With op 9.
    Invalid {
        /// Its `d`: whether the session can still be resumed.
        resumable: bool,
    },
    /// Not at all; heartbeats are still acknowledged.
    Ignored,
    /// Rightly, and then op 7 at once.
    ThenReconnect,
    /// For a RESUME: the missed events now, RESUMED only after this time.
    LateResumed(Duration),
}

/// The misbehaviour planned for those who come next.
#[derive(Debug, Default)]
pub(super) struct Greetings {
    pub(super) connections: VecDeque<Welcome>,
    pub(super) identifies: VecDeque<Reception>,
    pub(super) resumes: VecDeque<Reception>,
}

/// The open connections, by their place in the record.
#[derive(Debug, Default)]
pub(super) struct Lines {
    open: BTreeMap<usize, OpenLine>,
}

#[derive(Debug)]
struct OpenLine {
    orders: UnboundedSender<Order>,
    acknowledges: bool,
}

impl Lines {
    fn add(&mut self, connection: usize, orders: UnboundedSender<Order>) {
        self.open.insert(
            connection,
            OpenLine {
                orders,
                acknowledges: true,
            },
        );
    }

    fn remove(&mut self, connection: usize) {
        self.open.remove(&connection);
    }

    fn orders(&self, connection: usize) -> Option<UnboundedSender<Order>> {
        self.open.get(&connection).map(|line| line.orders.clone())
    }

    fn acknowledges(&self, connection: usize) -> bool {
        self.open
            .get(&connection)
            .is_some_and(|line| line.acknowledges)
    }

    /// Gives every open connection an order.
    pub(super) fn tell_all(&self, order: impl Fn() -> Order) {
        for line in self.open.values() {
            // A connection that is just ending has dropped its receiver; then there is nobody left to tell.
            let _ = line.orders.send(order());
        }
    }

    /// From now on, heartbeats on the open connections are acknowledged, or not.
    pub(super) fn acknowledge(&mut self, acknowledges: bool) {
        self.open
            .values_mut()
            .for_each(|line| line.acknowledges = acknowledges);
    }
}
