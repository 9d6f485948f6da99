// SPDX-License-Identifier: GPL-2.0-only
//! TCP Africa: King, Baraniuk, Riedi, INFOCOM 2005, as section II of Baiocchi, Castellani, Vacirca 2007 sums it up: slow mode
//! is Reno, fast mode is HighSpeed TCP's increase, and the queue that the delay tells of chooses.
//! Fast while W (aRTT - minRTT) / aRTT <= alpha, where aRTT moves by an eighth of the way at each sample.

use crate::highspeed::Response;
use crate::tcp::{Law, Tcp, Values};

#[derive(Clone)]
pub struct Africa {
    response: Response,
    queue_limit: f64,
    always_halves: bool,
    smallest_s: f64,
    average_s: Option<f64>,
    was_fast: bool,
}

impl Africa {
    pub fn new(values: &Values) -> Self {
        Self {
            response: Response::of_rfc(),
            queue_limit: values.get("alpha_milli") / 1000.0,
            always_halves: values.is_on("decrease"),
            smallest_s: f64::INFINITY,
            average_s: None,
            was_fast: false,
        }
    }

    fn is_fast(&self, tcp: &Tcp) -> bool {
        self.average_s.is_some_and(|average_s| {
            let queue = tcp.cwnd * (average_s - self.smallest_s) / average_s;
            queue <= self.queue_limit
        })
    }
}

impl Law for Africa {
    fn sampled(&mut self, tcp: &mut Tcp, _acked: f64, rtt_s: Option<f64>) {
        let Some(rtt_s) = rtt_s.filter(|_| !tcp.is_recovering()) else { return };
        self.smallest_s = self.smallest_s.min(rtt_s);
        self.average_s = Some(self.average_s.map_or(rtt_s, |average_s| average_s + (rtt_s - average_s) / 8.0));
    }

    fn grow(&mut self, tcp: &mut Tcp, acked: f64) {
        if !tcp.is_limited() {
            return;
        }
        let left = if tcp.in_slow_start() { tcp.slow_start(acked) } else { acked };
        if left == 0.0 {
            return;
        }
        let fast = self.is_fast(tcp);
        self.was_fast = fast;
        tcp.took(if fast { "fast" } else { "slow" });
        let rate = if fast { self.response.increase(tcp.cwnd) } else { 1.0 };
        tcp.grow_by(rate, left);
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> f64 {
        if self.always_halves || !self.was_fast {
            tcp.took("halved");
            return tcp.half();
        }
        tcp.took("less b(W)");
        (tcp.cwnd * (1.0 - self.response.decrease(tcp.cwnd))).ceil().max(2.0)
    }
}
