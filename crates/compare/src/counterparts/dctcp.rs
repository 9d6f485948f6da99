// SPDX-License-Identifier: GPL-2.0-only
//! `tcp_dctcp.c`: field by field the same.

use super::all;
use crate::counterpart::{Counterpart, Kind, Rule};
use crate::mutant::mutants;
use crate::native::{CALL_CWND_EVENT, CALL_INIT, CALL_IN_ACK_EVENT, CALL_SET_STATE, CALL_SSTHRESH};
use crate::trial::{Module, Ours};

const TX_START: u32 = 0;
const CWND_RESTART: u32 = 1;
const LOSS_EVENT: u32 = 3;
const WINDOW: &[&str] = &["alpha_q10", "window_end_seq", "window_delivered", "window_delivered_ce"];

pub const TWIN: Counterpart = Counterpart {
    name: "dctcp",
    map,
    law: None,
    feed: None,
    compared: &[
        (CALL_INIT, WINDOW),
        (CALL_IN_ACK_EVENT, WINDOW),
        (CALL_SSTHRESH, &["prior_cwnd_pkts"]),
        (CALL_SET_STATE, &["alpha_q10"]),
        (CALL_CWND_EVENT, &["window_end_seq", "received_ce", "last_rcv_nxt"]),
    ],
    own_credit: false,
    skip: all,
    answered_by: None,
    rules: &[
        Rule {
            module: "becomes dctcp-reno where ECN was not negotiated",
            reason: "ours leaves the connection to the kernel's Reno",
            parameter: "none: the same law by another name",
            kind: Kind::Predict(|trial| {
                trial.call.hook == CALL_INIT
                    && trial.ours.tp.ecn_flags & 1 == 0
                    && trial.before.socket.ca_priv == trial.after.socket.ca_priv
                    && trial.got.state[0] == 1024
                    && trial.equal_but(WINDOW)
            }),
        },
        Rule {
            module: "ends its window with the ACK of the last byte sent before it",
            reason: "a round ends with the first ACK beyond it, as everywhere else here",
            parameter: "none: one ACK earlier or later",
            kind: Kind::Input(|trial| {
                let end = trial.ours.get("window_end_seq") as u32;
                let applies = trial.call.hook == CALL_IN_ACK_EVENT && end == trial.ours.tp.snd_una;
                if applies {
                    trial.ours.set("window_end_seq", end.wrapping_sub(1));
                }
                applies
            }),
        },
        Rule {
            module: "counts a loss that comes after a mark from the window that the reduction has reached",
            reason: "RFC 8257 section 3.5: half, once a window, of the window before it",
            parameter: "none: what RFC 8257 forbids",
            kind: Kind::Input(|trial| {
                let applies = [CALL_SET_STATE, CALL_CWND_EVENT].contains(&trial.call.hook);
                trial.ours.set("prior_cwnd_pkts", trial.ours.tp.snd_cwnd);
                applies
            }),
        },
        Rule {
            module: "continues its window after a pause",
            reason: "packets before and after a pause belong to different windows",
            parameter: "none: a defect",
            kind: Kind::Predict(|trial| {
                trial.call.hook == CALL_CWND_EVENT
                    && [TX_START, CWND_RESTART].contains(&trial.call.argument)
                    && trial.got.state[0] == i128::from(trial.ours.tp.snd_nxt)
                    && trial.equal_but(&["window_end_seq"])
            }),
        },
        Rule {
            module: "lets a small alpha fall to 0 even while there are marks",
            reason: "with a gain below 1/32 it could not rise from there",
            parameter: "none: a defect",
            kind: Kind::Predict(|trial| {
                trial.call.hook == CALL_IN_ACK_EVENT
                    && trial.ours.get("alpha_q10") < 16
                    && trial.got.state[0] - trial.expected.state[0] == trial.ours.get("alpha_q10")
                    && trial.equal_but(&["alpha_q10"])
            }),
        },
    ],
    replayed: &[],
    other: &[],
    mutants: mutants! {
        here: "(u64)marked << (10 - (gain_shift & 15))" => "(u64)marked << (11 - (gain_shift & 15))";
        here: "cwnd * ca->alpha_q10 >> 11" => "cwnd * ca->alpha_q10 >> 10";
        here: "prior_cwnd_pkts >> 1);" => "prior_cwnd_pkts >> 2);";
        here: "ca->alpha_q10 - decay_q10 + share_q10, DCTCP_ALPHA_MAX_Q10" => "ca->alpha_q10 - decay_q10 + share_q10, DCTCP_ALPHA_MAX_Q10 / 2";
        here: "new_state == TCP_CA_Recovery &&" => "new_state == TCP_CA_Loss &&";
    },
    notes: &[
        "The module also keeps the state of PLB (path changes), which is not congestion control.",
        "What a receiver sends, and when, is not recorded: only the state that it acts on.",
    ],
};

fn map(module: &Module<'_>, ours: &mut Ours<'_>) {
    ours.set("alpha_q10", module.get("dctcp_alpha"));
    ours.set("window_end_seq", module.get("next_seq"));
    ours.set("window_delivered", module.get("old_delivered"));
    ours.set("window_delivered_ce", module.get("old_delivered_ce"));
    ours.set("prior_cwnd_pkts", module.get("loss_cwnd"));
    ours.set("last_rcv_nxt", module.get("prior_rcv_nxt"));
    ours.set("received_ce", module.get("ce_state"));
    let _ = LOSS_EVENT;
}
