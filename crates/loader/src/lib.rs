// SPDX-License-Identifier: MIT OR Apache-2.0
//! Algorithms as instances in the running kernel.
//!
//! An [`Instance`] is an algorithm that the kernel knows under a name. Its only trace on the host is one pin below
//! [`PIN_ROOT`], beside which the program that counts sockets is pinned as long as there are instances; all that is told
//! of it is read from the kernel: link -> `struct_ops` map -> programs -> their maps.
//! Nothing here remembers anything, so that a killed process leaves nothing half-done.
//!
//! Commands that change something take a [`Lock`] first: [`recover`] gives it.

mod bpffs;
pub mod canary;
mod check;
mod default;
mod doctor;
mod error;
pub mod guard;
#[cfg(test)]
mod guest_tests;
mod identity;
mod instance;
mod intervals;
mod kept;
mod kept_types;
mod kernel;
mod kernel_ops;
mod left_out;
mod load;
mod load_object;
mod lock;
mod migrate;
mod mount_view;
mod netns;
mod object;
mod own_params;
pub mod owner_records;
mod params;
mod pod;
mod prefix;
mod recover;
mod refusal;
mod retire;
mod rules;
mod sockets;
mod source_lines;
#[cfg(feature = "static")]
mod static_libc;
mod swap;
mod sys;
mod tune;
mod unload;
mod verifier_log;
mod watch;
#[doc(hidden)]
pub mod without_kernel;
mod writable_fields;
mod writable_list;

pub use bpffs::{mounted as bpffs_mounted, require as require_bpffs, BPFFS, PIN_FORMAT, PIN_ROOT};
pub use check::{Check, Status};
pub use default::{set as set_default, DefaultChange, RestoredDefault};
pub use doctor::{check_all, REGISTRATION};
pub use error::{Error, Result};
pub use identity::Identity;
pub use instance::{other_bpf_algorithms, Instance, OtherAlgorithm, ProgramInfo};
pub use intervals::{AlgorithmInterval, IntervalScanner, IntervalStats};
pub use kernel::{available_algorithms, check_name, current_default, require_available};
pub use left_out::check_calls;
pub use load::{check, load, preview_load, LoadRequest, Loaded};
pub use lock::Lock;
pub use migrate::{migrate, Migration, NamespaceCount};
pub use netns::{Namespace, NamespaceScan};
pub use object::Program;
pub use prefix::Prefix;
pub use recover::{recover, recover_rules, Recovered};
pub use retire::retire;
pub use rules::{
    assign, cgroup_of_unit, change_rules, consider, format_choices, is_unit_name, parse_targets, preview_assign,
    preview_unassign, read_rules, remove_all, rename as rename_in_rules, rename_choices, require_names, rule_usage,
    set_rules, unassign, why, AssignRequest, Assigned, Attributes, CgroupPath, CgroupTree, Choice, Conditions, Event,
    Explanation, Finding, Flow, Mark, Met, MetSetting, Moved, Now, RttLimit, Rule, RuleContent, RuleParameter,
    RuleParameters, RuleTable, Selector, SocketQuery, SocketSetting, SocketSettings, Verdict, MOST_RULES, RULES_FORMAT,
};
pub use sockets::{
    count as count_sockets, jiffy, totals as socket_totals, AlgorithmRates, AlgorithmTotals, CaState, CgroupPaths,
    EcnMode, Failure, Owner, Owners, OwnersReader, ProgramLayouts, SocketCounts, SocketFilter, SocketFollower,
    SocketProgram, SocketRates, SocketReader, SocketRecord, SocketSample, SocketState, Transport, Usage,
};
pub use swap::{preview_swap, swap, SwapRequest, Swapped};
pub use tune::{preview_tune, tune, Tuned};
pub use unload::{preview_unload, unload, UnloadOptions, Unloaded};
pub use verifier_log::keep_none as keep_no_verifier_logs;
pub use watch::{look, Seen};
