// SPDX-License-Identifier: GPL-2.0-only
//! How long a link takes for a packet: at a constant rate, or at the opportunities of a trace.

use std::sync::Arc;

const NS_PER_S: u64 = 1_000_000_000;

/// Bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BitRate(u64);

impl BitRate {
    /// So many bits per second, at least one.
    #[must_use]
    pub const fn bits_per_s(bits: u64) -> Self {
        Self(if bits == 0 { 1 } else { bits })
    }

    /// So many megabits per second, at least one bit.
    #[must_use]
    pub const fn mbit_per_s(megabits: u64) -> Self {
        Self::bits_per_s(megabits.saturating_mul(1_000_000))
    }

    /// As a number.
    #[must_use]
    pub const fn as_bits_per_s(self) -> u64 {
        self.0
    }

    /// Time of so many bytes, rounded down.
    pub(crate) const fn time_ns(self, bytes: u64) -> u64 {
        bytes.saturating_mul(8 * NS_PER_S) / self.0
    }
}

/// Why a trace cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// Not a time.
    #[error("line {line}: {text:?} is no number of milliseconds")]
    NotATime {
        /// Counted from 1.
        line: usize,
        /// What is there.
        text: String,
    },
    /// The times run backwards.
    #[error("line {line}: earlier than the line before it")]
    Backwards {
        /// Counted from 1.
        line: usize,
    },
    /// No opportunity, or all of them at time 0.
    #[error("the trace must reach beyond 0 ms")]
    Empty,
}

/// Times at which a link delivers up to 1500 bytes, as the mahimahi tools record them; repeated when they end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateTrace {
    times_ms: Vec<u32>,
}

/// Bytes of one opportunity.
const OPPORTUNITY_BYTES: u32 = 1500;

impl RateTrace {
    /// How many times it has.
    #[must_use]
    pub fn opportunities(&self) -> usize {
        self.times_ms.len()
    }

    /// Reads a file of mahimahi: one time in milliseconds a line.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut times_ms: Vec<u32> = Vec::new();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let line_number = index + 1;
            let not_a_time = |_| TraceError::NotATime { line: line_number, text: line.to_owned() };
            let opportunity_ms = line.trim().parse().map_err(not_a_time)?;
            if times_ms.last().is_some_and(|last| *last > opportunity_ms) {
                return Err(TraceError::Backwards { line: line_number });
            }
            times_ms.push(opportunity_ms);
        }
        match times_ms.last() {
            None | Some(0) => Err(TraceError::Empty),
            Some(_) => Ok(Self { times_ms }),
        }
    }

    fn period_ns(&self) -> u64 {
        self.times_ms.last().map_or(1, |last| u64::from(*last) * 1_000_000)
    }

    /// Mean rate.
    #[must_use]
    pub fn mean(&self) -> BitRate {
        let bits = self.times_ms.len() as u64 * u64::from(OPPORTUNITY_BYTES) * 8;
        BitRate::bits_per_s((u128::from(bits) * u128::from(NS_PER_S) / u128::from(self.period_ns())) as u64)
    }
}

/// What a link's speed is.
#[derive(Debug, Clone)]
pub enum LinkRate {
    /// Always the same.
    Constant(BitRate),
    /// Opportunities to send. What is not used of one is lost.
    Trace(Arc<RateTrace>),
}

impl LinkRate {
    /// The rate, or a trace's mean rate.
    #[must_use]
    pub fn mean(&self) -> BitRate {
        match self {
            Self::Constant(rate) => *rate,
            Self::Trace(trace) => trace.mean(),
        }
    }
}

/// When a packet leaves its queue, and when its last bit has left the link's sending end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Service {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
}

/// A link's sending end. Packets are served one after the other, so that each one's times are known when it comes.
#[derive(Debug)]
pub(crate) enum Clock {
    Constant(ConstantClock),
    Trace(TraceClock),
}

impl Clock {
    pub(crate) fn new(rate: &LinkRate) -> Self {
        match rate {
            LinkRate::Constant(rate) => Self::Constant(ConstantClock::new(*rate)),
            LinkRate::Trace(trace) => Self::Trace(TraceClock::new(Arc::clone(trace))),
        }
    }

    #[inline]
    pub(crate) fn serve(&mut self, now_ns: u64, size_bytes: u16) -> Service {
        match self {
            Self::Constant(clock) => clock.serve(now_ns, size_bytes),
            Self::Trace(clock) => clock.serve(now_ns, size_bytes),
        }
    }

    pub(crate) fn busy_until_ns(&self) -> u64 {
        match self {
            Self::Constant(clock) => clock.busy_until_ns,
            Self::Trace(clock) => clock.busy_until_ns,
        }
    }
}

/// Fractions of nanoseconds are carried over within a busy period, so that the rate is met exactly.
#[derive(Debug)]
pub(crate) struct ConstantClock {
    bits_per_s: u64,
    busy_until_ns: u64,
    carry: u64, // of a nanosecond, in parts of bits_per_s
    usual: Time,
}

#[derive(Debug, Clone, Copy)]
struct Time {
    size_bytes: u16,
    whole_ns: u64,
    rest: u64,
}

impl ConstantClock {
    fn new(rate: BitRate) -> Self {
        let usual = Time { size_bytes: 0, whole_ns: 0, rest: 0 };
        Self { bits_per_s: rate.0, busy_until_ns: 0, carry: 0, usual }
    }

    #[inline]
    fn serve(&mut self, now_ns: u64, size_bytes: u16) -> Service {
        let time = self.time_of(size_bytes);
        if now_ns > self.busy_until_ns {
            self.carry = 0;
            self.busy_until_ns = now_ns;
        }
        let start_ns = self.busy_until_ns;
        self.busy_until_ns += time.whole_ns;
        self.carry += time.rest;
        if self.carry >= self.bits_per_s {
            self.carry -= self.bits_per_s;
            self.busy_until_ns += 1;
        }
        Service { start_ns, end_ns: self.busy_until_ns }
    }

    /// Most packets have the size of the one before.
    #[inline]
    fn time_of(&mut self, size_bytes: u16) -> Time {
        if size_bytes != self.usual.size_bytes {
            let bits_ns = u64::from(size_bytes) * 8 * NS_PER_S;
            self.usual = Time { size_bytes, whole_ns: bits_ns / self.bits_per_s, rest: bits_ns % self.bits_per_s };
        }
        self.usual
    }
}

/// A packet leaves at the opportunity that takes its last byte; packets share opportunities.
#[derive(Debug)]
pub(crate) struct TraceClock {
    trace: Arc<RateTrace>,
    period: u64,
    next: usize,
    left_bytes: u32, // of the opportunity before `next`
    busy_until_ns: u64,
}

impl TraceClock {
    fn new(trace: Arc<RateTrace>) -> Self {
        Self { trace, period: 0, next: 0, left_bytes: 0, busy_until_ns: 0 }
    }

    fn time_of_next_ns(&self) -> u64 {
        self.period * self.trace.period_ns() + u64::from(self.trace.times_ms[self.next]) * 1_000_000
    }

    fn step(&mut self) {
        self.next += 1;
        if self.next == self.trace.times_ms.len() {
            self.next = 0;
            self.period += 1;
        }
    }

    /// To the first opportunity that is not before now.
    fn skip_to(&mut self, now_ns: u64) {
        if now_ns <= self.busy_until_ns && self.left_bytes > 0 {
            return;
        }
        let period = now_ns / self.trace.period_ns();
        if period > self.period {
            (self.period, self.next) = (period, 0);
        }
        while self.time_of_next_ns() < now_ns {
            self.step();
        }
        self.left_bytes = 0;
    }

    fn serve(&mut self, now_ns: u64, size_bytes: u16) -> Service {
        self.skip_to(now_ns);
        let mut size_bytes = u32::from(size_bytes);
        while self.left_bytes < size_bytes {
            size_bytes -= self.left_bytes;
            self.busy_until_ns = self.time_of_next_ns();
            self.left_bytes = OPPORTUNITY_BYTES;
            self.step();
        }
        self.left_bytes -= size_bytes;
        Service { start_ns: self.busy_until_ns.max(now_ns), end_ns: self.busy_until_ns.max(now_ns) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constant(megabits: u64) -> Clock {
        Clock::new(&LinkRate::Constant(BitRate::mbit_per_s(megabits)))
    }

    fn trace(text: &str) -> Clock {
        Clock::new(&LinkRate::Trace(Arc::new(RateTrace::parse(text).unwrap())))
    }

    /// 1500 bytes at 10 Mbit/s: 1.2 ms
    #[test]
    fn a_packet_takes_its_size_over_the_rate() {
        let mut clock = constant(10);
        assert_eq!(clock.serve(5, 1500), Service { start_ns: 5, end_ns: 1_200_005 });
        assert_eq!(clock.serve(6, 1500), Service { start_ns: 1_200_005, end_ns: 2_400_005 });
        assert_eq!(clock.serve(9_000_000, 40), Service { start_ns: 9_000_000, end_ns: 9_032_000 });
    }

    /// 1500 bytes at 622 Mbit/s take 19292.6 ns
    #[test]
    fn fractions_of_a_nanosecond_add_up() {
        let mut clock = constant(622);
        let end_ns = (0..622_000).map(|_| clock.serve(0, 1500).end_ns).last();
        assert_eq!(end_ns, Some(12_000_000_000));
    }

    #[test]
    fn a_trace_delivers_a_packet_at_each_opportunity_and_begins_again() {
        let mut clock = trace("1\n1\n4\n");
        let ends: Vec<u64> = (0..7).map(|_| clock.serve(0, 1500).end_ns / 1_000_000).collect();
        assert_eq!(ends, [1, 1, 4, 5, 5, 8, 9]);
    }

    #[test]
    fn packets_share_an_opportunity_and_what_is_unused_is_lost() {
        let mut clock = trace("1\n4\n");
        let mut end_ms = |now_ms: u64, bytes| clock.serve(now_ms * 1_000_000, bytes).end_ns / 1_000_000;
        assert_eq!([end_ms(0, 1000), end_ms(0, 500), end_ms(0, 1000)], [1, 1, 4]);
        assert_eq!(end_ms(4, 500), 4); // still room at 4 ms
        assert_eq!(end_ms(6, 100), 8); // 5 ms went by unused
        assert_eq!(end_ms(4001, 100), 4001);
    }

    #[test]
    fn a_trace_has_a_mean_rate() {
        assert_eq!(RateTrace::parse("1\n1\n4\n").unwrap().mean(), BitRate::bits_per_s(9_000_000));
    }

    #[test]
    fn a_broken_trace_is_refused_with_its_line() {
        let error = |text: &str| RateTrace::parse(text).unwrap_err();
        assert_eq!(error("1\nx\n"), TraceError::NotATime { line: 2, text: "x".into() });
        assert_eq!(error("1\n\n0\n"), TraceError::Backwards { line: 3 });
        assert_eq!([error(""), error("0\n0\n")], [TraceError::Empty, TraceError::Empty]);
    }
}
