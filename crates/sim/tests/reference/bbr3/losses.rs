// SPDX-License-Identifier: GPL-2.0-only
//! Losses, and losses that were none: sections 5.5.10, 5.5.11 and 5.6.4.4.

use std::cmp::{max, min};

use super::{cwnd_of, has_reached, percent, Bbr3, State, INFINITY};
use crate::tcp::{Tcp, RECOVERY};

impl Bbr3 {
    // 5.5.10: losses, and marks, which count as such (3.7)

    pub(super) fn is_inflight_too_high(&self) -> bool {
        let sent = &self.rs.sent;
        sent.lost * 100 > sent.tx_in_flight * self.constants.loss_thresh
            || sent.marked * 100 > self.rs.delivered * self.constants.mark_thresh && sent.marked > 0
    }

    pub(super) fn note_loss(&mut self, tcp: &Tcp) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = tcp.delivered;
            self.save_state_upon_loss(tcp);
        }
        self.is_loss_in_round = true;
    }

    pub(super) fn handle_lost_packets(&mut self, tcp: &mut Tcp) {
        if !self.is_bw_probe_sample || !self.is_inflight_too_high() {
            return;
        }
        self.rs.sent.tx_in_flight = self.inflight_at_loss();
        self.handle_inflight_too_high(tcp);
    }

    /// The packets lost at this ACK are the draft's packet P.
    pub(super) fn inflight_at_loss(&self) -> u64 {
        let (sent, size) = (&self.rs.sent, self.rs.newly_lost);
        let inflight_prev = sent.tx_in_flight.saturating_sub(size);
        let lost_prev = sent.lost.saturating_sub(size);
        let thresh = self.constants.loss_thresh;
        let lost_prefix = (thresh * inflight_prev).saturating_sub(100 * lost_prev) / (100 - thresh);
        inflight_prev + min(lost_prefix, size)
    }

    pub(super) fn handle_inflight_too_high(&mut self, tcp: &mut Tcp) {
        tcp.took("inflight too high");
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !self.rs.is_app_limited {
            let target = percent(self.target_inflight(tcp), self.constants.beta);
            self.inflight_longterm = max(self.rs.sent.tx_in_flight, target);
        }
        if self.state == State::Up {
            self.undo_state = Some(State::Up);
            self.start_probe_bw_down(tcp);
        }
    }

    pub(super) fn update_latest_delivery_signals(&mut self, tcp: &Tcp) {
        self.bw_latest = max(self.bw_latest, self.rs.delivery_rate_q24);
        self.inflight_latest = max(self.inflight_latest, self.rs.delivered);
        self.loss_round_start = has_reached(self.rs.prior_delivered, self.loss_round_delivered);
        if self.loss_round_start {
            self.loss_round_delivered = tcp.delivered;
        }
    }

    pub(super) fn advance_latest_delivery_signals(&mut self) {
        if self.loss_round_start {
            self.bw_latest = self.rs.delivery_rate_q24;
            self.inflight_latest = self.rs.delivered;
        }
    }

    pub(super) fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest = 0;
        self.inflight_latest = 0;
    }

    pub(super) fn update_congestion_signals(&mut self, tcp: &Tcp) {
        self.update_max_bw(tcp);
        if !self.loss_round_start {
            return;
        }
        if !self.is_probing_bw() && self.is_loss_in_round {
            self.adapt_lower_bounds(tcp);
        }
        self.is_loss_in_round = false;
    }

    pub(super) fn adapt_lower_bounds(&mut self, tcp: &Tcp) {
        tcp.took("lower bounds");
        if self.bw_shortterm == INFINITY {
            self.bw_shortterm = self.max_bw();
        }
        if self.inflight_shortterm == INFINITY {
            self.inflight_shortterm = cwnd_of(tcp);
        }
        let beta = self.constants.beta;
        self.bw_shortterm = max(self.bw_latest, percent(self.bw_shortterm, beta));
        self.inflight_shortterm = max(self.inflight_latest, percent(self.inflight_shortterm, beta));
    }

    pub(super) fn reset_short_term_model(&mut self) {
        self.bw_shortterm = INFINITY;
        self.inflight_shortterm = INFINITY;
    }

    // 5.5.11, 5.6.4.4

    pub(super) fn save_state_upon_loss(&mut self, tcp: &Tcp) {
        self.save_cwnd(tcp);
        self.undo_state = None;
        self.undo_bw_shortterm = self.bw_shortterm;
        self.undo_inflight_shortterm = self.inflight_shortterm;
        self.undo_inflight_longterm = self.inflight_longterm;
    }

    pub(super) fn save_cwnd(&mut self, tcp: &Tcp) {
        let is_unmodulated = tcp.state < RECOVERY && self.state != State::ProbeRtt;
        self.prior_cwnd = if is_unmodulated { cwnd_of(tcp) } else { max(self.prior_cwnd, cwnd_of(tcp)) };
    }

    pub(super) fn restore_cwnd(&mut self, tcp: &mut Tcp) {
        tcp.cwnd = (max(cwnd_of(tcp), self.prior_cwnd) as f64).min(tcp.clamp);
    }
}
