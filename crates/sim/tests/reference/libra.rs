// SPDX-License-Identifier: GPL-2.0-only
//! TCP Libra: Marfia, Palazzi, Pau, Gerla, Sanadidi, Roccetti 2007. For each packet acknowledged
//! W += (alpha / W) T^2 / (T + T0), alpha = k1 C P, P = exp(-k2 (T - Tmin) / (Tmax - Tmin)); at a loss W -= W T1 / 2 (T + T0).
//! T is the RTT now; what the formulas call so is taken as the average that moves by an eighth of the way.

use crate::tcp::{Law, Tcp, Values};

#[derive(Clone)]
pub struct Libra {
    t0_s: f64,
    t1_s: f64,
    k1: f64,
    k2: f64,
    capacity_mbps: f64,
    smallest_s: f64,
    largest_s: f64,
    average_s: Option<f64>,
}

impl Libra {
    pub fn new(values: &Values) -> Self {
        Self {
            t0_s: values.get("t0_us") / 1e6,
            t1_s: values.get("t1_us") / 1e6,
            k1: values.get("k1_q10") / 1024.0,
            k2: values.get("k2_q8") / 256.0,
            capacity_mbps: values.get("capacity_mbps"),
            smallest_s: f64::INFINITY,
            largest_s: 0.0,
            average_s: None,
        }
    }

    /// Packets a round trip.
    fn rate(&self, rtt_s: f64) -> f64 {
        let range_s = self.largest_s - self.smallest_s;
        let congestion = if range_s > 0.0 { ((rtt_s - self.smallest_s) / range_s).clamp(0.0, 1.0) } else { 0.0 };
        let alpha = self.k1 * self.capacity_mbps * (-self.k2 * congestion).exp();
        alpha * rtt_s * rtt_s / (rtt_s + self.t0_s)
    }
}

impl Law for Libra {
    fn sampled(&mut self, tcp: &mut Tcp, _acked: f64, rtt_s: Option<f64>) {
        let Some(rtt_s) = rtt_s.filter(|_| !tcp.is_recovering()) else { return };
        self.smallest_s = self.smallest_s.min(rtt_s);
        self.largest_s = self.largest_s.max(rtt_s);
        self.average_s = Some(self.average_s.map_or(rtt_s, |average_s| average_s + (rtt_s - average_s) / 8.0));
    }

    fn grow(&mut self, tcp: &mut Tcp, acked: f64) {
        if !tcp.is_limited() {
            return;
        }
        let left = if tcp.in_slow_start() { tcp.slow_start(acked) } else { acked };
        let Some(rtt_s) = self.average_s.filter(|_| left > 0.0) else { return };
        let rate = self.rate(rtt_s);
        tcp.took(if rate < 1.0 { "slower than Reno" } else { "faster than Reno" });
        tcp.grow_by(rate, left);
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> f64 {
        let Some(rtt_s) = self.average_s else { return tcp.half() };
        let share = self.t1_s / (2.0 * (rtt_s + self.t0_s));
        tcp.took(if share < 0.45 { "cut of a long RTT" } else { "cut of a short RTT" });
        (tcp.cwnd * (1.0 - share.min(0.5))).ceil().max(2.0)
    }
}
