// SPDX-License-Identifier: GPL-2.0-only
//! `tcp_bic.c`: `last_max_cwnd` and the ACK ratio are ours. Its step is renewed now and then.

use super::{additive_increase, all};
use crate::counterpart::{Counterpart, Kind, Rule};
use crate::mutant::mutants;
use crate::native::{CALL_CONG_AVOID, CALL_PKTS_ACKED, CALL_SET_STATE, CALL_SSTHRESH};
use crate::trial::Trial;

pub const TWIN: Counterpart = Counterpart {
    name: "bic",
    map: |module, ours| {
        ours.set("last_max_pkts", module.get("last_max_cwnd"));
        ours.set("ack_ratio_q4", module.get("delayed_ack"));
    },
    law: Some(step_is_ours),
    feed: None,
    compared: &[
        (CALL_CONG_AVOID, &["last_max_pkts"]),
        (CALL_SSTHRESH, &["last_max_pkts"]),
        (CALL_SET_STATE, &["last_max_pkts", "ack_ratio_q4"]),
        (CALL_PKTS_ACKED, &["ack_ratio_q4"]),
    ],
    own_credit: false,
    skip: all,
    answered_by: None,
    rules: &[Rule {
        module: "keeps its step for 1/32 s where the window stays the same",
        reason: "renewing the step at each ACK costs next to nothing",
        parameter: "none: not visible in the window",
        kind: Kind::Predict(|trial| is_kept(trial) && explains(trial, trial.before.get("cnt") as u32)),
    }],
    replayed: &[],
    other: &[],
    mutants: mutants! {
        here: "(u64)cwnd * p->beta_q10 >> 10" => "(u64)cwnd * (p->beta_q10 + 8) >> 10";
        here: "(1024 + p->beta_q10) / 2048" => "(1024 + p->beta_q10) / 1024";
        here: "if (step <= 1)" => "if (step < 1)";
        here: "return cwnd * (p->search_divisor - 1) / beyond;" => "return cwnd * p->search_divisor / beyond;";
        here: "if (step > p->max_step_pkts)" => "if (step >= 2 * p->max_step_pkts)";
        here: "cwnd <= p->low_window_pkts)\n\t\treturn cwnd;" => "cwnd < p->low_window_pkts)\n\t\treturn cwnd;";
        here: "if (new_state != TCP_CA_Loss)" => "if (new_state != TCP_CA_Recovery)";
        here: "ratio_q4 - (ratio_q4 >> 4)" => "ratio_q4 - (ratio_q4 >> 5)";
        here: "(u64)divisor << 4, ratio_q4" => "(u64)divisor << 4, ratio_q4 + 1";
    },
    notes: &["`undo_cwnd` of ours restores last_max too (the module's does not): only the window is compared there."],
};

/// Whenever the module renews its step, it is ours.
fn step_is_ours(trial: &Trial<'_>) -> bool {
    let (before, after) = (&trial.before, &trial.after);
    let was_renewed = after.get("last_time") != before.get("last_time");
    if trial.call.hook != CALL_CONG_AVOID || !was_renewed {
        return true;
    }
    let (cwnd, cnt) = (slow_started(trial).0, after.get("cnt") as u32);
    let mut probe = trial.ours.clone();
    probe.tp.snd_cwnd = cwnd;
    trial.divisor_is(probe, cnt)
}

/// Window and packets left after slow start
fn slow_started(trial: &Trial<'_>) -> (u32, u32) {
    super::slow_start(trial)
        .map_or((trial.ours.tp.snd_cwnd, trial.call.argument), |(taken, left)| (trial.ours.tp.snd_cwnd + taken, left))
}

fn is_kept(trial: &Trial<'_>) -> bool {
    let age = (trial.call.jiffies as u32).wrapping_sub(trial.before.get("last_time") as u32);
    let jiffies_per_s = 1_000_000 / trial.before.us_per_jiffy();
    u64::from(slow_started(trial).0) == trial.before.get("last_cwnd") && u64::from(age) <= jiffies_per_s / 32
}

fn explains(trial: &Trial<'_>, divisor: u32) -> bool {
    let (cwnd, left) = slow_started(trial);
    if trial.call.hook != CALL_CONG_AVOID || left == 0 {
        return false;
    }
    let grown = additive_increase(trial, divisor, left);
    let grown = (grown.0 + cwnd - trial.ours.tp.snd_cwnd, grown.1);
    grown == (trial.expected.cwnd, trial.expected.credit) && trial.equal_but(&["cwnd", "credit"])
}
