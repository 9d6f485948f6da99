// SPDX-License-Identifier: MIT OR Apache-2.0
//! One file a command.

pub mod acks;
pub mod algorithms;
pub mod apply;
pub mod assign;
pub mod check;
pub mod daemon;
pub mod default;
pub mod doctor;
pub mod down;
mod file;
pub mod guard;
pub mod lab;
pub mod list;
pub mod load;
pub mod metrics;
pub mod migrate;
pub mod plot;
pub mod rules;
pub mod show;
pub mod sockets;
pub mod status;
pub mod swap;
pub mod top;
pub mod trace;
pub mod tune;
pub mod unassign;
pub mod unload;
pub mod why;
