// SPDX-License-Identifier: GPL-2.0-only
//! What a setup means on the emulated path, and what cannot be had there.

use std::time::Duration;

use ccctl_sim::{BitRate, Limit, LinkSpec, Loss, TcpSpec};

use super::super::BackendError;
use super::NAME;
use crate::experiment::point_spec::Group;
use crate::experiment::PointSpec;
use ccctl_path::{NetemPath, PathSpec, SenderSpec};

/// IPv4, TCP, and time stamps.
const HEADERS_BYTES: u16 = 20 + 20 + 12;
/// What an IPv4 host must accept (RFC 791), and an IPv4 header can tell.
const PACKET_BYTES: std::ops::RangeInclusive<u32> = 576..=65_535;
/// The queue is looked at so often between two samples, within bounds.
const LOOKS: u32 = 10;
const LOOK: std::ops::RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_millis(10);

/// Whether the path and the kernel have all that a setup asks for.
pub(super) fn check(setup: &PointSpec) -> Result<(), BackendError> {
    let refuse = |what: &str, key: String| Err(BackendError::Unsupported { backend: NAME, what: what.to_owned(), key });
    let [link] = &setup.links[..] else {
        return refuse("several links in a row (a dumbbell has one)", "link".to_owned());
    };
    if !setup.stalls.is_empty() {
        return refuse("stalls on purpose", "run.stalls".to_owned());
    }
    let of_link = |key: &str| format!("link.{}.{key}", link.name);
    if !link.spec.jitter.is_zero() {
        return refuse("jitter", of_link("jitter"));
    }
    if !link.spec.tick.is_zero() {
        return refuse("ticks", of_link("tick"));
    }
    if let Some(what) = link.spec.queue.only_simulated() {
        return refuse(what, of_link("queue.kind"));
    }
    let Some(first) = groups(setup).next() else { return refuse("a run without flows", "flows.*.count".to_owned()) };
    if !PACKET_BYTES.contains(&first.packet_bytes()) {
        return refuse(&format!("packets of {} bytes (576 to 65535)", first.packet_bytes()), "tcp.mss".to_owned());
    }
    for group in groups(setup) {
        let of_group = |key: &str| format!("flows.{}.{key}", group.name);
        if group.reverse && group.tcp.initial_ssthresh_pkts.is_some() {
            return refuse("an initial slow-start threshold for reverse flows", of_group("tcp.initial_ssthresh"));
        }
        if group.tcp.accurate_ecn.is_some() || group.tcp.ect_1 {
            return refuse("Accurate ECN and ECT(1) as settings", of_group("tcp.accurate_ecn"));
        }
        if group.tcp.xcp {
            return refuse("XCP", of_group("tcp.xcp"));
        }
        if of_all(&group.tcp) != of_all(&first.tcp) {
            return refuse("TCP settings that differ between groups", of_group("tcp"));
        }
        if !group.access_jitter.is_zero() {
            return refuse("jitter on access links", of_group("access_jitter"));
        }
    }
    // What the kernel's receivers do; 0 asks for nothing.
    let has_pkts = path_spec(setup, 0).growing_window_pkts(first.tcp.mss_bytes);
    let growing_pkts = first.tcp.growing_window_pkts;
    if ![0, has_pkts].contains(&growing_pkts) {
        let what = format!("a receiver's window that grows over {growing_pkts} packets, not {has_pkts}");
        return refuse(&what, "tcp.growing_window".to_owned());
    }
    check_tcp(&first.tcp, setup).or_else(|(what, key)| refuse(what, format!("tcp.{key}")))
}

/// Whether netem has all that the path needs.
pub(super) fn check_netem(setup: &PointSpec) -> Result<(), BackendError> {
    let Some((what, key)) = NetemPath::lacks(&path_spec(setup, 0)) else { return Ok(()) };
    let key = format!("link.{}.{key}", setup.links[0].name);
    Err(BackendError::Unsupported { backend: "netns (netem)", what: what.to_owned(), key })
}

/// What all groups have in common: first thresholds are those of their routes.
fn of_all(tcp: &TcpSpec) -> TcpSpec {
    TcpSpec { initial_ssthresh_pkts: None, ..*tcp }
}

/// What the kernel does not have, and the key that asks for it.
fn check_tcp(tcp: &TcpSpec, setup: &PointSpec) -> Result<(), (&'static str, &'static str)> {
    let usual = TcpSpec::default();
    let window_pkts = path_spec(setup, 0).in_flight_bytes() / u64::from(tcp.mss_bytes + tcp.header_bytes).max(1);
    let unsupported = [
        (u64::from(tcp.max_window_pkts) < window_pkts, "a window below what path and queue hold", "max_window"),
        (
            ![1, usual.ack_every_pkts].contains(&tcp.ack_every_pkts),
            "other ACK intervals than 1 and 2 packets",
            "ack_every",
        ),
        (tcp.ack_delay != usual.ack_delay, "an ACK delay other than the kernel's", "ack_delay"),
        (tcp.quick_acks != usual.quick_acks, "a number of quick ACKs other than the kernel's", "quick_acks"),
        (!tcp.fast_retransmit, "losses that timeouts alone repair", "fast_retransmit"),
        (tcp.pacing && !usual.pacing, "pacing for algorithms that do not request it", "pacing"),
    ];
    match unsupported.into_iter().find(|(is_asked, ..)| *is_asked) {
        Some((_, what, key)) => Err((what, key)),
        None => Ok(()),
    }
}

/// Groups that have flows.
fn groups(setup: &PointSpec) -> impl Iterator<Item = &Group> {
    setup.groups.iter().filter(|group| !group.schedule.is_empty())
}

/// The path: one sender for each group, those without flows too, so that numbers are the same. The setup was checked, or is
/// about to be.
pub(super) fn path_spec(setup: &PointSpec, seed: u64) -> PathSpec {
    let link = &setup.links[0];
    let forward = link.spec.clone();
    let reverse = link.back_is_link.then(|| LinkSpec { loss: Loss::None, ..forward.clone() });
    let only_delay = if link.back_is_link { Duration::ZERO } else { forward.delay };
    let sender = |group: &Group| SenderSpec { delay: group.access_delay, delay_back: group.access_delay + only_delay };
    let usual = PathSpec::new(BitRate::mbit_per_s(1), Duration::ZERO, Limit::Packets(1));
    PathSpec {
        senders: setup.groups.iter().map(sender).collect(),
        forward,
        reverse,
        seed,
        mtu_bytes: groups(setup).next().map_or(usual.mtu_bytes, Group::packet_bytes),
        sampling: (setup.sample_interval / LOOKS).clamp(*LOOK.start(), *LOOK.end()),
        ..usual
    }
}

/// Sysctls of every namespace.
pub(super) fn sysctls(setup: &PointSpec) -> Vec<(&'static str, &'static str)> {
    let Some(tcp) = groups(setup).next().map(|group| group.tcp) else { return Vec::new() };
    let switch = |on: bool| if on { "1" } else { "0" };
    vec![
        ("net/ipv4/tcp_sack", switch(tcp.sack)),
        // 2: accepts it, and does not ask for it.
        ("net/ipv4/tcp_ecn", if tcp.ecn { "1" } else { "2" }),
        ("net/ipv4/tcp_timestamps", switch(has_time_stamps(&tcp))),
        ("net/ipv4/tcp_early_retrans", if tcp.tail_loss_probe { "3" } else { "0" }),
        ("net/ipv4/tcp_slow_start_after_idle", switch(tcp.slow_start_after_idle)),
        // The kernel holds back ACKs of packets that came out of order for a millisecond, and their RTTs are longer by that.
        ("net/ipv4/tcp_comp_sack_nr", "0"),
        // What a killed run has not sent would keep namespace and algorithm in the kernel for minutes.
        ("net/ipv4/tcp_orphan_retries", "1"),
    ]
}

/// Packets without room for them have none: data of a packet is what the scenario says.
fn has_time_stamps(tcp: &TcpSpec) -> bool {
    tcp.time_stamps && tcp.header_bytes >= HEADERS_BYTES
}

/// What the route to the receiver says of connections.
pub(super) fn route(setup: &PointSpec) -> Vec<String> {
    let Some(tcp) = groups(setup).next().map(|group| group.tcp) else { return Vec::new() };
    let (window, timeout) = (tcp.initial_window_pkts.to_string(), format!("{}ms", tcp.min_timeout.as_millis()));
    let mut words = vec!["initcwnd", &window, "rto_min", &timeout];
    if tcp.ack_every_pkts == 1 {
        words.extend(["quickack", "1"]); // tcp_in_quickack_mode: of the receiver's route
    }
    words.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    const SCENARIO: &str = r#"title = "A dumbbell"
[[link]]
name = "bottleneck"
rate = "622 Mbit/s"
delay = "48 ms"
queue = { kind = "droptail", size = "20 % BDP" }
[tcp]
mss = "960 bytes"
header = "40 bytes"
[[flows]]
name = "first"
algorithm = "cubic"
path = ["bottleneck"]
access_delay = "2 ms"
[[flows]]
name = "second"
algorithm = "reno"
path = ["bottleneck"]
access_delay = "5 ms"
[run]
duration = "10 s"
"#;

    fn setup(text: &str) -> PointSpec {
        Scenario::of_text(std::path::Path::new("s.toml"), text, &[]).unwrap().points.remove(0).setup
    }

    /// The base RTT of a group is twice the link's delay and twice its own.
    #[test]
    fn a_dumbbell_becomes_a_path_with_the_groups_rtts() {
        let setup = setup(SCENARIO);
        check(&setup).unwrap();
        let spec = path_spec(&setup, 7);
        let ms = Duration::from_millis;
        let senders: Vec<_> = spec.senders.iter().map(|it| (it.delay, it.delay_back)).collect();
        assert_eq!(senders, [(ms(2), ms(2 + 48)), (ms(5), ms(5 + 48))]);
        assert_eq!((spec.forward.delay, spec.mtu_bytes, spec.seed), (ms(48), 1000, 7));
        assert!(spec.reverse.is_none());
        assert!(sysctls(&setup).contains(&("net/ipv4/tcp_timestamps", "0")), "40 bytes of headers leave no space");
    }

    #[test]
    fn a_way_back_that_is_a_link_has_its_delay() {
        let setup = setup(
            &SCENARIO.replace("[tcp]", "back = \"link\"\nloss = { kind = \"bernoulli\", probability = 0.1 }\n[tcp]"),
        );
        let spec = path_spec(&setup, 1);
        let back = spec.reverse.unwrap();
        assert_eq!((back.delay, back.loss), (Duration::from_millis(48), ccctl_sim::Loss::None));
        assert_eq!(spec.senders[0].delay_back, Duration::from_millis(2));
    }

    /// Its receivers do in the simulator what they do on the kernel.
    #[test]
    fn the_cross_validation_has_the_windows_of_its_paths() {
        let text = crate::shipped::shipped().into_iter().find(|it| it.name == "cross-validation").unwrap().text;
        let scenario = Scenario::of_text(std::path::Path::new("s.toml"), text, &[]).unwrap();
        for point in &scenario.points {
            check(&point.setup).unwrap();
            assert_ne!(groups(&point.setup).next().unwrap().tcp.growing_window_pkts, 0);
        }
    }

    #[test]
    fn what_the_path_or_the_kernel_has_not_is_refused_by_name() {
        for (from, to, what) in [
            ("delay = \"48 ms\"", "delay = \"48 ms\"\njitter = \"1 ms\"", "jitter"),
            ("delay = \"48 ms\"", "delay = \"48 ms\"\ntick = \"1 ms\"", "ticks"),
            ("[run]", "[run]\nstalls = [[\"1 s\", \"2 ms\", \"0 s\"]]", "change run.stalls"),
            ("\"droptail\"", "\"codel\"", "CoDel"),
            ("\"droptail\"", "\"dualpi2\"", "DualPI2"),
            ("\"droptail\"", "\"step\"", "step marker"),
            ("\"droptail\"", "\"xcp\"", "XCP's router"),
            ("[run]", "[flows.tcp]\nect_1 = true\n[run]", "Accurate ECN"),
            ("mss = \"960 bytes\"", "mss = \"100 bytes\"", "packets of 140 bytes"),
            (
                "[run]",
                "reverse = true\n[flows.tcp]\ninitial_ssthresh = \"9 packets\"\n[run]",
                "flows.second.tcp.initial_ssthresh",
            ),
            ("[run]", "[flows.tcp]\nsack = false\n[run]", "change flows.second.tcp"),
            (
                "[[flows]]\nname = \"first\"",
                "max_window = \"100 packets\"\n[[flows]]\nname = \"first\"",
                "tcp.max_window",
            ),
            ("[[flows]]\nname = \"first\"", "growing_window = 9\n[[flows]]\nname = \"first\"", "over 9 packets, not 0"),
            ("[[flows]]\nname = \"first\"", "ack_every = 8\n[[flows]]\nname = \"first\"", "tcp.ack_every"),
        ] {
            assert!(SCENARIO.contains(from), "{from}");
            let error = check(&setup(&SCENARIO.replacen(from, to, 1))).unwrap_err().to_string();
            assert!(
                error.starts_with("the netns backend does not support ") && error.contains(what),
                "{what}: {error}"
            );
        }
    }
}
