// SPDX-License-Identifier: GPL-2.0-only
//! `tcp_illinois.c`: field by field the same.

use super::all;
use crate::counterpart::{Counterpart, Kind, Rule};
use crate::mutant::mutants;
use crate::native::{CALL_CONG_AVOID, CALL_INIT, CALL_PKTS_ACKED, CALL_SET_STATE};
use crate::trial::{Module, Ours};

const NO_RTT: u64 = 0x7fff_ffff;

pub const TWIN: Counterpart = Counterpart {
    name: "illinois",
    map,
    law: None,
    feed: None,
    compared: &[
        (CALL_INIT, &["alpha_q7", "beta_q6", "round_end_seq"]),
        (
            CALL_CONG_AVOID,
            &[
                "alpha_q7",
                "beta_q6",
                "low_rounds",
                "was_high",
                "round_end_seq",
                "rtt_samples",
                "rtt_sum_us",
                "acked_pkts",
            ],
        ),
        (CALL_PKTS_ACKED, &["rtt_samples", "rtt_sum_us", "base_rtt_us", "max_rtt_us", "acked_pkts"]),
        (
            CALL_SET_STATE,
            &["alpha_q7", "beta_q6", "low_rounds", "was_high", "round_end_seq", "rtt_samples", "rtt_sum_us"],
        ),
    ],
    own_credit: false,
    skip: all,
    answered_by: None,
    rules: &[Rule {
        module: "limits RTTs to 1.68 s, for its sums of 32 bits",
        reason: "the sums are of 64 bits",
        parameter: "none: a limit of 32 bits",
        kind: Kind::Input(|trial| {
            let applies = trial.call.hook == CALL_PKTS_ACKED && trial.call.sample_rtt_us > 1_677_721;
            trial.call.sample_rtt_us = trial.call.sample_rtt_us.min(1_677_721);
            applies
        }),
    }],
    replayed: &[],
    other: &[],
    mutants: mutants! {
        here: "++ca->low_rounds < p->theta_rtts" => "++ca->low_rounds <= p->theta_rtts";
        here: "cwnd - (cwnd * ca->beta_q6 >> 6)" => "cwnd - (cwnd * ca->beta_q6 >> 7)";
        here: "above_low * (p->alpha_max_q7 - p->alpha_min_q7) / p->alpha_min_q7" => "above_low * p->alpha_max_q7 / p->alpha_min_q7";
        here: "earned >= tp->snd_cwnd" => "earned > tp->snd_cwnd";
        here: "average >= high || high <= low" => "average > 2 * high || high <= low";
    },
    notes: &[],
};

fn map(module: &Module<'_>, ours: &mut Ours<'_>) {
    let base = module.get("base_rtt");
    ours.set("rtt_sum_us", module.get("sum_rtt"));
    ours.set("rtt_samples", module.get("cnt_rtt"));
    ours.set("base_rtt_us", if base >= NO_RTT { 0 } else { base });
    ours.set("max_rtt_us", module.get("max_rtt"));
    ours.set("round_end_seq", module.get("end_seq"));
    ours.set("acked_pkts", module.get("acked"));
    ours.set("alpha_q7", module.get("alpha"));
    ours.set("beta_q6", module.get("beta"));
    ours.set("low_rounds", module.get("rtt_low"));
    ours.set("was_high", module.get("rtt_above"));
}
