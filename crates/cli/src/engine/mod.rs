//! What ccctl does, as operations: a request goes in, an answer comes out, both plain data.
//!
//! A command makes a request of its arguments, asks for it, and prints the answer; `--json` is the answer itself. The
//! same operation is a path of the daemon's API, so that asking over the API and doing it here give the same.

pub mod acks;
mod algorithms;
mod apply;
mod assign;
mod check;
mod default;
mod doctor;
mod down;
mod guard;
mod list;
mod load;
pub mod look;
mod migrate;
mod parameters;
pub mod plot;
pub mod request;
mod rules;
mod selector;
mod show;
mod sockets;
mod status;
mod swap;
pub mod trace;
mod tune;
mod unassign;
mod unload;
mod why;

pub use algorithms::Algorithms;
pub use apply::{Applied, Apply};
pub use assign::{Assign, Assigned};
pub use check::Check;
pub use default::Default;
pub use doctor::Doctor;
pub use down::Down;
pub use guard::{tripped, Guard, GuardAnswer, GuardEvent, GuardReport, GuardedInstance, Tripped, WindowInfo};
pub use list::{List, Listing};
pub use load::Load;
pub use migrate::{Migrate, Migrated};
pub use parameters::{changed as changed_settings, Setting, Settings};
pub use rules::{RuleInfo, Rules};
pub use selector::Who;
pub use show::{Show, Shown, ShownAlgorithm, ShownInstance};
pub use sockets::{state_text, Column, Socket, SocketFilter, Sockets, Transport};
pub use status::{DaemonStatus, Status};
pub use swap::Swap;
pub use tune::Tune;
pub use unassign::Unassign;
pub use unload::Unload;
pub use why::{ExplainedSocket, MetRule, Why};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::Serialize;

use crate::api::{self, Found};

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

    /// Does it open files by paths of the request? Over the API that is for root: the daemon's rights are not the reader's,
    /// and what is opened, or the answer, would tell of files that the reader may not see.
    fn opens_paths(&self) -> bool {
        false
    }

    /// Does it only tell what it would change?
    fn is_dry_run(&self) -> bool {
        false
    }

    /// Does it, in the network namespace of the calling thread.
    fn run(&self) -> anyhow::Result<Self::Answer>;
}

/// Asks the daemon to do it, where one answers; otherwise does it here, in this process.
pub fn ask<O: Operation>(operation: &O) -> anyhow::Result<O::Answer> {
    match api::connect() {
        Found::Daemon(mut daemon) => daemon.ask(operation),
        Found::None => operation.run(),
        Found::Busy(fault) => Err(fault.into()),
        Found::Unusable(why) => {
            crate::output::failure(&format!("{why}: done without it"), None);
            operation.run()
        }
    }
}
