// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which process holds a lock, as the kernel has it.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use nix::sys::stat::{major, minor};

const LOCKS: &str = "/proc/locks";

/// A process that holds a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its number.
    pub pid: u32,
    /// Name of its program.
    pub name: String,
    /// Its user.
    pub uid: u32,
    /// A daemon of ccctl of root or of this user.
    pub is_daemon: bool,
}

impl Holder {
    /// In words; None: no process that can be seen from here.
    #[must_use]
    pub fn describe(holder: Option<&Self>) -> String {
        match holder {
            Some(Self { pid, name, uid: 0, .. }) => format!("{name} (pid {pid})"),
            Some(Self { pid, name, uid, .. }) => format!("{name} (pid {pid}, of user {uid})"),
            None => "a process that cannot be seen from here".to_owned(),
        }
    }
}

/// The process that holds the lock on this file. The kernel lists a lock under the process that took it; it may have ended
/// since and have left the file to a child, and its number may be another's by now. So the process must have the file open.
#[must_use]
pub fn holder(file: &File) -> Option<Holder> {
    let locks = fs::read_to_string(LOCKS).ok()?;
    let of_file = file.metadata().ok()?;
    let taken_by = locks.lines().find_map(|line| flock_of(line, of_file.dev(), of_file.ino()))?;
    has_open(taken_by, of_file.dev(), of_file.ino()).then(|| look_at(taken_by)).flatten()
}

/// Process of a line such as `3: FLOCK  ADVISORY  WRITE 1234 00:1b:4567 0 EOF`, where it is about this file. One that
/// waits has `->` after the number.
fn flock_of(line: &str, device: u64, inode: u64) -> Option<u32> {
    let mut words = line.split_whitespace().skip(1);
    if words.next()? != "FLOCK" {
        return None;
    }
    let (pid, place) = (words.nth(2)?.parse().ok()?, words.next()?);
    let mut parts = place.split(':');
    let number = |word: Option<&str>| u64::from_str_radix(word?, 16).ok();
    let same_device = number(parts.next())? == major(device) && number(parts.next())? == minor(device);
    (same_device && parts.next()?.parse() == Ok(inode)).then_some(pid)
}

fn has_open(pid: u32, device: u64, inode: u64) -> bool {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut same = files.filter_map(|entry| fs::metadata(entry.path()).ok());
    same.any(|found| found.dev() == device && found.ino() == inode)
}

fn look_at(pid: u32) -> Option<Holder> {
    let folder = Path::new("/proc").join(pid.to_string());
    let name = fs::read_to_string(folder.join("comm")).ok()?.trim_end().escape_debug().to_string();
    let uid = fs::metadata(&folder).ok()?.uid();
    Some(Holder { pid, is_daemon: is_ours(uid) && is_daemon(&folder), name, uid })
}

fn is_ours(uid: u32) -> bool {
    uid == 0 || uid == nix::unistd::geteuid().as_raw()
}

/// Its program is a ccctl, and its first word is `daemon`.
fn is_daemon(folder: &Path) -> bool {
    let program = fs::read_link(folder.join("exe")).unwrap_or_default();
    let is_ccctl = program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ccctl"));
    let words = fs::read(folder.join("cmdline")).unwrap_or_default();
    is_ccctl && words.split(|byte| *byte == 0).nth(1) == Some(b"daemon")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_proc_locks_is_read() {
        // proc_locks(5): number, class, mode, type, process, device and inode, range
        let device = nix::sys::stat::makedev(0, 0x1b);
        assert_eq!(flock_of("3: FLOCK  ADVISORY  WRITE 1234 00:1b:4567 0 EOF", device, 4567), Some(1234));
        assert_eq!(flock_of("3: FLOCK  ADVISORY  WRITE 1234 00:1b:4567 0 EOF", device, 4568), None);
        assert_eq!(flock_of("3: FLOCK  ADVISORY  WRITE 1234 00:1c:4567 0 EOF", device, 4567), None);
        assert_eq!(flock_of("3: -> FLOCK  ADVISORY  WRITE 1234 00:1b:4567 0 EOF", device, 4567), None, "it waits");
        assert_eq!(flock_of("3: POSIX  ADVISORY  WRITE 1234 00:1b:4567 0 EOF", device, 4567), None, "another kind");
    }
}
