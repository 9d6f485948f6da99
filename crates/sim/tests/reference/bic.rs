// SPDX-License-Identifier: GPL-2.0-only
//! BIC: Xu, Harfoush, Rhee, INFOCOM 2004, section III: binary search between the window after the last loss and that before
//! it, in steps of at most `S_max`; beyond it max probing. `ack_ratio`: what Linux has made of it since 2.6.13.

use crate::tcp::{Law, Tcp, Values, LOSS, OPEN};

/// Packets for each ACK that delayed ACKs lead to, in sixteenths: where Linux's estimate begins.
const DELAYED_ACKS: f64 = 32.0;

#[derive(Clone)]
pub struct Bic {
    max_step: f64,
    divisor: f64,
    smooth: f64,
    kept: f64,
    low_window: f64,
    fast_convergence: bool,
    start_divisor: f64,
    by_ack_ratio: bool,
    ratio_16ths: f64,
    last_max: f64,
    undo_last_max: f64,
}

impl Bic {
    pub fn new(values: &Values) -> Self {
        Self {
            max_step: values.get("max_step_pkts"),
            divisor: values.get("search_divisor"),
            smooth: values.get("smooth_part"),
            kept: values.get("beta_q10") / 1024.0,
            low_window: values.get("low_window_pkts"),
            fast_convergence: values.is_on("fast_convergence"),
            start_divisor: values.get("start_divisor"),
            by_ack_ratio: values.is_on("ack_ratio"),
            ratio_16ths: DELAYED_ACKS,
            last_max: 0.0,
            undo_last_max: 0.0,
        }
    }

    /// Packets acknowledged for one more packet of window.
    fn pkts_per_increase(&self, tcp: &mut Tcp) -> f64 {
        let window = tcp.cwnd;
        if window <= self.low_window {
            tcp.took("low window");
            return window;
        }
        let flat = window * self.smooth / self.divisor;
        let pkts = if window < self.last_max {
            let step = ((self.last_max - window) / self.divisor).floor();
            if step > self.max_step {
                tcp.took("additive increase");
                window / self.max_step
            } else if step <= 1.0 {
                tcp.took("near the maximum");
                flat
            } else {
                tcp.took("binary search");
                window / step
            }
        } else if window < self.last_max + self.divisor {
            tcp.took("at the maximum");
            flat
        } else if window < self.last_max + self.max_step * (self.divisor - 1.0) {
            tcp.took("max probing");
            window * (self.divisor - 1.0) / (window - self.last_max)
        } else {
            tcp.took("fast probing");
            window / self.max_step
        };
        if self.last_max == 0.0 {
            return pkts.min(self.start_divisor);
        }
        pkts
    }
}

impl Law for Bic {
    fn grow(&mut self, tcp: &mut Tcp, acked: f64) {
        if !tcp.is_limited() {
            return;
        }
        let left = if tcp.in_slow_start() { tcp.slow_start(acked) } else { acked };
        if left > 0.0 {
            let mut pkts = self.pkts_per_increase(tcp).floor().max(1.0);
            if self.by_ack_ratio && tcp.cwnd > self.low_window {
                tcp.took("larger by the ACK ratio");
                pkts = (pkts * 16.0 / self.ratio_16ths).floor().max(1.0);
            }
            tcp.grow_each(pkts, left);
        }
    }

    /// `bictcp_acked` of Linux 2.6.13 and later: 15/16 of the ratio and 1/16 of this ACK's packets, in whole sixteenths.
    fn sampled(&mut self, tcp: &mut Tcp, acked: f64, _rtt_s: Option<f64>) {
        if tcp.state == OPEN {
            self.ratio_16ths += acked - (self.ratio_16ths / 16.0).floor();
        }
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> f64 {
        self.undo_last_max = self.last_max;
        let gives_way = self.fast_convergence && tcp.cwnd < self.last_max;
        if gives_way {
            tcp.took("fast convergence");
        }
        self.last_max = if gives_way { (tcp.cwnd * (1.0 + self.kept) / 2.0).floor() } else { tcp.cwnd };
        if tcp.cwnd <= self.low_window {
            return tcp.half();
        }
        (tcp.cwnd * self.kept).floor().max(2.0)
    }

    fn undo(&mut self, tcp: &mut Tcp) -> f64 {
        self.last_max = self.undo_last_max;
        tcp.cwnd.max(tcp.prior_cwnd)
    }

    fn entered(&mut self, _tcp: &mut Tcp, state: u8) {
        if state == LOSS {
            self.last_max = 0.0;
            self.ratio_16ths = DELAYED_ACKS;
        }
    }
}
