//! What ccctl does, as operations: a request goes in, an answer comes out, both plain data.
//!
//! A command makes a request of its arguments, asks for it, and prints the answer; `--json` is the answer itself. The
//! same operation is a path of the daemon's API, so that asking over the API and doing it here give the same.

mod algorithms;
mod assign;
mod check;
mod default;
mod doctor;
mod list;
mod load;
mod parameters;
pub mod request;
mod rules;
mod selector;
mod show;
mod swap;
mod tune;
mod unassign;
mod unload;
mod why;

pub use algorithms::Algorithms;
pub use assign::{Assign, Assigned};
pub use check::Check;
pub use default::Default;
pub use doctor::Doctor;
pub use list::{List, Listing};
pub use load::Load;
pub use parameters::{Setting, Settings};
pub use rules::{RuleInfo, Rules};
pub use show::{Show, Shown, ShownAlgorithm, ShownInstance};
pub use swap::Swap;
pub use tune::Tune;
pub use unassign::Unassign;
pub use unload::Unload;
pub use why::{ExplainedSocket, MetRule, Why};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::Serialize;

/// Something that ccctl does.
pub trait Operation: Serialize + DeserializeOwned + JsonSchema {
    /// What it tells.
    type Answer: Serialize + DeserializeOwned + JsonSchema;
    /// Name of the command; `/v1/NAME` in the API.
    const NAME: &'static str;
    /// One line, as in `ccctl --help`.
    const TITLE: &'static str;

    /// Does this request change something? Such a request needs root and a POST; others are a GET.
    fn changes(&self) -> bool;

    /// Does it, in the network namespace of the calling thread.
    fn run(&self) -> anyhow::Result<Self::Answer>;
}

/// Does it: here, in this process.
pub fn ask<O: Operation>(operation: &O) -> anyhow::Result<O::Answer> {
    operation.run()
}
