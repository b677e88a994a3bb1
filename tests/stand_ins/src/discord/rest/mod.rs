//! The REST side: what it can be asked (`routes.rs`), how a request comes in and an answer leaves or fails to (`front.rs`, `answer.rs`), what is
//! answered (`answers.rs`), and how often one may ask (`limits.rs`).

mod answer;
mod answers;
mod front;
mod limits;
mod routes;

pub use self::routes::Endpoint;
pub(super) use self::{
    answer::{Answer, Body},
    front::{Withheld, attend},
    limits::Buckets,
};
