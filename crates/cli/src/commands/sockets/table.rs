// SPDX-License-Identifier: MIT OR Apache-2.0
//! A table that is printed while it comes in: the first rows decide the widths.

use std::io::Write;

use ccctl_console::output::{cut, narrow, printable, GAP};

use super::cell;
use ccctl_core::operations::{Column, Socket};

/// Rows that decide how wide the columns are. A later cell that is wider moves the rest of its row.
const MEASURED_ROWS: usize = 1000;

/// Writes rows under a header.
pub struct StreamedTable<W: Write> {
    out: W,
    columns: Vec<Column>,
    widths: Vec<usize>,
    /// Columns of the terminal, if it is one.
    room: Option<usize>,
    measured: Vec<Row>,
    is_printing: bool,
    row: Row,
}

/// The cells of a row, one after the other.
#[derive(Clone, Default)]
struct Row {
    text: String,
    ends: Vec<usize>,
}

impl Row {
    fn add(&mut self, write: impl FnOnce(&mut String)) {
        let start = self.text.len();
        write(&mut self.text);
        // Names that others choose are among them; looking at each byte costs next to nothing.
        if !self.text.as_bytes()[start..].iter().all(|byte| (0x20..0x7f).contains(byte)) {
            let shown = printable(&self.text[start..]).into_owned();
            self.text.replace_range(start.., &shown);
        }
        self.ends.push(self.text.len());
    }

    fn cells(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.text[start..*end])
    }
}

impl<W: Write> StreamedTable<W> {
    /// A table of these columns, in so many columns of a terminal.
    pub fn new(out: W, columns: Vec<Column>, room: Option<usize>) -> Self {
        let mut header = Row::default();
        for column in &columns {
            header.add(|text| text.push_str(cell::header(*column)));
        }
        let widths = vec![0; columns.len()];
        Self { out, columns, widths, room, measured: vec![header], is_printing: false, row: Row::default() }
    }

    /// Adds a socket.
    pub fn add(&mut self, socket: &Socket) -> anyhow::Result<()> {
        self.row.text.clear();
        self.row.ends.clear();
        for column in &self.columns {
            self.row.add(|text| cell::write(*column, socket, text));
        }
        if self.is_printing {
            return print(&mut self.out, &self.row, &self.widths, self.room);
        }
        self.measured.push(self.row.clone());
        if self.measured.len() > MEASURED_ROWS {
            return self.begin();
        }
        Ok(())
    }

    fn begin(&mut self) -> anyhow::Result<()> {
        self.is_printing = true;
        let rows = std::mem::take(&mut self.measured);
        for row in &rows {
            for (width, cell) in self.widths.iter_mut().zip(row.cells()) {
                *width = (*width).max(cell.chars().count());
            }
        }
        if let (Some(room), Some(header)) = (self.room, rows.first()) {
            let headers: Vec<usize> = header.cells().map(str::len).collect();
            narrow(&mut self.widths, &headers, GAP, room);
        }
        rows.iter().try_for_each(|row| print(&mut self.out, row, &self.widths, self.room))
    }

    /// Prints what is left.
    pub fn end(mut self) -> anyhow::Result<()> {
        if !self.is_printing {
            self.begin()?;
        }
        self.out.flush()?;
        Ok(())
    }
}

fn print(out: &mut impl Write, row: &Row, widths: &[usize], room: Option<usize>) -> anyhow::Result<()> {
    const SPACES: [u8; 64] = [b' '; 64];
    let (mut owed, mut start) = (0, 0);
    for (cell, width) in row.cells().zip(widths) {
        let left = room.map_or(usize::MAX, |room| room.saturating_sub(start));
        if left == 0 {
            break;
        }
        while owed > 0 {
            let now = owed.min(SPACES.len());
            out.write_all(&SPACES[..now])?;
            owed -= now;
        }
        let cell = if room.is_some() { cut(cell, left.min(*width)) } else { cell.into() };
        out.write_all(cell.as_bytes())?;
        owed = width.saturating_sub(cell.chars().count()) + GAP;
        start += width + GAP;
    }
    out.write_all(b"\n")?;
    Ok(())
}
