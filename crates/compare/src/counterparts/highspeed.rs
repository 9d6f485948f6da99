// SPDX-License-Identifier: GPL-2.0-only
//! `tcp_highspeed.c`: the row of its table is ours; its credit is the socket's, ours is of its own in Q10.

use super::{all, DROPPED_LEFTOVER};
use crate::counterpart::{Counterpart, Kind, Rule};
use crate::mutant::mutants;
use crate::native::{call, CALL_CONG_AVOID, CALL_SSTHRESH};
use crate::trial::Trial;

pub const TWIN: Counterpart = Counterpart {
    name: "highspeed",
    map: |module, ours| {
        ours.set("row", module.get("ai"));
        ours.set("credit_q10", u64::from(module.socket.snd_cwnd_cnt) << 10);
    },
    law: None,
    feed: None,
    compared: &[(CALL_CONG_AVOID, &["row", "credit_q10"])],
    own_credit: true,
    skip: all,
    answered_by: None,
    rules: &[
        DROPPED_LEFTOVER,
        Rule {
            module: "decreases by the row of the last window in congestion avoidance, which after a slow start is an old one",
            reason: "b(W) is a function of the window at the loss (RFC 3649 section 5)",
            parameter: "none: a defect",
            kind: Kind::Predict(stale_row),
        },
    ],
    replayed: &[],
    other: &[],
    mutants: mutants! {
        here: "(ca->row + 1ULL) << 10" => "(ca->row + 2ULL) << 10";
        "hstcp.h": "decrease_q8 >> 8)" => "decrease_q8 >> 7)";
        here: "if (p->per_ack)" => "if (!p->per_ack)";
        "hstcp.h": "cwnd_pkts > table->row[trial - 1].cwnd_pkts" => "cwnd_pkts >= table->row[trial - 1].cwnd_pkts";
        "cc.h": "credit -= pkts * cost_q10;" => "credit = 0;";
    },
    notes: &["The module also limits the window to 2^25 packets; BPF may not write that limit."],
};

/// The module's answer with our decrease for the row that it has in its state
fn stale_row(trial: &Trial<'_>) -> bool {
    if trial.call.hook != CALL_SSTHRESH {
        return false;
    }
    let row = i128::from(trial.before.get("ai"));
    let cwnd = u64::from(trial.ours.tp.snd_cwnd);
    let (mut low, mut high) = (0_u64, 256_u64); // what our answers in this row leave for its decrease in Q8
    for window in (2..95_000_u32).filter(|window| *window < 2000 || window % 97 == 0) {
        let mut probe = trial.ours.clone();
        probe.tp.snd_cwnd = window;
        probe.tp.snd_ssthresh = window;
        probe.set_limited(true);
        let grow = call { hook: CALL_CONG_AVOID, argument: 1, ..trial.call };
        if window < 8 || trial.run(probe.clone(), &grow).0.get("row") != row {
            continue;
        }
        let taken = u64::from(window - trial.run(probe, &trial.call).1.min(window));
        low = low.max((taken * 256).div_ceil(u64::from(window)));
        high = high.min(((taken + 1) * 256 - 1) / u64::from(window));
    }
    (low..=high).any(|decrease| u64::from(trial.expected.returned) == (cwnd - ((cwnd * decrease) >> 8)).max(2))
        && high < low + 4
        && trial.equal_but(&["returned"])
}
