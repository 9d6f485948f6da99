// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that only grow, one record a line, each with its sum: a crash at any byte loses the line that was being written,
//! and a damaged line is left out instead of being believed.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// Letters of a line's sum.
const SUM: usize = 16;

/// SHA-256, in hexadecimal digits.
#[must_use]
pub fn hash(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// Adds a record; it is on the disk when this returns.
pub fn append<T: Serialize>(path: &Path, record: &T) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o644).open(path)?;
    let json = serde_json::to_string(record)?;
    let mut line = format!("{} {json}\n", &hash(json.as_bytes())[..SUM]);
    if !ends_a_line(&mut file)? {
        line.insert(0, '\n'); // what a crash has cut off stays alone in its line
    }
    file.write_all(line.as_bytes())?;
    file.sync_data()
}

fn ends_a_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// The records of a file, in order, without damaged lines; a missing file has none.
pub fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Vec<T>> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    Ok(bytes.split(|byte| *byte == b'\n').filter_map(record).collect())
}

/// Lines of a file, damaged ones included.
pub fn count(path: &Path) -> io::Result<u64> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(bytes.split(|byte| *byte == b'\n').count() as u64 - 1),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

fn record<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    let (sum, json) = (line.get(..SUM)?, line.get(SUM + 1..)?);
    (hash(json).as_bytes().get(..SUM) == Some(sum)).then(|| serde_json::from_slice(json).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(label: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("ccctl-lines-{label}-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        path
    }

    #[test]
    fn a_file_cut_at_any_byte_keeps_all_whole_lines_and_goes_on() {
        let path = file("cut");
        (0..3_u64).for_each(|number| append(&path, &(number, "word")).expect("it is written"));
        let whole = std::fs::read(&path).expect("it is there");
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).expect("it is cut");
            let lines = whole[..length].split(|byte| *byte == b'\n').count() as u64 - 1;
            // a line without its end is whole, too
            let kept = lines + u64::from(whole[length] == b'\n');
            append(&path, &(9_u64, "next")).expect("it is written");
            let numbers: Vec<u64> =
                read::<(u64, String)>(&path).expect("it is read").into_iter().map(|(number, _)| number).collect();
            assert_eq!(numbers, (0..kept).chain([9]).collect::<Vec<_>>(), "cut at {length}");
        }
        std::fs::remove_file(&path).expect("it is there");
    }

    #[test]
    fn a_damaged_byte_costs_its_line_and_no_other() {
        let path = file("damaged");
        (0..3_u64).for_each(|number| append(&path, &(number, "word")).expect("it is written"));
        let whole = std::fs::read(&path).expect("it is there");
        for damaged in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[damaged] ^= 1;
            std::fs::write(&path, &bytes).expect("it is damaged");
            let found = read::<(u64, String)>(&path).expect("it is read");
            assert!(found.iter().all(|(number, word)| *number < 3 && word == "word"), "{damaged}: {found:?}");
            // the end of a line joins it to the next
            let lost = if whole[damaged] == b'\n' && damaged + 1 < whole.len() { 2 } else { 1 };
            assert!(found.len() >= 3 - lost, "{damaged}: {found:?}");
        }
        std::fs::remove_file(&path).expect("it is there");
    }
}
