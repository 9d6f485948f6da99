// SPDX-License-Identifier: GPL-2.0-only
//! `tcp_cubic.c`: the curve is ours, with the epoch in jiffies. What differs is what the curve is fed with and how often.

use super::{additive_increase, all};
use crate::counterpart::{Counterpart, Kind, Rule};
use crate::mutant::mutants;
use crate::native::{call, CALL_CONG_AVOID, CALL_PKTS_ACKED, CALL_SET_STATE, CALL_SSTHRESH};
use crate::trial::{Module, Ours, Trial};

pub const TWIN: Counterpart = Counterpart {
    name: "cubic",
    map,
    law: Some(step_is_ours),
    feed: None,
    compared: &[
        (CALL_SSTHRESH, &["w_max_pkts", "epoch_us"]),
        (CALL_SET_STATE, &[]),
        (CALL_PKTS_ACKED, &["hystart.base_rtt_us", "hystart.round_end_seq", "hystart.round_start_us", "hystart.last_ack_us"]),
    ],
    own_credit: false,
    skip: all,
    answered_by: None,
    rules: &[
        Rule {
            module: "takes times in whole jiffies: renews the step once per jiffy, and keeps it for 1/32 s rounded down to jiffies",
            reason: "times in microseconds",
            parameter: "none: times in jiffies",
            kind: Kind::Predict(|trial| curve(trial, false)),
        },
        Rule {
            module: "also checks W_est when the step is renewed, in whole jiffies",
            reason: "times in microseconds",
            parameter: "none: times in jiffies",
            kind: Kind::Predict(|trial| curve(trial, true)),
        },
        Rule {
            module: "allows a train of ACKs the time of four of the device's largest packets, which are not in the recording",
            reason: "here 64 KiB each",
            parameter: "none: the same in the kernel",
            kind: Kind::Predict(train_is_shorter),
        },
    ],
    replayed: &[],
    other: &[("reno_friendly", "off")],
    mutants: mutants! {
        here: "(u64)cwnd * p->beta_q10 >> 10" => "(u64)cwnd * (p->beta_q10 - 16) >> 10";
        here: "(1024 + p->beta_q10) / 2048" => "(1024 + p->beta_q10) / 1024";
        here: "ca->origin_pkts + delta : cc_min" => "ca->origin_pkts + delta / 2 : cc_min";
        here: "if (t_q10s < ca->k_q10s)" => "if (t_q10s > ca->k_q10s)";
        here: "return cc_max(cwnd / (ca->reno_cwnd_pkts - cwnd), 1);" => "return cc_max(cwnd / (ca->reno_cwnd_pkts - cwnd), 3);";
        here: "ca->epoch_us = 0;\n\tca->prior_cwnd_pkts = cwnd;" => "ca->prior_cwnd_pkts = cwnd;";
        here: "u32 divisor = 100 * cwnd;" => "u32 divisor = 10 * cwnd;";
        "slow_start.h": "HYSTART_MIN_THRESHOLD_US 4000" => "HYSTART_MIN_THRESHOLD_US 8000";
    },
    notes: &[
        "K is the module's own: its cube root is an approximation, which ours has to be within 0.5 % of where an epoch begins.",
        "`cwnd_event` moves the epoch in both; ours also keeps when it was last active, which the module takes from lsndtime.",
    ],
};

fn map(module: &Module<'_>, ours: &mut Ours<'_>) {
    let epoch = module.get("epoch_start");
    ours.set("epoch_us", if epoch == 0 { 0 } else { module.tick_us("epoch_start") });
    ours.set("w_max_pkts", module.get("last_max_cwnd"));
    ours.set("origin_pkts", module.get("bic_origin_point"));
    ours.set("k_q10s", module.get("bic_K"));
    ours.set("reno_cwnd_pkts", module.get("tcp_cwnd"));
    ours.set("reno_credit_q10", module.get("ack_cnt") << 10);
    ours.set("step_pkts", module.get("cnt"));
    ours.set("step_cwnd_pkts", module.get("last_cwnd"));
    ours.set("step_since_us", module.tick_us("last_time") as u32);
    ours.set("prior_cwnd_pkts", u64::from(u32::MAX >> 1));
    ours.set("last_active_us", module.socket.tcp_mstamp as u32);
    ours.set("hystart.round_end_seq", module.get("end_seq"));
    ours.set("hystart.round_start_us", module.get("round_start"));
    ours.set("hystart.last_ack_us", module.get("last_ack"));
    ours.set("hystart.base_rtt_us", module.get("delay_min"));
    ours.set("hystart.round_min_rtt_us", module.get("curr_rtt"));
    ours.set("hystart.samples", module.get("sample_cnt"));
    ours.set("hystart.done", u64::from(module.get("found") != 0));
}

fn jiffies_of_us(trial: &Trial<'_>, us: u64) -> u64 {
    us.div_ceil(trial.before.us_per_jiffy())
}

/// Lets our code renew the step, with the module's RTT in whole jiffies and its `W_est` as it is.
fn renew(trial: &Trial<'_>, probe: &mut Ours<'_>) {
    let ahead_us = jiffies_of_us(trial, trial.after.get("delay_min")) * trial.before.us_per_jiffy();
    probe.set("hystart.base_rtt_us", ahead_us);
    probe.set("step_pkts", 0_u64);
    probe.set("reno_credit_q10", 0_u64);
}

/// The module's own step, with ours for the curve where it renews it
fn curve(trial: &Trial<'_>, with_reno: bool) -> bool {
    if trial.call.hook != CALL_CONG_AVOID {
        return false;
    }
    let (taken, left) = super::slow_start(trial).unwrap_or((0, trial.call.argument));
    if left == 0 {
        return false;
    }
    let cwnd = trial.ours.tp.snd_cwnd + taken;
    let Some((divisor, w_est)) = step(trial, cwnd) else { return false };
    let mut divisor = divisor;
    if with_reno && w_est > cwnd {
        divisor = divisor.min(cwnd / (w_est - cwnd));
    }
    let mut at = additive_increase(trial, divisor.max(2), left);
    at.0 += taken;
    at == (trial.expected.cwnd, trial.expected.credit) && trial.equal_but(&["cwnd", "credit"])
}

/// Step before `W_est` is looked at, and `W_est`
fn step(trial: &Trial<'_>, cwnd: u32) -> Option<(u32, u32)> {
    let before = &trial.before;
    let renewed_at = trial.after.get("last_time");
    // A tick may come between the recording of the clock and the module's look at it.
    let now = if renewed_at == before.get("last_time") { trial.call.jiffies as u32 } else { renewed_at as u32 };
    let age = now.wrapping_sub(before.get("last_time") as u32);
    let jiffies_per_s = 1_000_000 / before.us_per_jiffy();
    let w_est = trial.after.get("tcp_cwnd") as u32;
    if before.get("last_cwnd") == u64::from(cwnd) && u64::from(age) <= jiffies_per_s / 32 {
        return Some((before.get("cnt") as u32, 0));
    }
    if before.get("epoch_start") != 0 && age == 0 {
        return Some((before.get("cnt") as u32, w_est));
    }
    let mut probe = trial.ours.clone();
    map(&trial.after, &mut probe); // with the epoch, if it begins here
    if before.get("epoch_start") == 0 && !k_is_near(trial, cwnd) {
        return None;
    }
    probe.tp.snd_cwnd = cwnd;
    renew(trial, &mut probe);
    trial.divisor_of(probe, true).map(|divisor| (divisor, w_est))
}

/// Whenever the module renews its step, it is ours with the module's epoch, K, `W_est` and RTT.
fn step_is_ours(trial: &Trial<'_>) -> bool {
    let (before, after) = (&trial.before, &trial.after);
    if trial.call.hook != CALL_CONG_AVOID || after.get("last_time") == before.get("last_time") {
        return true;
    }
    let (taken, _) = super::slow_start(trial).unwrap_or((0, 0));
    let mut probe = trial.ours.clone();
    map(after, &mut probe);
    let late = (after.get("last_time") as u32).wrapping_sub(trial.call.jiffies as u32);
    let late_us = u64::from(late) * before.us_per_jiffy();
    probe.set("epoch_us", (probe.get("epoch_us") as u64).saturating_sub(late_us));
    probe.tp.snd_cwnd = trial.ours.tp.snd_cwnd + taken;
    renew(trial, &mut probe);
    trial.divisor_is(probe, after.get("cnt") as u32)
}

/// The module's cube root is right to 0.2 % and the factor under it too; ours is exact.
fn k_is_near(trial: &Trial<'_>, cwnd: u32) -> bool {
    let mut probe = trial.ours.clone();
    probe.set("epoch_us", 0_u64);
    probe.set("step_pkts", 0_u64);
    probe.tp.snd_cwnd = cwnd;
    probe.tp.snd_ssthresh = probe.tp.snd_ssthresh.min(cwnd);
    probe.set_limited(true);
    let (after, _) = trial.run(probe, &call { argument: 1, ..trial.call });
    let (ours, theirs) = (after.get("k_q10s"), i128::from(trial.after.get("bic_K")));
    (ours - theirs).abs() * 200 <= ours + 200
        && after.get("origin_pkts") == i128::from(trial.after.get("bic_origin_point"))
}

/// The module leaves slow start with a train that ours lets grow by up to half a millisecond.
fn train_is_shorter(trial: &Trial<'_>) -> bool {
    let (before, after) = (&trial.before, &trial.after);
    let train_us = (after.get("last_ack") as u32).wrapping_sub(before.get("round_start") as u32);
    let base_us = after.get("delay_min") as u32;
    trial.call.hook == CALL_PKTS_ACKED
        && trial.equal_but(&["ssthresh"])
        && after.get("found") == 1
        && trial.expected.ssthresh == trial.ours.tp.snd_cwnd
        && trial.got.ssthresh == trial.ours.tp.snd_ssthresh
        && (base_us / 2..=base_us / 2 + 500).contains(&train_us)
}
