// SPDX-License-Identifier: GPL-2.0-only
//! `tcp_bbr.c` (v1): the same law in the same units, but for clocks in jiffies. All of the state is compared.

use super::all;
use crate::counterpart::{Counterpart, Kind, Rule};
use crate::mutant::mutants;
use crate::native::{
    CALL_CONG_CONTROL, CALL_CWND_EVENT, CALL_EXTRA_RTT_MIN, CALL_INIT, CALL_SET_STATE, CALL_SSTHRESH, CALL_TX_START,
    CALL_UNDO_CWND,
};
use crate::trial::{Module, Ours, Trial};
use ccctl_sim::splitmix64;

const PROBE_BW: u64 = 2;
const PHASES: u64 = 8;

const ALL: &[&str] = &[
    "best.round",
    "best.bw_q24",
    "second.round",
    "second.bw_q24",
    "third.round",
    "third.bw_q24",
    "min_rtt_us",
    "min_rtt_stamp_us",
    "probe_rtt_done_us",
    "rounds",
    "next_round_delivered",
    "cycle_start_us",
    "policer_bw_q24",
    "policer_delivered",
    "policer_lost",
    "policer_start_ms",
    "prior_cwnd_pkts",
    "full_bw_q24",
    "epoch_start_us",
    "epoch_acked_pkts",
    "burst_pkts",
    "older_burst_pkts",
    "mode",
    "prior_ca_state",
    "cycle",
    "full_bw_rounds",
    "policer_rounds",
    "burst_rounds",
    "pace",
    "round_began",
    "idle_restart",
    "probe_rtt_round_done",
    "policer_watched",
    "policed",
    "full_bw_reached",
    "has_seen_rtt",
    "conserves",
];

pub const TWIN: Counterpart = Counterpart {
    name: "bbr",
    map,
    law: None,
    feed: Some(feed),
    compared: &[
        (CALL_INIT, ALL),
        (CALL_CONG_CONTROL, ALL),
        (CALL_SSTHRESH, ALL),
        (CALL_SET_STATE, ALL),
        (CALL_CWND_EVENT, ALL),
        (CALL_TX_START, ALL),
        (CALL_UNDO_CWND, ALL),
    ],
    own_credit: false,
    skip: all,
    answered_by: None,
    rules: &[Rule {
        module: "leaves the window of an undo to the next packet delivered, most often at the same ACK",
        reason: "every algorithm restores the window in the undo itself",
        parameter: "none: the same window, within an ACK",
        kind: Kind::Predict(|trial| {
            trial.call.hook == CALL_UNDO_CWND
                && trial.expected.returned == trial.ours.tp.snd_cwnd
                && trial.got.returned == trial.ours.tp.snd_cwnd.max(trial.ours.tp.prior_cwnd)
                && trial.equal_but(&["returned"])
        }),
    }],
    replayed: &[],
    other: &[],
    mutants: mutants! {
        here: "ca->min_rtt_us = tp->rtt_min.s[0].v;" => "ca->min_rtt_us = BBR_NO_RTT;";
        here: "rtt_us < ca->min_rtt_us ||" => "rtt_us <= ca->min_rtt_us ||";
        here: "pkts += 3 * bbr_burst_goal_pkts(sk);" => "pkts += 2 * bbr_burst_goal_pkts(sk);";
        here: "pkts = (pkts + 1) & ~1ULL;" => "pkts = pkts & ~1ULL;";
        here: "	bbr_forget_policer(ca, tcp_sk(sk));\n	return" => "	return";
        here: "		ca->mode = BBR_PROBE_RTT;\n		bbr_save_cwnd(ca, tcp_sk(sk));" => "		bbr_save_cwnd(ca, tcp_sk(sk));\n		ca->mode = BBR_PROBE_RTT;";
        here: "if (bbr_pacing_gain_q8(ca, p) > BBR_ONE_Q8)" => "if (ca->mode == BBR_STARTUP)";
        here: "return (u32)(tp->delivered_mstamp / 1000);" => "return (u32)(tp->delivered_mstamp / 1024);";
        here: "++ca->burst_rounds >= p->aggregation_rounds" => "++ca->burst_rounds > p->aggregation_rounds";
        here: "ca->conserves = true;" => "ca->conserves = false;";
        here: "*cwnd = cc_max(*cwnd, ca->prior_cwnd_pkts);" => "*cwnd = ca->prior_cwnd_pkts;";
        here: "if (ca->full_bw_reached || rate > sk->sk_pacing_rate)" => "if (rate > 0)";
        here: "tp->app_limited = limited_delivered;" => "ca->limited_delivered = limited_delivered;";
        here: "ca->epoch_acked_pkts <= expected_pkts ||" => "ca->epoch_acked_pkts < expected_pkts ||";
        here: "ca->second.round == ca->best.round && age > window / 4" => "ca->second.round == ca->best.round && age > window / 2";
        here: "if (!tcp_sk(sk)->app_limited)" => "if (tcp_sk(sk)->app_limited)";
    },
    notes: &[
        "Also compared: the pacing rate, whether there is one, and `app_limited`.",
        "Times in jiffies are put on our clock as multiples of a tick before or after the call.",
        "The phase that PROBE_BW begins with is drawn at random in both: ours is given a number that leads to the module's.",
    ],
};

fn map(module: &Module<'_>, ours: &mut Ours<'_>) {
    for (to, from) in [("best", 0), ("second", 1), ("third", 2)] {
        ours.set(&format!("{to}.round"), module.get(&format!("bw.s[{from}].t")));
        ours.set(&format!("{to}.bw_q24"), module.get(&format!("bw.s[{from}].v")));
    }
    let index = module.get("extra_acked_win_idx");
    ours.set("burst_pkts", module.get(&format!("extra_acked[{index}]")));
    ours.set("older_burst_pkts", module.get(&format!("extra_acked[{}]", 1 - index)));
    ours.set("min_rtt_stamp_us", module.time_us("min_rtt_stamp") as u32);
    let done = if module.get("probe_rtt_done_stamp") == 0 { 0 } else { module.time_us("probe_rtt_done_stamp") as u32 };
    ours.set("probe_rtt_done_us", done);
    ours.set("cycle_start_us", module.get("cycle_mstamp") as u32);
    ours.set("epoch_start_us", module.get("ack_epoch_mstamp") as u32);
    ours.set("pace", pace(module.get("pacing_gain")));
    for (to, from) in [
        ("min_rtt_us", "min_rtt_us"),
        ("rounds", "rtt_cnt"),
        ("next_round_delivered", "next_rtt_delivered"),
        ("policer_bw_q24", "lt_bw"),
        ("policer_delivered", "lt_last_delivered"),
        ("policer_lost", "lt_last_lost"),
        ("policer_start_ms", "lt_last_stamp"),
        ("prior_cwnd_pkts", "prior_cwnd"),
        ("full_bw_q24", "full_bw"),
        ("epoch_acked_pkts", "ack_epoch_acked"),
        ("mode", "mode"),
        ("prior_ca_state", "prev_ca_state"),
        ("cycle", "cycle_idx"),
        ("full_bw_rounds", "full_bw_cnt"),
        ("policer_rounds", "lt_rtt_cnt"),
        ("burst_rounds", "extra_acked_win_rtts"),
        ("round_began", "round_start"),
        ("idle_restart", "idle_restart"),
        ("probe_rtt_round_done", "probe_rtt_round_done"),
        ("policer_watched", "lt_is_sampling"),
        ("policed", "lt_use_bw"),
        ("full_bw_reached", "full_bw_reached"),
        ("has_seen_rtt", "has_seen_rtt"),
        ("conserves", "packet_conservation"),
    ] {
        ours.set(to, module.get(from));
    }
}

/// `enum bbr_pace` out of `pacing_gain`; 0 before the first ACK
fn pace(gain_q8: u64) -> u32 {
    match gain_q8 {
        0 | 739 => 0,
        88 => 1,
        256 => 2,
        320 => 3,
        192 => 4,
        other => panic!("tcp_bbr.c has no gain {other}"),
    }
}

fn feed(trial: &mut Trial<'_>) {
    if [CALL_INIT, CALL_CONG_CONTROL].contains(&trial.call.hook) {
        trial.ours.tp.rtt_min.s[0].v = trial.call.extra[CALL_EXTRA_RTT_MIN as usize] as u32;
    }
    if trial.after.get("mode") == PROBE_BW {
        trial.ours.tp.random_state = seed_of(trial.after.get("cycle_idx"));
    }
    // A tick may come between the recording of the clock and the module's look at it.
    let late = (trial.call.jiffies as u32).wrapping_add(1);
    let is_late = |name: &str, ahead: u64| {
        trial.after.get(name) != trial.before.get(name)
            && trial.after.get(name) as u32 == late.wrapping_add(ahead as u32)
    };
    let probe = 200_000 / trial.before.us_per_jiffy();
    if is_late("min_rtt_stamp", 0) || is_late("probe_rtt_done_stamp", probe) {
        trial.ours.tp.tcp_mstamp += trial.before.us_per_jiffy();
    }
}

/// The draw after it leads to this phase.
fn seed_of(cycle: u64) -> u64 {
    let leads = |seed: &u64| (PHASES - (splitmix64(&mut { *seed }) >> 32) % (PHASES - 1)) % PHASES == cycle;
    (0..1000).find(leads).unwrap_or_default() // none: no draw leads to phase 1
}
