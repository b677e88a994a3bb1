//! The REST side: what it can be asked (`routes.rs`), how a request comes in and an answer leaves or fails to (`front.rs`), what is answered
//! (`answers.rs`), and how often one may ask (`limits.rs`).

mod answers;
mod front;
mod limits;
mod routes;

pub use self::routes::Endpoint;
pub(super) use self::{
    front::{Answer, Body, Withheld, attend},
    limits::Buckets,
};
