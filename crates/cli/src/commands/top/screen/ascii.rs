// SPDX-License-Identifier: MIT OR Apache-2.0
//! For terminals that show nothing but ASCII.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Puts something similar in the place of each other character.
pub fn replace(buffer: &mut Buffer, area: Rect) {
    for position in area.positions() {
        let Some(cell) = buffer.cell_mut(position) else { continue };
        if !cell.symbol().is_ascii() {
            let similar = cell.symbol().chars().next().map_or(' ', similar);
            cell.set_char(similar);
        }
    }
}

fn similar(character: char) -> char {
    match character {
        '─' | '▃' => '-',
        '│' => '|',
        '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' | '▅' => '+',
        '▁' => '_',
        '▂' => '.',
        '▄' => '=',
        '▆' => '*',
        '▇' => '%',
        '█' => '#',
        _ => '?',
    }
}
