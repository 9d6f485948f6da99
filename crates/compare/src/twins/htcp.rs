//! `tcp_htcp.c`: RTTs and times in jiffies, alpha in Q7 with a factor of whole numbers; ours in us and Q10.

use super::{all, Kind, Rule, Twin, DROPPED_LEFTOVER};
use crate::native::{CALL_CONG_AVOID, CALL_INIT, CALL_PKTS_ACKED, CALL_SET_STATE, CALL_SSTHRESH};
use crate::replay::{Module, Ours, Trial};

const NO_SCALING: u64 = 8; // of the module's scale, Q3
const RTT_REFERENCE_US: u64 = 100_000;

pub const TWIN: Twin = Twin {
    name: "htcp",
    map,
    law: Some(|trial| !is_growth(trial) || ours_is_lawful(trial)),
    feed: Some(feed),
    compared: &[
        (CALL_INIT, &["beta_q7"]),
        (CALL_SSTHRESH, &["beta_q7", "rate_was_steady", "old_max_rate_pps"]),
        (CALL_SET_STATE, &["last_congestion_us"]),
        (CALL_PKTS_ACKED, &["min_rtt_us", "rate_pps", "max_rate_pps", "window_pkts", "max_rtt_us"]),
    ],
    own_credit: true,
    skip: all,
    answered_by: None,
    rules: &[
        DROPPED_LEFTOVER,
        Rule {
            module: "cuts alpha's factor down to a whole number, renews it when the window grows, and then drops the credit \
                     beyond it",
            reason: "alpha follows the clock at each ACK, in Q10, and the credit is kept",
            parameter: "rtt_scaling",
            kind: Kind::Predict(grows_by_law),
        },
        Rule {
            module: "ends a measurement of throughput only when a window less alpha has been acknowledged in it too",
            reason: "throughput is measured once an RTT",
            parameter: "none: another time for the same mean",
            kind: Kind::Input(goes_on_measuring),
        },
        Rule {
            module: "takes measurements as they are for up to four RTTs after congestion",
            reason: "for three: later ones are averaged",
            parameter: "none: one measurement of one kind or the other",
            kind: Kind::Input(takes_the_fourth),
        },
        Rule {
            module: "ignores an RTT more than 20 ms above the largest, and all in Disorder",
            reason: "the largest follows by 20 ms, so that it does not stay where it is after a change of route",
            parameter: "none: after a change of route a defect",
            kind: Kind::Predict(|trial| trial.call.hook == CALL_PKTS_ACKED && trial.equal_but(&["max_rtt_us"]) && largest_follows(trial)),
        },
    ],
    other: &[("rtt_scaling", "off")],
    notes: &[
        "`pkts_acked` is replayed with RTTs and clock in the module's jiffies. Its smallest throughput of an epoch, which nothing \
         reads, ours does not keep.",
    ],
};

fn map(module: &Module<'_>, ours: &mut Ours<'_>) {
    let us_per_jiffy = module.us_per_jiffy();
    ours.set("min_rtt_us", module.get("minRTT") * us_per_jiffy);
    ours.set("max_rtt_us", module.get("maxRTT") * us_per_jiffy);
    ours.set("max_rate_pps", module.get("maxB"));
    ours.set("old_max_rate_pps", module.get("old_maxB"));
    ours.set("rate_pps", module.get("Bi"));
    ours.set("window_pkts", module.get("packetcount"));
    ours.set("window_start_us", module.time_us("lasttime"));
    ours.set("beta_q7", module.get("beta"));
    ours.set("rate_was_steady", module.get("modeswitch"));
    ours.set("last_congestion_us", module.time_us("last_cong"));
    ours.set("last_active_us", module.socket.tcp_mstamp as u32);
    ours.set("undo.valid", u64::from(module.get("undo_last_cong") != 0));
    ours.set("undo.beta_q7", module.get("beta"));
    ours.set("undo.max_rtt_us", module.get("undo_maxRTT") * us_per_jiffy);
}

/// RTTs and clock as the module has them: RTTs in jiffies, rounded up
fn feed(trial: &mut Trial<'_>) {
    if trial.call.hook != CALL_PKTS_ACKED {
        return;
    }
    let us_per_jiffy = trial.before.us_per_jiffy() as i32;
    if trial.call.sample_rtt_us > 0 {
        trial.call.sample_rtt_us = (trial.call.sample_rtt_us + us_per_jiffy - 1) / us_per_jiffy * us_per_jiffy;
    }
    // A tick may come between the recording of the clock and the module's look at it.
    let began = trial.after.get("lasttime") as u32;
    if began == (trial.call.jiffies as u32).wrapping_add(1) {
        trial.ours.tp.tcp_mstamp += us_per_jiffy as u64;
    }
}

/// A measurement that the module did not end: ours has just begun its own
fn goes_on_measuring(trial: &mut Trial<'_>) -> bool {
    let applies = trial.call.hook == CALL_PKTS_ACKED && trial.after.get("lasttime") == trial.before.get("lasttime");
    if applies {
        trial.ours.set("window_start_us", trial.ours.tp.tcp_mstamp);
    }
    applies
}

fn takes_the_fourth(trial: &mut Trial<'_>) -> bool {
    let rtts = (trial.call.jiffies as u32).wrapping_sub(trial.before.get("last_cong") as u32)
        / (trial.after.get("minRTT") as u32).max(1);
    let applies = trial.call.hook == CALL_PKTS_ACKED && rtts == 3;
    if applies {
        trial.ours.set("last_congestion_us", trial.ours.tp.tcp_mstamp);
    }
    applies
}

/// The module's largest RTT stayed where it was, and ours has risen to the sample or by 20 ms
fn largest_follows(trial: &Trial<'_>) -> bool {
    let rtt_us = i128::from(trial.call.sample_rtt_us);
    let max_before = trial.ours.get("max_rtt_us").max(trial.got.state[0]);
    trial.expected.state[4] <= max_before && trial.got.state[4] == rtt_us.min(max_before + 20_000)
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
