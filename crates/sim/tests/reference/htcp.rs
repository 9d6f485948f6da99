// SPDX-License-Identifier: GPL-2.0-only
//! H-TCP: Leith, Shorten 2004; draft-leith-tcp-htcp-06; Table II of Even, Li, Leith 2006.
//! alpha = 1 for Delta <= Delta_L, else 1 + 10 (Delta - Delta_L) + ((Delta - Delta_L) / 2)^2, times 2 (1 - beta);
//! beta = RTT_min / RTT_max in [0.5, 0.8], or 0.5 where throughput has changed by more than Delta_B.

use crate::tcp::{Law, Tcp, Values, CWR, LOSS, OPEN, RECOVERY, TICK_S};

#[derive(Clone)]
pub struct Htcp {
    delta_l_s: f64,
    delta_b: f64,
    adaptive: bool,
    rtt_reference_s: Option<f64>,
    smallest_s: f64,
    largest_s: f64,
    since_s: f64,
    beta: f64,
    adapts: bool,
    pkts: f64,
    counted_from_s: f64,
    mean_rate: f64,
    best_rate: f64,
    last_best_rate: f64,
    last_active_s: f64,
    undo: Option<(f64, f64, f64, f64, bool)>,
}

impl Htcp {
    pub fn new(values: &Values) -> Self {
        Self {
            delta_l_s: values.get("delta_l_us") / 1e6,
            delta_b: values.get("delta_b_pct") / 100.0,
            adaptive: values.is_on("adaptive_backoff"),
            rtt_reference_s: values.is_on("rtt_scaling").then(|| values.get("rtt_ref_us") / 1e6),
            smallest_s: f64::INFINITY,
            largest_s: 0.0,
            since_s: 0.0,
            beta: 0.5,
            adapts: false,
            pkts: 0.0,
            counted_from_s: 0.0,
            mean_rate: 0.0,
            best_rate: 0.0,
            last_best_rate: 0.0,
            last_active_s: 0.0,
            undo: None,
        }
    }

    fn alpha(&self, tcp: &mut Tcp) -> f64 {
        let beyond_s = tcp.now_s - self.since_s - self.delta_l_s;
        tcp.took(if beyond_s > 0.0 { "high speed" } else { "low speed" });
        let mut alpha = 1.0;
        if beyond_s > 0.0 {
            alpha += 10.0 * beyond_s + (beyond_s / 2.0).powi(2);
        }
        if let Some(reference_s) = self.rtt_reference_s {
            alpha = (alpha * (self.smallest_s / reference_s).clamp(0.1, 2.0)).max(1.0);
        }
        2.0 * (1.0 - self.beta) * alpha
    }

    fn count(&mut self, tcp: &Tcp, acked: f64) {
        self.pkts += acked;
        let time_s = tcp.now_s - self.counted_from_s;
        if time_s > self.smallest_s - TICK_S {
            let rate = self.pkts / time_s;
            if tcp.now_s - self.since_s < 3.0 * self.smallest_s + TICK_S {
                (self.mean_rate, self.best_rate) = (rate, rate);
            } else {
                self.mean_rate = (3.0 * self.mean_rate + rate) / 4.0;
                self.best_rate = self.best_rate.max(self.mean_rate);
            }
            self.pkts = 0.0;
            self.counted_from_s = tcp.now_s;
        }
    }

    fn choose_beta(&mut self, tcp: &mut Tcp) {
        let change = (self.best_rate - self.last_best_rate).abs();
        let changed = !tcp.is_below(change, self.delta_b * self.last_best_rate, 3.0);
        if changed {
            tcp.took("throughput changed");
            (self.beta, self.adapts) = (0.5, false);
        } else if self.adapts && self.smallest_s > 0.010 {
            tcp.took("adaptive backoff");
            self.beta = (self.smallest_s / self.largest_s).clamp(0.5, 0.8);
        } else {
            (self.beta, self.adapts) = (0.5, true);
        }
    }
}

impl Law for Htcp {
    fn init(&mut self, tcp: &mut Tcp) {
        (self.since_s, self.counted_from_s, self.last_active_s) = (tcp.now_s, tcp.now_s, tcp.now_s);
    }

    fn sampled(&mut self, tcp: &mut Tcp, acked: f64, rtt_s: Option<f64>) {
        if let Some(rtt_s) = rtt_s {
            self.smallest_s = self.smallest_s.min(rtt_s);
            let largest_s = self.largest_s.max(self.smallest_s);
            if !tcp.is_recovering() {
                self.largest_s = largest_s.max(rtt_s.min(largest_s + 0.020));
            }
        }
        self.last_active_s = tcp.now_s;
        if tcp.is_recovering() {
            self.pkts = 0.0;
            self.counted_from_s = tcp.now_s;
        } else {
            self.count(tcp, acked);
        }
    }

    fn grow(&mut self, tcp: &mut Tcp, acked: f64) {
        if !tcp.is_limited() {
            return;
        }
        let left = if tcp.in_slow_start() { tcp.slow_start(acked) } else { acked };
        if left > 0.0 {
            let alpha = self.alpha(tcp);
            tcp.grow_by(alpha, left);
        }
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> f64 {
        self.undo = Some((tcp.now_s - self.since_s, self.largest_s, self.last_best_rate, self.beta, self.adapts));
        if self.adaptive {
            self.choose_beta(tcp);
        }
        self.last_best_rate = self.best_rate;
        self.largest_s = self.smallest_s + 0.95 * (self.largest_s - self.smallest_s);
        (tcp.cwnd * self.beta).floor().max(2.0)
    }

    fn undo(&mut self, tcp: &mut Tcp) -> f64 {
        if let Some((age_s, largest_s, rate, beta, adapts)) = self.undo.take() {
            self.since_s = tcp.now_s - age_s;
            (self.largest_s, self.last_best_rate, self.beta, self.adapts) = (largest_s, rate, beta, adapts);
        }
        tcp.cwnd.max(tcp.prior_cwnd)
    }

    fn entered(&mut self, tcp: &mut Tcp, state: u8) {
        match state {
            OPEN if self.undo.take().is_some() => self.since_s = tcp.now_s,
            CWR | RECOVERY | LOSS => {
                self.since_s = tcp.now_s;
            }
            _ => {}
        }
    }

    /// A pause is not time without congestion.
    fn tx_started(&mut self, tcp: &mut Tcp) {
        self.since_s = (self.since_s + tcp.now_s - self.last_active_s).min(tcp.now_s);
        self.last_active_s = tcp.now_s;
        self.pkts = 0.0;
        self.counted_from_s = tcp.now_s;
    }
}
