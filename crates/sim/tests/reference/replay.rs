// SPDX-License-Identifier: GPL-2.0-only
//! Recorded calls through a law, and how far apart the two windows are after each.

use std::collections::BTreeMap;

use ccctl_sim::{Call, Hook, SocketRecord, WindowRecord};

use crate::tcp::{Law, Rates, Tcp, LOSS};

/// How far apart the two may be: so many packets, and such a share of the window.
#[derive(Debug, Clone, Copy)]
pub struct Tolerance {
    pub pkts: f64,
    pub share: f64,
}

impl Tolerance {
    fn admits(self, ours: f64, theirs: u32) -> bool {
        let theirs = f64::from(theirs);
        ours == theirs || (ours - theirs).abs() <= self.pkts + self.share * theirs
    }
}

/// What a replay has shown.
#[derive(Debug, Default)]
pub struct Outcome {
    pub calls: usize,
    pub disagreements: usize,
    /// The first of them.
    pub first: Option<String>,
    pub first_call: Option<usize>,
    /// Calls after which the windows were not the same, however close.
    pub apart: usize,
    pub widest_pkts: f64,
    /// Decisions that were too close to call.
    pub edges: usize,
    pub branches: BTreeMap<&'static str, u64>,
}

impl Outcome {
    pub fn add(&mut self, other: &Self, run: &str) {
        self.calls += other.calls;
        self.disagreements += other.disagreements;
        self.apart += other.apart;
        self.edges += other.edges;
        self.widest_pkts = self.widest_pkts.max(other.widest_pkts);
        if self.first.is_none() {
            self.first = other.first.as_ref().map(|first| format!("{run}: {first}"));
        }
        for (branch, count) in &other.branches {
            *self.branches.entry(branch).or_default() += count;
        }
    }
}

/// A law that runs beside the record. Its window is its own; what the core writes is the core's, and taken over: rate
/// reduction, the end of a recovery, the window after a timeout or an idle time.
struct Replay<L> {
    law: L,
    tcp: Tcp,
    tolerance: Tolerance,
    last: WindowRecord,
    returned: Option<f64>,
    outcome: Outcome,
}

pub fn replay<L: Law + Clone>(calls: &[Call], law: L, tolerance: Tolerance) -> Outcome {
    let first = calls.first().expect("a record has calls").socket;
    let last = WindowRecord {
        snd_cwnd: first.snd_cwnd,
        snd_cwnd_cnt: first.snd_cwnd_cnt,
        snd_ssthresh: first.snd_ssthresh,
        sk_pacing_rate: first.sk_pacing_rate,
    };
    let (cwnd, threshold) = (f64::from(first.snd_cwnd), f64::from(first.snd_ssthresh));
    let tcp = Tcp { cwnd, threshold, ..Tcp::default() };
    let mut replay = Replay { law, tcp, tolerance, last, returned: None, outcome: Outcome::default() };
    for (index, call) in calls.iter().enumerate() {
        replay.step(index, call);
    }
    replay.outcome.calls = calls.len();
    replay.outcome.branches = replay.tcp.branches.borrow().clone();
    replay.outcome
}

impl<L: Law + Clone> Replay<L> {
    fn step(&mut self, index: usize, call: &Call) {
        self.take_over(&call.socket);
        self.tcp.hear(&call.socket);
        if call.hook == Hook::Ssthresh {
            self.tcp.cwnd = f64::from(call.socket.snd_cwnd);
        }
        let returned = self.make_either_way(call);
        self.compare(index, call, "cwnd", self.tcp.cwnd, call.after.snd_cwnd);
        self.compare(index, call, "ssthresh", self.tcp.threshold, call.after.snd_ssthresh);
        self.compare_rate(index, call);
        match (returned, call.returned) {
            (Some(ours), Some(theirs)) => self.compare(index, call, "returned", ours, theirs),
            (None, None) => {}
            _ => panic!("call {index}: a record of another hook, {call:?}"),
        }
        self.returned = returned.or(self.returned.filter(|_| call.returned.is_none()));
        self.last = call.after;
    }

    /// What has changed since the last call was written by the core.
    fn take_over(&mut self, socket: &SocketRecord) {
        if socket.snd_cwnd != self.last.snd_cwnd {
            self.tcp.cwnd = f64::from(socket.snd_cwnd);
        }
        if socket.snd_cwnd_cnt != self.last.snd_cwnd_cnt {
            self.tcp.credit = 0.0;
        }
        if socket.snd_ssthresh != self.last.snd_ssthresh {
            self.tcp.threshold = f64::from(socket.snd_ssthresh);
        }
    }

    /// A decision on the edge is the record's, where the other choice leads to what it has.
    fn make_either_way(&mut self, call: &Call) -> Option<f64> {
        let before = (self.law.clone(), self.tcp.clone());
        let returned = self.make(call.hook);
        if !self.tcp.is_on_edge {
            return returned;
        }
        if !self.agrees(call, returned) {
            let first = (std::mem::replace(&mut self.law, before.0), std::mem::replace(&mut self.tcp, before.1));
            self.tcp.flips = true;
            let other = self.make(call.hook);
            self.tcp.flips = false;
            if self.agrees(call, other) {
                self.outcome.edges += 1;
                self.tcp.is_on_edge = false;
                return other;
            }
            (self.law, self.tcp) = first;
        }
        self.tcp.is_on_edge = false;
        returned
    }

    fn agrees(&self, call: &Call, returned: Option<f64>) -> bool {
        self.tolerance.admits(self.tcp.cwnd, call.after.snd_cwnd)
            && self.tolerance.admits(self.tcp.threshold, call.after.snd_ssthresh)
            && returned.zip(call.returned).is_none_or(|(ours, theirs)| self.tolerance.admits(ours, theirs))
    }

    fn make(&mut self, hook: Hook) -> Option<f64> {
        let (law, tcp) = (&mut self.law, &mut self.tcp);
        match hook {
            Hook::Init => law.init(tcp),
            Hook::PktsAcked { rtt_us, pkts_acked, .. } => {
                law.sampled(tcp, f64::from(pkts_acked), (rtt_us >= 0).then(|| f64::from(rtt_us.max(1)) / 1e6));
            }
            Hook::InAckEvent => law.told_of_ack(tcp),
            Hook::CongAvoid { acked } => law.grow(tcp, f64::from(acked)),
            Hook::CongControl {
                delivered,
                interval_us,
                rtt_us,
                acked_sacked,
                prior_in_flight,
                prior_delivered,
                losses,
                is_app_limited,
            } => {
                let rates = Rates {
                    prior_delivered,
                    delivered,
                    interval_us,
                    rtt_us,
                    losses,
                    acked_sacked,
                    prior_in_flight,
                    is_app_limited,
                };
                law.controlled(tcp, &rates);
            }
            Hook::Ssthresh => {
                tcp.took("loss");
                tcp.credit = 0.0;
                return Some(law.ssthresh(tcp));
            }
            Hook::UndoCwnd => {
                tcp.took("undo");
                return Some(law.undo(tcp));
            }
            Hook::SetState { new_state } => {
                if new_state == LOSS {
                    tcp.took("timeout");
                    tcp.credit = 0.0;
                }
                law.entered(tcp, new_state);
            }
            Hook::CwndEvent { event } => law.event(tcp, event),
            Hook::TxStart => law.tx_started(tcp),
        }
        None
    }

    /// Rates are bytes a second: rounded down, twice.
    fn compare_rate(&mut self, index: usize, call: &Call) {
        let (ours, theirs) = (self.tcp.pacing_rate as f64, call.after.sk_pacing_rate as f64);
        if (ours - theirs).abs() > 1e-4 * theirs + 2.0 {
            self.disagree(index, call, "pacing rate", ours, theirs);
        }
    }

    fn disagree(&mut self, index: usize, call: &Call, what: &str, ours: f64, theirs: f64) {
        self.outcome.disagreements += 1;
        if self.outcome.first.is_none() {
            self.outcome.first_call = Some(index);
            self.outcome.first = Some(format!("call {index}: {what} is {theirs}, by the formulas {ours}; {call:?}"));
        }
    }

    fn compare(&mut self, index: usize, call: &Call, what: &str, ours: f64, theirs: u32) {
        let distance = (ours - f64::from(theirs)).abs();
        if distance > 0.0 && what == "cwnd" {
            self.outcome.apart += 1;
        }
        self.outcome.widest_pkts = self.outcome.widest_pkts.max(distance);
        if self.tolerance.admits(ours, theirs) {
            return;
        }
        self.disagree(index, call, what, ours, theirs.into());
    }
}
