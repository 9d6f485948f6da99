// SPDX-License-Identifier: MIT OR Apache-2.0
//! A file that gets its name when it is whole.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::FileError;

/// More left-over parts of one file than this are not skipped but reported.
const PARTS_MAX: u32 = 1000;

/// A file being written beside the place where it will be.
#[derive(Debug)]
pub struct Part {
    target: PathBuf,
    until_then: PathBuf,
    out: BufWriter<File>,
}

impl Part {
    /// Opens a new file in the folder of the target. Files of others are not touched.
    pub fn create(target: &Path) -> Result<Self, FileError> {
        let mut number = 0;
        loop {
            let part = part_name(target, number);
            match OpenOptions::new().write(true).create_new(true).open(&part) {
                Ok(file) => return Ok(Self { target: target.to_owned(), until_then: part, out: BufWriter::new(file) }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists && number < PARTS_MAX => number += 1,
                Err(source) => return Err(FileError::Io { step: "create", path: part, source }),
            }
        }
    }

    pub fn target(&self) -> &Path {
        &self.target
    }

    pub fn write(&mut self, data: &[u8]) -> Result<(), FileError> {
        let written = self.out.write_all(data);
        self.explain("write", written)
    }

    pub fn flush(&mut self) -> Result<(), FileError> {
        let flushed = self.out.flush();
        self.explain("write", flushed)
    }

    /// The file gets its name.
    pub fn finish(mut self) -> Result<(), FileError> {
        self.flush()?;
        let kept = self.out.get_ref().sync_all();
        self.explain("write", kept)?;
        let renamed = fs::rename(&self.until_then, &self.target);
        renamed.map_err(|source| FileError::Io { step: "write", path: self.target.clone(), source })
    }

    /// Nothing stays.
    pub fn discard(self) {
        // The error that led here is the one to report; a part that cannot be removed only lies about.
        let _ = fs::remove_file(&self.until_then);
    }

    fn explain(&self, step: &'static str, done: std::io::Result<()>) -> Result<(), FileError> {
        done.map_err(|source| FileError::Io { step, path: self.until_then.clone(), source })
    }
}

/// `trace.part-0.jsonl` for `trace.jsonl`: the end stays, so that what a killed program leaves can be read.
fn part_name(target: &Path, number: u32) -> PathBuf {
    let mut name = OsString::from(target.file_stem().unwrap_or_default());
    name.push(format!(".part-{number}."));
    name.push(target.extension().unwrap_or_default());
    target.with_file_name(name)
}
