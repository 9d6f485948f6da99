//! A table that is printed while it comes in: the first rows decide the widths.

use std::io::Write;

use super::cell;
use crate::engine::{Column, Socket};

/// Rows that decide how wide the columns are. A later cell that is wider moves the rest of its row.
const MEASURED_ROWS: usize = 1000;
const GAP: usize = 2;

/// Writes rows under a header.
pub struct StreamedTable<W: Write> {
    out: W,
    columns: Vec<Column>,
    widths: Vec<usize>,
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
        write(&mut self.text);
        self.ends.push(self.text.len());
    }

    fn cells(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.text[start..*end])
    }
}

impl<W: Write> StreamedTable<W> {
    /// A table of these columns.
    pub fn new(out: W, columns: Vec<Column>) -> Self {
        let mut header = Row::default();
        for column in &columns {
            header.add(|text| text.push_str(cell::header(*column)));
        }
        let widths = vec![0; columns.len()];
        Self { out, columns, widths, measured: vec![header], is_printing: false, row: Row::default() }
    }

    /// Adds a socket.
    pub fn add(&mut self, socket: &Socket) -> anyhow::Result<()> {
        self.row.text.clear();
        self.row.ends.clear();
        for column in &self.columns {
            self.row.add(|text| cell::write(*column, socket, text));
        }
        if self.is_printing {
            return print(&mut self.out, &self.row, &self.widths);
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
        rows.iter().try_for_each(|row| print(&mut self.out, row, &self.widths))
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

fn print(out: &mut impl Write, row: &Row, widths: &[usize]) -> anyhow::Result<()> {
    const SPACES: [u8; 64] = [b' '; 64];
    let mut owed = 0;
    for (cell, width) in row.cells().zip(widths) {
        while owed > 0 {
            let now = owed.min(SPACES.len());
            out.write_all(&SPACES[..now])?;
            owed -= now;
        }
        out.write_all(cell.as_bytes())?;
        owed = width.saturating_sub(cell.chars().count()) + GAP;
    }
    out.write_all(b"\n")?;
    Ok(())
}
