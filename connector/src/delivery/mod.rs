//! What leaves for Discord, and the proof of it: split into chunks, packed into a parcel, carried by a courier.

pub mod courier;
mod nonce;
pub mod parcel;
pub mod read_back;
pub mod split;

pub use courier::{Answer, Courier, News, Receipt, Sighting, Step};
pub use nonce::{PARTS_MAX, answered_by, nonce};
pub use parcel::Parcel;
pub use read_back::{Read, ReadBack, Sought, Standing};
