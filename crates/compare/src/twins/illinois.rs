//! `tcp_illinois.c`: field by field the same.

use super::{all, Kind, Rule, Twin, DROPPED_LEFTOVER};
use crate::native::{CALL_CONG_AVOID, CALL_INIT, CALL_PKTS_ACKED, CALL_SET_STATE};
use crate::replay::{Module, Ours};

const NO_RTT: u64 = 0x7fff_ffff;
const DISORDER: u8 = 1;

pub const TWIN: Twin = Twin {
    name: "illinois",
    map,
    law: None,
    feed: None,
    compared: &[
        (CALL_INIT, &["alpha_q7", "beta_q6", "round_end_seq"]),
        (
            CALL_CONG_AVOID,
            &["alpha_q7", "beta_q6", "low_rounds", "was_high", "round_end_seq", "rtt_samples", "rtt_sum_us"],
        ),
        (CALL_PKTS_ACKED, &["rtt_samples", "rtt_sum_us", "base_rtt_us", "max_rtt_us"]),
        (
            CALL_SET_STATE,
            &["alpha_q7", "beta_q6", "low_rounds", "was_high", "round_end_seq", "rtt_samples", "rtt_sum_us"],
        ),
    ],
    own_credit: false,
    skip: all,
    answered_by: None,
    rules: &[
        Rule {
            module: "takes RTT samples in recovery too",
            reason: "they are of a queue that is being drained, or of retransmissions",
            parameter: "none: a defect",
            kind: Kind::Input(|trial| {
                let applies = trial.call.hook == CALL_PKTS_ACKED && trial.before.socket.ca_state > DISORDER;
                trial.ours.tp.inet_conn.set_icsk_ca_state(0);
                applies
            }),
        },
        Rule {
            module: "adds to its credit what pkts_acked last told, once, and 1 for each further ACK without",
            reason: "the packets that this ACK delivered, as the core counts them",
            parameter: "none: a defect",
            kind: Kind::Input(|trial| {
                let applies = trial.call.hook == CALL_CONG_AVOID && super::slow_start(trial).is_none();
                if applies {
                    trial.call.argument = trial.before.get("acked") as u32;
                }
                applies
            }),
        },
        DROPPED_LEFTOVER,
        Rule {
            module: "holds RTTs at 1.68 s, for its sums of 32 bits",
            reason: "the sums are of 64 bits",
            parameter: "none: a limit of 32 bits",
            kind: Kind::Input(|trial| {
                let applies = trial.call.hook == CALL_PKTS_ACKED && trial.call.sample_rtt_us > 1_677_721;
                trial.call.sample_rtt_us = trial.call.sample_rtt_us.min(1_677_721);
                applies
            }),
        },
    ],
    other: &[],
    notes: &[],
};

fn map(module: &Module<'_>, ours: &mut Ours<'_>) {
    let base = module.get("base_rtt");
    ours.set("rtt_sum_us", module.get("sum_rtt"));
    ours.set("rtt_samples", module.get("cnt_rtt"));
    ours.set("base_rtt_us", if base >= NO_RTT { 0 } else { base });
    ours.set("max_rtt_us", module.get("max_rtt"));
    ours.set("round_end_seq", module.get("end_seq"));
    ours.set("alpha_q7", module.get("alpha"));
    ours.set("beta_q6", module.get("beta"));
    ours.set("low_rounds", module.get("rtt_low"));
    ours.set("was_high", module.get("rtt_above"));
}
