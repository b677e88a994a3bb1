//! pi as a child process: installed, launched inside its fence, verified, prompted one message at a time, stopped. It
//! knows pi's protocol and nothing of Discord, of turns' rules or of what the tools do.
//!
//! The walk: [`Install::find`] says where pi is; [`Engine::start`] writes the agent folder and the launch record,
//! starts pi under `confine` and answers only when pi showed exactly the tools, model and thinking it was bound to;
//! [`Engine::prompt`] begins a run, [`Engine::next`] says how it ended.

mod agent_folder;
mod child;
mod credential;
mod error;
mod install;
mod launch;
mod process;
mod protocol;
mod run;
mod snapshot;
mod verify;

pub use self::{
    agent_folder::{EngineFolders, ModelEndpoint, model_endpoint},
    credential::credential,
    error::{Broken, EngineError, PromptError},
    install::{Install, InstallError, Version},
    launch::{EngineSpec, ModelChoice},
    process::{Engine, EngineEvent},
    run::{Failure, RunLimits, RunOutcome, Usage},
    verify::Verified,
};
