// SPDX-License-Identifier: GPL-2.0-only
//! `tcp_yeah.c`: Vegas' round in its first member, and our own fields under other names.

use super::all;
use super::rounds::{rtt, ONE_MORE_US};
use crate::counterpart::Counterpart;
use crate::mutant::mutants;
use crate::native::{CALL_CONG_AVOID, CALL_CWND_EVENT, CALL_INIT, CALL_PKTS_ACKED, CALL_SET_STATE, CALL_SSTHRESH};
use crate::trial::{Module, Ours};

const ROUND: &[&str] = &["rtt.base_us", "rtt.round_min_us", "rtt.samples", "rtt.round_end_seq"];
const LAW: &[&str] = &["reno_count_pkts", "fast_rtts", "slow_rtts", "queue_pkts"];

pub const TWIN: Counterpart = Counterpart {
    name: "yeah",
    map,
    law: None,
    feed: None,
    compared: &[
        (CALL_INIT, ROUND),
        (
            CALL_CONG_AVOID,
            &[
                "rtt.base_us",
                "rtt.round_min_us",
                "rtt.samples",
                "rtt.round_end_seq",
                "reno_count_pkts",
                "fast_rtts",
                "slow_rtts",
                "queue_pkts",
            ],
        ),
        (CALL_PKTS_ACKED, ROUND),
        (CALL_SET_STATE, ROUND),
        (CALL_CWND_EVENT, ROUND),
        (CALL_SSTHRESH, LAW),
    ],
    own_credit: false,
    skip: all,
    answered_by: None,
    rules: &[ONE_MORE_US],
    replayed: &[],
    other: &[],
    mutants: mutants! {
        here: "ca->slow_rtts < p->rho_rtts" => "ca->slow_rtts <= p->rho_rtts";
        here: "u32 reduction = cc_max(cwnd >> 1, 2);" => "u32 reduction = cwnd - cc_min(cc_max(cwnd >> 1, 2), cwnd);";
        here: "queueing_us > ca->rtt.base_us / p->phi" => "queueing_us >= ca->rtt.base_us / p->phi * 2";
        here: "cc_max(cwnd - reduction, ca->reno_count_pkts)" => "cwnd - reduction";
        here: "ca->slow_rtts ? tp->snd_cwnd : cc_min(tp->snd_cwnd, p->acks_per_pkt)" => "ca->slow_rtts ? tp->snd_cwnd : p->acks_per_pkt";
        here: "cc_max(ca->reno_count_pkts >> 1, 2);" => "cc_max(ca->reno_count_pkts >> 1, 1);";
        "rtt.h": "rtt->samples >= CC_RTT_SAMPLES" => "rtt->samples > CC_RTT_SAMPLES";
    },
    notes: &["The module also limits the window to 2^25 packets; BPF may not write that limit."],
};

fn map(module: &Module<'_>, ours: &mut Ours<'_>) {
    ours.set("rtt.base_us", rtt(module.get("vegas.baseRTT")));
    ours.set("rtt.round_min_us", rtt(module.get("vegas.minRTT")));
    ours.set("rtt.round_end_seq", module.get("vegas.beg_snd_nxt"));
    ours.set("rtt.samples", module.get("vegas.cntRTT"));
    ours.set("queue_pkts", module.get("lastQ"));
    ours.set("slow_rtts", module.get("doing_reno_now"));
    ours.set("reno_count_pkts", module.get("reno_count"));
    ours.set("fast_rtts", module.get("fast_count"));
}
