//! How a frame becomes a WebSocket message: as text, through one zlib context a connection (H4), or zlib by the message.

use flate2::{Compress, Compression, FlushCompress};
use tokio_tungstenite::tungstenite::{Bytes, Message, Utf8Bytes};

/// The compression a connection uses.
#[derive(Debug)]
pub(super) enum Encoder {
    Plain,
    /// `compress=zlib-stream`: one context, each message flushed to end with 00 00 FF FF.
    Stream(Box<Compress>),
    /// `compress: true` in IDENTIFY: each message is a zlib document of its own.
    Payload,
}

impl Encoder {
    /// The encoder a handshake asks for; `None` when it asks for something that is not spoken here.
    pub(super) fn asked_for(query: &str) -> Option<Self> {
        let value = |key: &str| {
            query
                .split('&')
                .find_map(|pair| pair.split_once('=').filter(|(name, _)| *name == key))
                .map(|(_, value)| value)
        };
        match (value("encoding"), value("compress")) {
            (Some("json") | None, None) => Some(Encoder::Plain),
            (Some("json") | None, Some("zlib-stream")) => Some(Encoder::Stream(Box::new(
                Compress::new(Compression::fast(), true),
            ))),
            _ => None,
        }
    }

    /// IDENTIFY asks for compressed payloads. Ignored where the transport is compressed already.
    pub(super) fn compress_payloads(&mut self) {
        if matches!(self, Encoder::Plain) {
            *self = Encoder::Payload;
        }
    }

    pub(super) fn encode(&mut self, text: &str) -> Message {
        match self {
            Encoder::Plain => Message::Text(Utf8Bytes::from(text)),
            Encoder::Stream(context) => Message::Binary(Bytes::from(deflate(
                context,
                text.as_bytes(),
                FlushCompress::Sync,
            ))),
            Encoder::Payload => {
                let mut context = Compress::new(Compression::fast(), true);
                Message::Binary(Bytes::from(deflate(
                    &mut context,
                    text.as_bytes(),
                    FlushCompress::Finish,
                )))
            }
        }
    }
}

/// Runs all of `input` through the context. It has taken everything when it leaves room in the output.
fn deflate(context: &mut Compress, input: &[u8], flush: FlushCompress) -> Vec<u8> {
    let mut output = Vec::with_capacity(input.len() / 2 + 64);
    let start = context.total_in();
    loop {
        let done = usize::try_from(context.total_in() - start).expect("no more than was given");
        context
            .compress_vec(&input[done..], &mut output, flush)
            .expect("compressing to memory cannot fail");
        let all_in = context.total_in() - start == input.len() as u64;
        if all_in && output.len() < output.capacity() {
            return output;
        }
        output.reserve(output.capacity().max(256));
    }
}

#[cfg(test)]
mod tests {
    use flate2::{Decompress, FlushDecompress};

    use super::*;

    fn binary(message: Message) -> Vec<u8> {
        let Message::Binary(bytes) = message else {
            panic!("compressed frames are binary: {message:?}")
        };
        bytes.to_vec()
    }

    #[test]
    fn a_stream_shares_one_context_and_each_message_ends_with_the_flush_mark() {
        let mut encoder =
            Encoder::asked_for("v=10&encoding=json&compress=zlib-stream").expect("spoken here");
        let mut context = Decompress::new(true);
        // The last one does not compress, so that the output outgrows the first guess.
        let noise: String = (0..50_000_u32)
            .map(|n| {
                char::from_u32(0x4e00 + n.wrapping_mul(2_654_435_761) % 20_000).expect("a char")
            })
            .collect();
        for text in ["{\"op\":10}", "{\"op\":10}", noise.as_str()] {
            let bytes = binary(encoder.encode(text));
            assert!(bytes.ends_with(&[0, 0, 0xff, 0xff]));
            let mut plain = Vec::with_capacity(text.len() + 64);
            context
                .decompress_vec(&bytes, &mut plain, FlushDecompress::Sync)
                .expect("valid zlib");
            assert_eq!(String::from_utf8(plain).expect("text"), text);
        }
    }

    #[test]
    fn a_payload_is_a_document_of_its_own() {
        let mut encoder = Encoder::asked_for("v=10").expect("spoken here");
        encoder.compress_payloads();
        for _ in 0..2 {
            let mut plain = Vec::with_capacity(64);
            Decompress::new(true)
                .decompress_vec(
                    &binary(encoder.encode("{}")),
                    &mut plain,
                    FlushDecompress::Finish,
                )
                .expect("valid zlib");
            assert_eq!(plain, b"{}");
        }
    }

    #[test]
    fn other_encodings_are_not_spoken_here() {
        assert!(Encoder::asked_for("v=10&encoding=etf").is_none());
        assert!(Encoder::asked_for("v=10&encoding=json&compress=zstd-stream").is_none());
    }
}
