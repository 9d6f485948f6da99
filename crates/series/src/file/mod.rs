// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables in files: JSON lines and CSV, chosen by the end of the name.
//!
//! Both keep names, kinds, units, facts and missing values, so that [`read`] gives back what [`write`] was given;
//! what a format cannot tell apart is said in its module. Integers are signed with 64 bits, as in all readers: a kernel
//! counter of 2^63 and more (`~0` for "no limit") must become a missing value before it comes here.
//!
//! A file that is read may be of anybody: it must be a regular file, and what it can make of memory is limited by its
//! length ([`Budget`]). They are read line by line.
//!
//! A file appears under its name when it is whole: until then its rows are in `name.part-N.extension` beside it, which is
//! also what a killed program leaves, readable up to its last whole line.

mod column;
mod csv;
mod input;
mod jsonl;
mod part;
mod writer;

use std::path::{Path, PathBuf};

use crate::table::{Table, TableError};
use input::Budget;
pub use input::{open_regular, read_regular, read_regular_text};
pub use writer::Writer;

/// A file that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// A name that does not say the format.
    #[error("{}: the name must end in .jsonl or .csv", .0.display())]
    Extension(PathBuf),
    /// The file system said no.
    #[error("cannot {step} {}", path.display())]
    Io {
        /// What was tried.
        step: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A line that is not what the format asks for.
    #[error("{} line {line}: {what}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// From one.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// A row that does not fit the columns.
    #[error("{} row {row}: {what}", path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// From one.
        row: usize,
        /// What is wrong.
        what: String,
    },
    /// Columns that do not make a table.
    #[error("{}: {source}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: TableError,
    },
}

/// Formats of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    JsonLines,
    Csv,
}

impl Format {
    fn of(path: &Path) -> Result<Self, FileError> {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "jsonl" => Ok(Self::JsonLines),
            "csv" => Ok(Self::Csv),
            _ => Err(FileError::Extension(path.to_owned())),
        }
    }
}

/// Writes a table to a file whose name ends in `.jsonl` or `.csv`; all of it or nothing.
pub fn write(table: &Table, path: &Path) -> Result<(), FileError> {
    let mut writer = Writer::create(path, table)?;
    let written = push_all(&mut writer, table);
    if written.is_err() {
        writer.discard();
        return written;
    }
    writer.finish()
}

fn push_all(writer: &mut Writer, table: &Table) -> Result<(), FileError> {
    for row in 0..table.rows() {
        let values: Vec<_> = table.columns().iter().map(|column| column.values.get(row)).collect();
        writer.push(&values)?;
    }
    Ok(())
}

/// Reads a table from a file whose name ends in `.jsonl` or `.csv`, written by [`write()`] or by other programs.
pub fn read(path: &Path) -> Result<Table, FileError> {
    let format = Format::of(path)?;
    let file = open_regular(path).map_err(cannot_read(path))?;
    let length = file.metadata().map_err(cannot_read(path))?.len();
    let mut budget = Budget::of(length);
    match format {
        Format::JsonLines => jsonl::decode(file, &mut budget, path),
        Format::Csv => csv::decode(&file, &mut budget, path),
    }
}

fn cannot_read(path: &Path) -> impl Fn(std::io::Error) -> FileError + Copy + '_ {
    move |source| FileError::Io { step: "read", path: path.to_owned(), source }
}

/// An error in a line of a file.
fn bad_line(path: &Path, line: usize, what: impl Into<String>) -> FileError {
    FileError::Line { path: path.to_owned(), line, what: what.into() }
}
