// SPDX-License-Identifier: GPL-2.0-only
//! HighSpeed TCP: RFC 3649 sections 5 and 6 and the program of appendix B that walks from window to window.

use std::rc::Rc;

use crate::tcp::{Law, Tcp, Values};

/// a(W) and b(W) of RFC 3649.
#[derive(Clone)]
pub struct Response {
    low_window: f64,
    high_window: f64,
    high_decrease: f64,
    low_loss: f64,
    high_loss: f64,
    exact: bool,
    /// Upper ends of a(W) = 1, 2, 3 ...: the rows of the RFC's table.
    rows: Rc<[f64]>,
}

impl Response {
    /// Of the parameter `table`: the RFC's numbers, or those of Even et al., Table II, with the exact line.
    pub fn new(values: &Values) -> Self {
        if !values.is_on("table") {
            return Self::of_rfc();
        }
        Self { low_window: 31.0, low_loss: 1.5 / (31.0 * 31.0), exact: true, ..Self::of_rfc() }.with_rows()
    }

    /// The RFC's own numbers.
    pub fn of_rfc() -> Self {
        Self {
            low_window: 38.0,
            high_window: 83_000.0,
            high_decrease: 0.1,
            low_loss: 1e-3,
            high_loss: 1e-7,
            exact: false,
            rows: Rc::default(),
        }
        .with_rows()
    }

    /// Appendix B: a row for each window at which a(W) has grown by one.
    fn with_rows(mut self) -> Self {
        let mut last = 1.0;
        let mut rows = vec![self.low_window];
        let mut window = self.low_window;
        while window <= 100_000.0 {
            if self.increase_at(window) > last + 1.0 {
                last = self.increase_at(window);
                rows.push(window);
            }
            window += 1.0;
        }
        self.rows = rows.into();
        self
    }

    /// p(W): 0.078 / W^1.2, or the straight line of the logarithms through both ends.
    fn loss_at(&self, window: f64) -> f64 {
        if !self.exact {
            return 1.0 / (12.8 * window.powf(1.2));
        }
        let along = (window / self.low_window).ln() / (self.high_window / self.low_window).ln();
        self.low_loss * (self.high_loss / self.low_loss).powf(along)
    }

    /// b(W), equation of section 5: from a half down to `High_Decrease`.
    fn decrease_at(&self, window: f64) -> f64 {
        let along = (window.ln() - self.low_window.ln()) / (self.high_window.ln() - self.low_window.ln());
        0.5 + (self.high_decrease - 0.5) * along
    }

    /// a(W) = W^2 p(W) 2 b(W) / (2 - b(W))
    fn increase_at(&self, window: f64) -> f64 {
        let decrease = self.decrease_at(window);
        window * window * self.loss_at(window) * 2.0 * decrease / (2.0 - decrease)
    }

    fn row(&self, window: f64) -> usize {
        self.rows.partition_point(|end| *end < window).min(self.rows.len() - 1)
    }

    pub fn increase(&self, window: f64) -> f64 {
        self.row(window) as f64 + 1.0
    }

    /// Of the row, in 1/256 as the implementations of that time kept it; rounded down.
    pub fn decrease(&self, window: f64) -> f64 {
        (256.0 * self.decrease_at(self.rows[self.row(window)])).floor() / 256.0
    }

    pub fn is_low(&self, window: f64) -> bool {
        window <= self.low_window
    }
}

#[derive(Clone)]
pub struct HighSpeed {
    response: Response,
    /// a(W) / W for an ACK, as in the RFC's section 5 where there are no delayed ones, and in Linux always.
    by_acks: bool,
}

impl HighSpeed {
    pub fn new(values: &Values) -> Self {
        Self { response: Response::new(values), by_acks: values.is_on("per_ack") }
    }
}

impl Law for HighSpeed {
    fn grow(&mut self, tcp: &mut Tcp, acked: f64) {
        if !tcp.is_limited() {
            return;
        }
        let left = if tcp.in_slow_start() { tcp.slow_start(acked) } else { acked };
        if left == 0.0 {
            return;
        }
        tcp.took(if self.response.is_low(tcp.cwnd) { "up to Low_Window" } else { "beyond Low_Window" });
        if self.by_acks {
            tcp.took("once for an ACK");
        }
        tcp.grow_by(self.response.increase(tcp.cwnd), if self.by_acks { 1.0 } else { left });
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> f64 {
        (tcp.cwnd * (1.0 - self.response.decrease(tcp.cwnd))).ceil().max(2.0)
    }
}

/// Rows that RFC 3649 prints in appendix B.
#[test]
fn the_rows_are_those_of_the_rfc() {
    let response = Response::of_rfc();
    for (window, increase, decrease) in
        [(38.0, 1.0, 0.50), (118.0, 2.0, 0.44), (495.0, 5.0, 0.37), (5036.0, 20.0, 0.25), (84035.0, 71.0, 0.10)]
    {
        assert_eq!(response.increase(window), increase);
        assert!((response.decrease_at(window) - decrease).abs() < 0.005, "{window}");
    }
}
