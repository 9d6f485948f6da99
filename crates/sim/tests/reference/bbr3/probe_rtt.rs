// SPDX-License-Identifier: GPL-2.0-only
//! The smallest RTT: section 5.3.4.3.

use super::{AckPhase, Bbr3, State};
use crate::tcp::Tcp;

impl Bbr3 {
    // 5.3.4.3

    pub(super) fn update_min_rtt(&mut self, tcp: &Tcp) {
        self.probe_rtt_expired = tcp.now_us > self.probe_rtt_min_stamp_us + self.constants.probe_rtt_interval_us;
        if let Some(rtt_us) = self.rs.rtt_us {
            if rtt_us < self.probe_rtt_min_delay_us || self.probe_rtt_expired {
                self.probe_rtt_min_delay_us = rtt_us;
                self.probe_rtt_min_stamp_us = tcp.now_us;
            }
        }
        let min_rtt_expired = tcp.now_us > self.min_rtt_stamp_us + self.constants.min_rtt_filter_us;
        if self.probe_rtt_min_delay_us < self.min_rtt_us || min_rtt_expired {
            self.min_rtt_us = self.probe_rtt_min_delay_us;
            self.min_rtt_stamp_us = self.probe_rtt_min_stamp_us;
        }
    }

    pub(super) fn check_probe_rtt(&mut self, tcp: &mut Tcp) {
        let wanted = self.probe_rtt_expired && self.constants.probe_rtt_us > 0;
        if self.state != State::ProbeRtt && wanted && !self.idle_restart {
            tcp.took("ProbeRTT");
            self.state = State::ProbeRtt;
            self.save_cwnd(tcp);
            self.probe_rtt_done_stamp_us = 0;
            self.ack_phase = AckPhase::ProbeStopping;
            self.start_round(tcp);
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(tcp);
        }
        if self.rs.delivered > 0 {
            self.idle_restart = false;
        }
    }

    pub(super) fn handle_probe_rtt(&mut self, tcp: &mut Tcp) {
        if self.probe_rtt_done_stamp_us == 0 && tcp.in_flight <= self.probe_rtt_cwnd(tcp) {
            self.probe_rtt_done_stamp_us = tcp.now_us + self.constants.probe_rtt_us;
            self.probe_rtt_round_done = false;
            self.start_round(tcp);
        } else if self.probe_rtt_done_stamp_us != 0 {
            self.probe_rtt_round_done |= self.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(tcp);
            }
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, tcp: &mut Tcp) {
        if self.probe_rtt_done_stamp_us == 0 || tcp.now_us <= self.probe_rtt_done_stamp_us {
            return;
        }
        self.probe_rtt_min_stamp_us = tcp.now_us;
        self.restore_cwnd(tcp);
        self.reset_short_term_model();
        if self.full_bw_reached {
            self.start_probe_bw_down(tcp);
            self.start_probe_bw_cruise(tcp);
        } else {
            self.enter_startup();
        }
    }
}
