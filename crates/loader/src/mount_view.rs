// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ip netns exec NAME` runs a command in a mount namespace of its own with a new `/sys`, without the host's BPF file
//! system: instances look foreign there, and one that is pinned there is gone with the command.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::error::{Error, Result};

/// Where the BPF file system is mounted.
pub const BPFFS: &str = "/sys/fs/bpf";
/// Where `ip netns` keeps the names of network namespaces.
const NAMES: &str = "/run/netns";

/// Refuses to look for instances, or to make one, where the BPF file system is not the host's.
pub(crate) fn require_lasting() -> Result<()> {
    match hidden_by() {
        None => Ok(()),
        Some(name) => Err(Error::Host {
            cause: format!("ip netns exec {name} hides the BPF file system and all instances"),
            remedy: format!("use nsenter --net={NAMES}/{name} ccctl ..."),
        }),
    }
}

/// The name of the network namespace, where `ip netns exec` has led there: `/sys` is not that of process 1, nor is the BPF
/// file system.
fn hidden_by() -> Option<String> {
    let own_view = identity("/proc/self/ns/mnt");
    if own_view.is_some() && own_view == identity("/proc/1/ns/mnt") {
        return None;
    }
    let (ours, first) =
        (fs::read_to_string("/proc/self/mountinfo").ok()?, fs::read_to_string("/proc/1/mountinfo").ok()?);
    let is_shared = |point: &str, kind: &str| mounted(&ours, point, kind) == mounted(&first, point, kind);
    if is_shared("/sys", "sysfs") || is_shared(BPFFS, "bpf") {
        return None;
    }
    let own = identity("/proc/thread-self/ns/net")?;
    let entries = fs::read_dir(NAMES).ok()?.flatten();
    let mut names = entries.filter(|entry| identity(entry.path()) == Some(own));
    names.next()?.file_name().into_string().ok()
}

/// Device of the file system of a kind that is mounted last at a place, as `Documentation/filesystems/proc.rst` has it:
/// `49 46 0:40 / /sys rw,relatime - sysfs NAME rw`
fn mounted<'a>(mountinfo: &'a str, point: &str, kind: &str) -> Option<&'a str> {
    let last = mountinfo.lines().rfind(|line| line.split(' ').nth(4) == Some(point))?;
    let (mount, file_system) = last.split_once(" - ")?;
    mount.split(' ').nth(2).filter(|_| file_system.split(' ').next() == Some(kind))
}

/// Device and inode.
fn identity(path: impl AsRef<Path>) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::mounted;

    #[test]
    fn the_last_mount_at_a_place_counts() {
        let text =
            "22 27 0:22 / /sys rw - sysfs sysfs rw\n42 22 0:39 / /sys/fs/bpf rw shared:4 - bpf bpf rw,mode=700\n\
                    49 46 0:40 / /sys rw,relatime - sysfs name rw\n";
        assert_eq!(mounted(text, "/sys", "sysfs"), Some("0:40"));
        assert_eq!(mounted(text, "/sys/fs/bpf", "bpf"), Some("0:39"));
        assert_eq!(mounted(text, "/sys", "bpf"), None);
        assert_eq!(mounted(text, "/proc", "proc"), None);
    }
}
