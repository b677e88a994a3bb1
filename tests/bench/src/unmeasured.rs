//! Why a row has no figures. It is printed in the row, so it names the next step where there is one.

use std::fmt::Display;

/// A measurement could not be made.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unmeasured(String);

impl Unmeasured {
    /// For this reason.
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }

    /// For `map_err`: what was tried, with the error behind it.
    pub(crate) fn at<E: Display>(what: impl Display) -> impl FnOnce(E) -> Self {
        move |error| Self(format!("{what}: {error}"))
    }
}
