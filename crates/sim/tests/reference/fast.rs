// SPDX-License-Identifier: GPL-2.0-only
//! FAST TCP: Jin, Wei, Low, INFOCOM 2004, equation 5: each round trip W <- min(2W, (1 - gamma) W + gamma (baseRTT/RTT W +
//! alpha)); below a queueing delay of mi the window doubles. RTT is an average that moves by min(3/W, 1/4) of the way.
//! Modes: Table II of Even, Li, Leith 2006. Loss: "behaves the same as Standard TCP" (Weigle, Sharma, Freeman 2006).

use ccctl_sim::Event;

use crate::rounds::is_after;
use crate::tcp::{Law, Tcp, Values, LOSS, OPEN};

#[derive(Clone)]
pub struct Fast {
    gamma: f64,
    alpha: Option<f64>,
    by_mode: [f64; 3],
    up_bytes_per_s: [f64; 2],
    down_bytes_per_s: [f64; 2],
    pkt_bytes: f64,
    mi_s: f64,
    every_other: bool,
    base_s: f64,
    average_s: Option<f64>,
    mode: usize,
    window: f64, // with its fraction of a packet
    end: u32,
    skips: bool,
    was_filled: bool,
}

impl Fast {
    pub fn new(values: &Values) -> Self {
        let kilo = |name: &str| values.get(name) * 1000.0;
        Self {
            gamma: values.get("gamma_pct") / 100.0,
            alpha: Some(values.get("alpha_pkts")).filter(|alpha| *alpha > 0.0),
            by_mode: ["mode0_alpha_pkts", "mode1_alpha_pkts", "mode2_alpha_pkts"].map(|name| values.get(name)),
            up_bytes_per_s: ["mode0_up_kbytes_per_s", "mode1_up_kbytes_per_s"].map(kilo),
            down_bytes_per_s: ["mode1_down_kbytes_per_s", "mode2_down_kbytes_per_s"].map(kilo),
            pkt_bytes: values.get("packet_bytes"),
            mi_s: values.get("mi_us") / 1e6,
            every_other: values.is_on("every_other_rtt"),
            base_s: f64::INFINITY,
            average_s: None,
            mode: 0,
            window: 0.0,
            end: 0,
            skips: false,
            was_filled: true,
        }
    }

    fn alpha(&mut self, tcp: &mut Tcp, rtt_s: f64) -> f64 {
        if let Some(alpha) = self.alpha {
            return alpha;
        }
        let bytes_per_s = tcp.cwnd * self.pkt_bytes / rtt_s;
        let before = self.mode;
        while self.mode > 0 && bytes_per_s < self.down_bytes_per_s[self.mode - 1] {
            self.mode -= 1;
        }
        while self.mode < 2 && bytes_per_s > self.up_bytes_per_s[self.mode] {
            self.mode += 1;
        }
        if self.mode != before {
            tcp.took(if self.mode > before { "mode up" } else { "mode down" });
        }
        self.by_mode[self.mode]
    }

    fn begin_round(&mut self, tcp: &Tcp) {
        self.end = tcp.next;
        self.was_filled = true;
    }

    fn grow_filled(&mut self, tcp: &mut Tcp, acked: f64, is_over: bool) {
        if tcp.in_slow_start() {
            tcp.took("slow start");
            tcp.slow_start(acked);
            return;
        }
        if tcp.is_recovering() {
            tcp.took("Reno after a timeout");
            return tcp.reno(acked);
        }
        let Some(rtt_s) = self.average_s else {
            tcp.took("no delay known");
            return tcp.reno(acked);
        };
        if tcp.is_below(rtt_s - self.base_s, self.mi_s, 1e-6) {
            tcp.took("multiplicative increase");
            tcp.cwnd = (tcp.cwnd + acked).min(tcp.clamp);
        } else if is_over {
            if self.was_filled && !self.skips {
                self.step(tcp, rtt_s);
            }
            self.skips = self.every_other && !self.skips;
        }
    }

    fn step(&mut self, tcp: &mut Tcp, rtt_s: f64) {
        if self.window.floor() != tcp.cwnd {
            self.window = tcp.cwnd;
        }
        let alpha = self.alpha(tcp, rtt_s);
        let target = self.base_s / rtt_s * self.window + alpha;
        tcp.took(if target < self.window { "step down" } else { "step up" });
        let next = (1.0 - self.gamma) * self.window + self.gamma * target;
        self.window = next.min(2.0 * self.window).max(2.0).min(tcp.clamp);
        tcp.cwnd = self.window.floor();
        tcp.threshold = tcp.threshold.min(tcp.cwnd); // what the delay took is not slow start's to give back
    }
}

impl Law for Fast {
    fn init(&mut self, tcp: &mut Tcp) {
        self.begin_round(tcp);
    }

    fn sampled(&mut self, tcp: &mut Tcp, _acked: f64, rtt_s: Option<f64>) {
        let Some(rtt_s) = rtt_s.filter(|_| !tcp.is_recovering()) else { return };
        self.base_s = self.base_s.min(rtt_s);
        let weight = (3.0 / tcp.cwnd).min(0.25);
        self.average_s = Some(self.average_s.map_or(rtt_s, |average_s| average_s + (rtt_s - average_s) * weight));
    }

    fn grow(&mut self, tcp: &mut Tcp, acked: f64) {
        let is_over = is_after(tcp.una, self.end);
        self.was_filled &= tcp.is_limited();
        if tcp.is_limited() {
            self.grow_filled(tcp, acked, is_over);
        }
        if is_over {
            self.begin_round(tcp);
        }
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> f64 {
        tcp.half()
    }

    fn entered(&mut self, tcp: &mut Tcp, state: u8) {
        if state == LOSS {
            self.base_s = f64::INFINITY;
        }
        if state == OPEN || state == LOSS {
            self.average_s = None;
            self.begin_round(tcp);
        }
    }

    fn event(&mut self, tcp: &mut Tcp, event: Event) {
        if event == Event::CwndRestart {
            self.tx_started(tcp);
        }
    }

    fn tx_started(&mut self, tcp: &mut Tcp) {
        self.average_s = None;
        self.begin_round(tcp);
    }
}
