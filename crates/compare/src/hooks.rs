// SPDX-License-Identifier: GPL-2.0-only
//! Which function of Linux each module names for each hook, and the struct that it keeps in the socket.
//!
//! The names are those of `struct tcp_congestion_ops` in `net/ipv4/tcp_*.c` since 6.1. A function that the running kernel
//! does not have is an error of the recorder, so that a hook cannot go unrecorded unnoticed.

use crate::native::{
    CALL_CONG_AVOID, CALL_CONG_CONTROL, CALL_CWND_EVENT, CALL_INIT, CALL_IN_ACK_EVENT, CALL_MIN_TSO_SEGS,
    CALL_PKTS_ACKED, CALL_RELEASE, CALL_SET_STATE, CALL_SSTHRESH, CALL_TX_START, CALL_UNDO_CWND,
};

/// A module of Linux.
pub struct Module {
    /// Name of our algorithm; the kernel's is the same.
    pub name: &'static str,
    /// Kernel module, and its struct of private state.
    pub object: &'static str,
    /// Struct in `icsk_ca_priv`; empty: none.
    pub state: &'static str,
    /// Member of it that points to memory of its own.
    pub pointer: Option<&'static str>,
    /// Hook and function.
    pub functions: &'static [(u32, &'static str)],
}

const RENO_SSTHRESH: (u32, &str) = (CALL_SSTHRESH, "tcp_reno_ssthresh");
const RENO_UNDO: (u32, &str) = (CALL_UNDO_CWND, "tcp_reno_undo_cwnd");

/// The names of the hooks, in the order of `enum call_hook`.
pub const HOOK_NAMES: [&str; 12] = [
    "init",
    "release",
    "ssthresh",
    "cong_avoid",
    "set_state",
    "cwnd_event",
    "cwnd_event_tx_start",
    "in_ack_event",
    "pkts_acked",
    "undo_cwnd",
    "cong_control",
    "min_tso_segs",
];

/// All sixteen.
pub const MODULES: &[Module] = &[
    Module {
        name: "scalable",
        object: "tcp_scalable",
        state: "",
        pointer: None,
        functions: &[(CALL_SSTHRESH, "tcp_scalable_ssthresh"), (CALL_CONG_AVOID, "tcp_scalable_cong_avoid"), RENO_UNDO],
    },
    Module {
        name: "highspeed",
        object: "tcp_highspeed",
        state: "hstcp",
        pointer: None,
        functions: &[
            (CALL_INIT, "hstcp_init"),
            (CALL_SSTHRESH, "hstcp_ssthresh"),
            (CALL_CONG_AVOID, "hstcp_cong_avoid"),
            RENO_UNDO,
        ],
    },
    Module {
        name: "bic",
        object: "tcp_bic",
        state: "bictcp",
        pointer: None,
        functions: &[
            (CALL_INIT, "bictcp_init"),
            (CALL_SSTHRESH, "bictcp_recalc_ssthresh"),
            (CALL_CONG_AVOID, "bictcp_cong_avoid"),
            (CALL_SET_STATE, "bictcp_state"),
            (CALL_PKTS_ACKED, "bictcp_acked"),
            RENO_UNDO,
        ],
    },
    Module {
        name: "cubic",
        object: "tcp_cubic",
        state: "bictcp",
        pointer: None,
        functions: &[
            (CALL_INIT, "cubictcp_init"),
            (CALL_SSTHRESH, "cubictcp_recalc_ssthresh"),
            (CALL_CONG_AVOID, "cubictcp_cong_avoid"),
            (CALL_SET_STATE, "cubictcp_state"),
            (CALL_CWND_EVENT, "cubictcp_cwnd_event"),
            (CALL_TX_START, "cubictcp_cwnd_event_tx_start"),
            (CALL_PKTS_ACKED, "cubictcp_acked"),
            RENO_UNDO,
        ],
    },
    Module {
        name: "htcp",
        object: "tcp_htcp",
        state: "htcp",
        pointer: None,
        functions: &[
            (CALL_INIT, "htcp_init"),
            (CALL_SSTHRESH, "htcp_recalc_ssthresh"),
            (CALL_CONG_AVOID, "htcp_cong_avoid"),
            (CALL_SET_STATE, "htcp_state"),
            (CALL_PKTS_ACKED, "measure_achieved_throughput"),
            (CALL_UNDO_CWND, "htcp_cwnd_undo"),
        ],
    },
    Module {
        name: "yeah",
        object: "tcp_yeah",
        state: "yeah",
        pointer: None,
        functions: &[
            (CALL_INIT, "tcp_yeah_init"),
            (CALL_SSTHRESH, "tcp_yeah_ssthresh"),
            (CALL_CONG_AVOID, "tcp_yeah_cong_avoid"),
            (CALL_SET_STATE, "tcp_vegas_state"),
            (CALL_CWND_EVENT, "tcp_vegas_cwnd_event"),
            (CALL_TX_START, "tcp_vegas_cwnd_event_tx_start"),
            (CALL_PKTS_ACKED, "tcp_vegas_pkts_acked"),
            RENO_UNDO,
        ],
    },
    Module {
        name: "vegas",
        object: "tcp_vegas",
        state: "vegas",
        pointer: None,
        functions: &[
            (CALL_INIT, "tcp_vegas_init"),
            RENO_SSTHRESH,
            (CALL_CONG_AVOID, "tcp_vegas_cong_avoid"),
            (CALL_SET_STATE, "tcp_vegas_state"),
            (CALL_CWND_EVENT, "tcp_vegas_cwnd_event"),
            (CALL_TX_START, "tcp_vegas_cwnd_event_tx_start"),
            (CALL_PKTS_ACKED, "tcp_vegas_pkts_acked"),
            RENO_UNDO,
        ],
    },
    Module {
        name: "veno",
        object: "tcp_veno",
        state: "veno",
        pointer: None,
        functions: &[
            (CALL_INIT, "tcp_veno_init"),
            (CALL_SSTHRESH, "tcp_veno_ssthresh"),
            (CALL_CONG_AVOID, "tcp_veno_cong_avoid"),
            (CALL_SET_STATE, "tcp_veno_state"),
            (CALL_CWND_EVENT, "tcp_veno_cwnd_event"),
            (CALL_TX_START, "tcp_veno_cwnd_event_tx_start"),
            (CALL_PKTS_ACKED, "tcp_veno_pkts_acked"),
            RENO_UNDO,
        ],
    },
    Module {
        name: "westwood",
        object: "tcp_westwood",
        state: "westwood",
        pointer: None,
        functions: &[
            (CALL_INIT, "tcp_westwood_init"),
            RENO_SSTHRESH,
            (CALL_CONG_AVOID, "tcp_reno_cong_avoid"),
            (CALL_CWND_EVENT, "tcp_westwood_event"),
            (CALL_IN_ACK_EVENT, "tcp_westwood_ack"),
            (CALL_PKTS_ACKED, "tcp_westwood_pkts_acked"),
            RENO_UNDO,
        ],
    },
    Module {
        name: "illinois",
        object: "tcp_illinois",
        state: "illinois",
        pointer: None,
        functions: &[
            (CALL_INIT, "tcp_illinois_init"),
            (CALL_SSTHRESH, "tcp_illinois_ssthresh"),
            (CALL_CONG_AVOID, "tcp_illinois_cong_avoid"),
            (CALL_SET_STATE, "tcp_illinois_state"),
            (CALL_PKTS_ACKED, "tcp_illinois_acked"),
            RENO_UNDO,
        ],
    },
    Module {
        name: "hybla",
        object: "tcp_hybla",
        state: "hybla",
        pointer: None,
        functions: &[
            (CALL_INIT, "hybla_init"),
            RENO_SSTHRESH,
            (CALL_CONG_AVOID, "hybla_cong_avoid"),
            (CALL_SET_STATE, "hybla_state"),
            RENO_UNDO,
        ],
    },
    Module {
        name: "lp",
        object: "tcp_lp",
        state: "lp",
        pointer: None,
        functions: &[
            (CALL_INIT, "tcp_lp_init"),
            RENO_SSTHRESH,
            (CALL_CONG_AVOID, "tcp_lp_cong_avoid"),
            (CALL_PKTS_ACKED, "tcp_lp_pkts_acked"),
            RENO_UNDO,
        ],
    },
    Module {
        name: "nv",
        object: "tcp_nv",
        state: "tcpnv",
        pointer: None,
        functions: &[
            (CALL_INIT, "tcpnv_init"),
            (CALL_SSTHRESH, "tcpnv_recalc_ssthresh"),
            (CALL_CONG_AVOID, "tcpnv_cong_avoid"),
            (CALL_SET_STATE, "tcpnv_state"),
            (CALL_PKTS_ACKED, "tcpnv_acked"),
            RENO_UNDO,
        ],
    },
    Module {
        name: "cdg",
        object: "tcp_cdg",
        state: "cdg",
        pointer: Some("gradients"),
        functions: &[
            (CALL_INIT, "tcp_cdg_init"),
            (CALL_RELEASE, "tcp_cdg_release"),
            (CALL_SSTHRESH, "tcp_cdg_ssthresh"),
            (CALL_CONG_AVOID, "tcp_cdg_cong_avoid"),
            (CALL_CWND_EVENT, "tcp_cdg_cwnd_event"),
            (CALL_TX_START, "tcp_cdg_cwnd_event_tx_start"),
            (CALL_PKTS_ACKED, "tcp_cdg_acked"),
            RENO_UNDO,
        ],
    },
    Module {
        name: "dctcp",
        object: "tcp_dctcp",
        state: "dctcp",
        pointer: None,
        functions: &[
            (CALL_INIT, "dctcp_init"),
            (CALL_SSTHRESH, "dctcp_ssthresh"),
            (CALL_CONG_AVOID, "tcp_reno_cong_avoid"),
            (CALL_SET_STATE, "dctcp_state"),
            (CALL_CWND_EVENT, "dctcp_cwnd_event"),
            (CALL_TX_START, "dctcp_cwnd_event_tx_start"),
            (CALL_IN_ACK_EVENT, "dctcp_update_alpha"),
            (CALL_UNDO_CWND, "dctcp_cwnd_undo"),
        ],
    },
    Module {
        name: "bbr",
        object: "tcp_bbr",
        state: "bbr",
        pointer: None,
        functions: &[
            (CALL_INIT, "bbr_init"),
            (CALL_CONG_CONTROL, "bbr_main"),
            (CALL_SSTHRESH, "bbr_ssthresh"),
            (CALL_SET_STATE, "bbr_set_state"),
            (CALL_CWND_EVENT, "bbr_cwnd_event"),
            (CALL_TX_START, "bbr_cwnd_event_tx_start"),
            (CALL_UNDO_CWND, "bbr_undo_cwnd"),
            (CALL_MIN_TSO_SEGS, "bbr_min_tso_segs"),
        ],
    },
];

/// The module of this algorithm.
pub fn module(name: &str) -> Option<&'static Module> {
    MODULES.iter().find(|module| module.name == name)
}
