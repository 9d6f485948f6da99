// SPDX-License-Identifier: GPL-2.0-only
//! `tcp_westwood.c`: bandwidth in bytes per jiffy and RTTs in jiffies; ours in packets per us Q24 and in us.

use crate::counterpart::{Counterpart, Kind, Rule};
use crate::mutant::mutants;
use crate::native::{call, CALL_CWND_EVENT, CALL_IN_ACK_EVENT, CALL_PKTS_ACKED};
use crate::trial::{Module, Ours, Trial};

const LOSS: u32 = 3;
/// Seen in scripted connections: no call of the module is about it.
pub const MEASURES_ON: &str =
    "The module measures on where nothing is in flight any more; ours leaves the time until it sends again out of its measurement.";

pub const TWIN: Counterpart = Counterpart {
    name: "westwood",
    map,
    law: None,
    feed: Some(feed),
    compared: &[
        (CALL_CWND_EVENT, &["relearn_min_rtt"]),
        (CALL_PKTS_ACKED, &["first_pole_q24", "bandwidth_q24", "min_rtt_us", "relearn_min_rtt"]),
    ],
    own_credit: false,
    skip: |call: &call| call.hook == CALL_PKTS_ACKED, // it only keeps the RTT for in_ack_event
    answered_by: Some((CALL_IN_ACK_EVENT, CALL_PKTS_ACKED)),
    rules: &[
        Rule {
            module: "counts in whole bytes and jiffies",
            reason: "packets per microsecond in Q24: BWE RTT_min differs by less than one packet, and by one in the rounding",
            parameter: "none: rounding",
            kind: Kind::Predict(rounding),
        },
        Rule {
            module: "filters bandwidth in whole bytes per jiffy",
            reason: "packets per microsecond in Q24: each step cuts less than one byte per jiffy off there",
            parameter: "none: rounding",
            kind: Kind::Predict(filter_is_cut),
        },
        Rule {
            module: "sets ssthresh to 2 after a timeout while RTT_min is to be learned anew",
            reason: "the earlier estimate stays valid until there is a new one",
            parameter: "half_without_estimate",
            kind: Kind::Predict(|trial| {
                trial.call.hook == CALL_CWND_EVENT && trial.call.argument == LOSS && trial.expected.ssthresh == 2
            }),
        },
    ],
    replayed: &[],
    other: &[],
    mutants: mutants! {
        here: "cc_ssthresh_of_path(((u64)ca->bandwidth_q24 * ca->min_rtt_us) >> 24)" => "cc_ssthresh_of_path(((u64)ca->bandwidth_q24 * ca->rtt_us) >> 24)";
        here: "(7ULL * average + sample) >> 3" => "(6ULL * average + 2ULL * sample) >> 3";
        here: "cc_set_cwnd(tp, tp->snd_ssthresh);" => "cc_set_cwnd(tp, tp->snd_ssthresh - 1);";
        here: "ca->relearn_min_rtt = true;" => "ca->relearn_min_rtt = false;";
        here: "tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked_pkts);" => "tcp_cong_avoid_ai(tp, tp->snd_cwnd - 1, acked_pkts);";
    },
    notes: &[
        MEASURES_ON,
        "`in_ack_event` of the module, which measures bandwidth, is answered by our `pkts_acked`, with the bytes that the module has \
         counted and its RTT. What is counted as acknowledged is not compared: bytes out of snd_una and duplicate ACKs there, packets \
         delivered here.",
    ],
};

fn map(module: &Module<'_>, ours: &mut Ours<'_>) {
    let us_per_jiffy = module.us_per_jiffy();
    let mss = u64::from(module.socket.mss_cache.max(1));
    let q24 = |bytes_per_jiffy: u64| (bytes_per_jiffy << 24).div_ceil(mss * us_per_jiffy);
    ours.set("bandwidth_q24", q24(module.get("bw_est")));
    ours.set("first_pole_q24", q24(module.get("bw_ns_est")));
    ours.set("min_rtt_us", module.get("rtt_min") * us_per_jiffy);
    ours.set("rtt_us", module.get("rtt") * us_per_jiffy);
    ours.set("relearn_min_rtt", module.get("reset_rtt_min"));
    ours.set("window_start_us", module.tick_us("rtt_win_sx"));
}

/// What the module has counted and its RTT, in our units
fn feed(trial: &mut Trial<'_>) {
    if trial.call.hook != CALL_PKTS_ACKED {
        return;
    }
    let mss = u64::from(trial.ours.tp.mss_cache.max(1));
    trial.call.sample_rtt_us = (trial.before.get("rtt") * trial.before.us_per_jiffy()) as i32;
    trial.call.sample_pkts = 0;
    trial.ours.set("window_pkts", trial.before.get("bk") / mss);
    // A tick may come between the recording of the clock and the module's look at it.
    if trial.after.get("rtt_win_sx") as u32 == (trial.call.jiffies as u32).wrapping_add(1) {
        trial.ours.tp.tcp_mstamp += trial.before.us_per_jiffy();
    }
}

/// Is ours what the module has, but for what is cut off? A tick may also come between its two looks at the clock.
fn filter_is_cut(trial: &Trial<'_>) -> bool {
    if trial.call.hook != CALL_PKTS_ACKED || !trial.equal_but(&["first_pole_q24", "bandwidth_q24"]) {
        return false;
    }
    let jiffies = (trial.after.get("rtt_win_sx") as u32).wrapping_sub(trial.before.get("rtt_win_sx") as u32);
    let mut earlier = trial.ours.clone();
    earlier.tp.tcp_mstamp -= trial.before.us_per_jiffy();
    let is_late = trial.after.get("rtt_win_sx") as u32 != trial.call.jiffies as u32;
    jiffies > 1
        && (is_near(trial, &trial.result, jiffies)
            || (is_late && is_near(trial, &trial.run(earlier, &trial.call).0, jiffies - 1)))
}

/// The module cuts a byte per jiffy off the sample, and one at each filter, of which an eighth goes on; ours a unit of Q24.
fn is_near(trial: &Trial<'_>, ours: &Ours<'_>, jiffies: u32) -> bool {
    let (before, after) = (&trial.before, &trial.after);
    let mss = f64::from(trial.ours.tp.mss_cache.max(1));
    let unit = mss * before.us_per_jiffy() as f64 / f64::from(1 << 24); // of Q24, in bytes per jiffy
    let part = before.get("bk") as f64 % mss / f64::from(jiffies); // of a packet, which ours does not count
    let is_first = before.get("bw_est") == 0 && before.get("bw_ns_est") == 0;
    let share = if is_first { 1.0 } else { 0.125 };
    let low = -part * share - 3.0 * unit;
    let high = 1.0 + share + 2.0 * unit;
    let more = |name: &str, theirs: &str| ours.get(name) as f64 * unit - after.get(theirs) as f64;
    (low..=high).contains(&more("first_pole_q24", "bw_ns_est"))
        && (low..=1.0 + high).contains(&more("bandwidth_q24", "bw_est"))
}

/// Ours is at most one packet more, where the exact product is that near to it
fn rounding(trial: &Trial<'_>) -> bool {
    let (before, tp) = (&trial.before, &trial.ours.tp);
    let product = before.get("bw_est") * before.get("rtt_min");
    let mss = u64::from(tp.mss_cache.max(1));
    let rtt_us = before.get("rtt_min") * before.us_per_jiffy();
    let missing = mss - product % mss; // bytes to the next packet
    trial.call.hook == CALL_CWND_EVENT
        && u64::from(trial.expected.ssthresh) == (product / mss).max(2)
        && trial.got.ssthresh == trial.expected.ssthresh + 1
        && missing << 24 <= rtt_us * mss
        && (trial.got.cwnd == trial.expected.cwnd || trial.got.cwnd == trial.expected.cwnd + 1)
        && trial.equal_but(&["ssthresh", "cwnd"])
        && trial.call.hook != CALL_PKTS_ACKED
}
