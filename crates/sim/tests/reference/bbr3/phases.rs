// SPDX-License-Identifier: GPL-2.0-only
//! The state machine: sections 5.3.1 to 5.3.3.

use std::cmp::{max, min};

use super::{cwnd_of, percent, AckPhase, Bbr3, State, INFINITY};
use crate::tcp::{Tcp, CWR, RECOVERY};

impl Bbr3 {
    // 5.3.1, 5.3.2

    pub(super) fn reset_full_bw(&mut self) {
        self.full_bw = 0;
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }

    pub(super) fn check_full_bw_reached(&mut self) {
        if self.full_bw_now || !self.round_start || self.rs.is_app_limited {
            return;
        }
        let rate = self.rs.delivery_rate_q24;
        if rate * 100 >= self.full_bw * self.constants.full_bw_growth {
            self.reset_full_bw();
            self.full_bw = rate;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= self.constants.full_bw_rounds;
        self.full_bw_reached |= self.full_bw_now;
    }

    pub(super) fn enter_startup(&mut self) {
        self.state = State::Startup;
    }

    pub(super) fn enter_drain(&mut self, tcp: &mut Tcp) {
        self.state = State::Drain;
        self.drain_start_round = self.round_count;
        tcp.threshold = max(self.inflight(tcp, self.max_bw()), 2) as f64; // Linux: for what the host remembers of the path
    }

    pub(super) fn check_startup_done(&mut self, tcp: &mut Tcp) {
        self.check_startup_high_loss(tcp);
        if self.state == State::Startup && self.full_bw_reached {
            tcp.took("pipe full");
            self.enter_drain(tcp);
        }
    }

    /// An ACK that reports losses stands for a range that was lost.
    pub(super) fn check_startup_high_loss(&mut self, tcp: &mut Tcp) {
        if self.state != State::Startup || self.full_bw_reached {
            return;
        }
        let least = self.constants.startup_full_loss_cnt;
        let recovers = tcp.state == CWR || tcp.state == RECOVERY;
        let enough = least > 0 && self.loss_acks_in_round >= least;
        if self.loss_round_start && recovers && enough && self.is_inflight_too_high() {
            tcp.took("losses in Startup");
            self.undo_state = Some(State::Startup);
            self.full_bw_reached = true;
            self.full_bw_now = true;
            self.inflight_longterm = max(self.bdp_multiple(tcp, 100), self.inflight_latest);
            self.enter_drain(tcp);
        }
    }

    pub(super) fn check_drain_done(&mut self, tcp: &mut Tcp) {
        if self.state != State::Drain {
            return;
        }
        if tcp.in_flight <= self.inflight(tcp, self.bw()) || self.round_count > self.drain_start_round + 3 {
            tcp.took("drained");
            self.start_probe_bw_down(tcp);
        }
    }

    // 5.3.3.9

    pub(super) fn start_probe_bw_down(&mut self, tcp: &mut Tcp) {
        tcp.took("DOWN");
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = INFINITY;
        self.pick_probe_wait();
        self.cycle_stamp_us = tcp.now_us;
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round(tcp);
        self.state = State::Down;
    }

    pub(super) fn pick_probe_wait(&mut self) {
        self.rounds_since_probe_up = self.random_below(2);
        self.bw_probe_wait_us =
            self.constants.probe_wait_us + self.random_below(self.constants.probe_wait_random_us + 1);
    }

    pub(super) fn start_probe_bw_cruise(&mut self, tcp: &Tcp) {
        tcp.took("CRUISE");
        self.state = State::Cruise;
    }

    pub(super) fn start_probe_bw_refill(&mut self, tcp: &Tcp) {
        tcp.took("REFILL");
        self.reset_short_term_model();
        self.bw_probe_up_rounds = 0;
        self.bw_probe_up_acked = 0;
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round(tcp);
        self.state = State::Refill;
    }

    pub(super) fn start_probe_bw_up(&mut self, tcp: &Tcp) {
        tcp.took("UP");
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round(tcp);
        self.reset_full_bw();
        self.full_bw = self.rs.delivery_rate_q24;
        self.state = State::Up;
        self.raise_inflight_longterm_slope(tcp);
    }

    pub(super) fn update_probe_bw_cycle_phase(&mut self, tcp: &mut Tcp) {
        if !self.full_bw_reached || self.adapt_long_term_model(tcp) {
            return;
        }
        let state = self.state;
        match state {
            State::Down if !self.is_time_to_probe_bw(tcp) && self.is_time_to_cruise(tcp) => {
                self.start_probe_bw_cruise(tcp);
            }
            State::Cruise => {
                self.is_time_to_probe_bw(tcp);
            }
            State::Refill if self.round_start => {
                self.is_bw_probe_sample = true;
                self.start_probe_bw_up(tcp);
            }
            State::Up if self.is_time_to_go_down(tcp) => {
                self.prev_probe_too_high = false;
                self.start_probe_bw_down(tcp);
            }
            _ => {}
        }
    }

    pub(super) fn is_time_to_probe_bw(&mut self, tcp: &Tcp) -> bool {
        let elapsed = tcp.now_us > self.cycle_stamp_us + self.bw_probe_wait_us;
        let as_reno = self.rounds_since_probe_up >= min(self.target_inflight(tcp), self.constants.probe_rounds);
        if !elapsed && !as_reno {
            return false;
        }
        tcp.took(if elapsed { "probe by time" } else { "probe by rounds" });
        self.start_probe_bw_refill(tcp);
        true
    }

    pub(super) fn is_time_to_cruise(&self, tcp: &Tcp) -> bool {
        tcp.in_flight <= self.inflight_with_headroom() && tcp.in_flight <= self.inflight(tcp, self.max_bw())
    }

    pub(super) fn is_time_to_go_down(&mut self, tcp: &Tcp) -> bool {
        if self.prev_probe_too_high && self.rs.prior_in_flight >= self.inflight_longterm {
            tcp.took("precautionary");
            self.prev_probe_precautionary = true;
            return true;
        }
        if tcp.flight_was_limited && cwnd_of(tcp) >= self.inflight_longterm {
            self.reset_full_bw();
            self.full_bw = self.rs.delivery_rate_q24;
            return false;
        }
        self.full_bw_now
    }

    pub(super) fn inflight_with_headroom(&self) -> u64 {
        if self.inflight_longterm == INFINITY {
            return INFINITY;
        }
        let headroom = max(1, percent(self.inflight_longterm, self.constants.headroom));
        max(self.inflight_longterm.saturating_sub(headroom), self.constants.min_pipe_cwnd)
    }

    pub(super) fn raise_inflight_longterm_slope(&mut self, tcp: &Tcp) {
        let growth_this_round = 1 << self.bw_probe_up_rounds;
        self.bw_probe_up_rounds = min(self.bw_probe_up_rounds + 1, 30);
        self.probe_up_acked_per_inc = max(cwnd_of(tcp) / growth_this_round, 1);
    }

    pub(super) fn probe_inflight_longterm_upward(&mut self, tcp: &Tcp) {
        if !tcp.flight_was_limited || cwnd_of(tcp) < self.inflight_longterm {
            return;
        }
        self.bw_probe_up_acked += self.rs.newly_acked;
        if self.bw_probe_up_acked >= self.probe_up_acked_per_inc {
            tcp.took("longterm raised");
            let delta = self.bw_probe_up_acked / self.probe_up_acked_per_inc;
            self.bw_probe_up_acked -= delta * self.probe_up_acked_per_inc;
            self.inflight_longterm += delta;
        }
        if self.round_start {
            self.raise_inflight_longterm_slope(tcp);
        }
    }

    pub(super) fn adapt_long_term_model(&mut self, tcp: &mut Tcp) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.is_bw_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.is_in_a_probe_bw_state() && !self.rs.is_app_limited {
                self.advance_max_bw_filter();
            }
            if self.is_in_a_probe_bw_state() && self.prev_probe_precautionary && !self.prev_probe_too_high {
                tcp.took("probe again at once");
                self.start_probe_bw_refill(tcp);
                return true;
            }
        }
        if !self.is_inflight_too_high() && self.inflight_longterm != INFINITY {
            self.inflight_longterm = max(self.inflight_longterm, self.rs.sent.tx_in_flight);
            if self.state == State::Up {
                self.probe_inflight_longterm_upward(tcp);
            }
        }
        false
    }
}
