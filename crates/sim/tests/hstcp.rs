// SPDX-License-Identifier: GPL-2.0-only
//! The tables of HighSpeed TCP against the formulas of RFC 3649 in floating point, and against the rows that Linux ships.

mod hstcp_response;

use ccctl_sim::native::arithmetic::{hstcp_even2006, hstcp_rfc3649, hstcp_row_from, hstcp_row_of, HstcpTable};
use hstcp_response::Response;

/// Rows of the C code: largest window, decrease in 1/256.
fn rows(table: &HstcpTable) -> Vec<(u32, u32)> {
    table.row.iter().take(table.rows as usize).map(|row| (row.cwnd_pkts, row.decrease_q8)).collect()
}

fn derived(response: &Response) -> Vec<(u32, u32)> {
    response.table().into_iter().map(|(window, b)| (window, (256.0 * b).floor() as u32)).collect()
}

#[test]
fn the_rfc_line_gives_73_rows_and_with_them_those_of_linux() {
    let rows = rows(hstcp_rfc3649());
    assert_eq!(rows, derived(&Response::RFC3649));
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
    let rows = rows(hstcp_even2006());
    assert_eq!(rows, derived(&Response::EVEN2006));
    assert_eq!(rows.len(), 75);
    assert_eq!(rows[..4], [(31, 128), (93, 113), (178, 105), (283, 99)]);
    assert_eq!(rows[74], (97095, 23));
}

/// prop-6
#[test]
fn windows_grow_and_the_decrease_does_not() {
    for table in [hstcp_rfc3649(), hstcp_even2006()] {
        assert!(rows(table).windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 >= pair[1].1));
    }
}

#[test]
fn a_window_takes_the_first_row_that_is_not_below_it() {
    let table = hstcp_rfc3649();
    for (window, row) in [(0, 0), (1, 0), (38, 0), (39, 1), (118, 1), (119, 2), (89053, 71), (94717, 72), (1 << 20, 72)]
    {
        assert_eq!(hstcp_row_of(table, window), row, "window {window}");
    }
    for window in 0..100_000 {
        let first = rows(table).iter().position(|(end, _)| window <= *end);
        assert_eq!(hstcp_row_of(table, window), first.map_or(table.rows - 1, |row| row as u32), "window {window}");
    }
}

#[test]
fn the_row_does_not_depend_on_where_the_search_begins() {
    for table in [hstcp_rfc3649(), hstcp_even2006()] {
        let ends = rows(table).iter().map(|(end, _)| *end).collect::<Vec<_>>();
        let windows = ends.iter().flat_map(|end| [end - 1, *end, end + 1]).chain([0, 1 << 20]);
        for window in windows {
            let row = ends.iter().position(|end| window <= *end).unwrap_or(ends.len() - 1);
            for earlier in 0..=255 {
                assert_eq!(hstcp_row_from(table, earlier, window), row as u32, "window {window} from {earlier}");
            }
        }
    }
}
