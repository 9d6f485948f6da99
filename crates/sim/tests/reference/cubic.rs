// SPDX-License-Identifier: GPL-2.0-only
//! CUBIC: RFC 9438 section 4 (equations 1, 2, 4 and 5), and with other numbers Rhee, Xu, PFLDnet 2005:
//! W_cubic(t) = C (t - K)^3 + W_max, K = cbrt((W_max - cwnd_epoch) / C), W_est += alpha acked / cwnd.

use ccctl_sim::Event;

use crate::search::Search;
use crate::tcp::{Law, Tcp, Values, LOSS};

#[derive(Clone)]
pub struct Cubic {
    kept: f64,
    steepness: f64,
    fast_convergence: bool,
    friendly: bool,
    step_per_100_ms: f64,
    w_max: f64,
    prior: f64,
    epoch: Option<Epoch>,
    last_active_s: f64,
    undo: Option<(f64, f64, Option<Epoch>)>,
    search: Option<Search>,
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy)]
struct Epoch {
    begin_s: f64,
    k_s: f64,
    origin: f64,
    estimate: f64,
}

impl Cubic {
    pub fn new(values: &Values) -> Self {
        let exit = values.raw("slow_start_exit");
        assert!([0, 3].contains(&exit), "slow start is left by losses, or by SEARCH");
        Self {
            kept: values.get("beta_q10") / 1024.0,
            steepness: values.get("c_q10") / 1024.0,
            fast_convergence: values.is_on("fast_convergence"),
            friendly: values.is_on("reno_friendly"),
            step_per_100_ms: values.get("max_step_pkts"),
            w_max: 0.0,
            prior: 0.0,
            epoch: None,
            last_active_s: 0.0,
            undo: None,
            search: (exit == 3).then(Search::default),
        }
    }

    fn begin(&mut self, tcp: &mut Tcp) -> Epoch {
        tcp.took("epoch");
        let away = self.w_max - tcp.cwnd;
        let (k_s, origin) = if away > 0.0 { ((away / self.steepness).cbrt(), self.w_max) } else { (0.0, tcp.cwnd) };
        Epoch { begin_s: tcp.now_s, k_s, origin, estimate: tcp.cwnd }
    }

    /// Packets a round trip.
    fn increase(&self, tcp: &mut Tcp, epoch: &Epoch) -> f64 {
        let window = tcp.cwnd;
        let beyond_s = tcp.now_s - epoch.begin_s + tcp.srtt_s - epoch.k_s;
        tcp.took(if beyond_s < 0.0 { "concave" } else { "convex" });
        let target = (epoch.origin + self.steepness * beyond_s.powi(3)).min(1.5 * window);
        let mut increase = (target - window).max(0.01); // on the plateau 1 % of a packet, as Linux has it
        let most = self.step_per_100_ms * tcp.srtt_s / 0.1;
        if most > 0.0 && beyond_s > 0.0 && increase > most {
            tcp.took("held by S_max");
            increase = most;
        }
        if self.w_max == 0.0 {
            tcp.took("no W_max");
            increase = increase.max(window / 20.0);
        }
        if self.friendly && epoch.estimate - window > increase {
            tcp.took("Reno-friendly");
            increase = epoch.estimate - window;
        }
        increase
    }
}

impl Law for Cubic {
    fn sampled(&mut self, tcp: &mut Tcp, _acked: f64, rtt_s: Option<f64>) {
        let (Some(search), Some(rtt_s)) = (&mut self.search, rtt_s) else { return };
        if tcp.in_slow_start() && !tcp.is_reducing() && search.finds_full(tcp, rtt_s) {
            tcp.threshold = tcp.cwnd.max(2.0);
        }
    }

    fn grow(&mut self, tcp: &mut Tcp, acked: f64) {
        if !tcp.is_limited() {
            tcp.took("time not used");
            return self.tx_started(tcp);
        }
        self.last_active_s = tcp.now_s;
        let left = if tcp.in_slow_start() { tcp.slow_start(acked) } else { acked };
        if left == 0.0 {
            return;
        }
        let mut epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.begin(tcp),
        };
        let alpha = if epoch.estimate >= self.prior { 1.0 } else { 3.0 * (1.0 - self.kept) / (1.0 + self.kept) };
        epoch.estimate += alpha * left / tcp.cwnd;
        self.epoch = Some(epoch);
        let pkts = (tcp.cwnd / self.increase(tcp, &epoch)).floor().max(2.0);
        tcp.grow_each(pkts, left);
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> f64 {
        self.undo = Some((self.w_max, self.prior, self.epoch));
        let gives_way = self.fast_convergence && tcp.cwnd < self.w_max;
        if gives_way {
            tcp.took("fast convergence");
        }
        self.w_max = if gives_way { (tcp.cwnd * (1.0 + self.kept) / 2.0).floor() } else { tcp.cwnd };
        self.prior = tcp.cwnd;
        self.epoch = None;
        (tcp.cwnd * self.kept).floor().max(2.0)
    }

    fn undo(&mut self, tcp: &mut Tcp) -> f64 {
        if let Some((w_max, prior, epoch)) = self.undo.take() {
            (self.w_max, self.prior, self.epoch) = (w_max, prior, epoch);
        }
        tcp.cwnd.max(tcp.prior_cwnd)
    }

    fn entered(&mut self, _tcp: &mut Tcp, state: u8) {
        if state == LOSS {
            self.w_max = 0.0;
            self.epoch = None;
            if let Some(search) = &mut self.search {
                search.reset();
            }
        }
    }

    fn event(&mut self, tcp: &mut Tcp, event: Event) {
        if event == Event::CwndRestart {
            self.tx_started(tcp);
        }
    }

    /// Section 4.2: the time in which nothing was sent does not count.
    fn tx_started(&mut self, tcp: &mut Tcp) {
        if let Some(epoch) = &mut self.epoch {
            epoch.begin_s = (epoch.begin_s + tcp.now_s - self.last_active_s).min(tcp.now_s);
        }
        self.last_active_s = tcp.now_s;
    }
}
