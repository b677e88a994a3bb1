//! The wire contract `mosaic.broker.v1`, compiled from `proto/mosaic/broker/v1/*.proto`. Those files are its
//! documentation; nothing is decided here.

#![forbid(unsafe_code)]

/// Messages and services of `mosaic.broker.v1`.
#[expect(
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    missing_docs,
    unused_qualifications,
    reason = "generated; the .proto files carry the documentation"
)]
pub mod v1 {
    tonic::include_proto!("mosaic.broker.v1");
}

/// The serialized `google.protobuf.FileDescriptorSet` that `Tools.Describe` answers with.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
