// SPDX-License-Identifier: GPL-2.0-only
//! What the path is like: sections 5.5.1 to 5.5.9 and 5.6.4.2.

use std::cmp::{max, min};

use super::{cwnd_of, has_reached, Bbr3, State, INFINITY};
use crate::tcp::Tcp;

impl Bbr3 {
    // 5.5.5, 5.5.6: samples of this cycle of ProbeBW and of the one before

    pub(super) fn max_bw(&self) -> u64 {
        let known = self.max_bw_filter.iter().filter(|(cycle, _)| cycle + 1 >= self.cycle_count);
        known.map(|(_, rate)| *rate).max().unwrap_or(0)
    }

    /// Of the bounds as they are: the draft renews it at the end of each ACK.
    pub(super) fn bw(&self) -> u64 {
        min(self.max_bw(), self.bw_shortterm)
    }

    pub(super) fn advance_max_bw_filter(&mut self) {
        if self.max_bw_filter.iter().any(|(cycle, _)| *cycle == self.cycle_count) {
            self.cycle_count += 1;
        }
    }

    pub(super) fn update_max_bw(&mut self, tcp: &Tcp) {
        self.update_round(tcp);
        let rate = self.rs.delivery_rate_q24;
        if rate > 0 && (rate >= self.max_bw() || !self.rs.is_app_limited) {
            self.max_bw_filter.retain(|(cycle, known)| *cycle < self.cycle_count || *known > rate);
            if !self.max_bw_filter.iter().any(|(cycle, _)| *cycle == self.cycle_count) {
                self.max_bw_filter.push((self.cycle_count, rate));
            }
        }
    }

    // 5.5.1

    pub(super) fn start_round(&mut self, tcp: &Tcp) {
        self.next_round_delivered = tcp.delivered;
    }

    pub(super) fn update_round(&mut self, tcp: &Tcp) {
        self.round_start = has_reached(self.rs.prior_delivered, self.next_round_delivered);
        if self.round_start {
            self.start_round(tcp);
            self.round_count += 1;
            self.rounds_since_probe_up += 1;
        }
    }

    // 5.6.4.2

    /// Whole packets, rounded up.
    pub(super) fn bdp_of(&self, tcp: &Tcp, bw: u64, gain: u64) -> u64 {
        if self.min_rtt_us == INFINITY {
            return tcp.initial_cwnd;
        }
        (u128::from(bw) * u128::from(self.min_rtt_us) * u128::from(gain)).div_ceil(100 << 24) as u64
    }

    pub(super) fn bdp_multiple(&self, tcp: &Tcp, gain: u64) -> u64 {
        self.bdp_of(tcp, self.bw(), gain)
    }

    /// 5.6.3: what is sent in a millisecond, as Linux reckons it: 2^-10 s.
    pub(super) fn send_quantum(tcp: &Tcp) -> u64 {
        let bytes = min(tcp.pacing_rate >> tcp.pacing_shift, 65536 - 1 - 320);
        max(bytes / tcp.mss, 2)
    }

    pub(super) fn quantization_budget(&self, tcp: &Tcp, inflight_cap: u64) -> u64 {
        let cap = max(max(inflight_cap, 3 * Self::send_quantum(tcp)), self.constants.min_pipe_cwnd);
        if self.state == State::Up {
            cap + 2
        } else {
            cap
        }
    }

    pub(super) fn inflight(&self, tcp: &Tcp, bw: u64) -> u64 {
        self.quantization_budget(tcp, self.bdp_of(tcp, bw, 100))
    }

    pub(super) fn max_inflight(&self, tcp: &Tcp) -> u64 {
        let cap = self.bdp_multiple(tcp, self.cwnd_gain()) + max(self.extra_acked[0], self.extra_acked[1]);
        self.quantization_budget(tcp, cap)
    }

    pub(super) fn target_inflight(&self, tcp: &Tcp) -> u64 {
        min(self.bdp_multiple(tcp, 100), cwnd_of(tcp))
    }

    // 5.5.9

    pub(super) fn update_ack_aggregation(&mut self, tcp: &Tcp) {
        let interval_us = tcp.now_us - self.extra_acked_interval_start_us;
        let mut expected = (self.bw() * interval_us) >> 24;
        if self.extra_acked_delivered <= expected {
            self.extra_acked_delivered = 0;
            self.extra_acked_interval_start_us = tcp.now_us;
            expected = 0;
        }
        self.extra_acked_delivered += self.rs.newly_acked;
        let extra = min(self.extra_acked_delivered - expected, cwnd_of(tcp));
        let rounds = if self.full_bw_reached { self.constants.extra_acked_rounds } else { 1 };
        self.extra_acked_age_rounds += u64::from(self.round_start);
        if self.extra_acked_age_rounds >= rounds {
            self.extra_acked_age_rounds = 0;
            self.extra_acked = [0, self.extra_acked[0]];
        }
        self.extra_acked[0] = max(self.extra_acked[0], extra);
    }
}
