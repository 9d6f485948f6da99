// SPDX-License-Identifier: GPL-2.0-only
//! Whether packets leave at the rate that was asked for.

use std::time::Duration;

/// Shorter busy periods say nothing of the rate: the last packet of one is later than its first by what the router does between
/// them, some 10 us, which has a bound of its own (lateness) and would be an error of the rate of several percent in a burst of a
/// dozen packets. In this one it is below 0.1 %.
const LEAST_BUSY_NS: u64 = 100_000_000;

/// Compares how far apart packets were to be handed over with how far apart they were, as long as they waited for the link.
#[derive(Debug)]
pub(super) struct RateMeter {
    senders: Vec<Option<Busy>>,
    due_ns: u64,
    done_ns: u64,
}

/// A sender's packets from one that found the link idle to the last of those that waited: due and done, of both.
#[derive(Debug, Clone, Copy)]
struct Busy {
    first_ns: (u64, u64),
    last_ns: (u64, u64),
}

impl Busy {
    /// How long it was to last and how long it did, if that is long enough to count.
    fn lasted(&self) -> Option<(u64, u64)> {
        let (due_ns, done_ns) = (self.last_ns.0 - self.first_ns.0, self.last_ns.1 - self.first_ns.1);
        (due_ns >= LEAST_BUSY_NS).then_some((due_ns, done_ns))
    }
}

impl RateMeter {
    pub(super) fn new(senders: usize) -> Self {
        Self { senders: vec![None; senders], due_ns: 0, done_ns: 0 }
    }

    /// A packet was handed over; `waited` says that the link was busy when it came.
    pub(super) fn note(&mut self, sender: usize, waited: bool, due_ns: u64, done_ns: u64) {
        let seen_ns = (due_ns, done_ns);
        match &mut self.senders[sender] {
            Some(busy) if waited => busy.last_ns = seen_ns,
            slot => {
                let ended = slot.replace(Busy { first_ns: seen_ns, last_ns: seen_ns });
                if let Some((due_ns, done_ns)) = ended.and_then(|busy| busy.lasted()) {
                    self.due_ns += due_ns;
                    self.done_ns += done_ns;
                }
            }
        }
    }

    /// Relative error of the rate (above 0: too fast), and the time that it was measured over, as planned.
    pub(super) fn report(&self) -> (f64, Duration) {
        let open = self.senders.iter().flatten().filter_map(Busy::lasted);
        let (due_ns, done_ns) = open.fold((self.due_ns, self.done_ns), |sum, busy| (sum.0 + busy.0, sum.1 + busy.1));
        let time = Duration::from_nanos(due_ns);
        if done_ns == 0 {
            return (0.0, time);
        }
        (due_ns as f64 / done_ns as f64 - 1.0, time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 packets 1 ms apart; a router that needs 1.25 ms for each has 0.8 of the rate, whether or not there is an end to it.
    #[test]
    fn a_router_that_is_too_slow_is_found_out() {
        let mut meter = RateMeter::new(1);
        meter.note(0, false, 5_000_000, 5_000_000);
        (1..1000)
            .for_each(|packet| meter.note(0, true, 5_000_000 + packet * 1_000_000, 5_000_000 + packet * 1_250_000));
        let (error, time) = meter.report();
        assert!((error + 0.2).abs() < 1e-9, "{error}");
        assert_eq!(time, Duration::from_millis(999));
        meter.note(0, false, 9_000_000_000, 9_000_000_000);
        assert_eq!(meter.report(), (error, time));
    }

    /// What does not wait tells nothing of the link's rate.
    #[test]
    fn pauses_are_left_out() {
        let mut meter = RateMeter::new(2);
        for (sender, waited, due_ns, done_ns) in [
            (0, false, 0, 100_000),
            (1, false, 10_000, 110_000),
            (0, true, 150_000_000, 150_100_000),
            (1, false, 900_000_000, 990_000_000),
        ] {
            meter.note(sender, waited, due_ns, done_ns);
        }
        assert_eq!(meter.report(), (0.0, Duration::from_millis(150)));
    }

    /// In pairs of packets 24 us apart of which the second is 8 us late, that is a third of the time between them.
    #[test]
    fn bursts_say_nothing_of_the_rate() {
        let mut meter = RateMeter::new(1);
        for pair in 0..100_000 {
            let due_ns = pair * 1_000_000;
            meter.note(0, false, due_ns, due_ns);
            meter.note(0, true, due_ns + 24_000, due_ns + 32_000);
        }
        assert_eq!(meter.report(), (0.0, Duration::ZERO));
    }
}
