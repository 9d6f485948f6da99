//! All tests of the program in one binary: many would be linked, and kept, 45 times.
//!
//! `kernel` has what tests on the running kernel share, `lab` what tests of the lab do; each other folder belongs to those whose
//! names begin like it.
#![allow(clippy::unwrap_used)] // a test fails by panicking

mod acks;
mod daemon_access;
mod daemon_api;
mod daemon_guard;
mod daemon_guard_attacks;
mod daemon_keep;
mod daemon_malformed;
mod daemon_metrics;
mod daemon_metrics_backlog;
mod daemon_metrics_port;
mod daemon_metrics_prometheus;
mod daemon_readme;
mod daemon_survive;
mod daemon_unit;
mod kernel;
mod kernel_acks;
mod kernel_acks_backlog;
mod kernel_acks_packets;
mod kernel_algorithms;
mod kernel_attacks;
mod kernel_concurrent;
mod kernel_default;
mod kernel_ecn;
mod kernel_kill;
mod kernel_load;
mod kernel_migrate;
mod kernel_object;
mod kernel_path;
mod kernel_path_faults;
mod kernel_path_queue;
mod kernel_path_scenario;
mod kernel_refuse;
mod kernel_rules;
mod kernel_rules_live;
mod kernel_rules_random;
mod kernel_rules_refuse;
mod kernel_sockets;
mod kernel_sockets_owners;
mod kernel_sockets_state;
mod kernel_testbed;
mod kernel_top;
mod kernel_top_daemon;
mod kernel_top_ends;
mod kernel_top_keys;
mod kernel_trace;
mod kernel_trace_events;
mod kernel_traffic;
mod kernel_tune;
mod kernel_why;
mod lab;
mod lab_bad_input;
mod lab_netns;
mod lab_netns_stop;
mod lab_pages;
mod lab_run;
mod lab_shards;
mod metrics;
mod packets;
mod path;
mod policy;
mod top;
mod trace;
