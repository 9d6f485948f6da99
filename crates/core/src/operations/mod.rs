// SPDX-License-Identifier: MIT OR Apache-2.0
//! What ccctl does, as operations: a request goes in, an answer comes out, both plain data.
//!
//! A command makes a request from its arguments, has it executed by the daemon or in its own process, and prints the answer;
//! `--json` is the answer itself. The same operation is a path of the daemon's API, so that both ways give the same.

pub mod acks;
mod algorithms;
mod apply;
mod assign;
pub mod canary;
mod check;
mod default;
mod doctor;
mod down;
pub mod experiment;
mod guard;
mod list;
mod load;
mod migrate;
pub mod plot;
mod rules;
mod show;
mod sockets;
mod status;
mod swap;
pub mod trace;
mod tune;
mod unassign;
mod unload;
mod why;

pub use algorithms::{AlgorithmSummary, Algorithms};
pub use apply::{Applied, Apply};
pub use assign::{Assign, Assigned};
pub use canary::Canary;
pub use check::{Check, CheckedProgram};
pub use default::Default;
pub use doctor::Doctor;
pub use down::{Down, TornDown};
pub use experiment::{ExperimentPlan, ExperimentStart, ExperimentStatus, ExperimentStop};
pub use guard::{tripped, Guard, GuardAnswer, Tripped};
pub use list::{List, Listing};
pub use load::Load;
pub use migrate::{Migrate, Migrated};
pub use rules::{gives, RuleInfo, RuleSetting, Rules};
pub use show::{Show, Shown, ShownAlgorithm, ShownInstance};
pub use sockets::{state_text, CaState, Column, EcnMode, Socket, SocketFilter, Sockets, Transport};
pub use status::Status;
pub use swap::Swap;
pub use tune::Tune;
pub use unassign::Unassign;
pub use unload::Unload;
pub use why::{ExplainedSocket, MetRule, MetSettingInfo, Why};
