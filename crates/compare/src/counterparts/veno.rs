// SPDX-License-Identifier: GPL-2.0-only
//! `tcp_veno.c`: the RTT of the last ACK, and the queue that it stands for.

use super::all;
use super::rounds::{rtt, set_doing, RELEARN};
use crate::counterpart::{Counterpart, Kind, Rule};
use crate::mutant::mutants;
use crate::native::{CALL_CONG_AVOID, CALL_CWND_EVENT, CALL_INIT, CALL_PKTS_ACKED, CALL_SET_STATE};
use crate::trial::{Module, Ours, Trial};

const DISORDER: u8 = 1;
const SAMPLE: &[&str] = &["rtt.base_us", "rtt.round_min_us"];

pub const TWIN: Counterpart = Counterpart {
    name: "veno",
    map,
    law: None,
    feed: None,
    compared: &[
        (CALL_INIT, &["rtt.base_us", "increase_next"]),
        (CALL_CONG_AVOID, &["diff_q1", "increase_next"]),
        (CALL_PKTS_ACKED, SAMPLE),
        (CALL_SET_STATE, SAMPLE),
        (CALL_CWND_EVENT, SAMPLE),
    ],
    own_credit: false,
    skip: all,
    answered_by: None,
    rules: &[
        Rule {
            module: "takes the smallest RTT since the last decision, in recovery too, and adds 1 us",
            reason: "the RTT is that of each ACK, as in the paper; the two are the same where each ACK is a decision",
            parameter: "none: the paper's law is per ACK",
            kind: Kind::Predict(smallest_since),
        },
        Rule {
            module: "is Reno from the first duplicate ACK on (state Disorder)",
            reason: "reordering is not congestion: the decision stays in force until the core reduces the window",
            parameter: "none: reordering would switch the law off",
            kind: Kind::Input(|trial| {
                let applies = trial.call.hook == CALL_CONG_AVOID;
                set_doing(&mut trial.ours, trial.before.get("doing_veno_now") != 0);
                applies
            }),
        },
        Rule {
            module: "treats an ACK without an RTT sample as one with an RTT of 36 minutes",
            reason: "an ACK of retransmitted data gives no RTT: the last RTT stays valid",
            parameter: "none: a defect",
            kind: Kind::Input(|trial| {
                let applies = trial.call.hook == CALL_CONG_AVOID && rtt(trial.before.get("minrtt")) == 0;
                if applies {
                    set_doing(&mut trial.ours, trial.before.get("doing_veno_now") != 0);
                    trial.ours.set("rtt.round_min_us", 0x7fff_ffff_u64);
                }
                applies
            }),
        },
        RELEARN,
        Rule {
            module: "keeps the earlier RTT while it is switched off; ours discards it",
            reason: "an RTT from before a reduction says nothing after it",
            parameter: "none: a defect",
            kind: Kind::Predict(|trial| trial.call.hook == CALL_SET_STATE && trial.equal_but(&["rtt.round_min_us"])),
        },
    ],
    replayed: &[],
    other: &[],
    mutants: mutants! {
        here: "(u64)tp->snd_cwnd * 4 / 5" => "(u64)tp->snd_cwnd * 5 / 6";
        here: "tp->snd_cwnd_cnt < tp->snd_cwnd)" => "tp->snd_cwnd_cnt <= tp->snd_cwnd)";
        here: "ca->increase_next = !ca->increase_next;" => "ca->increase_next = true;";
        here: "((u64)tp->snd_cwnd << 1) - target_q1" => "(u64)tp->snd_cwnd - target_q1 / 2";
    },
    notes: &["The module's count of samples is never reset and wraps after 65,536: then it is Reno for three ACKs."],
};

fn map(module: &Module<'_>, ours: &mut Ours<'_>) {
    ours.set("rtt.base_us", rtt(module.get("basertt")));
    ours.set("rtt.round_min_us", rtt(module.get("minrtt")));
    ours.set("rtt.samples", module.get("cntrtt"));
    ours.set("diff_q1", module.get("diff"));
    ours.set("increase_next", u64::from(module.get("inc") != 0));
}

/// The module has the smaller of this ACK's RTT and the one that it had, with its microsecond; ours this ACK's, and in
/// recovery none
fn smallest_since(trial: &Trial<'_>) -> bool {
    let call = trial.before.call;
    let Ok(sample) = u64::try_from(call.sample_rtt_us) else { return false };
    if call.hook != CALL_PKTS_ACKED {
        return false;
    }
    let smaller = |before: u64, sample: u64| i128::from(if rtt(before) == 0 { sample } else { before.min(sample) });
    let (base, kept) = (trial.before.get("basertt"), trial.before.get("minrtt"));
    let theirs = [smaller(base, sample + 1), smaller(kept, sample + 1)];
    let ours = if trial.before.socket.ca_state > DISORDER {
        [i128::from(rtt(base)), 0]
    } else {
        [smaller(base, sample.max(1)), i128::from(sample.max(1))]
    };
    trial.expected.state == theirs && trial.got.state == ours && trial.equal_but(SAMPLE)
}
