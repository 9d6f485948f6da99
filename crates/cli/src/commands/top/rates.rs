// SPDX-License-Identifier: MIT OR Apache-2.0
//! From counters to rates.

use std::collections::HashMap;
use std::time::Duration;

use super::sample::{Counters, Senders};

/// What a counter of 32 bits grew by, over its wrap.
fn grown_32(now: u64, before: u64) -> u64 {
    u64::from((now as u32).wrapping_sub(before as u32))
}

impl Counters {
    /// Growth since `before`. A count of bytes that went back belongs to something new.
    pub fn since(self, before: Self) -> Self {
        Self {
            acked_bytes: self.acked_bytes.checked_sub(before.acked_bytes).unwrap_or(self.acked_bytes),
            data_segments: grown_32(self.data_segments, before.data_segments),
            retransmits_pkts: grown_32(self.retransmits_pkts, before.retransmits_pkts),
        }
    }

    /// Adds up.
    pub fn add(&mut self, more: Self) {
        self.acked_bytes += more.acked_bytes;
        self.data_segments += more.data_segments;
        self.retransmits_pkts += more.retransmits_pkts;
    }

    /// Retransmissions in percent of the segments with data; None where nothing was sent.
    pub fn retransmits_pct(self) -> Option<f64> {
        (self.data_segments > 0).then(|| self.retransmits_pkts as f64 * 100.0 / self.data_segments as f64)
    }
}

impl Senders {
    /// One connection of which so many bytes were acknowledged.
    pub fn one(acked_bytes: u64, mss_bytes: u32, cwnd_pkts: u32, srtt_us: u64) -> Self {
        let acked_pkts = acked_bytes.div_ceil(mss_bytes.max(1).into());
        let (acked_cwnd, acked_srtt_us) = (acked_pkts * u64::from(cwnd_pkts), acked_pkts * srtt_us);
        Self { count: 1, acked_pkts, acked_cwnd, acked_srtt_us }
    }

    /// Adds up.
    pub fn add(&mut self, more: Self) {
        self.count += more.count;
        self.acked_pkts += more.acked_pkts;
        self.acked_cwnd += more.acked_cwnd;
        self.acked_srtt_us += more.acked_srtt_us;
    }

    /// Mean window, by packets acknowledged; None: nobody sends.
    pub fn cwnd_pkts(self) -> Option<f64> {
        (self.acked_pkts > 0).then(|| self.acked_cwnd as f64 / self.acked_pkts as f64)
    }

    /// Mean of the smoothed RTTs, likewise.
    pub fn srtt_us(self) -> Option<f64> {
        (self.acked_pkts > 0).then(|| self.acked_srtt_us as f64 / self.acked_pkts as f64)
    }
}

/// Bits per second.
pub fn bit_per_s(bytes: u64, elapsed: Duration) -> Option<f64> {
    (!elapsed.is_zero()).then(|| bytes as f64 * 8.0 / elapsed.as_secs_f64())
}

/// Counters of sockets as they were at the last look: for a source that cannot keep them in the kernel.
#[derive(Debug, Default)]
pub struct Before {
    by_cookie: HashMap<u64, Counters>,
}

impl Before {
    /// Begins a look: sockets that are not met in it are forgotten at its end.
    pub fn begin(&mut self) -> Look<'_> {
        Look { before: self, now: HashMap::new() }
    }
}

/// One look in which sockets are met.
#[derive(Debug)]
pub struct Look<'a> {
    before: &'a mut Before,
    now: HashMap<u64, Counters>,
}

impl Look<'_> {
    /// What this socket did since the last look; one that is met for the first time has counted since it was made.
    pub fn meet(&mut self, cookie: u64, now: Counters) -> Counters {
        self.now.insert(cookie, now);
        now.since(self.before.by_cookie.get(&cookie).copied().unwrap_or_default())
    }

    /// Ends it: the next one compares with this one.
    pub fn end(self) {
        self.before.by_cookie = self.now;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn counters(acked_bytes: u64, data_segments: u64, retransmits_pkts: u64) -> Counters {
        Counters { acked_bytes, data_segments, retransmits_pkts }
    }

    #[test]
    fn counters_that_wrap_or_go_back() {
        let before = counters(1000, u64::from(u32::MAX) - 1, u64::from(u32::MAX));
        assert_eq!(counters(4000, 3, 0).since(before), counters(3000, 5, 1));
        assert_eq!(counters(10, 3, 0).since(counters(1000, 3, 0)), counters(10, 0, 0), "another connection");
    }

    /// 1,250,000 bytes in half a second are 20 Mbit/s; 3 of 200 are 1.5 %.
    #[test]
    fn rates_of_counters() {
        assert_eq!(bit_per_s(1_250_000, Duration::from_millis(500)), Some(20e6));
        assert_eq!(bit_per_s(1, Duration::ZERO), None);
        assert_eq!(counters(0, 200, 3).retransmits_pct(), Some(1.5));
        assert_eq!(counters(0, 0, 0).retransmits_pct(), None);
    }

    /// 300 packets at a window of 40 and 100 at 20 are a mean of 35; at 20 and 60 ms one of 30 ms.
    #[test]
    fn means_weigh_what_was_acknowledged() {
        let mut senders = Senders::one(300_000, 1000, 40, 20_000);
        senders.add(Senders::one(99_001, 1000, 20, 60_000));
        assert_eq!((senders.count, senders.acked_pkts), (2, 400), "a part of a packet is one");
        assert_eq!((senders.cwnd_pkts(), senders.srtt_us()), (Some(35.0), Some(30_000.0)));
        assert_eq!((Senders::default().cwnd_pkts(), Senders::default().srtt_us()), (None, None));
    }

    #[test]
    fn sockets_come_and_go_between_looks() {
        let mut before = Before::default();
        let mut first = before.begin();
        first.meet(1, counters(500, 5, 0));
        first.end();
        let mut second = before.begin();
        assert_eq!(second.meet(1, counters(700, 7, 1)), counters(200, 2, 1));
        assert_eq!(second.meet(2, counters(40, 1, 0)), counters(40, 1, 0), "new since");
        second.end();
        let mut third = before.begin();
        third.meet(2, counters(40, 1, 0));
        third.end();
        assert_eq!(before.by_cookie.len(), 1, "the first socket has closed and is forgotten");
    }
}
