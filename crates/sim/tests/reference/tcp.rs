// SPDX-License-Identifier: GPL-2.0-only
//! What a law of congestion control sees of TCP, and the window that it sets, in real numbers.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use ccctl_catalog::ParameterSet;
use ccctl_sim::{Event, SocketRecord};

/// Half the clock's resolution: times that are equal in whole microseconds are equal.
pub const TICK_S: f64 = 0.5e-6;

/// `enum tcp_ca_state`
pub const OPEN: u8 = 0;
pub const CWR: u8 = 2;
pub const RECOVERY: u8 = 3;
pub const LOSS: u8 = 4;

/// A law, as the paper's formulas have it, with a state of its own.
pub trait Law {
    /// The connection begins.
    fn init(&mut self, _tcp: &mut Tcp) {}
    /// Packets are acknowledged, perhaps with an RTT sample.
    fn sampled(&mut self, _tcp: &mut Tcp, _acked: f64, _rtt_s: Option<f64>) {}
    /// Any ACK has come.
    fn told_of_ack(&mut self, _tcp: &mut Tcp) {}
    /// The window may grow.
    fn grow(&mut self, tcp: &mut Tcp, acked: f64);
    /// Any ACK has come to a law that sets window and rate by itself.
    fn controlled(&mut self, _tcp: &mut Tcp, _rates: &Rates) {
        panic!("this law does not control its window by itself");
    }
    /// The threshold that a loss leads to.
    fn ssthresh(&mut self, tcp: &mut Tcp) -> f64;
    /// The window after a loss that was none.
    fn undo(&mut self, tcp: &mut Tcp) -> f64 {
        tcp.cwnd.max(tcp.prior_cwnd)
    }
    /// The core changes its state; `tcp` has the old one.
    fn entered(&mut self, _tcp: &mut Tcp, _state: u8) {}
    /// An event of the core.
    fn event(&mut self, _tcp: &mut Tcp, _event: Event) {}
    /// Sending begins after a pause.
    fn tx_started(&mut self, _tcp: &mut Tcp) {}
}

/// `struct rate_sample`; below 0: no sample.
#[derive(Debug, Clone, Copy)]
pub struct Rates {
    pub prior_delivered: u32,
    pub delivered: i32,
    pub interval_us: i64,
    pub rtt_us: i64,
    pub losses: i32,
    pub acked_sacked: u32,
    pub prior_in_flight: u32,
    pub is_app_limited: bool,
}

/// The connection: what the core tells, and the law's own window. Windows are whole packets, as a packet is what TCP sends;
/// what is between them is credit, in packets acknowledged times packets a round trip (`bytes_acked` of RFC 3465).
#[derive(Debug, Default, Clone)]
#[allow(clippy::struct_excessive_bools)] // the kernel's, and two of the replay
pub struct Tcp {
    pub cwnd: f64,
    pub credit: f64,
    pub threshold: f64,
    pub now_s: f64,
    pub state: u8,
    pub una: u32,
    pub next: u32,
    pub clamp: f64,
    pub prior_cwnd: f64,
    pub srtt_s: f64,
    pub delivered: u32,
    pub peer_stamp: u32,
    pub echoed_stamp: u32,
    pub flight_was_limited: bool,
    pub max_packets_out: f64,
    pub packets_out: f64,
    pub initial_cwnd: u64,
    pub now_us: u64,
    pub delivered_ce: u32,
    pub lost: u32,
    pub in_flight: u64,
    pub app_limited: bool,
    pub min_rtt_us: Option<u64>,
    pub mss: u64,
    /// The law's own, in bytes per second, as that of the record where they are the same.
    pub pacing_rate: u64,
    pub pacing_shift: u8,
    pub random_state: u64,
    /// A decision was closer than what the C code can tell apart.
    pub is_on_edge: bool,
    /// Decides such a case the other way.
    pub flips: bool,
    pub branches: Rc<RefCell<BTreeMap<&'static str, u64>>>,
}

impl Tcp {
    /// What the core tells before a call, all but the window.
    pub fn hear(&mut self, socket: &SocketRecord) {
        self.now_s = socket.tcp_mstamp as f64 / 1e6;
        self.state = socket.ca_state;
        (self.una, self.next) = (socket.snd_una, socket.snd_nxt);
        self.clamp = f64::from(socket.snd_cwnd_clamp);
        self.prior_cwnd = f64::from(socket.prior_cwnd);
        self.srtt_s = f64::from(socket.srtt_us) / 8e6;
        self.delivered = socket.delivered;
        (self.peer_stamp, self.echoed_stamp) = (socket.rcv_tsval, socket.rcv_tsecr);
        self.flight_was_limited = socket.is_cwnd_limited;
        self.max_packets_out = f64::from(socket.max_packets_out);
        self.packets_out = f64::from(socket.packets_out);
        (self.initial_cwnd, self.now_us) = (10, socket.tcp_mstamp); // RFC 6928
        (self.delivered_ce, self.lost) = (socket.delivered_ce, socket.lost);
        self.in_flight = socket.in_flight.into();
        self.app_limited = socket.app_limited != 0;
        self.min_rtt_us = Some(socket.rtt_min).filter(|us| *us != u32::MAX).map(u64::from);
        self.mss = socket.mss_cache.into();
        (self.pacing_rate, self.pacing_shift) = (socket.sk_pacing_rate, socket.sk_pacing_shift);
        self.random_state = socket.random_state;
    }

    /// A branch that the law has taken.
    pub fn took(&self, branch: &'static str) {
        *self.branches.borrow_mut().entry(branch).or_default() += 1;
    }

    /// `value` < `limit`, where the C code knows them to within `margin`.
    pub fn is_below(&mut self, value: f64, limit: f64, margin: f64) -> bool {
        let is_close = (value - limit).abs() <= margin;
        self.is_on_edge |= is_close;
        (value < limit) ^ (is_close && self.flips)
    }

    /// The core has taken the window over, or repairs what a timeout left: delays tell of a queue that drains.
    pub fn is_recovering(&self) -> bool {
        self.state >= CWR
    }

    /// `tcp_in_cwnd_reduction()`
    pub fn is_reducing(&self) -> bool {
        matches!(self.state, CWR | RECOVERY)
    }

    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.threshold
    }

    /// RFC 7661, RFC 9293 3.8.6: a window that was not used is not evidence for a larger one.
    pub fn is_limited(&self) -> bool {
        if self.in_slow_start() {
            self.cwnd < 2.0 * self.max_packets_out
        } else {
            self.flight_was_limited
        }
    }

    /// RFC 5681 3.1, not beyond the threshold. Packets left over.
    pub fn slow_start(&mut self, acked: f64) -> f64 {
        let target = (self.cwnd + acked).min(self.threshold);
        let left = acked - (target - self.cwnd);
        self.cwnd = target.min(self.clamp);
        left
    }

    /// `rate` packets a round trip: cwnd += rate / cwnd for each packet; an ACK no more than doubles the window.
    pub fn grow_by(&mut self, rate: f64, acked: f64) {
        let most = 2.0 * self.cwnd;
        self.credit += rate * acked;
        self.spend(self.cwnd);
        self.cwnd = self.cwnd.min(most);
    }

    /// One packet for each `pkts` acknowledged.
    pub fn grow_each(&mut self, pkts: f64, acked: f64) {
        if self.credit >= pkts {
            self.credit = 0.0; // was earned at a slower law: one packet for all of it
            self.cwnd += 1.0;
        }
        self.credit += acked;
        self.spend(pkts);
        self.cwnd = self.cwnd.min(self.clamp);
    }

    fn spend(&mut self, price: f64) {
        let bought = (self.credit / price).floor();
        self.credit -= bought * price;
        self.cwnd = (self.cwnd + bought).min(self.clamp);
    }

    /// Reno's growth in congestion avoidance.
    pub fn reno(&mut self, acked: f64) {
        self.grow_each(self.cwnd, acked);
    }

    /// Half the window, which is not below 2 packets (RFC 5681 equation 4).
    pub fn half(&self) -> f64 {
        (self.cwnd / 2.0).floor().max(2.0)
    }
}

/// The integers of the parameters, by C member.
#[derive(Debug, Clone)]
pub struct Values(BTreeMap<String, u32>);

impl Values {
    pub fn of(set: &ParameterSet) -> Self {
        Self(set.iter().map(|(parameter, value)| (parameter.member.clone(), value)).collect())
    }

    pub fn raw(&self, name: &str) -> u32 {
        *self.0.get(name).unwrap_or_else(|| panic!("no parameter {name}"))
    }

    pub fn get(&self, name: &str) -> f64 {
        f64::from(self.raw(name))
    }

    pub fn is_on(&self, name: &str) -> bool {
        self.raw(name) != 0
    }

    /// The same but for one value.
    pub fn with(&self, name: &str, value: u32) -> Self {
        let mut values = self.clone();
        assert!(values.0.insert(name.to_owned(), value).is_some(), "no parameter {name}");
        values
    }
}
