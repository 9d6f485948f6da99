// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pathology, on purpose, as `/metrics` shows it: packets steered to another processor whose backlog is short.

use crate::support;
use crate::support::metrics;

use ccctl_testbed::{backlog_drops, Receiver};
use metrics::scrape;
use support::backlog;
use support::daemon::Daemon;

#[test]
fn drops_of_a_full_backlog_are_those_of_softnet_stat() {
    support::exact("metrics of a full backlog", 120, fill_the_backlog);
}

fn fill_the_backlog() {
    let daemon = Daemon::start("metrics-backlog", "[metrics]\nenabled = true\n");
    let network = backlog::network();
    let receiver = Receiver::start(&network.server, "::").unwrap();
    let (before, counted_before) = (scrape(&daemon), backlog_drops().unwrap());
    backlog::carry(&network, &receiver, 10_000_000);
    let (after, counted_after) = (scrape(&daemon), backlog_drops().unwrap());
    let grown = |name, labels: &[(&str, &str)]| after.count(name, labels) - before.count(name, labels);
    let counted: Vec<u64> = counted_after.iter().zip(&counted_before).map(|(after, before)| after - before).collect();
    println!("dropped by processor: {counted:?}");
    assert!(counted.iter().sum::<u64>() > 10, "{counted:?}");
    for (cpu, counted) in counted.iter().enumerate() {
        let cpu = cpu.to_string();
        let by_reason = grown("ccctl_dropped_packets_total", &[("reason", "CPU_BACKLOG"), ("cpu", &cpu)]);
        let by_backlog = grown("ccctl_backlog_dropped_packets_total", &[("cpu", &cpu)]);
        // The trace point runs on the processor that dropped, softnet_stat names the one whose backlog was full.
        println!("cpu {cpu}: {by_reason} by reason, {by_backlog} by backlog");
        assert_eq!(by_backlog, *counted, "cpu {cpu}");
    }
    let by_reason = grown("ccctl_dropped_packets_total", &[("reason", "CPU_BACKLOG")]);
    assert_eq!(by_reason, counted.iter().sum::<u64>());
}
