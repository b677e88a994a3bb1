//! gRPC errors the broker itself answers with, in one table. A refusal is none of them: it is a normal reply.

use tonic::{Code, Status};

use crate::{
    desk::{Broke, TurnFault},
    turn::TurnError,
};

/// A caller out of place, or a broker that cannot go on with the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// A field that is not what the contract says.
    Field(&'static str),
    /// A turn is open.
    TurnOpen,
    /// The id was closed before in this session.
    TurnClosedBefore,
    /// No such turn is open.
    NoSuchTurn,
    /// The broker is about to end.
    Stopping,
    /// The ledger cannot be written.
    Ledger,
    /// A watcher fell too far behind.
    Lagged,
    /// The call broke inside.
    Broke,
}

impl Misfit {
    const fn row(self) -> (Code, &'static str) {
        match self {
            Misfit::Field(what) => (Code::InvalidArgument, what),
            Misfit::TurnOpen => (Code::FailedPrecondition, "a turn is open; close it first"),
            Misfit::TurnClosedBefore => (
                Code::AlreadyExists,
                "this session has closed a turn of this id",
            ),
            Misfit::NoSuchTurn => (Code::NotFound, "no such turn is open"),
            Misfit::Stopping => (Code::Unavailable, "the broker is about to end"),
            Misfit::Ledger => (
                Code::Unavailable,
                "the ledger cannot be written; the broker's log says why",
            ),
            Misfit::Lagged => (
                Code::DataLoss,
                "the watcher fell too far behind; calls were missed",
            ),
            Misfit::Broke => (
                Code::Internal,
                "the broker failed on this call; others are not affected",
            ),
        }
    }
}

impl From<Misfit> for Status {
    fn from(misfit: Misfit) -> Status {
        let (code, text) = misfit.row();
        Status::new(code, text)
    }
}

impl From<TurnFault> for Misfit {
    fn from(fault: TurnFault) -> Misfit {
        match fault {
            TurnFault::Turn(TurnError::Busy) => Misfit::TurnOpen,
            TurnFault::Turn(TurnError::ClosedBefore) => Misfit::TurnClosedBefore,
            TurnFault::Turn(TurnError::NotOpen) => Misfit::NoSuchTurn,
            TurnFault::Turn(TurnError::Stopping) => Misfit::Stopping,
            TurnFault::Ledger(_) => Misfit::Ledger,
        }
    }
}

impl From<Broke> for Misfit {
    fn from(Broke: Broke) -> Misfit {
        Misfit::Broke
    }
}
