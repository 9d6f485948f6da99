// SPDX-License-Identifier: GPL-2.0-only
//! What the tests of the emulated path share.

use std::time::Duration;

use ccctl_path::{Path, PathReport, PathSpec, Waiting};
use ccctl_sim::{BitRate, Limit};
use ccctl_testbed::{eventually, within, Amount, Delivered, Exclusive, Flows, Namespace, Receiver, Sending};

pub const RECEIVER_V4: &str = "10.77.0.2";
pub const RECEIVER_V6: &str = "fd77::2";

/// Runs `body` while no other test of the kernel runs. A path makes namespaces and raises its session: both are as before
/// afterwards.
pub fn test(what: &str, limit_s: u64, body: impl FnOnce()) {
    let _exclusive = Exclusive::acquire().unwrap();
    let session = || std::fs::read_to_string("/proc/self/autogroup").ok();
    let before = session();
    within(Duration::from_secs(3 * limit_s), what, body); // on a busy host
    assert!(Namespace::of_process(std::process::id()).is_empty());
    assert_eq!(session(), before);
}

/// A path that does not take a whole processor: what is not a matter of microseconds can be tested beside other work.
pub fn spec(mbit_per_s: u64, rtt_ms: u64, limit: Limit) -> PathSpec {
    let spec = PathSpec::new(BitRate::mbit_per_s(mbit_per_s), Duration::from_millis(rtt_ms), limit);
    PathSpec { waiting: Waiting::Sleep, ..spec }
}

/// One flow of so many bytes from the first sender, whose payload must arrive whole; and its end, at both ends.
pub fn carry(path: &Path, address: &str, algorithm: &str, bytes: u64) -> Delivered {
    let sending = |receiver: &Receiver| Sending {
        to: receiver.at(address),
        algorithm: Some(algorithm.to_owned()),
        amount: Amount::Bytes(bytes),
        pause: Duration::ZERO,
    };
    let work = || {
        let receiver = Receiver::start(path.endpoints().receiver(), "::").unwrap();
        let flows = Flows::start(path.endpoints().sender(0), &sending(&receiver), 1).unwrap();
        let delivered = flows.wait().unwrap().remove(0);
        assert!(receiver.failures().is_empty(), "{:?}", receiver.failures());
        delivered
    };
    let delivered = path.endpoints().affinity().at_endpoints(work).unwrap();
    assert_eq!(delivered.bytes, bytes);
    until_quiet(path);
    delivered
}

/// No timer of the senders repeats what was not lost.
pub fn without_probes(path: &Path) {
    path.endpoints().sender(0).set_sysctl("net/ipv4/tcp_early_retrans", "0").unwrap();
}

/// A counter of the kernel: `group` and `name` as in `/proc/net/snmp` and `/proc/net/netstat`, or a name of
/// `/proc/net/snmp6` without a group.
pub fn kernel_counter(namespace: &Namespace, group: &str, name: &str) -> u64 {
    let read = |file: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap();
    let text = namespace.enter(|| if group.is_empty() { read("snmp6") } else { read("snmp") + &read("netstat") });
    let text = text.unwrap();
    if group.is_empty() {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        return line.unwrap_or_else(|| panic!("no {name}: {text}"));
    }
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(group)?.strip_prefix(": "));
    let position = lines.next().unwrap().split(' ').position(|word| word == name);
    let position = position.unwrap_or_else(|| panic!("no {name} in {group}"));
    lines.next().unwrap().split(' ').nth(position).unwrap().parse().unwrap()
}

/// Retransmitted segments of a namespace, of all connections that it has had.
pub fn retransmitted(namespace: &Namespace) -> u64 {
    kernel_counter(namespace, "Tcp", "RetransSegs")
}

/// Waits until none of the path's connections has a packet on the way. What is sent later, between the reading of the devices
/// and the end of the router, is counted by one of them alone.
pub fn until_quiet(path: &Path) {
    let ends = [path.endpoints().sender(0), path.endpoints().receiver()];
    let all_ended = || match ends.map(connections).concat() {
        rest if rest.is_empty() => Ok(()),
        rest => Err(format!("connections: {rest:?}")),
    };
    eventually(Duration::from_secs(20), all_ended).unwrap();
}

/// Lines of `/proc/net/tcp` and `tcp6` for connections of which a packet can come: all but listeners and those whose last ACK
/// has been sent. That one has come as soon as the other end's connection is gone.
fn connections(namespace: &Namespace) -> Vec<String> {
    const TIME_WAIT: &str = "06";
    const LISTEN: &str = "0A";
    let read = |file: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap();
    let tables = namespace.enter(|| ["tcp", "tcp6"].map(read)).unwrap();
    let lines = tables.iter().flat_map(|table| table.lines().skip(1));
    let state = |line: &str| line.split_whitespace().nth(3).unwrap().to_owned();
    lines.filter(|line| ![TIME_WAIT, LISTEN].contains(&state(line).as_str())).map(str::to_owned).collect()
}

/// The kernel's devices and the router agree on every packet, and none was lost outside of the queue.
#[track_caller]
pub fn all_packets_are_accounted_for(report: &PathReport) {
    let router = &report.router;
    assert_eq!(router.refused_pkts, 0);
    assert_eq!(report.latency_probe.lost(), 0, "{:?}", report.latency_probe);
    let dropped: u64 = report.devices.iter().map(|device| device.dropped_pkts).sum();
    assert_eq!(dropped, 0, "{:?}", report.devices);
    let (receiver, senders) = report.devices.split_last().unwrap();
    let sent: u64 = senders.iter().map(|device| device.sent_pkts).sum();
    let arrived: u64 = senders.iter().map(|device| device.received_pkts).sum();
    let echoes = report.latency_probe.sent;
    let came = router.forward.all.arrived_pkts + router.reverse.all.arrived_pkts + router.strays_pkts;
    assert_eq!(sent + receiver.sent_pkts, came + 2 * echoes, "what the kernel sent has come to the router");
    assert_eq!(receiver.received_pkts, router.forward.all.delivered_pkts + echoes);
    assert_eq!(arrived, router.reverse.all.delivered_pkts + echoes);
}
