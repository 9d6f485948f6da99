//! `ip netns exec NAME` runs a command in a mount namespace of its own with a new `/sys`, without the host's BPF file
//! system: instances look foreign there, and one that is pinned there is gone with the command.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::bpffs::BPFFS;
use crate::error::{Error, Result};

/// Where `ip netns` keeps the names of network namespaces.
const NAMES: &str = "/run/netns";

/// Refuses to look for instances, or to make one, where the BPF file system is not the host's.
pub(crate) fn require_lasting() -> Result<()> {
    match hidden_by() {
        None => Ok(()),
        Some(name) => Err(Error::Host {
            cause: format!("ip netns exec {name} hides the BPF file system, and with it all instances"),
            remedy: format!("nsenter --net={NAMES}/{name} ccctl ..."),
        }),
    }
}

/// The name of the network namespace, where `ip netns exec` has led there. Without the right to look at process 1 nothing
/// is known, and nothing can be loaded either.
fn hidden_by() -> Option<String> {
    let is_other = |ours: &str, first: &str| Some(identity(ours)? != identity(first)?);
    let differs = |path: &str| is_other(path, &format!("/proc/1/root{path}"));
    if !is_other("/proc/self/ns/mnt", "/proc/1/ns/mnt")? || !differs("/sys")? || differs(BPFFS) == Some(false) {
        return None;
    }
    let own = identity("/proc/thread-self/ns/net")?;
    let entries = fs::read_dir(NAMES).ok()?.flatten();
    let mut names = entries.filter(|entry| identity(entry.path()) == Some(own));
    names.next()?.file_name().into_string().ok()
}

/// Device and inode.
fn identity(path: impl AsRef<Path>) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}
