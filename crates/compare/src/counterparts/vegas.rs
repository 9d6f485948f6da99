// SPDX-License-Identifier: GPL-2.0-only
//! `tcp_vegas.c`: its round is our `struct cc_rtt`; the flag that it is at work is our look at the socket's state.

use super::all;
use super::rounds::{rtt, set_doing, ONE_MORE_US};
use crate::counterpart::{Counterpart, Kind, Rule};
use crate::mutant::mutants;
use crate::native::{CALL_CONG_AVOID, CALL_CWND_EVENT, CALL_INIT, CALL_PKTS_ACKED, CALL_SET_STATE};
use crate::trial::{Module, Ours};

const ROUND: &[&str] = &["rtt.base_us", "rtt.round_min_us", "rtt.samples", "rtt.round_end_seq"];

pub const TWIN: Counterpart = Counterpart {
    name: "vegas",
    map,
    law: None,
    feed: None,
    compared: &[
        (CALL_INIT, ROUND),
        (CALL_CONG_AVOID, ROUND),
        (CALL_PKTS_ACKED, ROUND),
        (CALL_SET_STATE, ROUND),
        (CALL_CWND_EVENT, ROUND),
    ],
    own_credit: false,
    skip: all,
    answered_by: None,
    rules: &[
        ONE_MORE_US,
        Rule {
            module: "lowers ssthresh to one packet, below a window of two",
            reason: "ssthresh is never below two packets (RFC 5681, equation 4)",
            parameter: "none: what RFC 5681 forbids",
            kind: Kind::Predict(|trial| {
                trial.call.hook == CALL_CONG_AVOID
                    && (trial.expected.ssthresh, trial.got.ssthresh) == (1, 2)
                    && trial.equal_but(&["ssthresh"])
            }),
        },
    ],
    replayed: &[],
    other: &[],
    mutants: mutants! {
        here: "diff > p->beta_pkts" => "diff >= p->beta_pkts";
        here: "diff < p->alpha_pkts" => "diff <= p->alpha_pkts";
        here: "diff > p->gamma_pkts" => "diff > p->gamma_pkts + 1";
        here: "cc_min(tp->snd_cwnd, target + 1)" => "cc_min(tp->snd_cwnd, target)";
        here: "p->linux_diff ? rtt->base_us : rtt->round_min_us" => "p->linux_diff ? rtt->round_min_us : rtt->base_us";
    },
    notes: &[BEGINS_ANEW],
};

/// `CA_EVENT_TX_START` comes when a packet goes out while none is in flight: with the retransmission of a timeout, too.
pub const BEGINS_ANEW: &str =
    "After a timeout the module is Vegas again with its first retransmission; ours is Reno until all is repaired.";

fn map(module: &Module<'_>, ours: &mut Ours<'_>) {
    ours.set("rtt.base_us", rtt(module.get("baseRTT")));
    ours.set("rtt.round_min_us", rtt(module.get("minRTT")));
    ours.set("rtt.round_end_seq", module.get("beg_snd_nxt"));
    ours.set("rtt.samples", module.get("cntRTT"));
    set_doing(ours, module.get("doing_vegas_now") != 0);
}
