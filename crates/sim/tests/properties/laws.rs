// SPDX-License-Identifier: GPL-2.0-only
//! Properties of single laws: prop-4 to prop-12, prop-25 and prop-26 of the vectors; prop-6 is in `tests/hstcp.rs`.

use std::sync::Arc;
use std::time::Duration;

use ccctl_catalog::ParameterSet;
use ccctl_sim::checks::any_window;
use ccctl_sim::{Ack, Flow, Instance};
use proptest::prelude::*;

use crate::every_history::for_algorithm;

const RTT: Duration = Duration::from_millis(100);

pub fn flow(algorithm: &str, parameters: &[(&str, u32)], cwnd_pkts: u32) -> Flow {
    let known = ccctl_catalog::algorithm(algorithm).expect("it exists");
    let mut set = ParameterSet::defaults(algorithm, &known.layout().parameters);
    for (member, integer) in parameters {
        set.set_member(member, *integer).expect("in range");
    }
    let instance = Instance::new(algorithm, &set).expect("it exists");
    Flow::new(Arc::new(instance), cwnd_pkts, 2, Duration::ZERO)
}

pub fn field(flow: &Flow, name: &str) -> i128 {
    flow.state(name).expect("a field of this algorithm")
}

/// One window of packets, acknowledged `stretch` at a time over one round trip.
fn one_window(flow: &mut Flow, stretch: u32) {
    let start = flow.now();
    let cwnd = flow.cwnd_pkts();
    let mut acked = 0;
    while acked < cwnd {
        let pkts = stretch.min(cwnd - acked);
        acked += pkts;
        flow.set_clock(start + RTT * acked / cwnd);
        flow.acked(&Ack::of(pkts, Some(RTT)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// prop-4
    #[test]
    fn reno_grows_by_one_a_window_however_acks_are_stretched(cwnd in 2_u32..5000, stretch in 1_u32..1000, windows in 1_u32..20) {
        let mut flow = flow("reno", &[], cwnd);
        for _ in 0..windows {
            one_window(&mut flow, stretch);
        }
        prop_assert_eq!(flow.cwnd_pkts(), cwnd + windows);
    }

    /// prop-7
    #[test]
    fn bic_remembers_no_more_than_the_window_of_the_second_of_two_falling_losses(first in 3_u32..1 << 20, fall in 1_u32..1 << 20) {
        let second = first - fall.min(first - 2);
        let mut flow = flow("bic", &[], first);
        flow.lost();
        flow.recovered();
        flow.set_cwnd(second);
        flow.lost();
        prop_assert!(field(&flow, "last_max_pkts") <= second.into());
    }

    /// prop-8: at most S_max a round trip, and at least B / smooth_part but for 1 %. The divisor is a whole number, as in
    /// Linux: W / S_max rounded down lets the step reach S_max + S_max^2 / (W - S_max), which matters below S_max^2.
    #[test]
    fn bic_steps_lie_between_its_smallest_and_its_largest(cwnd in 2000_u32..1 << 14, last_max in 1_u32..1 << 15) {
        let mut flow = flow("bic", &[], cwnd);
        prop_assert!(flow.set_state("last_max_pkts", last_max.into()));
        let rounds = 5; // of 0.2 packets at the least: 0.99 packets in five, shown as credit
        for _ in 0..rounds {
            let before = flow.cwnd_pkts();
            one_window(&mut flow, 1);
            let most = 32.0 + 32.0 * 32.0 / f64::from(before - 32) + 1.0;
            prop_assert!(f64::from(flow.cwnd_pkts() - before) <= most);
        }
        let credit = f64::from(flow.cwnd_cnt_pkts()) / (f64::from(flow.cwnd_pkts()) * 5.0);
        prop_assert!(f64::from(flow.cwnd_pkts() - cwnd) + credit >= f64::from(rounds) * 0.2 * 0.99);
    }

    /// prop-9: the curve begins at the window that the loss left. K has steps of 1/1024 s, which is 3 C K^2 / 1024 packets:
    /// 2 packets up to windows of about 30,000, 10 at 2^20.
    #[test]
    fn cubic_begins_where_the_loss_left_it(cwnd in 10_u32..1 << 20) {
        let mut flow = flow("cubic", &[], cwnd);
        flow.lost();
        flow.recovered();
        let epoch_cwnd = flow.cwnd_pkts();
        flow.acked(&Ack::of(1, None));
        let k = field(&flow, "k_q10s");
        let start = field(&flow, "origin_pkts") - ((410 * k * k * k) >> 40);
        let step = (3 * 410 * (k + 1) * (k + 1)) >> 40;
        prop_assert!((start - i128::from(epoch_cwnd)).unsigned_abs() <= 2.max(step as u128 + 1), "W(0) = {start}, window {epoch_cwnd}");
    }

    /// prop-10; one packet more where credit was earned before
    #[test]
    fn cubic_grows_by_no_more_than_half_a_round_trip(
        cwnd in any_window(), w_max in any_window(), stretch in 1_u32..1000, later_us in 0_u64..1_000_000_000,
    ) {
        let mut flow = flow("cubic", &[], cwnd.max(2));
        prop_assert!(flow.set_state("w_max_pkts", w_max.into()));
        flow.acked(&Ack::of(1, Some(RTT)));
        flow.advance(Duration::from_micros(later_us));
        for _ in 0..3 {
            let before = flow.cwnd_pkts();
            one_window(&mut flow, stretch);
            prop_assert!(flow.cwnd_pkts() <= before + before / 2 + 1, "{before} to {}", flow.cwnd_pkts());
        }
    }

    /// prop-12: from one millisecond to the next alpha rises by its slope, 10 + D / 2 per second, and by rounding
    #[test]
    fn htcp_alpha_rises_without_jumps(since_ms in 0_u64..2_000_000, later_ms in 0_u64..100_000) {
        let alpha = |ms| {
            let mut flow = flow("htcp", &[], 1000);
            flow.set_clock(Duration::from_millis(ms));
            flow.acked(&Ack::of(1, None));
            field(&flow, "alpha_q10")
        };
        let (now, next, later) = (alpha(since_ms), alpha(since_ms + 1), alpha(since_ms + later_ms));
        let slope = 1024.0 * (10.0 + since_ms as f64 / 2000.0) / 1000.0;
        prop_assert!(now <= next && now <= later);
        prop_assert!((next - now) as f64 <= slope + 2.0, "{now} to {next}");
    }
}

/// prop-5
#[test]
fn scalable_recovers_in_the_same_time_from_every_window() {
    let windows = (10..=15).flat_map(|power| [1 << power, (1 << power) - 1, (1 << power) / 3 * 2]);
    for cwnd in windows.chain([1 << 20]) {
        let mut flow = flow("scalable", &[], cwnd);
        flow.lost();
        flow.recovered();
        let mut rounds = 0;
        while flow.cwnd_pkts() < cwnd {
            one_window(&mut flow, 1);
            rounds += 1;
        }
        assert!((13..=14).contains(&rounds), "{rounds} round trips at {cwnd} packets");
    }
}

/// prop-11, after any history
#[test]
fn htcp_keeps_between_half_and_four_fifths_and_half_when_throughput_changed() {
    for_algorithm(ccctl_catalog::algorithm("htcp").expect("it exists"), 512, |history| {
        let instance = history.instance();
        let bound_pct = instance.layout().parameters.iter().zip(&history.parameters);
        let (_, bound_pct) =
            bound_pct.into_iter().find(|(parameter, _)| parameter.member == "delta_b_pct").expect("D_B");
        let mut flow = history.flow(instance.clone());
        let mut reductions = 0;
        for event in &history.events {
            let (rate, old_rate) = (field(&flow, "max_rate_pps"), field(&flow, "old_max_rate_pps"));
            let ssthresh_saved = field(&flow, "undo.valid");
            history.apply(&mut flow, *event);
            let beta = field(&flow, "beta_q7");
            prop_assert!((64..=102).contains(&beta), "beta {beta}/128");
            if ssthresh_saved == 0 && field(&flow, "undo.valid") == 1 {
                reductions += 1;
                let changed = (rate - old_rate).abs() * 100 > i128::from(*bound_pct) * old_rate;
                prop_assert!(beta == 64 || !(changed || reductions == 1), "beta {beta}/128 after {old_rate} to {rate}");
            }
        }
        Ok(())
    });
}

/// RFC 8257 section 3.3 with g = 1/16: of alpha 1 a window without marks leaves 15/16, whatever ECN was negotiated. Without ECN the
/// connection is Reno's.
#[test]
fn dctcp_follows_marks_with_accurate_ecn() {
    let mut flow = flow("dctcp", &[], 100);
    flow.restart_with_accurate_ecn();
    flow.end_round();
    flow.sampled(&Ack::of(100, Some(RTT)));
    assert_eq!(field(&flow, "alpha_q10"), 1024 - 64);
    flow.restart_without_ecn();
    assert!(flow.state("alpha_q10").is_none(), "Reno has none");
}

/// Mean window of Prague over 500 s, of an RTT in which every `spacing`-th packet is marked.
fn prague_window(rtt: Duration, spacing: u64) -> f64 {
    let mut flow = flow("prague", &[], 100);
    flow.restart_with_accurate_ecn();
    let (mut pkts, mut pkts_from_100_s) = (0_u64, 0);
    while flow.now() < Duration::from_secs(600) {
        if flow.now() < Duration::from_secs(100) {
            pkts_from_100_s = pkts;
        }
        let window = field(&flow, "cwnd_q20") as f64 / f64::from(1 << 20);
        flow.advance(rtt.div_f64(window));
        pkts += 1;
        let marked_pkts = u32::from(pkts.is_multiple_of(spacing));
        flow.acked(&Ack { marked_pkts, ..Ack::of(1, Some(rtt)) });
    }
    (pkts - pkts_from_100_s) as f64 * rtt.as_secs_f64() / 500.0
}

/// The draft's law at a steady share p of marks: growth of 1 - p a virtual RTT meets a cut of p W / 2, so W = 2 (1 - p) / p, two
/// marks a virtual RTT. A cut waits for a mark, at most half a virtual RTT: then W is that much more. Below T the window is in
/// proportion to the RTT, so that the rate is that of an RTT of T.
#[test]
fn prague_has_two_marks_in_a_virtual_rtt_at_any_rate() {
    for spacing in [10, 50, 500] {
        let p = 1.0 / spacing as f64;
        for (rtt_ms, share) in [(5, 0.2), (20, 0.8), (25, 1.0), (100, 1.0)] {
            let expected = 2.0 * (1.0 - p) / p * share;
            let window = prague_window(Duration::from_millis(rtt_ms), spacing);
            println!("1 of {spacing}, {rtt_ms} ms: {window:.1} packets, {expected:.1} by the law");
            assert!(
                (0.95..1.5).contains(&(window / expected)),
                "1 of {spacing}, {rtt_ms} ms: {window}, not {expected}"
            );
        }
    }
}

/// prop-25: alpha stays a share, and follows windows that are all marked, or not at all, to the end
#[test]
fn dctcp_alpha_follows_the_marked_share() {
    for_algorithm(ccctl_catalog::algorithm("dctcp").expect("it exists"), 256, |history| {
        let mut flow = history.flow(history.instance());
        for event in &history.events {
            history.apply(&mut flow, *event);
            prop_assert!((0..=1024).contains(&field(&flow, "alpha_q10")));
        }
        for (marked_pkts, goal) in [(100, 1024), (0, 0)] {
            for _ in 0..20_000 {
                flow.end_round();
                flow.sampled(&Ack { marked_pkts, ..Ack::of(100, None) });
            }
            prop_assert_eq!(field(&flow, "alpha_q10"), goal);
        }
        Ok(())
    });
}
