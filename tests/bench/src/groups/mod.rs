//! What is measured, one file a group. A group starts what it needs, takes turns between the contestants so that a busy
//! moment hits all of them, and gives its rows.

mod call;
mod files;
mod house;
mod sandbox;
mod search;

use crate::{ground::Ground, report::Row, unmeasured::Unmeasured};

/// Rows that are measured together.
pub(crate) struct Group {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) measure: fn(&Ground) -> Result<Vec<Row>, Unmeasured>,
}

/// Every group, in the order of the report.
pub(crate) const GROUPS: &[Group] = &[
    Group {
        name: call::NAME,
        what: "a read through the broker beside a bare call",
        measure: call::rows,
    },
    Group {
        name: house::NAME,
        what: "the whole house: memory, and the way to the prompt",
        measure: house::rows,
    },
    Group {
        name: search::NAME,
        what: "a literal in 20,000 files beside ripgrep",
        measure: search::rows,
    },
    Group {
        name: files::NAME,
        what: "file verbs beside two MCP servers",
        measure: files::rows,
    },
    Group {
        name: sandbox::NAME,
        what: "a call inside the fence and without it",
        measure: sandbox::rows,
    },
];

/// Runs a client on one thread: the caller and its connection then wake each other without another core.
fn on_one_thread<T>(work: impl Future<Output = Result<T, Unmeasured>>) -> Result<T, Unmeasured> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime
        .map_err(Unmeasured::at("the runtime"))?
        .block_on(work)
}
