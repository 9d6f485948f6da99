//! The pathology, on purpose, as `/metrics` shows it: packets steered to another processor whose backlog is short.
#![allow(clippy::unwrap_used)] // a test fails by panicking

mod kernel;
mod metrics;

use std::process::Command;
use std::time::Duration;

use ccctl_lab::testbed::{Amount, Flows, Namespace, Network, Offload, Receiver, Sending, SERVER_V4};
use kernel::daemon::Daemon;
use metrics::{scrape, LIMIT};

const BACKLOG: &str = "/proc/sys/net/core/netdev_max_backlog";
const STATISTICS: &str = "/proc/net/softnet_stat";

/// The machine's backlog, short until dropped, also by a failing test.
struct ShortBacklog(String);

impl ShortBacklog {
    fn set() -> Self {
        let before = std::fs::read_to_string(BACKLOG).unwrap();
        std::fs::write(BACKLOG, "4").unwrap();
        Self(before)
    }
}

impl Drop for ShortBacklog {
    fn drop(&mut self) {
        if let Err(error) = std::fs::write(BACKLOG, &self.0) {
            eprintln!("{BACKLOG}: {error}");
        }
    }
}

/// Drops of full backlogs by processor: the second column, hexadecimal.
fn dropped() -> Vec<u64> {
    let text = std::fs::read_to_string(STATISTICS).unwrap();
    let column = |line: &str| u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap();
    text.lines().map(column).collect()
}

/// Every packet that arrives is handed to the first processor. The setting goes with the namespace.
fn steer(namespace: &Namespace) {
    let write = "echo 1 > /sys/class/net/veth0/queues/rx-0/rps_cpus";
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace.name(), "sh", "-c", write]);
    ccctl_lab::testbed::run_ok(&mut command, LIMIT).unwrap();
}

#[test]
fn drops_of_a_full_backlog_are_those_of_softnet_stat() {
    kernel::test("metrics of a full backlog", 120, || {
        let daemon = Daemon::start("metrics-backlog", "[metrics]\nenabled = true\n");
        let network = Network::new().unwrap();
        for offload in [Offload::Tso, Offload::Gso, Offload::Gro] {
            network.set_offload(offload, false).unwrap(); // many ACKs
        }
        steer(&network.client);
        let receiver = Receiver::start(&network.server, "::").unwrap();
        let (before, counted_before) = (scrape(&daemon), dropped());
        let short = ShortBacklog::set();
        let sending = Sending {
            to: receiver.at(SERVER_V4),
            algorithm: Some("cubic".to_owned()),
            amount: Amount::Bytes(10_000_000),
            pause: Duration::ZERO,
        };
        Flows::start(&network.client, &sending, 2).unwrap().wait().unwrap();
        drop(short);
        let (after, counted_after) = (scrape(&daemon), dropped());
        let grown = |name, labels: &[(&str, &str)]| after.count(name, labels) - before.count(name, labels);
        let counted: Vec<u64> =
            counted_after.iter().zip(&counted_before).map(|(after, before)| after - before).collect();
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
    });
}
