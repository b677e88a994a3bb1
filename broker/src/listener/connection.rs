//! A connection that can be ended from outside, and that ends by itself when its peer stays silent. Wraps the stream
//! below HTTP/2, so that no state of the protocol can keep it alive.

use std::{
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::UnixStream,
    sync::watch,
    time::{Sleep, sleep},
};
use tonic::transport::server::Connected;

/// Bytes every HTTP/2 client begins with.
const PREFACE: usize = 24;

/// How long a client may leave bytes unread once its buffers are full.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);

/// Whether something is over, for everybody who holds the other end.
pub(crate) type Over = watch::Receiver<bool>;

/// One accepted connection. `held` is dropped with it: the place it takes, and whoever waits for its end.
pub(crate) struct Connection<H> {
    stream: UnixStream,
    over: Pin<Box<dyn Future<Output = ()> + Send>>,
    greeting: Option<Greeting>,
    stuck: Option<Pin<Box<Sleep>>>,
    _held: H,
}

struct Greeting {
    missing: usize,
    deadline: Pin<Box<Sleep>>,
}

impl<H> Connection<H> {
    /// Wraps `stream` until one of `overs` is, and for `patience` until the client has said its first bytes.
    pub(crate) fn new(
        stream: UnixStream,
        overs: [Over; 2],
        patience: Duration,
        held: H,
    ) -> Connection<H> {
        let over = async move {
            let [mut first, mut second] = overs;
            // A sender that is gone cannot end anything any more, which is an end as well.
            tokio::select! {
                _ = first.wait_for(|over| *over) => {}
                _ = second.wait_for(|over| *over) => {}
            }
        };
        let greeting = Some(Greeting {
            missing: PREFACE,
            deadline: Box::pin(sleep(patience)),
        });
        Connection {
            stream,
            over: Box::pin(over),
            greeting,
            stuck: None,
            _held: held,
        }
    }

    /// HTTP/2's own pings end a peer that does not answer by a last message, which a peer that does not read never
    /// takes. So a write that makes no way for a while ends the connection here.
    fn written<T>(
        &mut self,
        cx: &mut Context<'_>,
        wrote: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if wrote.is_ready() {
            self.stuck = None;
            return wrote;
        }
        let stuck = self
            .stuck
            .get_or_insert_with(|| Box::pin(sleep(WRITE_PATIENCE)));
        match stuck.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the client does not read",
            ))),
            Poll::Pending => Poll::Pending,
        }
    }

    /// Looked at on every read and write: a peer that never reads blocks the writes, one that never writes the reads.
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if self.over.as_mut().poll(cx).is_ready() {
            // Polled no more once ready.
            self.over = Box::pin(std::future::ready(()));
            return Err(io::Error::new(
                io::ErrorKind::ConnectionAborted,
                "the session is over",
            ));
        }
        let silent = self
            .greeting
            .as_mut()
            .is_some_and(|greeting| greeting.deadline.as_mut().poll(cx).is_ready());
        if silent {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the client stayed silent",
            ));
        }
        Ok(())
    }
}

impl<H: Unpin> AsyncRead for Connection<H> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(cx)?;
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if let Some(greeting) = &mut self.greeting {
            let read = buffer.filled().len() - before;
            greeting.missing = greeting.missing.saturating_sub(read);
            if greeting.missing == 0 {
                self.greeting = None;
            }
        }
        polled
    }
}

impl<H: Unpin> AsyncWrite for Connection<H> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        let wrote = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.written(cx, wrote)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.written(cx, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

impl<H> Connected for Connection<H> {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn pair(patience: Duration) -> (Connection<()>, UnixStream, watch::Sender<bool>) {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let (end, over) = watch::channel(false);
        (
            Connection::new(ours, [over.clone(), over], patience, ()),
            theirs,
            end,
        )
    }

    #[tokio::test(start_paused = true)]
    async fn a_103_a_client_that_does_not_greet_in_time_is_dropped() {
        let (mut connection, mut theirs, _end) = pair(Duration::from_secs(5));
        theirs
            .write_all(b"PRI * HTTP")
            .await
            .expect("half a greeting");
        let mut greeting = Vec::new();
        let error = connection
            .read_to_end(&mut greeting)
            .await
            .expect_err("dropped");
        assert_eq!(
            (error.kind(), greeting.len()),
            (io::ErrorKind::TimedOut, 10)
        );
    }

    #[tokio::test]
    async fn an_end_from_outside_wakes_a_reader() {
        let (mut connection, _theirs, end) = pair(Duration::from_secs(5));
        let reading = tokio::spawn(async move { connection.read_u8().await });
        end.send(true).expect("somebody listens");
        let error = reading.await.expect("no panic").expect_err("ended");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
    }

    #[tokio::test(start_paused = true)]
    async fn a_103_a_client_that_does_not_read_is_dropped() {
        let (mut connection, _theirs, _end) = pair(Duration::from_secs(3600));
        let error = loop {
            if let Err(error) = connection.write_all(&[0; 65_536]).await {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn an_end_from_outside_wakes_a_writer_whose_peer_never_reads() {
        let (mut connection, _theirs, end) = pair(Duration::from_secs(5));
        let writing = tokio::spawn(async move {
            loop {
                if let Err(error) = connection.write_all(&[0; 65_536]).await {
                    return error.kind();
                }
            }
        });
        end.send(true).expect("somebody listens");
        assert_eq!(
            writing.await.expect("no panic"),
            io::ErrorKind::ConnectionAborted
        );
    }
}
