//! The computed table of RFC 3649 against a direct one in floating point, and against the rows that Linux ships.

use ccctl_sim::native::arithmetic::{hstcp_row, hstcp_table, HstcpResponse, HSTCP_ROWS};
use proptest::prelude::*;

/// RFC 3649 in floating point, as its formulas stand.
struct Response {
    low_window: f64,
    high_window: f64,
    high_loss: f64,
    high_decrease: f64,
    rfc_line: bool,
}

impl Response {
    fn of(response: &HstcpResponse) -> Self {
        Self {
            low_window: response.low_window_pkts.into(),
            high_window: response.high_window_pkts.into(),
            high_loss: response.high_loss_ppb as f64 / 1e9,
            high_decrease: f64::from(response.high_decrease_pct) / 100.0,
            rfc_line: response.rfc_line,
        }
    }

    fn loss(&self, window: f64) -> f64 {
        if self.rfc_line {
            return 1.0 / (12.8 * window.powf(1.2));
        }
        let low_loss = 1.5 / self.low_window.powi(2);
        let slope = (self.high_loss.min(low_loss) / low_loss).ln() / (self.high_window / self.low_window).ln();
        low_loss * (window / self.low_window).powf(slope)
    }

    fn decrease(&self, window: f64) -> f64 {
        let share = (window / self.low_window).ln() / (self.high_window / self.low_window).ln();
        (0.5 + (self.high_decrease - 0.5) * share).max(1.0 / 64.0)
    }

    fn increase(&self, window: f64) -> f64 {
        let b = self.decrease(window);
        (window.powi(2) * self.loss(window) * 2.0 * b / (2.0 - b)).clamp(1.0, f64::from(HSTCP_ROWS + 1))
    }

    /// Walks the windows upward; a row wherever the increase has grown by more than one since the last.
    fn table(&self) -> Vec<(u32, f64)> {
        let mut rows = vec![(self.low_window as u32, self.decrease(self.low_window))];
        let mut last = self.increase(self.low_window);
        let end = self.high_window as u32 + self.high_window as u32 / 5;
        for window in self.low_window as u32 + 1..=end {
            let increase = self.increase(window.into());
            if increase > last + 1.0 && rows.len() < HSTCP_ROWS as usize {
                rows.push((window, self.decrease(window.into())));
                last = increase;
            }
        }
        rows
    }
}

fn response(low_window_pkts: u32, rfc_line: bool) -> HstcpResponse {
    HstcpResponse { low_window_pkts, high_window_pkts: 83000, high_loss_ppb: 100, high_decrease_pct: 10, rfc_line }
}

/// Rows of the C code: largest window, decrease in 1/256.
fn rows(response: &HstcpResponse) -> Vec<(u32, u8)> {
    let table = hstcp_table(response);
    table.cwnd_pkts.into_iter().zip(table.decrease_q8).take(table.rows as usize).collect()
}

fn check_exactly(response: &HstcpResponse) -> Vec<(u32, u8)> {
    let expected: Vec<(u32, u8)> =
        Response::of(response).table().into_iter().map(|(window, b)| (window, (256.0 * b).floor() as u8)).collect();
    let found = rows(response);
    assert_eq!(found, expected);
    found
}

#[test]
fn the_rfc_line_gives_73_rows_and_with_them_those_of_linux() {
    let rows = check_exactly(&response(38, true));
    assert_eq!(rows.len(), 73);
    assert_eq!(rows[72], (94717, 23));
    // algorithms.md section 4: window, row, decrease; Linux has 72 rows, up to 89053
    for (window, row, decrease) in [
        (38, 1, 128),
        (118, 2, 112),
        (495, 5, 93),
        (1058, 8, 83),
        (2076, 12, 74),
        (5036, 20, 62),
        (10661, 30, 52),
        (19965, 41, 44),
        (40808, 56, 35),
        (61799, 65, 29),
        (84035, 71, 25),
        (89053, 72, 24),
    ] {
        assert_eq!(rows[row - 1], (window, decrease));
    }
}

#[test]
fn the_exact_line_from_31_gives_75_rows() {
    let rows = check_exactly(&response(31, false));
    assert_eq!(rows.len(), 75);
    assert_eq!(rows[..4], [(31, 128), (93, 113), (178, 105), (283, 99)]);
    assert_eq!(rows[74], (97095, 23));
}

#[test]
fn a_window_takes_the_first_row_that_is_not_below_it() {
    let table = hstcp_table(&response(38, true));
    for (window, row) in [(0, 0), (1, 0), (38, 0), (39, 1), (118, 1), (119, 2), (89053, 71), (94717, 72), (1 << 20, 72)]
    {
        assert_eq!(hstcp_row(&table, window), row, "window {window}");
    }
    for window in 0..100_000 {
        let first = table.cwnd_pkts[..table.rows as usize].iter().position(|end| window <= *end);
        assert_eq!(hstcp_row(&table, window), first.map_or(table.rows - 1, |row| row as u32), "window {window}");
    }
}

fn any_response() -> impl Strategy<Value = HstcpResponse> {
    (10_u32..=1000, 2000_u32..=1_000_000, 1_u64..=1_000_000, 2_u32..=50, any::<bool>()).prop_map(
        |(low_window_pkts, high_window_pkts, high_loss_ppb, high_decrease_pct, rfc_line)| HstcpResponse {
            low_window_pkts,
            high_window_pkts,
            high_loss_ppb,
            high_decrease_pct,
            rfc_line,
        },
    )
}

/// a(W) need not grow with W for every set of parameters: where it falls, bisection and a walk upward find different
/// rows, and no table is right. Checked where a(W) grows.
fn increase_grows(direct: &Response) -> bool {
    let end = direct.high_window * 1.2;
    let steps = (0..=400).map(|step| direct.low_window * (end / direct.low_window).powf(f64::from(step) / 400.0));
    steps.map(|window| direct.increase(window)).collect::<Vec<_>>().is_sorted()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// A row's window may be one off where a(W) crosses a whole number of rows within 2^-30 of it, and its decrease by
    /// one of 256 where b(W) lies on the boundary. Since rows build on each other, a shifted row may shift the next.
    #[test]
    fn any_parameters_give_the_direct_table(response in any_response()) {
        let direct = Response::of(&response);
        prop_assume!(increase_grows(&direct));
        let (found, expected) = (rows(&response), direct.table());
        prop_assert!(found.len().abs_diff(expected.len()) <= 1, "{} rows, expected {}", found.len(), expected.len());
        for (row, (found, expected)) in found.iter().zip(&expected).enumerate() {
            prop_assert!(found.0.abs_diff(expected.0) <= 1, "row {row}: {found:?}, expected {expected:?}");
            prop_assert!((f64::from(found.1) - (256.0 * expected.1).floor()).abs() <= 1.0, "row {row}: {found:?}, expected {expected:?}");
        }
    }

    /// prop-6 for any parameters: windows grow, the decrease does not.
    #[test]
    fn rows_are_in_order(response in any_response()) {
        let rows = rows(&response);
        prop_assert!(!rows.is_empty() && rows.len() <= HSTCP_ROWS as usize);
        prop_assert!(rows.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 >= pair[1].1));
        prop_assert!(rows.iter().all(|(_, decrease)| (1..=128).contains(decrease)));
    }
}
