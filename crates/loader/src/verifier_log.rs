// SPDX-License-Identifier: MIT OR Apache-2.0
//! The verifier's logs of what the kernel has refused: few, of bounded size, for root, and gone with the next boot.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use ccctl_runfiles::FOLDER;
use nix::fcntl::OFlag;

use crate::error::LogFile;

const PREFIX: &str = "verifier-";
const ENDING: &str = ".log";
/// The newest are kept.
const KEPT: usize = 8;
/// Longer ones lose their beginning: the reason stands at the end.
const MOST_BYTES: usize = 1 << 20;

static KEEPS_NONE: AtomicBool = AtomicBool::new(false);

/// From now on, this process writes no logs: another one loads the same again, and writes it.
pub fn keep_none() {
    KEEPS_NONE.store(true, Ordering::Relaxed);
}

/// Writes the log of a refused load, and removes those that are too many. Gives its path.
pub(crate) fn write_log(algorithm: &str, log: &str) -> LogFile {
    if KEEPS_NONE.load(Ordering::Relaxed) {
        return Err("this process keeps no logs".to_owned());
    }
    ccctl_runfiles::make_folder().map_err(|error| error.to_string())?;
    write_to(Path::new(FOLDER), algorithm, log).map_err(|error| format!("{FOLDER}: {error}"))
}

fn write_to(folder: &Path, algorithm: &str, log: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let path = folder.join(format!("{PREFIX}{}-{}{ENDING}", word(algorithm), std::process::id()));
    let mut options = OpenOptions::new();
    options.create(true).write(true).truncate(true).mode(0o600).custom_flags(OFlag::O_NOFOLLOW.bits());
    let mut file = options.open(&path)?;
    file.set_permissions(Permissions::from_mode(0o600))?; // of one that was there, too
    let end = end_of(log);
    if end.len() < log.len() {
        writeln!(file, "[the first {} bytes are left out]", log.len() - end.len())?;
    }
    file.write_all(end.as_bytes())?;
    drop(file);
    remove_old(folder);
    Ok(path)
}

/// An object's own name for its algorithm may hold anything.
fn word(algorithm: &str) -> String {
    let fine = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '_';
    algorithm.chars().filter(fine).take(32).collect()
}

fn end_of(log: &str) -> &str {
    let mut start = log.len().saturating_sub(MOST_BYTES);
    while !log.is_char_boundary(start) {
        start += 1;
    }
    &log[start..]
}

fn remove_old(folder: &Path) {
    let is_log = |name: &str| name.starts_with(PREFIX) && name.ends_with(ENDING);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let logs = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_log));
    let mut logs: Vec<(SystemTime, PathBuf)> =
        logs.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()))).collect();
    logs.sort();
    for (_, path) in logs.iter().rev().skip(KEPT) {
        let _ = fs::remove_file(path); // another ccctl may have removed it
    }
}

/// The line before the verifier's statistics is its reason.
pub(crate) fn last_words(log: &str, otherwise: &str) -> String {
    let body = log.split("-- END PROG LOAD LOG --").next().filter(|_| log.contains("-- END PROG LOAD LOG --"));
    body.and_then(|body| body.lines().rev().find(|line| !line.is_empty() && !line.starts_with("processed ")))
        .map_or_else(|| otherwise.to_owned(), |line| line.trim().to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_few_short_and_for_root() {
        let folder = std::env::temp_dir().join(format!("ccctl-logs-{}", std::process::id()));
        let longest = format!("{}the reason", "x".repeat(MOST_BYTES));
        for number in 0..2 * KEPT {
            let path = write_to(&folder, &format!("../a{number}"), &longest).unwrap();
            assert_eq!(path.parent(), Some(folder.as_path()), "whatever the object calls it");
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        let logs: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(logs.len(), KEPT);
        for log in logs {
            let text = fs::read_to_string(log).unwrap();
            assert!(text.starts_with("[the first 10 bytes are left out]\n") && text.ends_with("the reason"));
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
