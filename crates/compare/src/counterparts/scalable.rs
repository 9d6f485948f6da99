// SPDX-License-Identifier: GPL-2.0-only
//! `tcp_scalable.c` keeps no state.

use super::all;
use crate::counterpart::Counterpart;
use crate::mutant::mutants;

pub const TWIN: Counterpart = Counterpart {
    name: "scalable",
    map: |_, _| {},
    law: None,
    feed: None,
    compared: &[],
    own_credit: false,
    skip: all,
    answered_by: None,
    rules: &[],
    replayed: &[],
    other: &[],
    mutants: mutants! {
        here: "tp->snd_cwnd >> p->decrease_shift" => "tp->snd_cwnd >> (p->decrease_shift + 1)";
        here: "tp->snd_cwnd < divisor" => "tp->snd_cwnd > divisor";
        here: "tcp_cong_avoid_ai(tp, divisor, acked_pkts);" => "tcp_cong_avoid_ai(tp, divisor, 1);";
        "cc.h": "acked_pkts - (after - before);" => "acked_pkts - (after - before) + 1;";
        "cc.h": "cc_max(tp->snd_cwnd, tp->prior_cwnd)" => "tp->snd_cwnd";
        "cc.h": "cc_max(tp->snd_cwnd, tp->prior_cwnd)" => "tp->prior_cwnd", not reachable:
            "in all traffic that was tried, Linux undoes a reduction before the window has outgrown the one from before it";
        "cc.h": "return cc_max(pkts, 2);" => "return cc_max(pkts, 1);";
        "cc.h": "credit -= pkts * divisor;" => "credit = 0;";
    },
    notes: &[],
};
