// SPDX-License-Identifier: GPL-2.0-only
//! YeAH-TCP: Baiocchi, Castellani, Vacirca 2007, section III; numbers as their module for Linux has them.

use ccctl_sim::Event;

use crate::rounds::Rounds;
use crate::tcp::{Law, Tcp, Values, LOSS, OPEN};

#[derive(Clone)]
pub struct Yeah {
    queue_max: f64,
    taken: f64,         // of the queue, by decongestion: Q / gamma
    taken_at_most: f64, // and of the window
    given_up_at_least: f64,
    phi: f64,
    rho_rtts: f64,
    zeta_rtts: f64,
    pkts_per_increase: f64,
    paper_reset: bool,
    relearns_base: bool,
    rounds: Rounds,
    queue: f64,
    count_reno: f64,
    count_fast: f64,
    slow_rtts: f64,
}

impl Yeah {
    pub fn new(values: &Values) -> Self {
        let share = |name: &str| 0.5_f64.powf(values.get(name));
        Self {
            queue_max: values.get("alpha_pkts"),
            taken: 1.0 / values.get("gamma"),
            taken_at_most: share("epsilon_shift"),
            given_up_at_least: share("delta_shift"),
            phi: values.get("phi"),
            rho_rtts: values.get("rho_rtts"),
            zeta_rtts: values.get("zeta_rtts"),
            pkts_per_increase: values.get("acks_per_pkt"),
            paper_reset: values.is_on("paper_reset"),
            relearns_base: values.is_on("relearn_base"),
            rounds: Rounds::default(),
            queue: 0.0,
            count_reno: 2.0,
            count_fast: 0.0,
            slow_rtts: 0.0,
        }
    }

    fn round_ended(&mut self, tcp: &mut Tcp) {
        if let Some((base_s, rtt_s)) = self.rounds.measured() {
            self.queue = ((rtt_s - base_s) * tcp.cwnd / rtt_s).floor();
            if self.queue > self.queue_max || (rtt_s - base_s) / base_s > 1.0 / self.phi {
                self.slow_round(tcp);
            } else {
                self.fast_round(tcp);
            }
        }
    }

    fn slow_round(&mut self, tcp: &mut Tcp) {
        tcp.took("slow round");
        if self.queue > self.queue_max && tcp.cwnd > self.count_reno {
            tcp.took("decongestion");
            let taken = (self.queue * self.taken).floor().min((tcp.cwnd * self.taken_at_most).floor());
            tcp.cwnd = (tcp.cwnd - taken).max(self.count_reno);
            tcp.threshold = tcp.cwnd;
        }
        if self.count_reno <= 2.0 {
            self.count_reno = (tcp.cwnd / 2.0).floor().max(2.0);
        } else {
            self.count_reno += 1.0;
        }
        self.slow_rtts += 1.0;
    }

    fn fast_round(&mut self, tcp: &mut Tcp) {
        tcp.took("fast round");
        self.count_fast += 1.0;
        if self.count_fast > self.zeta_rtts {
            tcp.took("count_reno reset");
            self.count_reno = if self.paper_reset { tcp.half() } else { 2.0 };
            self.count_fast = 0.0;
        }
        self.slow_rtts = 0.0;
    }
}

impl Law for Yeah {
    fn init(&mut self, tcp: &mut Tcp) {
        self.rounds.begin(tcp);
    }

    fn sampled(&mut self, tcp: &mut Tcp, _acked: f64, rtt_s: Option<f64>) {
        if let Some(rtt_s) = rtt_s.filter(|_| !tcp.is_recovering()) {
            self.rounds.sample(rtt_s);
        }
    }

    fn grow(&mut self, tcp: &mut Tcp, acked: f64) {
        let limited = tcp.is_limited();
        let mut left = if limited { acked } else { 0.0 };
        if limited && tcp.in_slow_start() {
            left = tcp.slow_start(acked);
        }
        if left > 0.0 {
            let fast = self.slow_rtts == 0.0;
            let pkts = if fast { tcp.cwnd.min(self.pkts_per_increase) } else { tcp.cwnd };
            tcp.took(if fast { "fast growth" } else { "slow growth" });
            tcp.grow_each(pkts, left);
        }
        if tcp.is_recovering() || !self.rounds.is_over(tcp) {
            return;
        }
        if limited {
            self.round_ended(tcp);
        }
        self.rounds.begin(tcp);
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> f64 {
        let threshold = if self.slow_rtts < self.rho_rtts {
            tcp.took("loss alone");
            let most = (tcp.cwnd / 2.0).floor();
            tcp.cwnd - (tcp.cwnd * self.given_up_at_least).floor().max(self.queue).min(most)
        } else {
            tcp.took("loss beside Reno");
            tcp.cwnd - (tcp.cwnd / 2.0).floor() // the reduction is in whole packets, as Linux's own answers show
        };
        self.count_fast = 0.0;
        self.count_reno = (self.count_reno / 2.0).floor().max(2.0);
        threshold.max(2.0)
    }

    fn entered(&mut self, tcp: &mut Tcp, state: u8) {
        if state == LOSS {
            self.rounds.forget_base();
        }
        if state == OPEN || state == LOSS {
            self.rounds.begin(tcp);
        }
    }

    fn event(&mut self, tcp: &mut Tcp, event: Event) {
        if event == Event::CwndRestart {
            self.tx_started(tcp);
        }
    }

    fn tx_started(&mut self, tcp: &mut Tcp) {
        if self.relearns_base {
            self.rounds.forget_base();
        }
        self.rounds.begin(tcp);
    }
}
