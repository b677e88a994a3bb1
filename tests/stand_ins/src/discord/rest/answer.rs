//! An answer and how it is put on the wire, whole or cut in half. Knows nothing of what it says.

use std::io;

use futures_util::StreamExt;
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::{
    Response,
    body::{Bytes, Frame},
    header,
};
use serde_json::Value;

use crate::discord::refusal::Refusal;

pub(in crate::discord) type Body = BoxBody<Bytes, io::Error>;

/// An answer before it is put on the wire.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::discord) struct Answer {
    pub(super) status: u16,
    pub(super) content_type: Option<&'static str>,
    pub(super) body: String,
    pub(super) headers: Vec<(&'static str, String)>,
}

impl Answer {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        // Exactly this content type: with a charset some libraries take the body for text (H2).
        Answer {
            status,
            content_type: Some("application/json"),
            body: body.to_string(),
            headers: Vec::new(),
        }
    }

    pub(super) fn nothing() -> Self {
        Answer {
            status: 204,
            content_type: None,
            body: String::new(),
            headers: Vec::new(),
        }
    }

    pub(super) fn refusal(refusal: &Refusal) -> Self {
        Answer::json(refusal.status, &refusal.body())
    }

    /// A page as proxies in front of the API make it.
    pub(in crate::discord) fn page(status: u16) -> Self {
        let body = format!(
            "<html>\r\n<head><title>{status}</title></head>\r\n<body>\r\n<center><h1>{status}</h1></center>\r\n</body>\r\n</html>\r\n"
        );
        Answer {
            status,
            content_type: Some("text/html"),
            body,
            headers: Vec::new(),
        }
    }

    pub(super) fn with(
        mut self,
        headers: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Self {
        self.headers.extend(headers);
        self
    }

    fn builder(&self) -> hyper::http::response::Builder {
        let mut builder = Response::builder().status(self.status);
        if let Some(content_type) = self.content_type {
            builder = builder.header(header::CONTENT_TYPE, content_type);
        }
        self.headers.iter().fold(builder, |builder, (name, value)| {
            builder.header(*name, value)
        })
    }

    pub(in crate::discord) fn into_response(self) -> Response<Body> {
        let builder = self.builder();
        let body = Full::new(Bytes::from(self.body)).map_err(|never| match never {});
        builder
            .body(BodyExt::boxed(body))
            .expect("statuses and headers here are well formed")
    }

    /// Promises the whole body, gives half of it and breaks off.
    pub(super) fn into_cut_response(self) -> Response<Body> {
        let builder = self
            .builder()
            .header(header::CONTENT_LENGTH, self.body.len());
        let half = Bytes::copy_from_slice(&self.body.as_bytes()[..self.body.len() / 2]);
        let broken = async {
            // What is written leaves only when the body has nothing more to give for the moment; an error at once would take it along.
            tokio::task::yield_now().await;
            Err(io::Error::from(io::ErrorKind::ConnectionReset))
        };
        let first = futures_util::stream::iter([Ok(Frame::data(half))]);
        let parts = StreamBody::new(first.chain(futures_util::stream::once(broken)));
        builder
            .body(BodyExt::boxed(parts))
            .expect("statuses and headers here are well formed")
    }
}
