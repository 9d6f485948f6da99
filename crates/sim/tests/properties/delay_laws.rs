// SPDX-License-Identifier: GPL-2.0-only
//! Properties of the laws that go by delay: prop-13 to prop-24 of the vectors.

use std::time::Duration;

use ccctl_sim::checks::any_window;
use ccctl_sim::{Ack, Flow};
use proptest::prelude::*;

use crate::laws::{field, flow};

const BASE_US: u64 = 100_000;

fn ack(flow: &mut Flow, rtt_us: u64) {
    flow.acked(&Ack::of(1, Some(Duration::from_micros(rtt_us))));
}

/// A round of a few ACKs, enough for the law to judge the queue, but too few to earn a packet.
fn judged_round(flow: &mut Flow, rtt_us: u64) {
    for _ in 0..3 {
        ack(flow, rtt_us);
    }
    flow.end_round();
    ack(flow, rtt_us);
}

/// A flow that has seen a base RTT of 100 ms.
fn on_path(algorithm: &str, parameters: &[(&str, u32)], cwnd: u32, base_field: &str) -> Flow {
    let mut flow = flow(algorithm, parameters, cwnd);
    assert!(flow.set_state(base_field, BASE_US.into()));
    flow
}

fn compound(burst_control: &str, tuning: &str, cwnd: u32, dwnd: u32) -> Flow {
    let mut flow = compound_with(burst_control, tuning, 2, cwnd);
    assert!(flow.set_state("dwnd_q8", (dwnd << 8).into()));
    flow
}

fn compound_with(burst_control: &str, tuning: &str, lambda_shift: u32, cwnd: u32) -> Flow {
    let known = ccctl_catalog::algorithm("compound").expect("it exists");
    let mut set = ccctl_catalog::ParameterSet::defaults("compound", &known.layout().parameters);
    let lambda = lambda_shift.to_string();
    for (name, value) in [("burst_control", burst_control), ("gamma_tuning", tuning), ("lambda_shift", &lambda)] {
        set.set(name, value).expect("in range");
    }
    let instance = ccctl_sim::Instance::new("compound", &set).expect("it exists");
    let mut flow = Flow::new(std::sync::Arc::new(instance), cwnd, 2, Duration::ZERO);
    assert!(flow.set_state("rtt.base_us", BASE_US.into()));
    flow
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// prop-13
    #[test]
    fn fast_at_most_doubles_and_keeps_two(cwnd in 2_u32..1 << 20, queue_us in 1000_u64..10_000_000, alpha in 1_u32..10_000) {
        let mut flow = on_path("fast", &[("alpha_pkts", alpha)], cwnd, "base_rtt_us");
        flow.end_round();
        ack(&mut flow, BASE_US + queue_us);
        prop_assert!(u64::from(flow.cwnd_pkts()) <= 2 * u64::from(cwnd));
        prop_assert!(flow.cwnd_pkts() >= 2);
    }

    /// prop-14: where the queue holds alpha packets, the equation leaves the window alone
    #[test]
    fn fast_rests_where_its_queue_holds_alpha(alpha in 10_u32..1000, queue_us in 5000_u64..200_000) {
        let rtt_us = BASE_US + queue_us;
        let start = (u64::from(alpha) * rtt_us / queue_us) as u32;
        let mut flow = on_path("fast", &[("alpha_pkts", alpha)], start.max(2), "base_rtt_us");
        for _ in 0..200 {
            flow.end_round();
            ack(&mut flow, rtt_us);
        }
        let queued = f64::from(flow.cwnd_pkts()) * queue_us as f64 / rtt_us as f64;
        prop_assert!((queued - f64::from(alpha)).abs() <= 1.0, "{queued} packets queued, alpha {alpha}");
    }

    /// prop-15
    #[test]
    fn compound_halves_both_windows_on_loss(cwnd in 4_u32..1 << 20, share in 0_u32..100) {
        let dwnd = (u64::from(cwnd - 1) * u64::from(share) / 100) as u32;
        let lwnd = cwnd - dwnd;
        let mut flow = compound("off", "off", cwnd, dwnd);
        ack(&mut flow, BASE_US);
        flow.lost();
        flow.recovered();
        let expected = (cwnd / 2).max(lwnd / 2);
        prop_assert!(flow.cwnd_pkts().abs_diff(expected) <= 1, "{} of {cwnd} and {dwnd}", flow.cwnd_pkts());
        let dwnd_after = field(&flow, "dwnd_q8");
        prop_assert!((0..=i128::from(flow.cwnd_pkts()) << 8).contains(&dwnd_after));
    }

    /// prop-16: burst control only ever slows growth, and only between gamma_low and gamma
    #[test]
    fn compound_burst_control_only_slows(cwnd in 50_u32..1 << 18, share in 0_u32..90, queue_us in 0_u64..20_000) {
        let dwnd = (u64::from(cwnd) * u64::from(share) / 100) as u32;
        let [muted, partial, off] = ["muted", "partial", "off"].map(|burst_control| {
            let mut flow = compound(burst_control, "off", cwnd, dwnd);
            judged_round(&mut flow, BASE_US + queue_us);
            field(&flow, "dwnd_q8")
        });
        prop_assert!(muted <= partial && partial <= off, "{muted} {partial} {off}");
        let diff = f64::from(cwnd) * queue_us as f64 / (BASE_US + queue_us) as f64;
        if !(4.9..30.1).contains(&diff) {
            prop_assert!(muted == off, "diff {diff}: {muted} {off}");
        }
    }

    /// prop-17
    #[test]
    fn compound_does_not_grow_into_a_queue_or_below_its_low_window(cwnd in 4_u32..1 << 18, queue_us in 0_u64..2_000_000) {
        let mut flow = compound("off", "off", cwnd, 0);
        judged_round(&mut flow, BASE_US + queue_us);
        let diff = f64::from(cwnd) * queue_us as f64 / (BASE_US + queue_us) as f64;
        if diff >= 30.1 || cwnd < 40 {
            prop_assert_eq!(field(&flow, "dwnd_q8"), 0);
        }
    }

    /// prop-18 and prop-19: gamma stays in its bounds, changes at losses only, and follows the Reno part no higher than
    /// the whole window; without a delay window the two are one
    #[test]
    fn compound_gamma_changes_at_losses_and_less_by_the_reno_part(
        cwnd in 50_u32..1 << 16, share in 0_u32..90, queues_us in prop::collection::vec(0_u64..100_000, 1..8),
    ) {
        let dwnd = (u64::from(cwnd) * u64::from(share) / 100) as u32;
        let gammas = ["diffwnd", "losswindow"].map(|tuning| {
            let mut flow = compound("muted", tuning, cwnd, dwnd);
            let mut seen = Vec::new();
            for queue_us in &queues_us {
                let before = field(&flow, "gamma_q8");
                judged_round(&mut flow, BASE_US + queue_us);
                assert_eq!(field(&flow, "gamma_q8"), before, "gamma changed without a loss");
                flow.lost();
                flow.recovered();
                seen.push(field(&flow, "gamma_q8"));
            }
            seen
        });
        for (by_reno, by_all) in gammas[0].iter().zip(&gammas[1]) {
            prop_assert!((5 << 8..=30 << 8).contains(by_reno) && (5 << 8..=30 << 8).contains(by_all));
        }
        prop_assert!(gammas[0][0] <= gammas[1][0]);
        if dwnd == 0 {
            prop_assert_eq!(gammas[0][0], gammas[1][0]);
        }
    }

    /// prop-20: with a constant sample the distance to it shrinks by 1 - lambda at each loss
    #[test]
    fn compound_gamma_converges(lambda_shift in 0_u32..=6, aim in 6_i32..30) {
        let mut flow = compound_with("muted", "losswindow", lambda_shift, 1000);
        // 3/4 diff = aim: the field is what the last round measured
        let diff_q8 = (aim << 8) * 4 / 3;
        let aim_q8 = i128::from(diff_q8 * 3 / 4);
        for _ in 0..10 {
            let before = (field(&flow, "gamma_q8") - aim_q8).abs();
            prop_assert!(flow.set_state("total_diff_q8", diff_q8.into()));
            flow.lost();
            flow.recovered();
            let after = (field(&flow, "gamma_q8") - aim_q8).abs();
            let expected = before - (before >> lambda_shift);
            prop_assert!((after - expected).abs() <= 1, "{before} to {after}, expected {expected}");
        }
    }

    /// prop-21
    #[test]
    fn yeah_decongests_to_no_less_than_half_or_than_renos_share(cwnd in 2_u32..1 << 20, reno in 2_u32..1 << 20, queue_us in 0_u64..5_000_000) {
        let mut flow = on_path("yeah", &[], cwnd, "rtt.base_us");
        prop_assert!(flow.set_state("reno_count_pkts", reno.into()));
        judged_round(&mut flow, BASE_US + queue_us);
        prop_assert!(flow.cwnd_pkts() >= (cwnd / 2).max(reno.min(cwnd)), "{cwnd} fell to {}", flow.cwnd_pkts());
    }

    /// prop-22
    #[test]
    fn yeah_gives_up_between_an_eighth_and_a_half(cwnd in 8_u32..1 << 20, queue in 0_u32..1 << 20, slow in 0_u32..100) {
        let mut flow = on_path("yeah", &[], cwnd, "rtt.base_us");
        prop_assert!(flow.set_state("queue_pkts", queue.into()) && flow.set_state("slow_rtts", slow.into()));
        flow.lost();
        flow.recovered();
        let given_up = cwnd - flow.cwnd_pkts();
        prop_assert!((cwnd / 8..=cwnd.div_ceil(2)).contains(&given_up), "{given_up} of {cwnd}");
    }

    /// prop-23
    #[test]
    fn westwood_leaves_recovery_with_no_more_than_the_path_holds(cwnd in any_window(), bandwidth_q24 in 1_u32..u32::MAX, min_rtt_us in 10_u64..10_000_000) {
        let mut flow = flow("westwood", &[], cwnd);
        prop_assert!(flow.set_state("bandwidth_q24", bandwidth_q24.into()) && flow.set_state("min_rtt_us", min_rtt_us.into()));
        flow.lost();
        flow.recovered();
        let pipe = (u128::from(bandwidth_q24) * u128::from(min_rtt_us)) >> 24;
        prop_assert!(u128::from(flow.cwnd_pkts()) <= pipe.max(2));
    }

    /// prop-24
    #[test]
    fn illinois_slows_growth_and_deepens_the_cut_with_delay(shorter_us in 0_u64..100_000, longer_us in 0_u64..100_000) {
        let after = |queue_us: u64| {
            let mut flow = on_path("illinois", &[], 1000, "base_rtt_us");
            assert!(flow.set_state("max_rtt_us", (2 * BASE_US).into()) && flow.set_state("was_high", 1));
            // the fifth round of low delay is the first that grows fastest again
            assert!(flow.set_state("low_rounds", 4));
            flow.end_round();
            ack(&mut flow, BASE_US + queue_us);
            (field(&flow, "alpha_q7"), field(&flow, "beta_q6"))
        };
        let (less, more) = (after(shorter_us.min(longer_us)), after(shorter_us.max(longer_us)));
        prop_assert!((38..=1280).contains(&less.0) && (38..=1280).contains(&more.0));
        prop_assert!((8..=32).contains(&less.1) && (8..=32).contains(&more.1));
        prop_assert!(more.0 <= less.0 && more.1 >= less.1, "{less:?} {more:?}");
    }

    /// A backoff from W to s = 0.7071 W takes one packet from the window for each W / (W - s) acknowledged: s is left when all
    /// of W is. A loss among them is of the same window and lowers it no further. (A factor that makes a backoff certain.)
    #[test]
    fn cdg_spreads_a_backoff_over_the_packets_of_its_window(cwnd in 8_u32..100_000, pieces in 1_u32..64, loses in any::<bool>()) {
        let mut flow = flow("cdg", &[("backoff_factor_ppm", 10_000)], cwnd);
        for rtt_us in [BASE_US, BASE_US, BASE_US + 50_000] {
            flow.end_round();
            ack(&mut flow, rtt_us);
        }
        let kept = (u64::from(cwnd) * 724 / 1024) as u32;
        prop_assert_eq!((field(&flow, "backing_off"), flow.cwnd_pkts(), flow.ssthresh_pkts()), (1, cwnd, kept));
        let mut acked = 0;
        while acked < cwnd {
            let pkts = cwnd.div_ceil(pieces).min(cwnd - acked);
            acked += pkts;
            flow.acked(&Ack::of(pkts, None));
            let less = f64::from(cwnd - kept) * f64::from(acked) / f64::from(cwnd);
            prop_assert_eq!(flow.cwnd_pkts(), cwnd - less.floor() as u32);
            if loses && acked > cwnd / 2 {
                flow.lost();
                prop_assert_eq!((flow.ssthresh_pkts(), field(&flow, "backing_off")), (kept, 0));
                return Ok(());
            }
        }
        prop_assert_eq!(flow.cwnd_pkts(), kept);
    }
}

/// Ten packets of each window come in 100 ms and one ACK covers them all, whatever passes until the next window is sent: the path
/// carries a packet every 10 ms while there is something to carry.
#[test]
fn westwood_measures_where_each_ack_covers_all_that_was_sent() {
    let expected = f64::from(10 << 24) / BASE_US as f64;
    for pause_ms in [0, 1, 30, 5_000] {
        let mut flow = flow("westwood", &[], 10);
        for _ in 0..200 {
            flow.advance(Duration::from_millis(pause_ms));
            flow.tx_started();
            flow.advance(Duration::from_micros(BASE_US));
            flow.sampled(&Ack::of(10, Some(Duration::from_micros(BASE_US))));
        }
        let measured = field(&flow, "bandwidth_q24") as f64;
        assert!((measured / expected - 1.0).abs() < 0.01, "pause of {pause_ms} ms: {measured}, not {expected}");
    }
}
