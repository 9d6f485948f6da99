// SPDX-License-Identifier: GPL-2.0-only
//! `tcp_nv.c`: rates in units of 100 bit/s; ours in bytes per us Q16, rounded up.

use super::all;
use crate::counterpart::{Counterpart, Kind, Rule};
use crate::mutant::mutants;
use crate::native::{CALL_CONG_AVOID, CALL_INIT, CALL_PKTS_ACKED, CALL_SET_STATE};
use crate::trial::{Module, Ours, Trial};

const RATE_UNITS_PER_BYTE_US: u64 = 80_000;
const LAW: &[&str] = &[
    "rtt_us",
    "min_rtt_us",
    "next_min_rtt_us",
    "round_end_seq",
    "last_una",
    "calls",
    "rounds",
    "may_grow",
    "quiet_rounds",
    "acked_bound_pkts",
];

pub const TWIN: Counterpart = Counterpart {
    name: "nv",
    map,
    law: None,
    feed: None,
    compared: &[
        (CALL_INIT, &["may_grow", "acked_bound_pkts", "min_rtt_us"]),
        (CALL_CONG_AVOID, &["may_grow"]),
        (CALL_PKTS_ACKED, LAW),
        (CALL_SET_STATE, &["may_grow", "has_lost", "slow_shift", "fast_shift", "calls", "rounds", "rtt_us"]),
    ],
    own_credit: false,
    skip: all,
    answered_by: None,
    rules: &[
        Rule {
            module: "rounds rates down to 100 bit/s, and the ideal window to whole packets of that",
            reason: "bytes per microsecond in Q16, rounded up: the ideal window may be one packet more",
            parameter: "none: rounding",
            kind: Kind::Predict(rounding),
        },
        Rule {
            module: "raises a window of one packet to two at a decision",
            reason: "a decision does not lower the window below two, and leaves one that was smaller before",
            parameter: "min_cwnd_pkts",
            kind: Kind::Predict(|trial| {
                trial.call.hook == CALL_PKTS_ACKED
                    && trial.ours.tp.snd_cwnd == 1
                    && (trial.got.cwnd, trial.expected.cwnd) == (1, 2)
                    && trial.equal_but(&["cwnd"])
            }),
        },
    ],
    replayed: &[],
    other: &[],
    mutants: mutants! {
        here: "excess_pkts > 2)" => "excess_pkts > 3)";
        here: "cc_min(p->decrease_q7, 128) >> 7" => "cc_min(p->decrease_q7, 128) >> 6";
        here: "ca->calls < p->increase_calls" => "ca->calls <= p->increase_calls";
        here: "ca->rounds < p->decision_rtts" => "ca->rounds <= p->decision_rtts";
        here: "(u64)sample_us * weight_q8 + (u64)ca->rtt_us * (256 - weight_q8)" => "(u64)sample_us * weight_q8 + (u64)ca->rtt_us * (255 - weight_q8)";
    },
    notes: &["The time until RTT_min is renewed is drawn at random in both, and not compared."],
};

fn map(module: &Module<'_>, ours: &mut Ours<'_>) {
    let factor = i128::from(module.get("cwnd_growth_factor") as u8 as i8);
    let rate = u128::from(module.get("nv_rtt_max_rate"));
    ours.set("max_rate_q16", (rate << 16).div_ceil(u128::from(RATE_UNITS_PER_BYTE_US)) as u64);
    ours.set("slow_shift", (-factor).max(0));
    ours.set("fast_shift", factor.max(0));
    ours.set("rtt_reset_us", module.time_of_jiffies(module.get("nv_min_rtt_reset_jiffies") as u32));
    for (to, from) in [
        ("rtt_us", "nv_last_rtt"),
        ("min_rtt_us", "nv_min_rtt"),
        ("next_min_rtt_us", "nv_min_rtt_new"),
        ("round_end_seq", "nv_rtt_start_seq"),
        ("last_una", "nv_last_snd_una"),
        ("acked_bound_pkts", "nv_min_cwnd"),
        ("calls", "nv_eval_call_cnt"),
        ("rounds", "nv_rtt_cnt"),
        ("quiet_rounds", "nv_no_cong_cnt"),
        ("may_grow", "nv_allow_cwnd_growth"),
        ("has_lost", "nv_reset"),
    ] {
        ours.set(to, module.get(from));
    }
}

/// The ideal window of ours, from the module's rate, is the module's or, where the rate times the RTT is that near to the
/// next packet, one more.
fn rounding(trial: &Trial<'_>) -> bool {
    if trial.call.hook != CALL_PKTS_ACKED {
        return false;
    }
    let mut again = trial.ours.clone();
    let rtt = trial.after.get("nv_min_rtt").max(1);
    // A rate that is smaller by one packet in an RTT: the answer is then the module's.
    let step = (u64::from(again.tp.mss_cache) << 16) / rtt;
    let rate = again.get("max_rate_q16") as u64;
    again.set("max_rate_q16", rate.saturating_sub(step / 8));
    let mut call = trial.call;
    call.sample_in_flight = call.sample_in_flight.saturating_sub(again.tp.mss_cache / 8);
    let (after, _) = trial.run(again, &call);
    after.tp.snd_cwnd == trial.expected.cwnd
        && after.tp.snd_ssthresh == trial.expected.ssthresh
        && trial.got.cwnd.abs_diff(trial.expected.cwnd) <= 1
        && LAW.iter().zip(&trial.expected.state).all(|(name, value)| after.get(name) == *value)
}
