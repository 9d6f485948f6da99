// SPDX-License-Identifier: GPL-2.0-only
//! Scalable TCP: Kelly 2003; S-TCP in section 2 of Weigle, Sharma, Freeman 2006 and in Table II of Even, Li, Leith 2006.
//! Above `Low_Window` W += a for each packet acknowledged and W -= b W at a loss; below it Reno.

use crate::tcp::{Law, Tcp, Values};

#[derive(Clone)]
pub struct Scalable {
    pkts_per_increase: f64,
    decrease: f64,
    low_window: f64,
    at_least_reno: bool,
}

impl Scalable {
    pub fn new(values: &Values) -> Self {
        Self {
            pkts_per_increase: values.get("acks_per_pkt"),
            decrease: 0.5_f64.powf(values.get("decrease_shift")),
            low_window: values.get("low_window_pkts"),
            at_least_reno: values.is_on("reno_growth"),
        }
    }
}

impl Law for Scalable {
    fn grow(&mut self, tcp: &mut Tcp, acked: f64) {
        if !tcp.is_limited() {
            return;
        }
        let left = if tcp.in_slow_start() { tcp.slow_start(acked) } else { acked };
        if left == 0.0 {
            return;
        }
        if tcp.cwnd <= self.low_window {
            tcp.took("below Low_Window");
            tcp.reno(left);
        } else if self.at_least_reno && tcp.cwnd < self.pkts_per_increase {
            tcp.took("Reno is faster");
            tcp.reno(left);
        } else {
            tcp.took("scalable");
            tcp.grow_each(self.pkts_per_increase, left);
        }
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> f64 {
        if tcp.cwnd <= self.low_window {
            tcp.took("halved");
            return tcp.half();
        }
        tcp.took("less an eighth");
        (tcp.cwnd * (1.0 - self.decrease)).ceil().max(2.0)
    }
}
