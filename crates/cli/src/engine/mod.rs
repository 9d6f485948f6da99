//! What ccctl does, as operations: a request goes in, an answer comes out, both plain data.
//!
//! A command makes a request of its arguments, asks for it, and prints the answer; `--json` is the answer itself. The
//! same operation is a path of the daemon's API, so that asking over the API and doing it here give the same.

pub mod acks;
mod default;
mod parameters;
pub mod request;
mod tune;

pub use default::Default;
pub use parameters::Setting;
pub use tune::Tune;

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
