// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel holds of congestion control and BPF, before and after.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use libbpf_rs::query::{CgroupLinkInfo, LinkInfoIter, LinkTypeInfo, MapInfoIter, ProgInfoIter};
use libbpf_rs::{ProgramAttachType, ProgramType};
use nix::mount::{mount, MsFlags};

use super::{eventually, TestbedError};

const BPFFS: &str = "/sys/fs/bpf";
/// The kernel frees programs and maps after grace periods.
const SETTLING: Duration = Duration::from_secs(10);

/// What a test must leave as it found it. Each entry is one line that says what it is.
///
/// Programs and links of cgroups are left out, unless they are for socket operations: systemd attaches and detaches the
/// other kinds whenever a unit starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostState {
    entries: BTreeSet<String>,
}

impl HostState {
    /// How many BPF maps and programs there are.
    #[must_use]
    pub fn objects(&self) -> usize {
        self.entries.iter().filter(|entry| entry.starts_with("map ") || entry.starts_with("program ")).count()
    }

    /// Asks the kernel.
    pub fn read() -> Result<Self, TestbedError> {
        let mut entries = BTreeSet::new();
        for name in sysctl("tcp_available_congestion_control")?.split_whitespace() {
            entries.insert(format!("algorithm {name}"));
        }
        entries.insert(format!("default {}", sysctl("tcp_congestion_control")?));
        entries.insert(format!("allowed {}", sysctl("tcp_allowed_congestion_control")?));
        entries.extend(bpf_objects());
        files(Path::new(BPFFS), "pin", &mut entries);
        entries.extend(own_namespaces());
        Ok(HostState { entries })
    }

    /// What is here and was not in `before` with a `+`, what is missing with a `-`; empty if nothing.
    ///
    /// A map or program that is gone is no difference: `before` may have seen it while the kernel was freeing it, and
    /// one that was in use had a link, a pin or a name, whose loss is a difference.
    #[must_use]
    pub fn difference(&self, before: &HostState) -> Vec<String> {
        let freed = |entry: &&String| entry.starts_with("map ") || entry.starts_with("program ");
        let gone = before.entries.difference(&self.entries).filter(|entry| !freed(entry));
        let gone = gone.map(|entry| format!("- {entry}"));
        let new = self.entries.difference(&before.entries).map(|entry| format!("+ {entry}"));
        gone.chain(new).collect()
    }
}

/// Waits until the host is as it was; the complaint lists what is not.
pub fn settled(before: &HostState) -> Result<(), String> {
    eventually(SETTLING, || {
        let now = HostState::read().map_err(|error| error.to_string())?;
        let difference = now.difference(before);
        if difference.is_empty() {
            return Ok(());
        }
        Err(format!("the host is not as it was:\n  {}", difference.join("\n  ")))
    })
}

/// Panics unless the host is, or soon becomes, as it was.
///
/// # Panics
/// With a list of what appeared and what is missing.
#[track_caller]
pub fn assert_same(before: &HostState) {
    if let Err(complaint) = settled(before) {
        panic!("{complaint}");
    }
}

/// Mounts bpffs where it belongs, if it is not there yet, closed to other users; it stays.
pub fn mount_bpffs() -> Result<(), TestbedError> {
    let mounts = fs::read_to_string("/proc/self/mounts").map_err(TestbedError::io("read /proc/self/mounts"))?;
    let mounted = mounts.lines().any(|line| {
        let mut fields = line.split(' ').skip(1);
        fields.next() == Some(BPFFS) && fields.next() == Some("bpf")
    });
    if mounted {
        return Ok(());
    }
    mount(Some("bpf"), BPFFS, Some("bpf"), MsFlags::empty(), Some("mode=0700"))
        .map_err(TestbedError::errno(format!("mount bpffs at {BPFFS}")))
}

fn sysctl(key: &str) -> Result<String, TestbedError> {
    let path = format!("/proc/sys/net/ipv4/{key}");
    let text = fs::read_to_string(&path).map_err(TestbedError::io(format!("read {path}")))?;
    let mut names: Vec<&str> = text.split_whitespace().collect();
    names.sort_unstable(); // the order is that of registration
    Ok(names.join(" "))
}

fn bpf_objects() -> Vec<String> {
    let mut found = Vec::new();
    for program in ProgInfoIter::default() {
        if !matches!(program.ty, ProgramType::CgroupDevice | ProgramType::CgroupSkb | ProgramType::CgroupSock) {
            found.push(format!("program {} {:?} {}", program.id, program.ty, program.name.to_string_lossy()));
        }
    }
    for map in MapInfoIter::default() {
        found.push(format!("map {} {:?} {}", map.id, map.ty, map.name.to_string_lossy()));
    }
    for link in LinkInfoIter::default() {
        let of_systemd = |cgroup: &CgroupLinkInfo| !matches!(cgroup.attach_type, ProgramAttachType::CgroupSockOps);
        if !matches!(&link.info, LinkTypeInfo::Cgroup(cgroup) if of_systemd(cgroup)) {
            found.push(format!("link {} {}", link.id, kind(&link.info)));
        }
    }
    found
}

fn kind(link: &LinkTypeInfo) -> String {
    match link {
        LinkTypeInfo::StructOps(ops) => format!("of struct_ops map {}", ops.map_id),
        LinkTypeInfo::Iter(_) => "of an iterator".to_owned(),
        LinkTypeInfo::Cgroup(_) => "of sockops programs".to_owned(),
        other => format!("{other:?}"),
    }
}

/// Those of others come and go as they like.
fn own_namespaces() -> Vec<String> {
    let names = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("cclab-")).map(|name| format!("namespace {name}")).collect()
}

fn files(folder: &Path, kind: &str, entries: &mut BTreeSet<String>) {
    let Ok(found) = fs::read_dir(folder) else { return };
    for entry in found.flatten() {
        let path = entry.path();
        entries.insert(format!("{kind} {}", path.display()));
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            files(&path, kind, entries);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(entries: &[&str]) -> HostState {
        HostState { entries: entries.iter().map(|entry| (*entry).to_owned()).collect() }
    }

    #[test]
    fn the_difference_names_what_came_and_what_went() {
        let difference = state(&["pin 1", "map 3"]).difference(&state(&["pin 1", "pin 2", "map 1"]));
        assert_eq!(difference, ["- pin 2", "+ map 3"]);
    }
}
