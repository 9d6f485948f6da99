// SPDX-License-Identifier: GPL-2.0-only
//! Rate and window: sections 5.6.1, 5.6.2 and 5.6.4.

use std::cmp::{max, min};

use super::{cwnd_of, Bbr3, State, INFINITY};
use crate::tcp::Tcp;

impl Bbr3 {
    // 5.6.1: the table

    pub(super) fn pacing_gain(&self) -> u64 {
        match self.state {
            State::Startup => self.constants.startup_pacing_gain,
            State::Drain => self.constants.drain_pacing_gain,
            State::Down => self.constants.down_pacing_gain,
            State::Up => self.constants.up_pacing_gain,
            State::Cruise | State::Refill | State::ProbeRtt => 100,
        }
    }

    pub(super) fn cwnd_gain(&self) -> u64 {
        match self.state {
            State::Up => self.constants.up_cwnd_gain,
            State::ProbeRtt => self.constants.probe_rtt_cwnd_gain,
            _ => self.constants.default_cwnd_gain,
        }
    }

    pub(super) fn is_in_a_probe_bw_state(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }

    pub(super) fn is_probing_bw(&self) -> bool {
        matches!(self.state, State::Startup | State::Refill | State::Up)
    }

    // 5.6.2

    pub(super) fn init_pacing_rate(&mut self, tcp: &mut Tcp) {
        let srtt_us = (tcp.srtt_s * 1e6) as u64;
        self.has_seen_rtt = tcp.srtt_s > 0.0;
        let rtt_us = if self.has_seen_rtt { max(srtt_us, 1) } else { 1000 };
        let nominal = (cwnd_of(tcp) << 24) / rtt_us;
        tcp.pacing_rate = self.rate_of(tcp, nominal, self.constants.startup_pacing_gain);
    }

    pub(super) fn rate_of(&self, tcp: &Tcp, bw: u64, gain: u64) -> u64 {
        let per_us = bw as f64 / f64::from(1 << 24) * tcp.mss as f64 * gain as f64 / 100.0;
        (per_us * 1e4 * (100 - self.constants.pacing_margin) as f64) as u64
    }

    pub(super) fn set_pacing_rate_with_gain(&mut self, tcp: &mut Tcp, gain: u64) {
        if !self.has_seen_rtt && tcp.srtt_s > 0.0 {
            self.init_pacing_rate(tcp);
        }
        let rate = self.rate_of(tcp, self.bw(), gain);
        if self.full_bw_reached || rate > tcp.pacing_rate {
            tcp.pacing_rate = rate;
        }
    }

    // 5.6.4.6, 5.6.4.7

    pub(super) fn probe_rtt_cwnd(&self, tcp: &Tcp) -> u64 {
        max(self.bdp_multiple(tcp, self.constants.probe_rtt_cwnd_gain), self.constants.min_pipe_cwnd)
    }

    pub(super) fn set_cwnd(&mut self, tcp: &mut Tcp) {
        let max_inflight = self.max_inflight(tcp);
        let mut cwnd = cwnd_of(tcp);
        if self.full_bw_reached {
            cwnd = min(cwnd + self.rs.newly_acked, max_inflight);
        } else if cwnd < max_inflight || u64::from(tcp.delivered) < tcp.initial_cwnd {
            cwnd += self.rs.newly_acked;
        }
        cwnd = max(cwnd, self.constants.min_pipe_cwnd);
        if self.state == State::ProbeRtt {
            cwnd = min(cwnd, self.probe_rtt_cwnd(tcp));
        }
        tcp.cwnd = (min(cwnd, self.cap()) as f64).min(tcp.clamp);
    }

    pub(super) fn cap(&self) -> u64 {
        let longterm = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::ProbeRtt | State::Cruise => self.inflight_with_headroom(),
            State::Startup | State::Drain => INFINITY,
        };
        max(min(longterm, self.inflight_shortterm), self.constants.min_pipe_cwnd)
    }
}
