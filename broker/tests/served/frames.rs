//! HTTP/2 by hand, for clients that do not keep to it. Frames as in RFC 9113, headers as HPACK literals.

use std::{
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    path::Path,
};

use super::harness::PATIENCE;

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_HEADERS: u8 = 4;

/// One frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// The header block of a call of `path`.
pub(crate) fn call(path: &str) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in [
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "localhost"),
        (":path", path),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ] {
        block.extend(header(name, value));
    }
    block
}

/// One header, never indexed.
pub(crate) fn header(name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![0];
    for text in [name, value] {
        let length = text.len();
        if length < 127 {
            bytes.push(u8::try_from(length).expect("short"));
        } else {
            bytes.push(127);
            let mut rest = length - 127;
            while rest >= 128 {
                bytes.push(u8::try_from(rest % 128).expect("seven bits") | 128);
                rest /= 128;
            }
            bytes.push(u8::try_from(rest).expect("seven bits"));
        }
        bytes.extend(text.as_bytes());
    }
    bytes
}

/// A connection that has greeted.
pub(crate) fn greeted(socket: &Path) -> UnixStream {
    let mut stream = raw(socket);
    stream
        .write_all(&[PREFACE, &frame(SETTINGS, 0, 0, &[])].concat())
        .expect("greeted");
    stream
}

/// A connection that has said nothing.
pub(crate) fn raw(socket: &Path) -> UnixStream {
    let stream = UnixStream::connect(socket).expect("connected");
    stream.set_read_timeout(Some(PATIENCE)).expect("set");
    stream.set_write_timeout(Some(PATIENCE)).expect("set");
    stream
}

/// Writes until the peer ends the connection or `most` bytes are gone; says whether it ended it.
pub(crate) fn flood(stream: &mut UnixStream, chunk: &[u8], most: usize) -> bool {
    let mut gone = 0;
    while gone < most {
        if stream.write_all(chunk).is_err() {
            return true;
        }
        gone += chunk.len();
    }
    false
}

/// Reads to the end of the connection: an orderly one, or a reset.
pub(crate) fn drain(stream: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(bytes),
        Err(error) => Err(error),
    }
}
