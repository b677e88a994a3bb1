//! One WebSocket: opening it, reading frames off it, ending it so that the other side learns why.
//! It does not know the protocol beyond the difference between a frame, a close and a broken stream.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::http::header::USER_AGENT as USER_AGENT_HEADER;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, error::ProtocolError};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

use super::close_code::NO_CODE;
use super::loss::OpenFault;
use super::step::Input;
use super::wire::{self, Malformed};
use crate::discord::USER_AGENT;
use crate::discord::address::GatewayUrl;

/// READY and GUILD_CREATE can be megabytes; beyond this no server of ours can need.
const MESSAGE_MAX: usize = 32 << 20;
/// Allocated once for each connection.
const READ_BUFFER: usize = 32 << 10;
/// Name resolution, TCP, TLS and the upgrade together.
const OPEN_TIMEOUT: Duration = Duration::from_secs(15);
/// A frame of ours is a few hundred bytes; if the kernel cannot take it for that long nobody is reading.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the other side gets to answer a close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    pub(super) async fn open(url: &GatewayUrl) -> Result<Self, OpenFault> {
        let mut request = url
            .as_str()
            .into_client_request()
            .map_err(|_| OpenFault::Upgrade)?;
        request
            .headers_mut()
            .insert(USER_AGENT_HEADER, HeaderValue::from_static(USER_AGENT));
        let limits = WebSocketConfig::default()
            .max_message_size(Some(MESSAGE_MAX))
            .max_frame_size(Some(MESSAGE_MAX))
            .read_buffer_size(READ_BUFFER)
            .write_buffer_size(0);
        match timeout(
            OPEN_TIMEOUT,
            connect_async_with_config(request, Some(limits), true),
        )
        .await
        {
            Ok(Ok((stream, _upgrade))) => Ok(Self(stream)),
            Ok(Err(Error::Http(response))) => Err(OpenFault::Http(response.status().as_u16())),
            Ok(Err(Error::Io(_) | Error::Tls(_))) => Err(OpenFault::Connect),
            Ok(Err(_)) => Err(OpenFault::Upgrade),
            Err(_elapsed) => Err(OpenFault::Timeout),
        }
    }

    /// The next thing that happens on this connection. Can be dropped and called again without losing a frame.
    pub(super) async fn next(&mut self) -> Input {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => {
                    return wire::read(text.as_bytes()).map_or_else(Input::Malformed, Input::Frame);
                }
                Some(Ok(Message::Binary(bytes))) => {
                    return Input::Malformed(Malformed::binary(bytes.len()));
                }
                Some(Ok(Message::Close(frame))) => {
                    return Input::Closed {
                        code: frame.map_or(NO_CODE, |frame| frame.code.into()),
                    };
                }
                // Answered by the library.
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Err(Error::Capacity(_))) => return Input::Broken(Malformed::too_large()),
                Some(Err(
                    Error::Protocol(ProtocolError::ResetWithoutClosingHandshake)
                    | Error::Io(_)
                    | Error::Tls(_),
                ))
                | None => return Input::Cut,
                Some(Err(Error::ConnectionClosed | Error::AlreadyClosed)) => return Input::Cut,
                Some(Err(_)) => return Input::Broken(Malformed::protocol()),
            }
        }
    }

    /// Sends a text frame; `Err` when the connection does not take it.
    pub(super) async fn send(&mut self, text: String) -> Result<(), ()> {
        match timeout(SEND_TIMEOUT, self.0.send(Message::text(text))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(()),
        }
    }

    /// Ends the connection. What still arrives is read away first: closing over unread data would reset the connection and destroy the
    /// close frame on its way.
    pub(super) async fn close(mut self, code: Option<u16>) {
        let frame = code.map(|code| CloseFrame {
            code: CloseCode::from(code),
            reason: "".into(),
        });
        let farewell = async {
            if self.0.close(frame).await.is_ok() {
                while let Some(Ok(_)) = self.0.next().await {}
            }
        };
        // Whoever does not answer in time has been told as well as can be.
        let _late = timeout(CLOSE_TIMEOUT, farewell).await;
    }
}
