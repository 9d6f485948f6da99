// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables that fit a terminal: long cells are cut. A pipe or a file gets all of them.

use std::borrow::Cow;
use std::io;

/// What stands for the rest of a cell.
const ELLIPSIS: &str = "...";
/// Columns of text are not made narrower, and columns of numbers are no wider.
const NARROWEST: usize = 12;

/// How many columns the terminal has, where stdout is one.
#[must_use]
pub fn terminal_columns() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|(columns, _)| usize::from(columns.0))
}

/// Makes the widest columns narrower until the row fits, as far as their headers allow.
pub fn narrow(widths: &mut [usize], headers: &[usize], gap: usize, room: usize) {
    let mut excess = (widths.iter().sum::<usize>() + gap * widths.len().saturating_sub(1)).saturating_sub(room);
    while excess > 0 {
        let can_give = |(width, header): &(&mut usize, &usize)| **width > NARROWEST.max(**header);
        let widest = widths.iter_mut().zip(headers).filter(can_give).max_by_key(|(width, _)| **width);
        let Some((width, _)) = widest else { return };
        *width -= 1;
        excess -= 1;
    }
}

/// The text in so many columns, cut at the end of a word if one ends in its second half.
#[must_use]
pub fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if text.chars().count() <= width {
        return Cow::Borrowed(text);
    }
    let kept: String = text.chars().take(width.saturating_sub(ELLIPSIS.len())).collect();
    let next_is_space = text[kept.len()..].starts_with(' ');
    let word_end = kept.rfind(' ').filter(|end| !next_is_space && *end * 2 > kept.len());
    let kept = kept[..word_end.unwrap_or(kept.len())].trim_end_matches([' ', ',', ';', ':']);
    let dots = &ELLIPSIS[..ELLIPSIS.len().min(width)];
    Cow::Owned(format!("{kept}{dots}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_columns_give_way_and_numbers_do_not() {
        let mut widths = [8, 40, 60, 9];
        narrow(&mut widths, &[4, 5, 6, 9], 2, 80);
        assert_eq!(widths.iter().sum::<usize>() + 6, 80);
        assert_eq!((widths[0], widths[3]), (8, 9));
        assert!(widths[1].abs_diff(widths[2]) <= 1, "{widths:?}");
        let mut widths = [10, 11];
        narrow(&mut widths, &[4, 5], 2, 5);
        assert_eq!(widths, [10, 11], "too narrow a terminal for anything");
    }

    #[test]
    fn cells_are_cut_at_the_end_of_a_word() {
        assert_eq!(cut("CUBIC: for fast and long paths", 30), "CUBIC: for fast and long paths");
        assert_eq!(cut("CUBIC: for fast and long paths", 26), "CUBIC: for fast and...");
        assert_eq!(cut("CUBIC: for fast and long paths", 22), "CUBIC: for fast and...");
        assert_eq!(cut("/system.slice/nginx.service", 12), "/system.s...");
        assert_eq!(cut("größe", 4), "g...");
        assert_eq!(cut("abcdef", 2), "..");
    }
}
