//! `tcp_htcp.c`: RTTs and times in jiffies, alpha in Q7 with a factor of whole numbers; ours in us and Q10.

use super::{all, Kind, Rule, Twin, DROPPED_LEFTOVER};
use crate::native::{CALL_CONG_AVOID, CALL_INIT, CALL_SET_STATE, CALL_SSTHRESH};
use crate::replay::{Module, Ours, Trial};

const NO_SCALING: u64 = 8; // of the module's scale, Q3
const RTT_REFERENCE_US: u64 = 100_000;

pub const TWIN: Twin = Twin {
    name: "htcp",
    map,
    law: Some(|trial| !is_growth(trial) || ours_is_lawful(trial)),
    feed: None,
    compared: &[
        (CALL_INIT, &["beta_q7"]),
        (CALL_SSTHRESH, &["beta_q7", "rate_was_steady", "old_max_rate_pps"]),
        (CALL_SET_STATE, &["last_congestion_us"]),
    ],
    own_credit: true,
    skip: all,
    rules: &[
        DROPPED_LEFTOVER,
        Rule {
            module: "cuts alpha's factor down to a whole number, renews it when the window grows, and then drops the credit \
                     beyond it",
            reason: "alpha follows the clock at each ACK, in Q10, and the credit is kept",
            parameter: "rtt_scaling",
            kind: Kind::Predict(grows_by_law),
        },
    ],
    other: &[("rtt_scaling", "off")],
    notes: &[
        "`pkts_acked`: the module measures throughput once a window and RTT, and ignores RTTs more than 20 ms above the largest; \
         ours measures once an RTT, and follows by 20 ms. What each makes of it (beta) is compared at the loss, from the module's \
         values.",
    ],
};

fn map(module: &Module<'_>, ours: &mut Ours<'_>) {
    let us_per_jiffy = module.us_per_jiffy();
    ours.set("min_rtt_us", module.get("minRTT") * us_per_jiffy);
    ours.set("max_rtt_us", module.get("maxRTT") * us_per_jiffy);
    ours.set("max_rate_pps", module.get("maxB"));
    ours.set("old_max_rate_pps", module.get("old_maxB"));
    ours.set("rate_pps", module.get("Bi"));
    ours.set("beta_q7", module.get("beta"));
    ours.set("rate_was_steady", module.get("modeswitch"));
    ours.set("last_congestion_us", module.time_us("last_cong"));
    ours.set("last_active_us", module.socket.tcp_mstamp as u32);
    ours.set("undo.valid", u64::from(module.get("undo_last_cong") != 0));
    ours.set("undo.beta_q7", module.get("beta"));
    ours.set("undo.max_rtt_us", module.get("undo_maxRTT") * us_per_jiffy);
}

/// The module's answer is that of its own law; ours is that of the paper's; and the module's new alpha is ours, cut down.
fn grows_by_law(trial: &Trial<'_>) -> bool {
    if trial.call.hook != CALL_CONG_AVOID || super::slow_start(trial).is_some() {
        return false;
    }
    let (before, tp) = (&trial.before, &trial.ours.tp);
    let (cwnd, alpha) = (u64::from(tp.snd_cwnd), before.get("alpha"));
    let grows = (u64::from(tp.snd_cwnd_cnt) * alpha) >> 7 >= cwnd;
    let theirs = u64::from(trial.expected.cwnd) == cwnd + u64::from(grows)
        && u64::from(trial.after.socket.snd_cwnd_cnt)
            == if grows { 0 } else { u64::from(tp.snd_cwnd_cnt) + before.get("pkts_acked") };
    theirs && ours_is_lawful(trial) && (!grows || alpha_is_ours(trial)) && trial.equal_but(&["cwnd"])
}

/// A call of ours that grows the window by its law
fn is_growth(trial: &Trial<'_>) -> bool {
    let tp = &trial.ours.tp;
    trial.call.hook == CALL_CONG_AVOID && super::slow_start(trial).is_none() && tp.is_cwnd_limited() != 0
}

/// Factor of our alpha before RTT scaling
fn factor(trial: &Trial<'_>) -> f64 {
    let mut again = trial.ours.clone();
    again.set("credit_q10", 0_u64);
    let (after, _) = trial.run_other(again, &trial.call);
    after.get("alpha_q10") as f64 * 128.0 / 1024.0 / (2.0 * (128.0 - trial.ours.get("beta_q7") as f64))
}

/// alpha(D) = 1 + 10 (D - 1) + ((D - 1) / 2)^2, scaled by RTT / 100 ms; W += alpha / W for each packet
fn ours_is_lawful(trial: &Trial<'_>) -> bool {
    let since_us = trial.ours.tp.tcp_mstamp as f64 - trial.ours.get("last_congestion_us") as f64;
    let excess = (since_us / 1e6 - 1.0).max(0.0);
    let law = 1.0 + 10.0 * excess + (excess / 2.0).powi(2);
    let unscaled = factor(trial);
    let min_rtt_us = trial.ours.get("min_rtt_us") as f64;
    let scale = if min_rtt_us > 0.0 { (min_rtt_us / RTT_REFERENCE_US as f64).clamp(0.1, 2.0) } else { 1.0 };
    let scaled = (law * scale).max(1.0) * 2.0 * (128.0 - trial.ours.get("beta_q7") as f64) / 128.0;
    let alpha_q10 = trial.result.get("alpha_q10");
    let grown = i128::from(trial.got.cwnd - trial.ours.tp.snd_cwnd);
    let earned = trial.ours.get("credit_q10") + alpha_q10 * i128::from(trial.call.argument);
    let spent = grown * (i128::from(trial.ours.tp.snd_cwnd) << 10);
    near(unscaled, law) && near(alpha_q10 as f64 / 1024.0, scaled) && earned - spent == trial.result.get("credit_q10")
}

/// One part in 250: alpha's Q10, and whole milliseconds
fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 0.004 * b + 0.004
}

fn alpha_is_ours(trial: &Trial<'_>) -> bool {
    let after = &trial.after;
    let min_rtt = after.get("minRTT");
    let jiffies_per_s = 1_000_000 / after.us_per_jiffy();
    let scale = if min_rtt == 0 { NO_SCALING } else { ((jiffies_per_s << 3) / (10 * min_rtt)).clamp(4, 80) };
    let alpha_of = |factor: u64| 2 * ((factor << 3) / scale).max(1) * (128 - after.get("beta"));
    let factor = factor(trial);
    // A tick later, or what the module's square loses in halves of jiffies, may be the next whole number.
    [factor - 0.1, factor, factor + 0.1].iter().any(|factor| alpha_of(factor.max(1.0) as u64) == after.get("alpha"))
}
