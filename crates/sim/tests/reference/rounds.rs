// SPDX-License-Identifier: GPL-2.0-only
//! Rounds and RTT samples, as laws that look at delays use them.

use crate::tcp::Tcp;

/// Fewer samples than this are no measurement of a round: one may be a delayed ACK's.
const ENOUGH: u32 = 3;

/// `a` is later than `b` (RFC 9293 3.4).
pub fn is_after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

/// The smallest RTT of all time, and of a round: a window of data, from a first byte to be sent until that is acknowledged.
#[derive(Debug, Default, Clone)]
pub struct Rounds {
    pub base_s: Option<f64>,
    smallest_s: Option<f64>,
    samples: u32,
    end: u32,
}

impl Rounds {
    pub fn sample(&mut self, rtt_s: f64) {
        self.base_s = Some(self.base_s.map_or(rtt_s, |base_s| base_s.min(rtt_s)));
        self.smallest_s = Some(self.smallest_s.map_or(rtt_s, |smallest_s| smallest_s.min(rtt_s)));
        self.samples += 1;
    }

    /// A round begins.
    pub fn begin(&mut self, tcp: &Tcp) {
        self.end = tcp.next;
        self.smallest_s = None;
        self.samples = 0;
    }

    pub fn forget_base(&mut self) {
        self.base_s = None;
        self.smallest_s = None;
    }

    /// What was sent when the round began is acknowledged.
    pub fn is_over(&self, tcp: &Tcp) -> bool {
        is_after(tcp.una, self.end)
    }

    /// Base and smallest RTT of the round, if it had enough samples.
    pub fn measured(&self) -> Option<(f64, f64)> {
        if self.samples < ENOUGH {
            return None;
        }
        Some((self.base_s?, self.smallest_s?))
    }
}
