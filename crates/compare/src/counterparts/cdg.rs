// SPDX-License-Identifier: GPL-2.0-only
//! `tcp_cdg.c`: field by field the same, but for the ring of gradients, which the module allocates, and the dice, which are
//! the module's: ours is given a throw of 0 where the module's succeeded, and one that always fails where it did not.

use crate::counterpart::{Counterpart, Kind, Rule};
use crate::mutant::mutants;
use crate::native::{call, CALL_CONG_AVOID, CALL_CWND_EVENT, CALL_INIT, CALL_PKTS_ACKED, CALL_SSTHRESH};
use crate::trial::{Module, Ours, Trial};
use ccctl_sim::splitmix64;

const BACKING_OFF: u64 = 3;
const WINDOW: u64 = 8;
const CWND_RESTART: u32 = 1;
const BACKOFF_FACTOR_PER_US: f64 = 42e-6; // 1 / (8 G), G = 3 ms: g is the sum of eight rounds
const GRADIENT_MAX_US: i32 = 32_767;
const NOISE_US: i32 = 32;
const BACKOFFS: u64 = 5; // without effect, before there are no more
const BACKOFF_BETA_Q10: u32 = 724;

pub const TWIN: Counterpart = Counterpart {
    name: "cdg",
    map,
    law: Some(chance_is_the_formula),
    feed: Some(throw_the_dice),
    compared: &[
        (CALL_INIT, &["round_end_seq", "shadow_pkts"]),
        (
            CALL_CONG_AVOID,
            &[
                "round_end_seq",
                "shadow_pkts",
                "backoffs",
                "rounds",
                "rtt.min_us",
                "rtt.max_us",
                "last_rtt.min_us",
                "last_rtt.max_us",
                "base_rtt_us",
                "samples",
            ],
        ),
        (CALL_PKTS_ACKED, &["rtt.min_us", "rtt.max_us", "delayed_acks"]),
        (CALL_SSTHRESH, &["shadow_pkts"]),
        (CALL_CWND_EVENT, &["round_end_seq", "rtt.min_us", "last_rtt.min_us", "last_rtt.max_us", "shadow_pkts"]),
    ],
    own_credit: false,
    skip: |call: &call| call.nested > 0, // ssthresh of a backoff, which the module makes by entering CWR
    answered_by: None,
    rules: &[
        Rule {
            module: "sums gradients of any size",
            reason: "those of a round are limited to 32.7 ms, to fit into the socket's state",
            parameter: "none: a limit of the socket's state",
            kind: Kind::Predict(sums_larger),
        },
        Rule {
            module: "counts beyond 255",
            reason: "the count ends at 255 backoffs without effect",
            parameter: "none: a limit of 8 bits",
            kind: Kind::Predict(|trial| trial.after.get("backoff_cnt") > 255 && trial.equal_but(&["backoffs"])),
        },
    ],
    replayed: &[],
    other: &[],
    mutants: mutants! {
        here: "ca->shadow_pkts >> 1, cwnd" => "ca->shadow_pkts >> 2, cwnd";
        here: "sum_us = min_sum_us > 0 ? min_sum_us : max_sum_us;" => "sum_us = min_sum_us;";
        here: "p->backoff_beta_q10 >> 10" => "p->backoff_beta_q10 >> 9";
        here: "ca->samples < CDG_SAMPLES" => "ca->samples < CDG_SAMPLES - 1";
        here: "sample->pkts_acked > 1 && ca->delayed_acks < CDG_DELACK_MAX" => "sample->pkts_acked > 2 && ca->delayed_acks < CDG_DELACK_MAX";
        here: "p->backoff_factor_ppm << 16) / 1000000" => "p->backoff_factor_ppm << 16) / 900000";
    },
    notes: &[
        "A backoff begins in the same call, with the same ssthresh. How the window goes down to it is the core's in the module (CWR), ours \
         by `cong_avoid`, which is not called there: side by side shows it.",
        "The module's random numbers are not recorded: a draw that succeeded there succeeds in ours wherever it can. Our chance has to be \
         1 - exp(-g / 24 ms) of the recorded sum g of eight gradients, or up to 0.002 less.",
    ],
};

fn map(module: &Module<'_>, ours: &mut Ours<'_>) {
    for (to, from) in [
        ("rtt.min_us", "rtt.min"),
        ("rtt.max_us", "rtt.max"),
        ("last_rtt.min_us", "rtt_prev.min"),
        ("last_rtt.max_us", "rtt_prev.max"),
        ("round_end_seq", "rtt_seq"),
        ("shadow_pkts", "shadow_wnd"),
        ("delayed_acks", "delack"),
        ("base_rtt_us", "delay_min"),
        ("train_last_us", "last_ack"),
        ("train_start_us", "round_start"),
        ("samples", "sample_cnt"),
    ] {
        ours.set(to, module.get(from));
    }
    let (tail, is_full) = (module.get("tail"), module.get("gfilled") != 0);
    ours.set("backoffs", module.get("backoff_cnt").min(255));
    ours.set("rounds", if is_full { WINDOW } else { tail });
    ours.set("backing_off", u64::from(module.get("state") == BACKING_OFF));
    ours.set("queue", module.get("state") % BACKING_OFF);
    for age in 0..WINDOW {
        let pair = module.call.extra[((tail + WINDOW - 1 - age) % WINDOW) as usize];
        let within = |us: i32| i128::from(us.clamp(-32_767, 32_767));
        ours.set(&format!("gradient[{age}].min_us"), within(pair as i32));
        ours.set(&format!("gradient[{age}].max_us"), within((pair >> 32) as i32));
    }
}

/// Did the module's throw succeed?
fn succeeded(trial: &Trial<'_>) -> bool {
    let (before, after) = (trial.before.get("backoff_cnt"), trial.after.get("backoff_cnt"));
    after > before || (after == 1 && trial.after.get("state") == BACKING_OFF)
}

/// Sets the generator so that its next number is below 2^16, or above all but 2^16
fn throw_the_dice(trial: &mut Trial<'_>) {
    trial.ours.tp.random_state =
        if succeeded(trial) { seed(|number| number < 1 << 16) } else { seed(|number| number >> 16 == 0xffff) };
    if trial.call.hook == CALL_CWND_EVENT && trial.call.argument == CWND_RESTART {
        trial.ours.tp.random_state = 0;
    }
}

/// States that lead to a small and to a large number
static SEEDS: std::sync::OnceLock<(u64, u64)> = std::sync::OnceLock::new();

/// A state from which the next number is wanted
fn seed(wanted: fn(u32) -> bool) -> u64 {
    let next = |mut state: u64| (splitmix64(&mut state) >> 32) as u32;
    let found = SEEDS.get_or_init(|| {
        let find = |wanted: fn(u32) -> bool| (1..u64::MAX).find(|state| wanted(next(*state))).unwrap_or_default();
        (find(|number| number < 1 << 16), find(|number| number >> 16 == 0xffff))
    });
    if wanted(0) {
        found.0
    } else {
        found.1
    }
}

/// Wherever ours throws the dice: the paper's chance, in floating point
fn chance_is_the_formula(trial: &Trial<'_>) -> bool {
    let chance_q16 = trial.result.get("backoff_chance_q16") as f64;
    if trial.call.hook != CALL_CONG_AVOID || chance_q16 == 0.0 {
        return true;
    }
    let gradient_us = trial.result.get("gradient_us") as f64;
    let more = chance_q16 - 65536.0 * (1.0 - f64::exp(-gradient_us * BACKOFF_FACTOR_PER_US));
    (-133.0..=1.0).contains(&more) // a straight line instead of the curve: 0.002
}

/// A gradient of this round or of the window is beyond ours. Our sums by their law, and what follows for the count of
/// backoffs and the decision; all else as in the module.
fn sums_larger(trial: &Trial<'_>) -> bool {
    let (before, after) = (&trial.before, &trial.after);
    let within = |us: i32| us.clamp(-GRADIENT_MAX_US, GRADIENT_MAX_US);
    let oldest = before.get("tail") as usize % trial.call.extra.len();
    let kept = trial.call.extra.iter().enumerate().filter(|(i, _)| *i != oldest).map(|(_, pair)| *pair);
    let newest = ["min", "max"].map(|which| {
        let of = |round: &str| before.get(&format!("{round}.{which}")) as i32;
        of("rtt").wrapping_sub(of("rtt_prev"))
    });
    let [min, max]: [Vec<i32>; 2] = [0, 32].map(|shift| {
        let of_round = std::iter::once(newest[usize::from(shift == 32)]);
        kept.clone().map(|pair| (pair >> shift) as i32).chain(of_round).collect()
    });
    if trial.call.hook != CALL_CONG_AVOID || !min.iter().chain(&max).any(|us| us.abs() > GRADIENT_MAX_US) {
        return false;
    }
    let sums = [min, max].map(|gradients| gradients.into_iter().map(within).sum::<i32>());
    let falls = sums.iter().any(|sum| *sum <= -NOISE_US);
    let grows = sums.iter().any(|sum| *sum > 0);
    let count = if falls { 0 } else { before.get("backoff_cnt").min(255) } + u64::from(succeeded(trial) && grows);
    let backs_off = succeeded(trial) && grows && count <= BACKOFFS;
    let cwnd = trial.ours.tp.snd_cwnd;
    let follows = if backs_off == (after.get("state") == BACKING_OFF) {
        trial.equal_but(&["backoffs"])
    } else {
        let ssthresh = if backs_off { ((cwnd * BACKOFF_BETA_Q10) >> 10).max(2) } else { trial.ours.tp.snd_ssthresh };
        backs_off
            && (trial.got.cwnd, trial.got.credit, trial.got.ssthresh) == (cwnd, 0, ssthresh)
            && trial.equal_but(&["backoffs", "cwnd", "credit", "ssthresh", "shadow_pkts"])
    };
    follows && trial.result.get("backoffs") == i128::from(count)
}
