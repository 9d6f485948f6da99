// SPDX-License-Identifier: GPL-2.0-only
//! Flows of low priority: alone they have most of the path, beside another they leave it.

use std::time::Duration;

use ccctl_sim::{FlowSpec, Limit, Queue};

use crate::{link, ms, Dumbbell};

const ALGORITHMS: [&str; 2] = ["lp", "highspeed_lp"];

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A queue of one bandwidth-delay product, and a receiver that delays ACKs by up to 40 ms.
fn path(megabits: u64, rtt: Duration) -> Dumbbell {
    let pkts = megabits * rtt.as_micros() as u64 / 12_000;
    Dumbbell::new(&link(megabits, Queue::DropTail(Limit::Packets((pkts as u32).max(20)))))
}

/// Halved when the queue begins and raised by a packet a round trip the window is between half the path and all of it: 3/4,
/// less 3 RTT without growth in each cycle.
#[test]
fn alone_it_has_most_of_the_path_although_acks_are_delayed() {
    for algorithm in ALGORITHMS {
        for (megabits, rtt) in [(20, ms(40)), (5, ms(40)), (1, ms(40)), (100, ms(20))] {
            let mut dumbbell = path(megabits, rtt).with(algorithm, rtt, |_| {});
            dumbbell.run_until(seconds(20));
            let used = dumbbell.utilisation_until(seconds(100));
            assert!(used > 0.6, "{algorithm} has {used:.2} of {megabits} Mbit/s, {rtt:?}");
        }
    }
}

/// 10 ms are less than 16 ticks of a time stamp: the RTT, with what delayed ACKs add to it, stands for the one-way delay. Of the
/// window that grows faster this costs more.
#[test]
fn where_ticks_are_too_coarse_the_rtt_serves() {
    for (algorithm, least) in [("lp", 0.6), ("highspeed_lp", 0.4)] {
        let mut dumbbell = path(100, ms(10)).with(algorithm, ms(10), |_| {});
        dumbbell.run_until(seconds(20));
        let used = dumbbell.utilisation_until(seconds(100));
        assert!(used > least, "{algorithm} has {used:.2}");
    }
}

/// What other flows fill it leaves, but for two packets of its own in their queue, of some 67; and takes when they are gone.
#[test]
fn beside_reno_it_leaves_the_path_and_has_it_back_afterwards() {
    for algorithm in ALGORITHMS {
        let rtt = ms(40);
        let stop = |flow: &mut FlowSpec| flow.stop = Some(seconds(100));
        let mut dumbbell = path(20, rtt).with(algorithm, rtt, |_| {}).with("reno", rtt, stop);
        dumbbell.run_until(seconds(20));
        let before_bytes = dumbbell.flow(0).received_bytes();
        let used = dumbbell.utilisation_until(seconds(100));
        let share = (dumbbell.flow(0).received_bytes() - before_bytes) as f64 * 8.0 / 20e6 / 80.0;
        assert!(share < 0.06 && used > 0.98, "{algorithm} has {share:.3}, both {used:.3}");
        dumbbell.run_until(seconds(120));
        let alone = dumbbell.utilisation_until(seconds(200));
        assert!(alone > 0.4, "{algorithm} has {alone:.2} when it is alone again");
    }
}

/// Without the three rules that the papers do not have, and with the paper's own law as it is written, it stays at one
/// packet: this is what they are for.
#[test]
fn by_the_papers_rule_delayed_acks_keep_it_at_one_packet() {
    for algorithm in ALGORITHMS {
        let rtt = ms(40);
        let mut dumbbell = path(20, rtt).with(algorithm, rtt, |flow| {
            let set = [("delayed_acks", "on"), ("reaction_rtts", "0"), ("own_queue_pkts", "0")];
            flow.instance = crate::instance_with(algorithm, &set);
        });
        dumbbell.run_until(seconds(20));
        let used = dumbbell.utilisation_until(seconds(100));
        assert!(used < 0.05, "{algorithm} has {used:.2}");
    }
}
