// SPDX-License-Identifier: GPL-2.0-only
//! SEARCH: draft-chung-ccwg-search-09, with every bin kept and in real numbers. What lies between two bins is taken where one
//! RTT before was.

use crate::tcp::Tcp;

const WINDOW_BINS: usize = 10;
const EXTRA_BINS: usize = 15;
const THRESHOLD: f64 = 0.26;

/// Bytes until the end of a bin.
#[derive(Clone, Copy)]
struct Bin {
    acked: f64,
    sent: f64,
}

#[derive(Clone, Default)]
pub struct Search {
    bins: Vec<Bin>,
    length_s: f64,
    end_s: f64,
    start: (u32, u32),
}

impl Search {
    /// All is forgotten.
    pub fn reset(&mut self) {
        self.bins.clear();
    }

    fn now(&self, tcp: &Tcp) -> Bin {
        Bin {
            acked: f64::from(tcp.una.wrapping_sub(self.start.0)),
            sent: f64::from(tcp.next.wrapping_sub(self.start.1)),
        }
    }

    fn begin(&mut self, tcp: &Tcp, rtt_s: f64) {
        self.length_s = (rtt_s * 1e6 * 0.35 + 1e-6).floor().max(1.0) / 1e6; // the clock has whole microseconds
        self.end_s = tcp.now_s + self.length_s;
        self.start = (tcp.una, tcp.next);
        self.bins = vec![Bin { acked: 0.0, sent: 0.0 }];
    }

    /// At an ACK in slow start: is the path full?
    pub fn finds_full(&mut self, tcp: &mut Tcp, rtt_s: f64) -> bool {
        let Some(&last) = self.bins.last() else {
            self.begin(tcp, rtt_s);
            return false;
        };
        let late_s = tcp.now_s - self.end_s;
        if late_s < 0.5e-6 {
            return false;
        }
        let passed = ((late_s + 0.5e-6) / self.length_s).floor() as usize + 1;
        if passed > WINDOW_BINS {
            tcp.took("SEARCH: too long without an ACK");
            self.begin(tcp, rtt_s);
            return false;
        }
        self.bins.extend(std::iter::repeat_n(last, passed - 1));
        self.bins.push(self.now(tcp));
        self.end_s += passed as f64 * self.length_s;
        self.compare(tcp, rtt_s)
    }

    fn compare(&self, tcp: &mut Tcp, rtt_s: f64) -> bool {
        let newest = self.bins.len() - 1;
        let back = (rtt_s + 1e-9) / self.length_s;
        let whole = back.floor() as usize;
        if whole >= EXTRA_BINS || newest <= WINDOW_BINS + whole {
            return false;
        }
        let sent = |last: usize| self.bins[last].sent - self.bins[last - WINDOW_BINS].sent;
        let part = back.fract();
        let before = (1.0 - part) * sent(newest - whole) + part * sent(newest - whole - 1);
        let delivered = self.bins[newest].acked - self.bins[newest - WINDOW_BINS].acked;
        tcp.took("SEARCH: compared");
        if before <= 0.0 || tcp.is_below(1.0 - delivered / before, THRESHOLD, 1e-6) {
            return false;
        }
        tcp.took("SEARCH: full");
        true
    }
}
