// SPDX-License-Identifier: GPL-2.0-only
//! The queue of the emulated path: what it drops, loses and marks is what the kernel's TCP notices, packet by packet.
//!
//! None of this needs a quiet machine: the queue is exact for the packets' times of arrival, whenever that is.

use crate::support::{
    all_packets_are_accounted_for, carry, kernel_counter, retransmitted, spec, test, without_probes, RECEIVER_V4,
    RECEIVER_V6,
};
use ccctl_path::{Path, PathSpec};
use ccctl_sim::{Limit, Loss, Probability, Queue};

/// With SACK and without reordering a sender repeats exactly what was dropped.
#[test]
fn drops_are_the_retransmissions_of_the_sender() {
    test("drop-tail", 60, || {
        for (algorithm, address) in [("reno", RECEIVER_V4), ("cubic", RECEIVER_V6)] {
            let path = Path::start(&spec(50, 20, Limit::Packets(40))).unwrap();
            without_probes(&path);
            carry(&path, address, algorithm, 12_000_000);
            let repeated = retransmitted(path.endpoints().sender(0));
            let report = path.stop().unwrap();
            let forward = &report.router.forward;
            println!("{algorithm}: {repeated} retransmissions, {:?}", forward.all);
            assert!(forward.all.dropped_full_pkts > 0);
            assert_eq!(forward.all.dropped_pkts(), repeated);
            assert_eq!(forward.max_queue_pkts, 40);
            assert!(report.router.series.iter().all(|sample| sample.forward.queue_pkts <= 40));
            assert!(report.router.series.iter().any(|sample| sample.forward.queue_pkts >= 20));
            all_packets_are_accounted_for(&report);
        }
    });
}

/// Full-sized packets: one more than fits was dropped, so less than one is free.
#[test]
fn a_queue_of_bytes_is_never_over_its_limit() {
    test("bytes", 60, || {
        let path = Path::start(&spec(50, 20, Limit::Bytes(70_000))).unwrap();
        without_probes(&path);
        carry(&path, RECEIVER_V4, "cubic", 10_000_000);
        let repeated = retransmitted(path.endpoints().sender(0));
        let report = path.stop().unwrap();
        let forward = &report.router.forward;
        assert!(forward.all.dropped_full_pkts > 0);
        assert_eq!(forward.all.dropped_pkts(), repeated);
        assert!((68_501..=70_000).contains(&forward.max_queue_bytes), "{forward:?}");
        all_packets_are_accounted_for(&report);
    });
}

/// Binomial: five deviations. BBR goes on where losses would stop others.
#[test]
fn losses_have_their_probability_and_are_repaired() {
    test("loss", 60, || {
        let mut spec = spec(50, 10, Limit::Packets(1000));
        spec.forward.loss = Loss::Bernoulli(Probability::ratio(1, 100));
        let path = Path::start(&spec).unwrap();
        without_probes(&path);
        carry(&path, RECEIVER_V4, "bbr", 20_000_000);
        let repeated = retransmitted(path.endpoints().sender(0));
        let report = path.stop().unwrap();
        let all = report.router.forward.all;
        let expected = all.arrived_pkts as f64 * 0.01;
        println!("{} of {} lost, {expected} expected, {repeated} repeated", all.lost_pkts, all.arrived_pkts);
        assert!(all.arrived_pkts > 10_000);
        assert!((all.lost_pkts as f64 - expected).abs() < 5.0 * (expected * 0.99).sqrt());
        assert_eq!(all.dropped_pkts(), 0, "BBR keeps the queue far below 1000 packets");
        assert!(repeated >= all.lost_pkts, "a lost packet was not repeated");
        all_packets_are_accounted_for(&report);
    });
}

/// The receiver's kernel counts the packets that come with "congestion experienced".
#[test]
fn marks_are_those_that_the_receiver_sees() {
    test("marks", 60, || {
        for (address, group, name) in [(RECEIVER_V4, "IpExt", "InCEPkts"), (RECEIVER_V6, "", "Ip6InCEPkts")] {
            let base = spec(50, 20, Limit::Packets(500));
            let mut forward = base.forward.clone();
            forward.queue = Queue::Threshold { mark_above_pkts: 30, limit: Limit::Packets(500) };
            let path = Path::start(&PathSpec { forward, ..base }).unwrap();
            for end in [path.endpoints().sender(0), path.endpoints().receiver()] {
                end.set_sysctl("net/ipv4/tcp_ecn", "1").unwrap();
            }
            without_probes(&path);
            carry(&path, address, "reno", 12_000_000);
            let (seen, repeated) =
                (kernel_counter(path.endpoints().receiver(), group, name), retransmitted(path.endpoints().sender(0)));
            let report = path.stop().unwrap();
            let all = report.router.forward.all;
            println!("{address}: {seen} marks seen, {all:?}");
            assert!(seen > 0);
            assert_eq!(all.delivered_marked_pkts, seen);
            assert_eq!((all.dropped_pkts(), repeated), (0, 0), "marks take the place of drops");
            all_packets_are_accounted_for(&report);
        }
    });
}
