// SPDX-License-Identifier: GPL-2.0-only
//! Compound TCP: Tan, Song, Zhang, Sridharan, INFOCOM 2006, and draft-sridharan-tcpm-ctcp. W = lwnd + dwnd; lwnd is Reno's:
//! += 1 / W for each packet acknowledged; each round, with diff = W (RTT - base) / RTT:
//! dwnd += alpha W^0.75 - 1 where diff < gamma, dwnd -= zeta diff where not; at a loss dwnd = (1 - beta) W - lwnd / 2.
//! Burst control: section 7 of Li 2006. Tuning of gamma: section 8, and its law as published for CTCP-TUBE:
//! gamma += lambda (3/4 diff of the Reno part - gamma).

use ccctl_sim::Event;

use crate::rounds::Rounds;
use crate::tcp::{Law, Tcp, Values, CWR, LOSS, OPEN, RECOVERY};

const MUTED: u32 = 1;
const PARTIAL: u32 = 2;
const BY_DIFFWND: u32 = 1;
const BY_LOSSWINDOW: u32 = 2;

#[derive(Clone)]
#[allow(clippy::struct_excessive_bools)] // switches
pub struct Compound {
    alpha: f64,
    zeta: f64,
    gamma_start: f64,
    gamma_low: f64,
    gamma_high: f64,
    low_window: f64,
    zero_below_low: bool,
    burst_control: u32,
    partial_max: f64,
    tuning: u32,
    lambda: f64,
    gain: f64,
    power_of_dwnd: bool,
    survives_loss: bool,
    timeout_halves_lwnd: bool,
    relearns_base: bool,
    dwnd: f64,
    gamma: f64,
    rounds: Rounds,
    /// That of its first ACK, and of it lwnd.
    round_window: Option<(f64, f64)>,
    was_filled: bool,
    /// diff of the last whole round, of the Reno part and of all.
    diffs: Option<(f64, f64)>,
    undo: (f64, f64),
}

impl Compound {
    pub fn new(values: &Values) -> Self {
        Self {
            alpha: 0.5_f64.powf(values.get("alpha_shift")),
            zeta: values.get("zeta"),
            gamma_start: values.get("gamma_pkts"),
            gamma_low: values.get("gamma_low_pkts"),
            gamma_high: values.get("gamma_high_pkts"),
            low_window: values.get("low_window_pkts"),
            zero_below_low: values.is_on("below_low_window"),
            burst_control: values.raw("burst_control"),
            partial_max: values.get("partial_max_q8") / 256.0,
            tuning: values.raw("gamma_tuning"),
            lambda: 0.5_f64.powf(values.get("lambda_shift")),
            gain: values.get("gamma_gain_num") / values.get("gamma_gain_den"),
            power_of_dwnd: values.is_on("power_base"),
            survives_loss: values.is_on("c06_loss"),
            timeout_halves_lwnd: values.is_on("rto_from_lwnd"),
            relearns_base: values.is_on("relearn_base"),
            dwnd: 0.0,
            gamma: values.get("gamma_pkts"),
            rounds: Rounds::default(),
            round_window: None,
            was_filled: true,
            diffs: None,
            undo: (0.0, 0.0),
        }
    }

    fn lwnd(&self, tcp: &Tcp) -> f64 {
        (tcp.cwnd - self.dwnd.floor()).max(1.0)
    }

    fn begin_round(&mut self, tcp: &Tcp) {
        self.rounds.begin(tcp);
        self.round_window = None;
        self.was_filled = true;
    }

    fn round_ended(&mut self, tcp: &mut Tcp) {
        if let (Some((base_s, rtt_s)), Some((window, lwnd))) = (self.rounds.measured(), self.round_window) {
            let queued = (rtt_s - base_s) / rtt_s;
            self.diffs = Some((lwnd * queued, window * queued));
            let lwnd = self.lwnd(tcp);
            self.move_dwnd(tcp, window, window * queued);
            tcp.cwnd = (lwnd + self.dwnd.floor()).min(tcp.clamp);
        }
    }

    fn move_dwnd(&mut self, tcp: &mut Tcp, window: f64, diff: f64) {
        let margin = 1.0 / 256.0 + diff / window; // diff in 1/256 packets, of a window that may be one off
        if !tcp.is_below(diff, self.gamma, margin) {
            tcp.took("dwnd falls");
            self.dwnd = (self.dwnd - self.zeta * diff).max(0.0);
            return;
        }
        if tcp.cwnd < self.low_window {
            tcp.took("below low_window");
            if self.zero_below_low {
                self.dwnd = 0.0;
            }
            return;
        }
        let base = if self.power_of_dwnd { self.dwnd } else { window };
        let growth = (self.alpha * base.powf(0.75) - 1.0).max(0.0);
        let controlled = diff >= self.gamma_low;
        self.dwnd += match self.burst_control {
            MUTED if controlled => {
                tcp.took("muted");
                0.0
            }
            PARTIAL if controlled => {
                tcp.took("partial");
                growth.min(self.partial_max)
            }
            _ => {
                tcp.took("dwnd grows");
                growth
            }
        };
    }

    fn tune(&mut self, tcp: &mut Tcp) {
        let Some((of_lwnd, of_window)) = self.diffs else { return };
        let aim = match self.tuning {
            BY_DIFFWND => of_lwnd,
            BY_LOSSWINDOW => of_window,
            _ => return,
        };
        tcp.took("gamma tuned");
        let gamma = self.gamma + self.lambda * (self.gain * aim - self.gamma);
        self.gamma = gamma.clamp(self.gamma_low, self.gamma_high);
    }
}

impl Law for Compound {
    fn init(&mut self, tcp: &mut Tcp) {
        self.begin_round(tcp);
    }

    fn sampled(&mut self, tcp: &mut Tcp, _acked: f64, rtt_s: Option<f64>) {
        if tcp.is_recovering() {
            return;
        }
        if self.round_window.is_none() {
            self.dwnd = self.dwnd.min(tcp.cwnd);
            self.round_window = Some((tcp.cwnd, self.lwnd(tcp)));
        }
        if let Some(rtt_s) = rtt_s {
            self.rounds.sample(rtt_s);
        }
    }

    fn grow(&mut self, tcp: &mut Tcp, acked: f64) {
        let slow_start = tcp.in_slow_start();
        if tcp.is_limited() {
            let left = if slow_start { tcp.slow_start(acked) } else { acked };
            if left > 0.0 {
                tcp.reno(left);
            }
        } else {
            self.was_filled = false;
        }
        if tcp.is_recovering() || !self.rounds.is_over(tcp) {
            return;
        }
        if self.was_filled && !slow_start {
            self.round_ended(tcp);
        }
        self.begin_round(tcp);
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> f64 {
        self.undo = (self.dwnd, self.gamma);
        self.tune(tcp);
        self.diffs = None;
        tcp.half()
    }

    fn undo(&mut self, tcp: &mut Tcp) -> f64 {
        (self.dwnd, self.gamma) = self.undo;
        tcp.cwnd.max(tcp.prior_cwnd)
    }

    fn entered(&mut self, tcp: &mut Tcp, state: u8) {
        match state {
            CWR | RECOVERY if self.survives_loss => {
                tcp.took("dwnd survives a loss");
                self.dwnd = self.dwnd.min((tcp.cwnd / 2.0).floor());
            }
            CWR | RECOVERY => {
                self.dwnd = ((tcp.cwnd / 2.0).floor() - self.lwnd(tcp) / 2.0).max(0.0);
            }
            LOSS => {
                self.dwnd = 0.0;
                self.gamma = self.gamma_start;
                self.rounds.forget_base();
                self.diffs = None;
                self.begin_round(tcp);
            }
            OPEN => self.begin_round(tcp),
            _ => {}
        }
    }

    fn event(&mut self, tcp: &mut Tcp, event: Event) {
        match event {
            Event::CwndRestart => {
                self.dwnd = 0.0;
                self.tx_started(tcp);
            }
            Event::Loss if self.timeout_halves_lwnd => {
                tcp.threshold = (self.lwnd(tcp) / 2.0).floor().max(2.0);
            }
            _ => {}
        }
    }

    fn tx_started(&mut self, tcp: &mut Tcp) {
        if self.relearns_base {
            self.rounds.forget_base();
        }
        self.diffs = None;
        self.begin_round(tcp);
    }
}
