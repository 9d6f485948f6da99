// SPDX-License-Identifier: GPL-2.0-only
//! Dual queue with coupled proportional integral control: RFC 9332 with the algorithm of its appendix A.
//!
//! Scalable packets (ECT(1) and CE) wait in the low-latency queue L, all others in the classic queue C. One integral
//! controller steers `p'` by the longer of both delays: C is marked or dropped at `p_C = p'^2`, L marked at
//! `p_CL = k p'`, so that at one RTT a scalable flow (rate ~ 1/p) and one of Reno's (rate ~ 1/sqrt(p)) get the same rate. A step
//! on the time in L marks it where no classic traffic is there to do it: Linux's of 1 ms, where the RFC has a ramp from 0.8 to 1.2 ms
//! and allows the step.

use std::collections::VecDeque;
use std::time::Duration;

use super::codel::Leaving;
use crate::packet::{Packet, MARKABLE, MARKED};

/// What `DualPI2` is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DualPi2 {
    /// Delay that the classic queue is held at.
    pub target: Duration,
    /// Time between two updates of `p'`, `Tupdate`; less than a millisecond counts as one.
    pub interval: Duration,
    /// Integral gain, in thousandths per second.
    pub alpha_milli_hz: u32,
    /// Proportional gain, likewise.
    pub beta_milli_hz: u32,
    /// Coupling factor k.
    pub coupling: u32,
    /// L is marked above this time in the queue.
    pub step: Duration,
    /// What waits at most in both, in packets.
    pub limit_pkts: u32,
}

impl Default for DualPi2 {
    /// Appendix A.1, for RTTs up to 100 ms, and its step and limit as Linux has them.
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            interval: Duration::from_millis(16),
            alpha_milli_hz: 160,
            beta_milli_hz: 3200,
            coupling: 2,
            step: Duration::from_millis(1),
            limit_pkts: 10_000,
        }
    }
}

/// What can be seen of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DualPi2View {
    /// `p'` of 2^32.
    pub base_q32: u64,
    /// `p_C`, at which C is marked or dropped, of 2^32.
    pub classic_q32: u64,
    /// `p_CL`, at which L is marked at least, of 2^32.
    pub coupled_q32: u64,
    /// Packets that have left L.
    pub low_latency_pkts: u64,
    /// Their time in it, all together.
    pub low_latency_wait_ns: u128,
    /// Packets that have left C.
    pub classic_pkts: u64,
    /// Their time in it, all together.
    pub classic_wait_ns: u128,
}

const ONE_Q32: u64 = 1 << 32;
const LEAST_INTERVAL_NS: u64 = 1_000_000;
/// `Th_len` (figure 2): no step while no more than this waits behind a packet, whose delay on a slow link is not of a queue. Asked when
/// the packet leaves (figure 7, line 5a); Linux asks when it comes.
const STEP_MIN_PKTS: usize = 1;
/// L has 15 of 16 turns while both wait (section 4.2.2: the classic share should be 1/16 or so).
const LOW_LATENCY_WEIGHT: i64 = 15;

/// One of the two queues.
#[derive(Debug, Default)]
struct Fifo {
    waiting: VecDeque<Packet>, // time_ns: when it came
    bytes: u64,
    likelihood_q32: u64, // `count` of `recur`
    left_pkts: u64,
    wait_ns: u128,
}

impl Fifo {
    fn push(&mut self, packet: Packet) {
        self.bytes += u64::from(packet.size_bytes);
        self.waiting.push_back(packet);
    }

    fn pop(&mut self, now_ns: u64) -> Option<(Packet, u64)> {
        let packet = self.waiting.pop_front()?;
        let wait_ns = now_ns - packet.time_ns;
        self.bytes -= u64::from(packet.size_bytes);
        self.left_pkts += 1;
        self.wait_ns += u128::from(wait_ns);
        Some((packet, wait_ns))
    }

    /// How long its first packet has waited.
    fn delay_ns(&self, now_ns: u64) -> u64 {
        self.waiting.front().map_or(0, |packet| now_ns - packet.time_ns)
    }

    /// `recur`: evenly spaced instead of by chance, as the RFC has it.
    fn is_its_turn(&mut self, probability_q32: u64) -> bool {
        self.likelihood_q32 += probability_q32;
        if self.likelihood_q32 < ONE_Q32 {
            return false;
        }
        self.likelihood_q32 -= ONE_Q32;
        true
    }
}

/// Both queues, and `p'`.
#[derive(Debug)]
pub(crate) struct DualPi2Queue {
    spec: DualPi2,
    low_latency: Fifo,
    classic: Fifo,
    base_q32: u64,
    prior_delay_ns: u64,
    next_update_ns: u64,
    /// What L has had beyond its share while both waited, in bytes; C's turn where it is above 0.
    classic_credit: i64,
}

/// What is done to a packet that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    None,
    Mark,
    Drop,
}

impl DualPi2Queue {
    pub(crate) fn new(spec: &DualPi2) -> Self {
        Self {
            spec: *spec,
            low_latency: Fifo::default(),
            classic: Fifo::default(),
            base_q32: 0,
            prior_delay_ns: 0,
            next_update_ns: 0,
            classic_credit: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.low_latency.waiting.len() + self.classic.waiting.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.low_latency.bytes + self.classic.bytes
    }

    pub(crate) fn limit_pkts(&self) -> u32 {
        self.spec.limit_pkts
    }

    pub(crate) fn view(&self) -> DualPi2View {
        DualPi2View {
            base_q32: self.base_q32,
            classic_q32: self.classic_q32(),
            coupled_q32: self.coupled_q32(),
            low_latency_pkts: self.low_latency.left_pkts,
            low_latency_wait_ns: self.low_latency.wait_ns,
            classic_pkts: self.classic.left_pkts,
            classic_wait_ns: self.classic.wait_ns,
        }
    }

    /// `dualpi2_enqueue`
    pub(crate) fn push(&mut self, now_ns: u64, mut packet: Packet) {
        self.update_until(now_ns);
        packet.time_ns = now_ns;
        let is_low_latency = packet.is_scalable() || packet.has(MARKED);
        let queue = if is_low_latency { &mut self.low_latency } else { &mut self.classic };
        queue.push(packet);
    }

    /// `dualpi2_dequeue`: hands what it drops to `dropped`.
    pub(crate) fn pop(&mut self, now_ns: u64, mut dropped: impl FnMut(Packet)) -> Leaving {
        self.update_until(now_ns);
        while let Some((mut packet, sign)) = self.next(now_ns) {
            match sign {
                Sign::Drop => dropped(packet),
                Sign::None => return Leaving { packet: Some(packet), marked: false },
                Sign::Mark => {
                    let marked = !packet.has(MARKED);
                    packet.flags |= MARKED;
                    return Leaving { packet: Some(packet), marked };
                }
            }
        }
        Leaving { packet: None, marked: false }
    }

    fn next(&mut self, now_ns: u64) -> Option<(Packet, Sign)> {
        if self.is_low_latency_next() {
            let (packet, wait_ns) = self.low_latency.pop(now_ns)?;
            return Some((packet, self.sign_of_low_latency(wait_ns)));
        }
        let (packet, _) = self.classic.pop(now_ns)?;
        Some((packet, self.sign_of_classic(&packet)))
    }

    /// `scheduler`: weighted round robin, in bytes.
    fn is_low_latency_next(&mut self) -> bool {
        let (Some(low_latency), Some(classic)) = (self.low_latency.waiting.front(), self.classic.waiting.front())
        else {
            self.classic_credit = 0;
            return !self.low_latency.waiting.is_empty();
        };
        let is_next = self.classic_credit <= 0;
        if is_next {
            self.classic_credit += i64::from(low_latency.size_bytes);
        } else {
            self.classic_credit -= LOW_LATENCY_WEIGHT * i64::from(classic.size_bytes);
        }
        is_next
    }

    /// Marks by the step or by the coupling, whichever is more. Where the coupling saturates, L drops as C does.
    fn sign_of_low_latency(&mut self, wait_ns: u64) -> Sign {
        let (coupled_q32, classic_q32) = (self.coupled_q32(), self.classic_q32());
        if coupled_q32 >= ONE_Q32 {
            let drops = self.low_latency.is_its_turn(classic_q32);
            return if drops { Sign::Drop } else { Sign::Mark };
        }
        let is_above = wait_ns > self.spec.step.as_nanos() as u64;
        let is_stepped = is_above && self.low_latency.waiting.len() > STEP_MIN_PKTS;
        let own_q32 = if is_stepped { ONE_Q32 } else { 0 };
        if self.low_latency.is_its_turn(own_q32.max(coupled_q32)) {
            Sign::Mark
        } else {
            Sign::None
        }
    }

    /// Marks what can be marked, and drops the rest; in overload drops all.
    fn sign_of_classic(&mut self, packet: &Packet) -> Sign {
        let probability_q32 = self.classic_q32();
        if !self.classic.is_its_turn(probability_q32) {
            return Sign::None;
        }
        if packet.has(MARKABLE) && self.coupled_q32() < ONE_Q32 {
            Sign::Mark
        } else {
            Sign::Drop
        }
    }

    /// `p_C` = `p'^2`
    fn classic_q32(&self) -> u64 {
        ((u128::from(self.base_q32) * u128::from(self.base_q32)) >> 32) as u64
    }

    /// `p_CL` = `k p'`, at most 1: there `p_C` is `p_Cmax` = 1/k^2.
    fn coupled_q32(&self) -> u64 {
        (self.base_q32 * u64::from(self.spec.coupling)).min(ONE_Q32)
    }

    /// Updates that were due since the queues last changed. What waits has not changed in between, only how long.
    fn update_until(&mut self, now_ns: u64) {
        let interval_ns = (self.spec.interval.as_nanos() as u64).max(LEAST_INTERVAL_NS);
        while self.next_update_ns <= now_ns {
            if self.is_at_rest() {
                self.next_update_ns += (now_ns - self.next_update_ns) / interval_ns * interval_ns;
            }
            self.update(self.next_update_ns);
            self.next_update_ns += interval_ns;
        }
    }

    fn is_at_rest(&self) -> bool {
        self.len() == 0 && self.base_q32 == 0 && self.prior_delay_ns == 0
    }

    /// `dualpi2_update`
    fn update(&mut self, now_ns: u64) {
        let delay_ns = self.low_latency.delay_ns(now_ns).max(self.classic.delay_ns(now_ns));
        let from_target_ns = i128::from(delay_ns) - self.spec.target.as_nanos() as i128;
        let from_prior_ns = i128::from(delay_ns) - i128::from(self.prior_delay_ns);
        let change =
            i128::from(self.spec.alpha_milli_hz) * from_target_ns + i128::from(self.spec.beta_milli_hz) * from_prior_ns; // of 10^12
        let base_q32 = i128::from(self.base_q32) + change * i128::from(ONE_Q32) / 1_000_000_000_000;
        self.base_q32 = base_q32.clamp(0, i128::from(ONE_Q32)) as u64;
        self.prior_delay_ns = delay_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::ECT_1;

    const MS: u64 = 1_000_000;
    const CLASSIC: Packet = packet(0);
    const CLASSIC_ECN: Packet = packet(MARKABLE);
    const SCALABLE: Packet = packet(MARKABLE | ECT_1);

    const fn packet(flags: u8) -> Packet {
        Packet { time_ns: 0, flow: 0, number: 0, stamp_us: 0, echo_us: 0, options: 0, size_bytes: 1500, hop: 0, flags }
    }

    fn queue(base: f64) -> DualPi2Queue {
        let mut queue = DualPi2Queue::new(&DualPi2::default());
        queue.base_q32 = (base * ONE_Q32 as f64).round() as u64;
        queue.next_update_ns = u64::MAX; // p' stays
        queue
    }

    fn share(probability_q32: u64) -> f64 {
        probability_q32 as f64 / ONE_Q32 as f64
    }

    /// Of so many packets that came and left at once: marked, dropped.
    fn fates(queue: &mut DualPi2Queue, packet: Packet, pkts: u32) -> (u32, u32) {
        let (mut marked, mut dropped) = (0, 0);
        for _ in 0..pkts {
            queue.push(0, packet);
            marked += u32::from(queue.pop(0, |_| dropped += 1).marked);
        }
        (marked, dropped)
    }

    /// Appendix A.1: each update adds alpha (delay - target) + beta (delay - prior delay).
    #[test]
    fn the_controller_is_proportional_and_integral() {
        let mut queue = DualPi2Queue::new(&DualPi2::default());
        queue.classic.push(CLASSIC);
        queue.update(20 * MS);
        let first = 0.16 * 0.005 + 3.2 * 0.020;
        assert!((share(queue.base_q32) - first).abs() < 1e-8);
        queue.update(36 * MS); // the same packet waits on
        let second = first + 0.16 * 0.021 + 3.2 * 0.016;
        assert!((share(queue.base_q32) - second).abs() < 1e-8);
        queue.classic.pop(36 * MS);
        (0..3).for_each(|_| queue.update(52 * MS));
        assert_eq!(queue.base_q32, 0, "never below 0");
    }

    /// Updates that were due while nothing happened are made up for, with the delays of their times.
    #[test]
    fn updates_do_not_wait_for_packets() {
        let (mut late, mut punctual) = (DualPi2Queue::new(&DualPi2::default()), DualPi2Queue::new(&DualPi2::default()));
        late.push(MS, CLASSIC);
        punctual.push(MS, CLASSIC);
        (1..=100).for_each(|ms| punctual.update_until(ms * MS));
        late.update_until(100 * MS);
        assert_eq!(late.base_q32, punctual.base_q32);
        assert!(late.base_q32 > 0);
    }

    /// Section 2.1: `p_C` = `p'^2`, `p_CL` = k `p'`: at 0.1, one of 100 and one of 5.
    #[test]
    fn the_marks_of_both_queues_are_coupled() {
        let mut queue = queue(0.1);
        let (of_classic, drops) = fates(&mut queue, CLASSIC_ECN, 10_000);
        let (of_low_latency, low_latency_drops) = fates(&mut queue, SCALABLE, 10_000);
        assert_eq!((drops, low_latency_drops), (0, 0));
        let (no_marks, of_not_ect) = fates(&mut queue, CLASSIC, 10_000);
        assert_eq!(no_marks, 0);
        for (seen, expected) in [(of_classic, 100), (of_low_latency, 2000), (of_not_ect, 100)] {
            assert!(seen.abs_diff(expected) <= 1, "{seen}, not {expected}"); // probabilities end at 2^-32
        }
    }

    /// Appendix A.2: at `p'` = 1/k L is marked always; then `p_C` = 1/k^2 of both is dropped, ECN or not.
    #[test]
    fn in_overload_both_queues_drop_alike() {
        let mut queue = queue(0.5);
        let (marked, dropped) = fates(&mut queue, SCALABLE, 4000);
        assert_eq!((marked, dropped), (3000, 1000));
        assert_eq!(fates(&mut queue, CLASSIC_ECN, 4000), (0, 1000));
        assert_eq!(fates(&mut queue, CLASSIC, 4000), (0, 1000));
    }

    /// Section 2.3: by the ECN field alone; CE may have been either.
    #[test]
    fn only_ect_1_and_ce_wait_in_the_low_latency_queue() {
        let mut queue = queue(0.0);
        for packet in [CLASSIC, CLASSIC_ECN, SCALABLE, Packet { flags: MARKABLE | MARKED, ..CLASSIC }] {
            queue.push(0, packet);
        }
        assert_eq!((queue.classic.waiting.len(), queue.low_latency.waiting.len()), (2, 2));
    }

    #[test]
    fn the_classic_queue_has_one_turn_of_sixteen() {
        let mut queue = queue(0.0);
        for _ in 0..1000 {
            queue.push(0, CLASSIC);
            queue.push(0, SCALABLE);
        }
        (0..800).for_each(|_| _ = queue.pop(0, |_| {}));
        let left = (queue.low_latency.left_pkts, queue.classic.left_pkts);
        assert_eq!(left, (750, 50));
    }

    /// The step: longer than 1 ms, and more than one packet behind it.
    #[test]
    fn the_low_latency_queue_has_a_step() {
        let mut queue = queue(0.0);
        (0..4).for_each(|_| queue.push(0, SCALABLE));
        let mut marked = |now_ns| queue.pop(now_ns, |_| {}).marked;
        assert_eq!([marked(MS), marked(MS + 1), marked(2 * MS), marked(3 * MS)], [false, true, false, false]);
    }
}
