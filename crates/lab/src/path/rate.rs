//! Whether packets leave at the rate that was asked for.

use std::time::Duration;

/// Compares how far apart packets were to be handed over with how far apart they were, as long as they waited for the link.
#[derive(Debug)]
pub(super) struct RateMeter {
    last: Vec<Option<(u64, u64)>>, // due and done, of each sender's last packet
    due_ns: u64,
    done_ns: u64,
}

impl RateMeter {
    pub(super) fn new(senders: usize) -> Self {
        Self { last: vec![None; senders], due_ns: 0, done_ns: 0 }
    }

    /// A packet was handed over; `waited` says that the link was busy when it came.
    pub(super) fn note(&mut self, sender: usize, waited: bool, due_ns: u64, done_ns: u64) {
        let before = self.last[sender].replace((due_ns, done_ns));
        if let (true, Some((due_before_ns, done_before_ns))) = (waited, before) {
            self.due_ns += due_ns - due_before_ns;
            self.done_ns += done_ns - done_before_ns;
        }
    }

    /// Relative error of the rate (above 0: too fast), and the time that it was measured over, as planned.
    pub(super) fn report(&self) -> (f64, Duration) {
        let time = Duration::from_nanos(self.due_ns);
        if self.done_ns == 0 {
            return (0.0, time);
        }
        (self.due_ns as f64 / self.done_ns as f64 - 1.0, time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 packets 1 ms apart; a router that needs 1.25 ms for each has 0.8 of the rate.
    #[test]
    fn a_router_that_is_too_slow_is_found_out() {
        let mut meter = RateMeter::new(1);
        meter.note(0, false, 5_000_000, 5_000_000);
        (1..10).for_each(|packet| meter.note(0, true, 5_000_000 + packet * 1_000_000, 5_000_000 + packet * 1_250_000));
        let (error, time) = meter.report();
        assert!((error + 0.2).abs() < 1e-9, "{error}");
        assert_eq!(time, Duration::from_millis(9));
    }

    /// What does not wait tells nothing of the link's rate.
    #[test]
    fn pauses_are_left_out() {
        let mut meter = RateMeter::new(2);
        for (sender, waited, due_ns, done_ns) in
            [(0, false, 0, 100), (1, false, 10, 110), (0, true, 1000, 1100), (1, false, 90_000, 99_000)]
        {
            meter.note(sender, waited, due_ns, done_ns);
        }
        assert_eq!(meter.report(), (0.0, Duration::from_micros(1)));
    }
}
