// SPDX-License-Identifier: GPL-2.0-only
//! Laws of single algorithms that can be worked out on paper.

use std::time::Duration;

use ccctl_sim::{FlowSpec, Limit, Loss, Probability, Queue};

use crate::{assert_near, link, lossy, ms, Dumbbell, PKT_BITS};

/// Mean window of a flow that loses one of so many packets, over many losses.
fn window_under_loss(algorithm: &str, one_in: u64, rtt: Duration, change: impl FnOnce(&mut FlowSpec)) -> f64 {
    let loss = Loss::Bernoulli(Probability::ratio(1, one_in));
    let mut dumbbell = lossy(algorithm, 10_000, rtt, loss, change);
    dumbbell.run_until(rtt * 500);
    let (before, losses) = (dumbbell.flow(0).received_pkts(), 1500);
    let mut rounds = 0;
    while dumbbell.link().lost_pkts < losses {
        rounds += 500;
        dumbbell.run_until(rtt * (500 + rounds));
    }
    (dumbbell.flow(0).received_pkts() - before) as f64 / f64::from(rounds)
}

/// T. Ott, J. Kemperman, M. Mathis, "The stationary behavior of ideal TCP congestion avoidance", 1996: under independent
/// losses the mean window over time is 1.3098 / sqrt(p); the 1.22 of periodic losses (Mathis et al., 1997) is its lower
/// neighbour. 1500 losses tell the mean within 2 %; a recovery takes a round trip in which the window does not grow, which
/// is one of sqrt(2/p)/2 or so; and two losses of one window count as one.
#[test]
fn reno_follows_the_square_root_of_the_loss_rate() {
    for (one_in, tolerance) in [(1000, 0.08), (10_000, 0.05)] {
        let window = window_under_loss("reno", one_in, ms(50), |_| {});
        assert_near(window, 1.3098 * (one_in as f64).sqrt(), tolerance, "mean window");
    }
}

/// The same without selective acknowledgements, and with one ACK for eight packets: bytes are counted, not ACKs.
#[test]
fn neither_newreno_nor_stretch_acks_change_that() {
    let newreno = window_under_loss("reno", 10_000, ms(50), |flow| flow.tcp.sack = false);
    assert_near(newreno, 1.3098 * 100.0, 0.05, "mean window of NewReno");
    let stretched = window_under_loss("reno", 10_000, ms(50), |flow| flow.tcp.ack_every_pkts = 8);
    assert_near(stretched, 1.3098 * 100.0, 0.06, "mean window with stretch ACKs");
}

/// J. Padhye et al., "Modeling TCP throughput", SIGCOMM 1998, equation 30 (b = 1): with timeouts. The model's losses are in
/// bursts to the end of a round and it counts every timeout that NewReno had then; of its own measurements it is often 20 %
/// off, and so it may be here.
#[test]
fn frequent_losses_lead_to_the_timeouts_that_padhye_reckons_with() {
    for one_in in [20_u32, 50, 100] {
        let (p, rtt_s, timeout_s) = (1.0 / f64::from(one_in), 0.1, 0.3);
        let window = window_under_loss("reno", one_in.into(), ms(100), |flow| {
            flow.tcp.sack = false;
            flow.tcp.tail_loss_probe = false;
        });
        let idle_s = timeout_s * (3.0 * (3.0 * p / 8.0_f64).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p);
        let expected = rtt_s / (rtt_s * (2.0 * p / 3.0).sqrt() + idle_s);
        assert_near(window, expected, 0.25, "mean window");
    }
}

/// T. Kelly, 2003: ln W grows by ln 1.01 a round trip and falls by ln 8/7 at each of p W losses of one, whatever W's
/// distribution is: E W = ln 1.01 / (p ln 8/7) = 0.0745 / p. In the round trip of a recovery, one of 14, it does not grow.
#[test]
fn scalable_is_inversely_proportional_to_the_loss_rate() {
    for one_in in [2000, 10_000] {
        let window = window_under_loss("scalable", one_in, ms(50), |_| {});
        assert_near(window, 1.01_f64.ln() / (8.0 / 7.0_f64).ln() * one_in as f64, 0.08, "mean window");
    }
}

/// Rounds from one loss to the next.
fn period_rounds(algorithm: &str, megabits: u64, buffer_pkts: u32, rtt: Duration, rounds: u32) -> f64 {
    let queue = Queue::DropTail(Limit::Packets(buffer_pkts));
    let mut dumbbell = Dumbbell::new(&link(megabits, queue)).with(algorithm, rtt, |_| {});
    dumbbell.run_until(rtt * 1000); // slow start may have ended far below
    let before = dumbbell.flow(0).counters().recoveries;
    dumbbell.run_until(rtt * (1000 + rounds));
    f64::from(rounds) / (dumbbell.flow(0).counters().recoveries - before) as f64
}

/// ln(8/7) / ln(1.01) = 13.4 rounds of growth at any rate. Then two in recovery: W grows by W/100 in the round until the first
/// loss is known, so packets are lost all through that round, and the last of them is repaired two rounds later.
#[test]
fn scalable_recovers_in_the_same_time_at_every_rate() {
    for megabits in [200, 1000] {
        let rounds = period_rounds("scalable", megabits, megabits as u32 / 10, ms(50), 4000);
        assert_near(rounds, 13.4 + 2.0, 0.05, "rounds");
    }
}

/// A sawtooth of Reno's between N and N/2, N = delay-bandwidth product and buffer: N / 2 rounds.
struct Sawtooth {
    bdp_pkts: f64,
    peak_pkts: f64,
    rtt_s: f64,
}

impl Sawtooth {
    fn new(megabits: u64, buffer_pkts: u32, rtt: Duration) -> Self {
        let bdp_pkts = megabits as f64 * 1e6 * rtt.as_secs_f64() / PKT_BITS;
        Self { bdp_pkts, peak_pkts: bdp_pkts + f64::from(buffer_pkts) + 1.0, rtt_s: rtt.as_secs_f64() }
    }

    /// Rounds below the delay-bandwidth product take an RTT, those above W over the rate.
    fn period_s(&self) -> f64 {
        let (bdp, peak) = (self.bdp_pkts, self.peak_pkts);
        let trough = peak / 2.0;
        let queued = (peak * peak - trough.max(bdp).powi(2)) / (2.0 * bdp);
        self.rtt_s * ((bdp - trough).max(0.0) + queued)
    }

    fn utilisation(&self) -> f64 {
        let pkts = 3.0 / 8.0 * self.peak_pkts * self.peak_pkts;
        pkts * self.rtt_s / self.bdp_pkts / self.period_s()
    }
}

fn reno_on_a_buffer(buffer_pct: u32, change: impl FnOnce(&mut FlowSpec)) -> (Dumbbell, Sawtooth) {
    let (megabits, rtt) = (100, ms(48)); // 400 packets
    let buffer_pkts = 4 * buffer_pct;
    let dumbbell =
        Dumbbell::new(&link(megabits, Queue::DropTail(Limit::Packets(buffer_pkts)))).with("reno", rtt, change);
    (dumbbell, Sawtooth::new(megabits, buffer_pkts, rtt))
}

/// C. Villamizar, C. Song, 1994, worked out: without a buffer three quarters of the link are used, with one of the
/// delay-bandwidth product all of it.
#[test]
fn utilisation_rises_with_the_buffer_to_one() {
    for buffer_pct in [5, 25, 50, 100] {
        let (mut dumbbell, sawtooth) = reno_on_a_buffer(buffer_pct, |_| {});
        dumbbell.run_until(Duration::from_secs(60));
        let utilisation = dumbbell.utilisation_until(Duration::from_secs(600));
        assert_near(utilisation, sawtooth.utilisation(), 0.015, &format!("utilisation, buffer {buffer_pct} %"));
    }
}

/// The window at the loss is what the path holds, within the two packets that one ACK may release beyond it; half of it is
/// the threshold; and the period is that of the closed form, but for the round in which the loss is repaired.
#[test]
fn the_sawtooth_has_its_amplitude_and_period() {
    for (buffer_pct, sack) in [(25, true), (100, true), (100, false)] {
        let (mut dumbbell, sawtooth) = reno_on_a_buffer(buffer_pct, |flow| flow.tcp.sack = sack);
        dumbbell.run_until(Duration::from_secs(60));
        let before = dumbbell.flow(0).counters().recoveries;
        let end = Duration::from_secs(1260);
        let seen = dumbbell.sample(ms(500), end, |dumbbell| (dumbbell.flow(0).ssthresh_pkts(), dumbbell.queue_pkts()));
        let cycles = (dumbbell.flow(0).counters().recoveries - before) as f64;
        assert_near(1200.0 / cycles, sawtooth.period_s(), 0.03, "period");
        let half = sawtooth.peak_pkts / 2.0;
        for (ssthresh_pkts, _) in seen {
            assert!((f64::from(ssthresh_pkts) - half).abs() <= 3.0, "ssthresh {ssthresh_pkts}, half is {half}");
        }
        assert_eq!(dumbbell.flow(0).counters().timeouts, 0);
    }
}
