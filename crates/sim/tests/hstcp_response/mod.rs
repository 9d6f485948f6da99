// SPDX-License-Identifier: GPL-2.0-only
//! The response function of RFC 3649 in floating point, as its formulas stand.

/// A line p(W), and b at its ends.
pub struct Response {
    low_window: f64,
    high_window: f64,
    high_decrease: f64,
    /// p = 1 / (12.8 W^1.2), as in the RFC's table; or exactly through both ends.
    rfc_line: bool,
}

/// `High_P`
const HIGH_LOSS: f64 = 1e-7;

impl Response {
    /// Section 5 and appendix B.
    pub const RFC3649: Self = Self { low_window: 38.0, high_window: 83_000.0, high_decrease: 0.1, rfc_line: true };
    /// Even, Li, Leith 2006, Table II.
    #[allow(dead_code)] // not in every test that uses this module
    pub const EVEN2006: Self = Self { low_window: 31.0, rfc_line: false, ..Self::RFC3649 };

    fn loss(&self, window: f64) -> f64 {
        if self.rfc_line {
            return 1.0 / (12.8 * window.powf(1.2));
        }
        let low_loss = 1.5 / self.low_window.powi(2);
        let slope = (HIGH_LOSS / low_loss).ln() / (self.high_window / self.low_window).ln();
        low_loss * (window / self.low_window).powf(slope)
    }

    /// b(W)
    pub fn decrease(&self, window: f64) -> f64 {
        let share = (window / self.low_window).ln() / (self.high_window / self.low_window).ln();
        (0.5 + (self.high_decrease - 0.5) * share).max(1.0 / 64.0)
    }

    /// a(W)
    pub fn increase(&self, window: f64) -> f64 {
        let b = self.decrease(window);
        (window.powi(2) * self.loss(window) * 2.0 * b / (2.0 - b)).max(1.0)
    }

    /// Walks the windows upward; a row wherever the increase has grown by more than one since the last.
    #[allow(dead_code)] // not in every test that uses this module
    pub fn table(&self) -> Vec<(u32, f64)> {
        let mut rows = vec![(self.low_window as u32, self.decrease(self.low_window))];
        let mut last = self.increase(self.low_window);
        let end = self.high_window as u32 + self.high_window as u32 / 5;
        for window in self.low_window as u32 + 1..=end {
            let increase = self.increase(window.into());
            if increase > last + 1.0 {
                rows.push((window, self.decrease(window.into())));
                last = increase;
            }
        }
        rows
    }
}
