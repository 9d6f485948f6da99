// SPDX-License-Identifier: MIT OR Apache-2.0
//! One file per command.

pub mod acks;
pub mod algorithms;
pub mod apply;
pub mod assign;
pub mod canary;
pub mod check;
pub mod completions;
pub mod daemon;
pub mod default;
pub mod doctor;
pub mod down;
pub mod events;
pub mod experiment;
pub mod guard;
pub mod headings;
pub mod lab;
pub mod list;
pub mod load;
pub mod metrics;
pub mod migrate;
pub mod plot;
pub mod rules;
pub mod schema;
pub mod show;
pub mod sockets;
pub mod status;
pub mod swap;
pub mod top;
pub mod trace;
pub mod tune;
pub mod unassign;
pub mod unload;
pub mod version;
pub mod watch;
pub mod why;
