// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is read of files that others may have made: regular files only, and no more than fits into memory.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::fcntl::OFlag;

/// A table has at most this many columns; a trace has about a hundred.
pub const MAX_COLUMNS: usize = 4096;

/// A line of JSON or a record of CSV has at most this many bytes.
pub const MAX_RECORD_BYTES: usize = 1 << 20;

/// Values of a table, present or missing: a gigabyte in memory.
const MAX_CELLS: usize = 1 << 26;

/// Values that even a small file may stand for, and more for each of its bytes. Tables written whole have a byte for each
/// value; runs of missing values and rows that leave columns out take less.
const FREE_CELLS: usize = 1 << 22;
const CELLS_PER_BYTE: usize = 16;

/// Bytes of all words in a table.
const MAX_TEXT_BYTES: usize = 1 << 28;

/// Opens a regular file to read it. Others (FIFO, device, socket, folder) are refused at once and not opened: to open
/// some of them waits, or does something.
pub fn open_regular(path: &Path) -> io::Result<File> {
    refuse_others(&std::fs::metadata(path)?)?;
    // Between the look and the open, a FIFO may have taken its place.
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = File::options().read(true).custom_flags(flags.bits()).open(path)?;
    refuse_others(&file.metadata()?)?;
    Ok(file)
}

/// The content of a regular file of at most this many bytes.
pub fn read_regular(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    let too_long =
        || io::Error::new(io::ErrorKind::FileTooLarge, format!("it is too long: the limit is {most_bytes} bytes"));
    if file.metadata()?.len() > most_bytes {
        return Err(too_long());
    }
    let mut data = Vec::new();
    file.take(most_bytes + 1).read_to_end(&mut data)?;
    // It may have grown.
    if data.len() as u64 > most_bytes {
        return Err(too_long());
    }
    Ok(data)
}

/// [`read_regular`], as text.
pub fn read_regular_text(path: &Path, most_bytes: u64) -> io::Result<String> {
    let data = read_regular(path, most_bytes)?;
    String::from_utf8(data).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

fn refuse_others(metadata: &std::fs::Metadata) -> io::Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    let what = if metadata.is_dir() { "it is a folder" } else { "it is not a regular file" };
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

/// What a table may take, by the length of its file: a small file cannot ask for much memory.
#[derive(Debug)]
pub struct Budget {
    cells: usize,
    text_bytes: usize,
}

impl Budget {
    /// Of a file of this length.
    pub fn of(file_bytes: u64) -> Self {
        let file_bytes = usize::try_from(file_bytes).unwrap_or(usize::MAX);
        let cells = file_bytes.saturating_mul(CELLS_PER_BYTE).saturating_add(FREE_CELLS).min(MAX_CELLS);
        Self { cells, text_bytes: MAX_TEXT_BYTES }
    }

    /// May a table be this large?
    pub fn check(&self, columns: usize, rows: usize) -> Result<(), String> {
        if columns > MAX_COLUMNS {
            return Err(format!("too many columns: the limit is {MAX_COLUMNS}"));
        }
        match columns.checked_mul(rows) {
            Some(cells) if cells <= self.cells => Ok(()),
            _ => Err(format!(
                "{columns} columns and {rows} rows: the limit for a file of this length is {} values",
                self.cells
            )),
        }
    }

    /// Takes room for a word.
    pub fn take_text(&mut self, bytes: usize) -> Result<(), String> {
        let left = self.text_bytes.checked_sub(bytes);
        self.text_bytes = left.ok_or(format!("too much text: the limit is {MAX_TEXT_BYTES} bytes"))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_file_is_a_small_table() {
        let small = Budget::of(95_000);
        assert!(small.check(100, 40_000).is_ok());
        assert!(small.check(4096, 8000).is_err(), "95 kB are no 32 million values");
        let large = Budget::of(4 << 30);
        assert!(large.check(100, 600_000).is_ok());
        assert!(large.check(4096, 20_000).is_err(), "and no file is more than a gigabyte of values");
        assert!(large.check(4097, 1).is_err() && large.check(2, usize::MAX).is_err());
    }
}
