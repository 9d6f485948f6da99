// SPDX-License-Identifier: GPL-2.0-only
//! `tcp_htcp.c`: RTTs and times in jiffies, alpha in Q7; ours in us, in steps of a jiffy, and in Q10.

use super::all;
use crate::counterpart::{Counterpart, Kind, Rule};
use crate::mutant::mutants;
use crate::native::{CALL_CONG_AVOID, CALL_INIT, CALL_PKTS_ACKED, CALL_SET_STATE, CALL_SSTHRESH};
use crate::trial::{Module, Ours, Trial};

pub const TWIN: Counterpart = Counterpart {
    name: "htcp",
    map,
    law: None,
    feed: Some(feed),
    compared: &[
        (CALL_INIT, &["beta_q7", "alpha_q10", "acked_pkts"]),
        (CALL_CONG_AVOID, &["alpha_q10", "acked_pkts"]),
        (CALL_SSTHRESH, &["beta_q7", "alpha_q10", "rate_was_steady", "old_max_rate_pps"]),
        (CALL_SET_STATE, &["last_congestion_us"]),
        (CALL_PKTS_ACKED, &["min_rtt_us", "rate_pps", "max_rate_pps", "window_pkts", "max_rtt_us", "acked_pkts"]),
    ],
    own_credit: false,
    skip: all,
    answered_by: None,
    rules: &[
        Rule {
            module: "measures its first throughput since the kernel was started: it is 0",
            reason: "since the connection began",
            parameter: "none: a defect",
            kind: Kind::Predict(|trial| {
                let is_first = trial.before.get("lasttime") == 0 && trial.after.get("lasttime") != 0;
                is_first && trial.after.get("Bi") == 0 && trial.equal_but(&["rate_pps", "max_rate_pps"])
            }),
        },
        Rule {
            module: "counts whole jiffies from one to the next",
            reason: "ticks of the socket's clock: a time may be one more or less",
            parameter: "tick",
            kind: Kind::Predict(is_a_tick_apart),
        },
    ],
    replayed: &[],
    other: &[],
    mutants: mutants! {
        here: "1024 + 10240 * excess_ms / 1000" => "1024 + 9000 * excess_ms / 1000";
        here: "acked_pkts = 1;\n}" => "acked_pkts = 2;\n}";
        here: "(3ULL * ca->rate_pps + rate_pps) / 4" => "(7ULL * ca->rate_pps + rate_pps) / 8";
        here: "2 * (128 - ca->beta_q7) * increase_q10 >> 7" => "2 * (127 - ca->beta_q7) * increase_q10 >> 7";
        here: "(u64)tcp_sk(sk)->snd_cwnd * ca->beta_q7 >> 7" => "(u64)tcp_sk(sk)->snd_cwnd * ca->beta_q7 >> 6";
        here: "#define HTCP_BETA_MAX_Q7 102" => "#define HTCP_BETA_MAX_Q7 112";
        here: "\tca->last_congestion_us = cc_tick_now_us(sk, htcp_params()->tick_us);\n\tif" => "\tif";
    },
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
    // 0: for ever
    let has_begun = module.get("lasttime") != 0;
    ours.set("window_start_us", if has_begun { module.tick_us("lasttime") } else { 0 });
    ours.set("beta_q7", module.get("beta"));
    ours.set("alpha_q10", module.get("alpha") << 3);
    ours.set("acked_pkts", module.get("pkts_acked"));
    ours.set("rate_was_steady", module.get("modeswitch"));
    ours.set("last_congestion_us", module.tick_us("last_cong"));
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

/// Our code gives the module's answer a tick earlier or later.
fn is_a_tick_apart(trial: &Trial<'_>) -> bool {
    let tick_us = trial.before.us_per_jiffy();
    let fields = TWIN.fields(trial.call.hook);
    let is_theirs = |tcp_mstamp: u64| {
        let mut probe = trial.ours.clone();
        probe.tp.tcp_mstamp = tcp_mstamp;
        let (after, returned) = trial.run(probe, &trial.call);
        let expected = &trial.expected;
        (after.tp.snd_cwnd, after.tp.snd_cwnd_cnt, after.tp.snd_ssthresh)
            == (expected.cwnd, expected.credit, expected.ssthresh)
            && (trial.call.hook != CALL_SSTHRESH || returned == expected.returned)
            && fields.iter().zip(&expected.state).all(|(name, value)| is_near(name, after.get(name), *value, tick_us))
    };
    let now_us = trial.ours.tp.tcp_mstamp;
    is_theirs(now_us) || is_theirs(now_us + tick_us) || is_theirs(now_us.saturating_sub(tick_us))
}

/// Points in time may be a tick apart; all else is the same.
fn is_near(name: &str, ours: i128, theirs: i128, tick_us: u64) -> bool {
    ours == theirs || (name == "last_congestion_us" && (ours - theirs).unsigned_abs() <= u128::from(2 * tick_us))
}
