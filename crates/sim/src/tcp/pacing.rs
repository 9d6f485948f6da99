// SPDX-License-Identifier: GPL-2.0-only
//! Pacing by TCP's own timer: `tcp_pacing_check`, `tcp_update_skb_after_send`, `tcp_pace_kick`.

use super::Sender;
use crate::native::SK_PACING_NEEDED;
use crate::network::Network;

/// `sk_gso_max_size`: a burst of pacing
const BURST_MAX_BYTES: u64 = 65_536;
/// Least burst, where the algorithm does not say (`tcp_min_tso_segs`).
const BURST_MIN_PKTS: u64 = 2;
/// Packets that go out before pacing begins.
const UNPACED_PKTS: u64 = 10;
const NS_PER_S: u64 = 1_000_000_000;

impl Sender {
    /// `tcp_pacing_check`; the timer is set where the answer is yes.
    pub(super) fn waits_for_pace(&mut self) -> bool {
        let tp = &self.flow.socket;
        if tp.inet_conn.sk.sk_pacing_status != SK_PACING_NEEDED || tp.tcp_wstamp_ns <= tp.tcp_clock_cache {
            return false;
        }
        self.pacing_ns = tp.tcp_wstamp_ns;
        true
    }

    /// `tcp_update_skb_after_send`, for a burst as `tcp_tso_autosize` would make it: its packets leave together, and the next
    /// burst when all of them would have at the pacing rate.
    pub(super) fn pace(&mut self, now_ns: u64) {
        let tp = &mut self.flow.socket;
        let sk = &tp.inet_conn.sk;
        if sk.sk_pacing_status != SK_PACING_NEEDED
            || sk.sk_pacing_rate == u64::MAX
            || self.counters.sent_pkts < UNPACED_PKTS
        {
            tp.tcp_wstamp_ns = tp.tcp_wstamp_ns.max(now_ns);
            return;
        }
        let rate = sk.sk_pacing_rate.max(1);
        let bytes = u64::from(self.spec.mss_bytes + self.spec.header_bytes);
        let burst_bytes = (rate >> (sk.sk_pacing_shift & 31)).min(BURST_MAX_BYTES);
        let burst_pkts = (burst_bytes / bytes).max(BURST_MIN_PKTS);
        self.burst_sent_pkts += 1;
        if self.burst_sent_pkts >= burst_pkts {
            let credit_ns = now_ns.saturating_sub(tp.tcp_wstamp_ns);
            let length_ns = (u128::from(self.burst_sent_pkts * bytes) * u128::from(NS_PER_S) / u128::from(rate)) as u64;
            tp.tcp_wstamp_ns = tp.tcp_wstamp_ns.max(now_ns) + length_ns - credit_ns.min(length_ns / 2);
            self.burst_sent_pkts = 0;
        }
    }

    /// `tcp_pace_kick`
    pub(super) fn resume_paced(&mut self, network: &mut Network) {
        if self.tp().lost_out > self.tp().retrans_out && self.flow.in_flight_pkts() < self.tp().snd_cwnd {
            self.resend_lost(network);
        }
        self.push(network);
    }

    /// `tcp_update_pacing_rate`: 200 % in slow start, 120 % after
    pub(super) fn update_pacing_rate(&mut self) {
        let tp = &mut self.flow.socket;
        let percent = if tp.snd_cwnd < tp.snd_ssthresh / 2 { 200 } else { 120 };
        let pkts = u64::from(tp.snd_cwnd.max(tp.packets_out));
        if tp.srtt_us > 0 {
            let rate = u64::from(tp.mss_cache) * (8_000_000 / 100) * percent * pkts / u64::from(tp.srtt_us);
            tp.inet_conn.sk.sk_pacing_rate = rate.min(tp.inet_conn.sk.sk_max_pacing_rate);
        }
    }
}
