// SPDX-License-Identifier: MIT OR Apache-2.0
//! The daemon: its file, its API, its guard, its metrics, what it survives. One at a time, as root.

mod access;
mod api;
mod attacks;
mod canary;
mod events;
mod experiment;
mod fence;
mod guard;
mod guard_attacks;
mod keep;
mod malformed;
mod metrics;
mod metrics_backlog;
mod metrics_churn;
mod metrics_port;
mod metrics_prometheus;
mod metrics_tls;
mod pages;
mod rate_cap;
mod readme;
mod survive;
mod top_rearm;
mod unit;
