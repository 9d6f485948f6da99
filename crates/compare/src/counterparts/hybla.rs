// SPDX-License-Identifier: GPL-2.0-only
//! `tcp_hybla.c`: fractions of a packet in Q7, of which ours in congestion avoidance is credit in Q10 packets times window.

use super::all;
use crate::counterpart::{Counterpart, Kind, Rule};
use crate::mutant::mutants;
use crate::native::{call, CALL_CONG_AVOID, CALL_INIT, CALL_PKTS_ACKED, CALL_SET_STATE};
use crate::trial::{Module, Ours, Trial};

const OPEN: u8 = 0;
const RTT0_US: u32 = 25_000;
const RECOVERY: u8 = 3;

pub const FOLLOWS_SMOOTHED: &str =
    "rho of the module follows the smallest smoothed RTT, ours the smallest RTT: each time that the module renews its rho, ours has \
     to come out the same of the same RTT, and growth is compared with the module's.";

pub const TWIN: Counterpart = Counterpart {
    name: "hybla",
    map,
    law: Some(|trial| slow_start_is_the_formula(trial) && rho_is_ours(trial) && init_keeps_rho(trial)),
    feed: Some(|trial| {
        // rho comes from srtt in the module, and is renewed before growth; ours from each RTT sample.
        if trial.call.hook == CALL_CONG_AVOID {
            trial.ours.set("rho_q3", trial.after.get("rho_3ls"));
        }
    }),
    compared: &[(CALL_SET_STATE, &[])],
    own_credit: true,
    skip: all,
    answered_by: None,
    rules: &[
        Rule {
            module: "is Reno from a state change away from Open until the change back to Open",
            reason: "the socket's state says the same",
            parameter: "none: the same except for a moment",
            kind: Kind::Input(|trial| {
                let enabled = trial.before.get("hybla_en") != 0;
                trial.ours.tp.inet_conn.set_icsk_ca_state(if enabled { OPEN } else { RECOVERY });
                trial.call.hook == CALL_CONG_AVOID
            }),
        },
        Rule {
            module: "rounds its powers of 2 down to 1/128",
            reason: "they are rounded: 2^(1/8), 2^(3/8) and 2^(7/8) are 1/128 more",
            parameter: "none: rounding",
            kind: Kind::Predict(table_is_cut),
        },
        Rule {
            module: "adds rho^2 / W per ACK without a limit",
            reason: "an ACK at most doubles the window",
            parameter: "none: a burst of several windows",
            kind: Kind::Predict(|trial| {
                let cwnd = u64::from(trial.ours.tp.snd_cwnd);
                let step_q7 = trial.after.get("rho2_7ls") / cwnd.max(1) + trial.before.get("snd_cwnd_cents");
                trial.call.hook == CALL_CONG_AVOID
                    && u64::from(trial.expected.cwnd) == cwnd + step_q7 / 128
                    && step_q7 / 128 > cwnd
                    && u64::from(trial.got.cwnd) == 2 * cwnd
            }),
        },
        Rule {
            module: "begins a connection with a window of rho packets",
            reason: "the kernel's initial window (RFC 6928); init writes no window",
            parameter: "none: the initial window is the route's (`initcwnd`)",
            kind: Kind::Predict(|trial| {
                trial.call.hook == CALL_INIT
                    && u64::from(trial.expected.cwnd) == trial.after.get("rho")
                    && trial.got.cwnd == trial.ours.tp.snd_cwnd
            }),
        },
        Rule {
            module: "grows by one packet after a whole window of ACKs where rho^2 / W is below 1/128",
            reason: "the fraction is kept exactly",
            parameter: "none: rounding",
            kind: Kind::Predict(starved),
        },
        Rule {
            module: "keeps fractions of slow start and congestion avoidance in one sum; limits the window to 65,535",
            reason: "they are of different things",
            parameter: "none: a limit from before window scaling",
            kind: Kind::Predict(|trial| {
                trial.call.hook == CALL_CONG_AVOID && trial.expected.cwnd == trial.ours.tp.snd_cwnd_clamp.min(65535)
            }),
        },
    ],
    replayed: &[],
    other: &[],
    mutants: mutants! {
        here: "(u64)rtt_us << 3, hybla" => "(u64)rtt_us << 2, hybla";
        here: "if (hybla_params()->per_ack)" => "if (!hybla_params()->per_ack)";
        here: "cc_max(ca->rho_q3, 1 << 3);" => "1 << 3;";
        here: "- 128;" => "- 127;";
        here: "(u64)ca->rho_q3 * ca->rho_q3 << 4" => "(u64)ca->rho_q3 * ca->rho_q3 << 5";
        here: "cc_min(ca->rho_q3 >> 3, 16)" => "cc_min(ca->rho_q3 >> 3, 3)";
        here: "0xebd7c5b5a6988c80ULL" => "0xebd7c5b5a6988d81ULL";
    },
    notes: &[FOLLOWS_SMOOTHED],
};

fn map(module: &Module<'_>, ours: &mut Ours<'_>) {
    let cents = module.get("snd_cwnd_cents");
    ours.set("rho_q3", module.get("rho_3ls"));
    ours.set("min_rtt_us", module.get("minrtt_us") >> 3);
    ours.set("slow_start_rest_q7", cents);
    ours.set("credit_q10", cents * u64::from(module.socket.snd_cwnd) * 8);
}

/// A packet acked in slow start is 2^rho - 1 packets, to the nearest 1/128; computed here in floating point.
fn slow_start_is_the_formula(trial: &Trial<'_>) -> bool {
    if trial.call.hook != CALL_CONG_AVOID || super::slow_start(trial).is_none() {
        return true;
    }
    let mut probe = trial.ours.clone();
    probe.tp.inet_conn.set_icsk_ca_state(OPEN);
    probe.tp.snd_ssthresh = u32::MAX >> 1;
    probe.tp.snd_cwnd_clamp = u32::MAX;
    probe.set_limited(true);
    let sum_q7 = |ours: &Ours<'_>| i128::from(ours.tp.snd_cwnd) * 128 + ours.get("slow_start_rest_q7");
    let rho = probe.get("rho_q3") as f64 / 8.0;
    let before = sum_q7(&probe);
    let (after, _) = trial.run(probe, &call { argument: 1, ..trial.call });
    let power_q7 = (f64::powf(2.0, rho.fract()) * 128.0).round() * f64::powf(2.0, rho.floor().min(16.0));
    sum_q7(&after) - before == power_q7 as i128 - 128
}

/// Where the module renews rho, ours makes the same of the module's RTT, but for the eighths of a microsecond that it lacks.
fn rho_is_ours(trial: &Trial<'_>) -> bool {
    let rtt_q3us = trial.before.socket.srtt_us;
    let renewed = trial.after.get("minrtt_us") != trial.before.get("minrtt_us");
    if trial.call.hook != CALL_CONG_AVOID || !renewed || rtt_q3us < 8 {
        return true;
    }
    let mut probe = trial.ours.clone();
    probe.set("min_rtt_us", 0_u64);
    let sample_rtt_us = (rtt_q3us >> 3) as i32;
    let (after, _) = trial.run(probe, &call { hook: CALL_PKTS_ACKED, sample_rtt_us, sample_pkts: 1, ..trial.call });
    let (ours, theirs) = (after.get("rho_q3"), i128::from(trial.after.get("rho_3ls")));
    ours == theirs || (ours + 1 == theirs && rtt_q3us % RTT0_US < 8)
}

/// The ACK of the SYN comes before `init`. Of an RTT of 100 ms rho is 4, and stays so.
fn init_keeps_rho(trial: &Trial<'_>) -> bool {
    if trial.call.hook != CALL_INIT {
        return true;
    }
    let mut probe = trial.ours.clone();
    probe.set("rho_q3", 0_u64);
    probe.set("min_rtt_us", 0_u64);
    let of_syn = call { hook: CALL_PKTS_ACKED, sample_rtt_us: 100_000, sample_pkts: 1, ..trial.call };
    let (begun, _) = trial.run(trial.run(probe, &of_syn).0, &trial.call);
    begun.get("rho_q3") == 4 * 8
}

fn starved(trial: &Trial<'_>) -> bool {
    let tp = &trial.ours.tp;
    let step_q7 = trial.after.get("rho2_7ls") / u64::from(tp.snd_cwnd.max(1));
    trial.call.hook == CALL_CONG_AVOID
        && step_q7 == 0
        && trial.before.socket.snd_cwnd_cnt + 1 >= tp.snd_cwnd
        && trial.expected.cwnd == tp.snd_cwnd + 1
        && trial.got.cwnd == tp.snd_cwnd
}

/// Slow start by the formula, with powers cut down in the module's answer and rounded in ours
fn table_is_cut(trial: &Trial<'_>) -> bool {
    let tp = &trial.ours.tp;
    if trial.call.hook != CALL_CONG_AVOID || tp.snd_cwnd >= tp.snd_ssthresh {
        return false;
    }
    let rho_q3 = trial.after.get("rho_3ls");
    let power_q7 = 128.0 * f64::powf(2.0, (rho_q3 % 8) as f64 / 8.0);
    let grown = |power_q7: f64| {
        let step_q7 = ((power_q7 as u64) << (rho_q3 / 8).min(16)) - 128 + trial.before.get("snd_cwnd_cents");
        (u64::from(tp.snd_cwnd) + step_q7 / 128).min(u64::from(tp.snd_ssthresh))
    };
    u64::from(trial.expected.cwnd) == grown(power_q7.floor()).min(65_535)
        && u64::from(trial.got.cwnd) == grown(power_q7.round()).min(u64::from(tp.snd_cwnd_clamp))
}
