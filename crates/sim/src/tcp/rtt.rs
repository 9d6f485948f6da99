// SPDX-License-Identifier: GPL-2.0-only
//! The retransmission timeout: RFC 6298 as `tcp_rtt_estimator` and `tcp_set_rto` have it. The smoothed RTT itself is the
//! socket's (`Flow::smooth_rtt`).

/// RFC 6298 section 2.4, 5.5: never above; Linux `TCP_RTO_MAX`
const RTO_MAX_US: u32 = 120_000_000;
/// RFC 6298 section 2.1
const RTO_INITIAL_US: u32 = 1_000_000;

/// Deviation of the RTT, and what follows from it.
#[derive(Debug, Clone)]
pub(crate) struct RttEstimator {
    floor_us: u32,
    mdev_us: u32,
    mdev_max_us: u32, // of this round
    rttvar_us: u32,
    round_end: u32, // packet number
    timeout_us: u32,
    /// Smallest RTT of the connection; none: the largest number. (Linux: of the last 300 s.)
    pub(crate) min_us: u32,
}

impl RttEstimator {
    pub(crate) fn new(floor_us: u32) -> Self {
        Self {
            floor_us,
            mdev_us: 0,
            mdev_max_us: 0,
            rttvar_us: 0,
            round_end: 0,
            timeout_us: RTO_INITIAL_US.max(floor_us),
            min_us: u32::MAX,
        }
    }

    pub(crate) fn timeout_us(&self) -> u32 {
        self.timeout_us
    }

    /// Before the socket's average takes in the sample; `srtt_us` is 8 times the average, 0 at first.
    pub(crate) fn sample(&mut self, rtt_us: u32, srtt_us: u32, una: u32, next: u32) {
        if srtt_us == 0 {
            self.mdev_us = rtt_us.saturating_mul(2); // a timeout of 3 RTTs
            self.rttvar_us = self.mdev_us.max(self.floor_us);
            self.mdev_max_us = self.rttvar_us;
            self.round_end = next;
            return;
        }
        self.deviate(i64::from(rtt_us) - i64::from(srtt_us >> 3));
        if self.mdev_us > self.mdev_max_us {
            self.mdev_max_us = self.mdev_us;
            self.rttvar_us = self.rttvar_us.max(self.mdev_max_us);
        }
        if una > self.round_end {
            if self.mdev_max_us < self.rttvar_us {
                self.rttvar_us -= (self.rttvar_us - self.mdev_max_us) >> 2;
            }
            self.round_end = next;
            self.mdev_max_us = self.floor_us;
        }
    }

    /// An RTT that falls raises the deviation by less (Linux: "Eifel").
    fn deviate(&mut self, error_us: i64) {
        let mut step_us = error_us.abs() - i64::from(self.mdev_us >> 2);
        if error_us < 0 && step_us > 0 {
            step_us >>= 3;
        }
        self.mdev_us = (i64::from(self.mdev_us) + step_us).clamp(0, i64::from(u32::MAX)) as u32;
    }

    /// After the socket's average has taken in the sample: a timeout that is not backed off.
    pub(crate) fn set_timeout(&mut self, srtt_us: u32) {
        self.timeout_us = (srtt_us >> 3).saturating_add(self.rttvar_us).min(RTO_MAX_US);
    }

    /// Section 5.5
    pub(crate) fn back_off(&mut self) {
        self.timeout_us = self.timeout_us.saturating_mul(2).min(RTO_MAX_US);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6298 section 2.2: after the first sample R the timeout is R + max(G, 4 R/2), here with the floor on 4 R/2.
    #[test]
    fn the_first_timeout_is_three_rtts_or_one_and_the_floor() {
        for (rtt_us, expected_us) in [(50_000, 250_000), (300_000, 900_000)] {
            let mut rtt = RttEstimator::new(200_000);
            rtt.sample(rtt_us, 0, 0, 10);
            rtt.set_timeout(rtt_us << 3);
            assert_eq!(rtt.timeout_us(), expected_us);
        }
    }

    /// Linux keeps 200 ms between the average and the timeout however constant the RTT is.
    #[test]
    fn a_constant_rtt_leads_to_rtt_plus_the_floor() {
        let mut rtt = RttEstimator::new(200_000);
        (0..1000).for_each(|round| rtt.sample(300_000, if round == 0 { 0 } else { 2_400_000 }, round, round));
        rtt.set_timeout(2_400_000);
        assert!((500_000..501_000).contains(&rtt.timeout_us()), "{}", rtt.timeout_us());
    }

    /// Sections 5.5 and 2.5
    #[test]
    fn timeouts_double_up_to_two_minutes() {
        let mut rtt = RttEstimator::new(200_000);
        let timeouts: Vec<u32> = (0..10)
            .map(|_| {
                rtt.back_off();
                rtt.timeout_us() / 1_000_000
            })
            .collect();
        assert_eq!(timeouts, [2, 4, 8, 16, 32, 64, 120, 120, 120, 120]);
    }
}
