// SPDX-License-Identifier: GPL-2.0-only
//! A record of an algorithm's hooks: what the kernel, or the simulator in its place, asked, and what the answer was.
//!
//! The form does not depend on who records. One call is one JSON object, one object a line; `docs/internals/second-implementations.md`
//! tells what each member is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::native::{ack_sample, rate_sample, CA_EVENT_TX_START};
use crate::native::{tcp_ca_event, tcp_sock, Instance, CA_EVENT_COMPLETE_CWR, CA_EVENT_CWND_RESTART, CA_EVENT_LOSS};

/// What stands before the calls of a file: whose they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// Algorithm.
    pub algorithm: String,
    /// Integers of its parameters, by C member; those that are not named have their defaults.
    pub parameters: BTreeMap<String, u32>,
}

/// One call of one hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Which, with its arguments.
    pub hook: Hook,
    /// What of the socket the algorithm may read, before the call.
    pub socket: SocketRecord,
    /// The window after it.
    pub after: WindowRecord,
    /// What it returned, if it returns anything.
    pub returned: Option<u32>,
}

/// A hook and its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hook {
    /// The algorithm begins; its private area was zeroed.
    Init,
    /// `pkts_acked` with its `struct ack_sample`.
    PktsAcked {
        /// Packets newly acknowledged.
        pkts_acked: u32,
        /// Below 0: no sample.
        rtt_us: i32,
        /// Bytes.
        in_flight: u32,
    },
    /// `in_ack_event`
    InAckEvent,
    /// `cong_avoid`
    CongAvoid {
        /// Packets acknowledged or selectively acknowledged.
        acked: u32,
    },
    /// `cong_control`, with what of its `struct rate_sample` is more than bookkeeping.
    CongControl {
        /// Packets delivered over the interval; below 0: no sample.
        delivered: i32,
        /// Below 0: no sample.
        interval_us: i64,
        /// Below 0: no sample.
        rtt_us: i64,
        /// Packets newly delivered.
        acked_sacked: u32,
        /// Packets.
        prior_in_flight: u32,
        /// `delivered` when the newest acknowledged packet was sent.
        #[serde(default)]
        prior_delivered: u32,
        /// Packets marked lost at this ACK.
        #[serde(default)]
        losses: i32,
        /// The application held the sample back.
        #[serde(default)]
        is_app_limited: bool,
    },
    /// `ssthresh`
    Ssthresh,
    /// `undo_cwnd`
    UndoCwnd,
    /// `set_state`; the socket still has the old one.
    SetState {
        /// `enum tcp_ca_state`
        new_state: u8,
    },
    /// `cwnd_event`
    CwndEvent {
        /// Which.
        event: Event,
    },
    /// `cwnd_event_tx_start`, or the event of the same name on kernels up to 7.0
    TxStart,
}

/// `enum tcp_ca_event`, without those of the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// `CA_EVENT_CWND_RESTART`
    CwndRestart,
    /// `CA_EVENT_COMPLETE_CWR`
    CompleteCwr,
    /// `CA_EVENT_LOSS`
    Loss,
    /// The others.
    Other,
}

/// What the kernel names the fields of `struct tcp_sock`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // bpf/include/kernel/tcp.h says what they are
pub struct SocketRecord {
    pub tcp_mstamp: u64,
    pub ca_state: u8,
    pub snd_una: u32,
    pub snd_nxt: u32,
    pub snd_cwnd: u32,
    pub snd_cwnd_cnt: u32,
    pub snd_cwnd_clamp: u32,
    pub snd_ssthresh: u32,
    pub prior_cwnd: u32,
    pub srtt_us: u32,
    pub max_packets_out: u32,
    pub is_cwnd_limited: bool,
    pub packets_out: u32,
    pub delivered: u32,
    pub mss_cache: u32,
    pub rcv_tsval: u32,
    pub rcv_tsecr: u32,
    pub saw_tstamp: bool,
    pub tcp_usec_ts: bool,
    #[serde(default)]
    pub delivered_ce: u32,
    #[serde(default)]
    pub lost: u32,
    #[serde(default)]
    pub in_flight: u32,
    #[serde(default)]
    pub app_limited: u32,
    #[serde(default = "no_rtt")]
    pub rtt_min: u32,
    #[serde(default)]
    pub sk_pacing_rate: u64,
    #[serde(default)]
    pub sk_pacing_shift: u8,
    #[serde(default)]
    pub random_state: u64,
}

/// `rtt_min` before the first sample.
fn no_rtt() -> u32 {
    u32::MAX
}

/// What a hook may change of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the kernel's
pub struct WindowRecord {
    pub snd_cwnd: u32,
    pub snd_cwnd_cnt: u32,
    pub snd_ssthresh: u32,
    #[serde(default)]
    pub sk_pacing_rate: u64,
}

impl Hook {
    pub(crate) fn pkts_acked(sample: &ack_sample) -> Self {
        Self::PktsAcked { pkts_acked: sample.pkts_acked, rtt_us: sample.rtt_us, in_flight: sample.in_flight }
    }

    pub(crate) fn cong_control(sample: &rate_sample) -> Self {
        Self::CongControl {
            delivered: sample.delivered,
            interval_us: sample.interval_us,
            rtt_us: sample.rtt_us,
            acked_sacked: sample.acked_sacked,
            prior_in_flight: sample.prior_in_flight,
            prior_delivered: sample.prior_delivered,
            losses: sample.losses,
            is_app_limited: sample.is_app_limited,
        }
    }

    pub(crate) fn event(event: tcp_ca_event) -> Self {
        let event = match event {
            CA_EVENT_TX_START => return Self::TxStart,
            CA_EVENT_CWND_RESTART => Event::CwndRestart,
            CA_EVENT_COMPLETE_CWR => Event::CompleteCwr,
            CA_EVENT_LOSS => Event::Loss,
            _ => Event::Other,
        };
        Self::CwndEvent { event }
    }

    fn returns(self) -> bool {
        matches!(self, Self::Ssthresh | Self::UndoCwnd)
    }
}

impl SocketRecord {
    fn of(tp: &tcp_sock) -> Self {
        Self {
            tcp_mstamp: tp.tcp_mstamp,
            ca_state: tp.inet_conn.icsk_ca_state(),
            snd_una: tp.snd_una,
            snd_nxt: tp.snd_nxt,
            snd_cwnd: tp.snd_cwnd,
            snd_cwnd_cnt: tp.snd_cwnd_cnt,
            snd_cwnd_clamp: tp.snd_cwnd_clamp,
            snd_ssthresh: tp.snd_ssthresh,
            prior_cwnd: tp.prior_cwnd,
            srtt_us: tp.srtt_us,
            max_packets_out: tp.max_packets_out,
            is_cwnd_limited: tp.is_cwnd_limited() != 0,
            packets_out: tp.packets_out,
            delivered: tp.delivered,
            mss_cache: tp.mss_cache,
            rcv_tsval: tp.rx_opt.rcv_tsval,
            rcv_tsecr: tp.rx_opt.rcv_tsecr,
            saw_tstamp: tp.rx_opt.saw_tstamp() != 0,
            tcp_usec_ts: tp.tcp_usec_ts() != 0,
            delivered_ce: tp.delivered_ce,
            lost: tp.lost,
            in_flight: tp.in_flight_pkts(),
            app_limited: tp.app_limited,
            rtt_min: tp.rtt_min.s[0].v,
            sk_pacing_rate: tp.inet_conn.sk.sk_pacing_rate,
            sk_pacing_shift: tp.inet_conn.sk.sk_pacing_shift,
            random_state: tp.random_state,
        }
    }
}

/// Makes the call, and a record of it. Apart from [`Flow`](crate::Flow) so that what is not recorded does not pay for it.
#[cold]
#[inline(never)]
pub(crate) fn recorded(
    calls: &mut Vec<Call>,
    hook: Hook,
    (instance, tp): (&Instance, &mut tcp_sock),
    run: impl FnOnce(&Instance, &mut tcp_sock) -> u32,
) -> u32 {
    let socket = SocketRecord::of(tp);
    let value = run(instance, tp);
    let after = WindowRecord {
        snd_cwnd: tp.snd_cwnd,
        snd_cwnd_cnt: tp.snd_cwnd_cnt,
        snd_ssthresh: tp.snd_ssthresh,
        sk_pacing_rate: tp.inet_conn.sk.sk_pacing_rate,
    };
    calls.push(Call { hook, socket, after, returned: hook.returns().then_some(value) });
    value
}
