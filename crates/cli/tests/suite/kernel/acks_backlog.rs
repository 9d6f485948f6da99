// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pathology, on purpose: ACKs steered to another processor whose backlog is short. What `ccctl acks` says of the drops
//! is what the kernel counts in `/proc/net/softnet_stat`, and what is missing between XDP and tc.

use crate::support;
use crate::support::acks;

use crate::support::backlog;
use acks::{has_tc_links, Measurement};
use ccctl_testbed::{backlog_drops, Receiver};

#[test]
fn drops_of_a_full_backlog_are_those_of_softnet_stat() {
    support::exact("full backlog", 120, fill_the_backlog);
}

fn fill_the_backlog() {
    let network = backlog::network();
    let receiver = Receiver::start(&network.server, "::").unwrap();
    // Native XDP takes the server's packets past its backlog: only ACKs are dropped.
    let at_server = Measurement::start(&network.server, &["--interface", "veth0", "--at", "native"]);
    let measurement = Measurement::start(&network.client, &["--interface", "veth0", "--at", "native"]);
    let before: u64 = backlog_drops().unwrap().iter().sum();
    backlog::carry(&network, &receiver, 20_000_000);
    let counted = backlog_drops().unwrap().iter().sum::<u64>() - before;
    let report = measurement.stop();
    drop(at_server);
    check(&report, counted);
}

fn check(report: &serde_json::Value, counted: u64) {
    let (interface, drops) = (&report["interfaces"][0], report["drops"].as_array().unwrap());
    let backlog = drops.iter().find(|drops| drops["reason"] == "CPU_BACKLOG");
    let backlog = backlog.unwrap_or_else(|| panic!("no CPU_BACKLOG: {report}"));
    let here = backlog["here"].as_u64().unwrap();
    println!("{here} CPU_BACKLOG drops of {} ACKs; softnet_stat {counted}", interface["acks"]);
    assert!(here > 10, "{report}");
    let both = &report["backlog_drops"];
    assert_eq!(both["by_softnet_stat"], counted, "{report}");
    assert_eq!(both["by_trace_point"], counted, "{report}");
    assert_eq!(by_cpu_of(backlog), here, "{report}");
    if !has_tc_links() {
        assert!(interface["reached_tc"].is_null(), "{report}");
        return;
    }
    let missing = interface["acks"].as_u64().unwrap() - interface["reached_tc"].as_u64().unwrap();
    // Of the few packets that are no ACKs (SYN, answer, FIN) some may have been dropped as well.
    let dropped = here.saturating_sub(8)..=here;
    assert!(dropped.contains(&missing), "{missing} missing, {here} dropped: {report}");
}

fn by_cpu_of(drops: &serde_json::Value) -> u64 {
    drops["by_cpu"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum()
}
