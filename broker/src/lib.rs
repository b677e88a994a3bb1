//! The broker: decides what the model may touch, writes it down, and touches it. It knows roots, paths and files; it
//! does not know who is talking, over what, or why.
//!
//! A call walks three modules in order, and the walk cannot be cut short: [`fence`] looks and decides, [`effect`]
//! touches and takes nothing but what a fence has made, [`tools`] joins the two into verbs.

#![forbid(unsafe_code)]

pub mod cancel;
pub mod effect;
pub mod facts;
pub mod fence;
pub mod limits;
pub mod policy;
pub mod refusal;
pub mod tools;
