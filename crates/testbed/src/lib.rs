// SPDX-License-Identifier: GPL-2.0-only
//! A testbed on the running kernel: namespaces joined by veth, verified traffic, and what the kernel says of it.
//!
//! Everything here needs root and says so ([`require_root`]); what a host cannot give is skipped with the reason ([`skip`]). Namespaces
//! carry the process id in their name, are removed on drop, and those of dead processes are swept away when the first new one
//! is made.

mod backlog;
mod cgroup;
mod command;
mod connections;
mod course;
mod cpu;
mod empty_sockops;
mod empty_trace;
mod error;
mod exclusive;
mod function_time;
mod global_words;
mod grace_period;
mod host;
mod iperf;
pub mod json_keys;
mod lockstep;
mod marker;
mod namespace;
mod network;
mod offload;
mod owned;
mod payload;
mod receiver;
mod sender;
mod skipped;
mod socket;
mod sockets;
mod tcp_info;
mod tcp_state;
mod tun;
mod watchdog;

pub use backlog::{backlog_drops, steer_to_first_cpu, ShortBacklog};
pub use cgroup::Cgroup;
pub use command::{run, run_ok, Background, Output};
pub use connections::Connections;
pub use course::Stretch;
pub use cpu::CpuTime;
pub use empty_sockops::EmptySockops;
pub use empty_trace::{EmptyAt, EmptyTrace};
pub use error::TestbedError;
pub use exclusive::{require_root, Exclusive, Turn};
pub use function_time::FunctionTime;
pub use global_words::global_words;
pub use grace_period::grace_period;
pub use host::{assert_same, mount_bpffs, settled, HostState};
pub use iperf::{IperfClient, IperfReport, IperfServer};
pub use lockstep::{HandPath, Lockstep};
pub use namespace::{ip, Namespace};
pub use network::{Network, CLIENT_V4, CLIENT_V6, SERVER_V4, SERVER_V6};
pub use offload::Offload;
pub use owned::{claim, kernel_test, require_no_others, Remove, RULES, RULES_PIN};
pub use payload::{Digest, Payload};
pub use receiver::Receiver;
pub use sender::{Amount, Delivered, Flows, Sending};
pub use skipped::{nothing_is_skipped, skip};
pub use socket::{
    algorithm_of, close_with_reset, connect, connect_again, cookie_of, listen_with_mark, set_mark, set_priority,
    Unconnected,
};
pub use sockets::{sockets, Socket};
pub use tcp_info::{disconnect, max_pacing_rate_of, notsent_lowat_of, set_notsent_lowat, tcp_info};
pub use tcp_state::{TcpState, TcpStates};
pub use tun::tun;
pub use watchdog::{eventually, within};

/// An algorithm, loadable by ccctl, with two hooks that do nothing: what a hook call costs before its first instruction.
pub const EMPTY_HOOKS_OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/empty_hooks.bpf.o"));
