// SPDX-License-Identifier: GPL-2.0-only
//! `tcp_lp.c`: the delays are ours, in the module's ticks. Its estimate of one-way delay is taken from the recording: out of
//! two values of the smoothed delay follows the sample between them.

use super::all;
use crate::counterpart::{Counterpart, Kind, Rule};
use crate::mutant::mutants;
use crate::native::{CALL_CONG_AVOID, CALL_PKTS_ACKED};
use crate::trial::{Module, Ours, Trial};

const WITHIN_THRESHOLD: u64 = 1 << 3;
const WITHIN_INFERENCE: u64 = 1 << 4;
const NO_DELAY: u64 = 0xffff_ffff;
const RTT_SOURCE_FIELDS: &[&str] = &["delay.smooth_q3us", "delay.min_us", "delay.max_us"];

pub const TWIN: Counterpart = Counterpart {
    name: "lp",
    map,
    law: None,
    feed: Some(feed),
    compared: &[(CALL_PKTS_ACKED, RTT_SOURCE_FIELDS)],
    own_credit: false,
    skip: all,
    answered_by: None,
    rules: &[
        Rule {
            module: "judges at ACKs without a sample, and in recovery",
            reason: "RTTs of recovery are of a queue that is being drained",
            parameter: "none: a defect",
            kind: Kind::Input(|trial| {
                let applies = trial.call.hook == CALL_PKTS_ACKED;
                if applies {
                    trial.ours.tp.inet_conn.set_icsk_ca_state(0);
                    if trial.call.sample_rtt_us < 0 {
                        // a sample that changes nothing
                        trial.call.sample_rtt_us = (trial.before.get("sowd") >> 3) as i32;
                    }
                }
                applies
            }),
        },
        Rule {
            module: "smooths the difference of two clocks in 32 bits: with the random offsets that time stamps have by default the sum \
                     overflows, and what it indicates is chance; so it does where the peer's tick is measured as less than 1 ms, \
                     which counts as 0",
            reason: "delays are counted from the first one on, and are below 268 s",
            parameter: "none: a defect",
            kind: Kind::Predict(overflows),
        },
        Rule {
            module: "counts a smoothed delay equal to the threshold as an indication; with ticks of 1 ms that is frequent",
            reason: "congestion is indicated by a delay above it (paper, section III)",
            parameter: "none: less than a tick",
            kind: Kind::Predict(at_threshold),
        },
        Rule {
            module: "forgets the largest delay: the second largest is its maximum",
            reason: "d_max is the largest delay (paper, section III)",
            parameter: "relearn_range",
            kind: Kind::Predict(second_largest),
        },
    ],
    replayed: &[("delay_source", "rtt")],
    other: &[],
    mutants: mutants! {
        here: "tcp_sk(sk)->snd_cwnd >> 1);" => "tcp_sk(sk)->snd_cwnd - 1);";
        "lp.h": "lowprio_is_inferring(d, sk) ? 1 : cwnd_pkts" => "cwnd_pkts";
        "lp.h": "100 * beyond_us >" => "90 * beyond_us >";
        "lp.h": "d->max_us = d->smooth_q3us >> 2;" => "d->max_us = d->smooth_q3us >> 1;";
        "lp.h": "!p->delayed_acks && lowprio_may" => "p->delayed_acks || lowprio_may";
        "lp.h": "(u64)p->own_queue_pkts * cc" => "(u64)(p->own_queue_pkts + 1) * cc";
        "lp.h": "cc_now_us(sk) < d->reaction_end_us" => "cc_now_us(sk) <= d->phase_end_us";
    },
    notes: &[
        "The module's estimate of the peer's tick is not compared: ours rounds to nominal ticks.",
        "How long the phase without growth lasts is not compared: 3 ticks' differences of time stamps there, 3 smoothed RTTs here.",
    ],
};

fn map(module: &Module<'_>, ours: &mut Ours<'_>) {
    let min = module.get("owd_min");
    ours.set("delay.smooth_q3us", module.get("sowd"));
    ours.set("delay.min_us", if min == NO_DELAY { NO_DELAY } else { min });
    ours.set("delay.max_us", module.get("owd_max"));
    let inferring = module.get("flag") & WITHIN_INFERENCE != 0;
    ours.set("delay.phase_end_us", if inferring { module.call.before.tcp_mstamp + 1 } else { 0 });
}

fn feed(trial: &mut Trial<'_>) {
    if trial.call.hook == CALL_CONG_AVOID {
        return;
    }
    let (before, after) = (trial.before.get("sowd"), trial.after.get("sowd"));
    let sample = if before == 0 { after >> 3 } else { (after + (before >> 3)).wrapping_sub(before) };
    let is_sample = trial.call.sample_rtt_us > 0 && (after != before || sample == before >> 3) && after != 0;
    trial.call.sample_rtt_us = if is_sample { sample as i32 } else { -1 };
    let inferring = trial.after.get("flag") & WITHIN_INFERENCE != 0;
    let now = trial.ours.tp.tcp_mstamp;
    trial.ours.set("delay.phase_end_us", if inferring { now + 1 } else { 0 });
}

fn indicated(trial: &Trial<'_>) -> bool {
    trial.after.get("flag") & WITHIN_THRESHOLD == 0
}

/// Both answers by their laws, with the second largest delay for the module's maximum and the largest for ours
fn second_largest(trial: &Trial<'_>) -> bool {
    let sample = i128::from(trial.call.sample_rtt_us.max(0));
    let of = |name: &str| i128::from(trial.before.get(name));
    let (largest, reserve) = (of("owd_max"), of("owd_max_rsv"));
    if trial.call.hook != CALL_PKTS_ACKED || trial.call.sample_rtt_us < 0 || sample <= largest {
        return false;
    }
    let min = of("owd_min").min(sample);
    let theirs = if sample > reserve && reserve != 0 { reserve } else { sample };
    let smooth_q3 = trial.expected.state[0];
    let threshold = |max: i128| min + (max - min) * 15 / 100;
    let cwnd = trial.ours.tp.snd_cwnd;
    let yielded = if trial.after.get("flag") & WITHIN_INFERENCE == 0 { (cwnd >> 1).max(1) } else { 1 };
    let state = |yields: bool, max: i128| {
        if yields {
            [smooth_q3, smooth_q3 >> 3, smooth_q3 >> 2]
        } else {
            [smooth_q3, min, max]
        }
    };
    let we_yield = smooth_q3 >> 3 > threshold(sample);
    let expected = state(indicated(trial), theirs);
    indicated(trial) == (smooth_q3 >> 3 >= threshold(theirs))
        && trial.expected.state == expected
        && trial.expected.cwnd == if indicated(trial) { yielded } else { cwnd }
        && trial.got.state == state(we_yield, sample)
        && trial.got.cwnd == if we_yield { yielded } else { cwnd }
        && (we_yield || trial.got.ssthresh == trial.ours.tp.snd_ssthresh)
}

const SUM_BOUND: u64 = 1 << 28; // a delay of which eight are still a number of 32 bits, with room

/// The module's answer is its own law's, with delays that its sums do not hold
fn overflows(trial: &Trial<'_>) -> bool {
    let (before, after) = (&trial.before, &trial.after);
    let is_large = |delay: u64| delay >= SUM_BOUND && delay != NO_DELAY;
    let delays = ["owd_min", "owd_max", "owd_max_rsv"].into_iter().flat_map(|name| [before.get(name), after.get(name)]);
    let smooth = [before.get("sowd") >> 3, after.get("sowd") >> 3, u64::from(trial.call.sample_rtt_us as u32)];
    if trial.call.hook != CALL_PKTS_ACKED || !delays.chain(smooth).any(is_large) {
        return false;
    }
    let cwnd = trial.ours.tp.snd_cwnd;
    let yielded = if after.get("flag") & WITHIN_INFERENCE == 0 { (cwnd >> 1).max(1) } else { 1 };
    trial.expected.cwnd == if indicated(trial) { yielded } else { cwnd }
}

/// The module yields, and ours does not, at a delay that equals ours' threshold
fn at_threshold(trial: &Trial<'_>) -> bool {
    if trial.call.hook != CALL_PKTS_ACKED || !indicated(trial) {
        return false;
    }
    let [smooth_q3, min, max] = trial.got.state[..] else { return false };
    let cwnd = trial.ours.tp.snd_cwnd;
    let yielded = if trial.after.get("flag") & WITHIN_INFERENCE == 0 { (cwnd >> 1).max(1) } else { 1 };
    smooth_q3 >> 3 == min + (max - min) * 15 / 100
        && trial.got.cwnd == cwnd
        && trial.expected.cwnd == yielded
        && trial.expected.ssthresh == trial.got.ssthresh
        && trial.expected.state == [smooth_q3, smooth_q3 >> 3, smooth_q3 >> 2]
}
