//! `tcp_bic.c`: `last_max_cwnd` is ours. Its step is renewed now and then and divided by the measured ACK ratio.

use super::{additive_increase, all, Kind, Rule, Twin};
use crate::native::{CALL_CONG_AVOID, CALL_SET_STATE, CALL_SSTHRESH};
use crate::replay::Trial;

const RATIO_SHIFT: u32 = 4;
const LOW_WINDOW_PKTS: u32 = 14;

pub const TWIN: Twin = Twin {
    name: "bic",
    map: |module, ours| ours.set("last_max_pkts", module.get("last_max_cwnd")),
    law: Some(step_is_ours),
    feed: None,
    compared: &[
        (CALL_CONG_AVOID, &["last_max_pkts"]),
        (CALL_SSTHRESH, &["last_max_pkts"]),
        (CALL_SET_STATE, &["last_max_pkts"]),
    ],
    own_credit: false,
    skip: all,
    answered_by: None,
    rules: &[
        Rule {
            module: "divides the step by the measured ratio of packets to ACKs, although it counts packets",
            reason: "packets are counted once; with delayed ACKs the module grows twice as fast as the paper's law",
            parameter: "",
            kind: Kind::Predict(|trial| explains(trial, by_ratio(trial))),
        },
        Rule {
            module: "keeps its step for 1/32 s where the window stays the same",
            reason: "a step that is renewed at each ACK costs nothing to speak of",
            parameter: "",
            kind: Kind::Predict(|trial| is_kept(trial) && explains(trial, Some(trial.before.get("cnt") as u32))),
        },
    ],
    other: &[],
    notes: &[
        "`undo_cwnd` of ours restores last_max too (the module's does not): only the window is compared there.",
        "`pkts_acked` of the module measures its ACK ratio, which ours does not need.",
    ],
};

fn by_ratio(trial: &Trial<'_>) -> Option<u32> {
    let cwnd = slow_started(trial).0;
    if cwnd <= LOW_WINDOW_PKTS {
        return None; // the module does not divide there
    }
    let mut probe = trial.ours.clone();
    probe.tp.snd_cwnd = cwnd;
    let divisor = trial.divisor_of(probe, false)?;
    Some(((divisor << RATIO_SHIFT) / trial.before.get("delayed_ack") as u32).max(1))
}

/// Whenever the module renews its step, it is ours divided by the ratio.
fn step_is_ours(trial: &Trial<'_>) -> bool {
    let (before, after) = (&trial.before, &trial.after);
    let was_renewed = after.get("last_time") != before.get("last_time");
    if trial.call.hook != CALL_CONG_AVOID || !was_renewed {
        return true;
    }
    let (cwnd, cnt) = (slow_started(trial).0, after.get("cnt") as u32);
    let mut probe = trial.ours.clone();
    probe.tp.snd_cwnd = cwnd;
    if cwnd <= LOW_WINDOW_PKTS {
        return trial.divisor_is(probe, cnt);
    }
    let ratio = before.get("delayed_ack") as u32;
    trial.divisor_of(probe, false).is_some_and(|divisor| ((divisor << RATIO_SHIFT) / ratio).max(1) == cnt)
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

fn explains(trial: &Trial<'_>, divisor: Option<u32>) -> bool {
    let Some(divisor) = divisor.filter(|_| trial.call.hook == CALL_CONG_AVOID) else { return false };
    let (cwnd, left) = slow_started(trial);
    if left == 0 {
        return false;
    }
    let grown = additive_increase(trial, divisor, left);
    let grown = (grown.0 + cwnd - trial.ours.tp.snd_cwnd, grown.1);
    grown == (trial.expected.cwnd, trial.expected.credit) && trial.equal_but(&["cwnd", "credit"])
}
