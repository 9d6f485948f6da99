// SPDX-License-Identifier: GPL-2.0-only
//! Cgroups of our own, in the v2 tree.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Once;

use super::{eventually, TestbedError};

const PREFIX: &str = "cclab";
/// Inode of the root of the tree, wherever it is mounted.
const ROOT_INODE: u64 = 1;
/// Processes that were killed leave their cgroup a moment later.
const LEAVING: std::time::Duration = std::time::Duration::from_secs(5);

static SWEPT: Once = Once::new();
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A cgroup, removed with all below it when dropped.
#[derive(Debug)]
pub struct Cgroup {
    folder: PathBuf,
    path: String,
}

impl Cgroup {
    /// Makes the cgroup `/cclab-PID-N-LABEL`.
    pub fn new(label: &str) -> Result<Self, TestbedError> {
        SWEPT.call_once(sweep);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self::make(format!("/{PREFIX}-{}-{number}-{label}", std::process::id()))
    }

    /// Makes one below.
    pub fn child(&self, name: &str) -> Result<Self, TestbedError> {
        Self::make(format!("{}/{name}", self.path))
    }

    fn make(path: String) -> Result<Self, TestbedError> {
        let folder = mount()?.join(&path[1..]);
        fs::create_dir(&folder).map_err(TestbedError::io(format!("make {}", folder.display())))?;
        Ok(Cgroup { folder, path })
    }

    /// Its path from the root of the tree.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs `work` with this whole process in the cgroup: the sockets that it makes and the programs that it starts
    /// belong there.
    pub fn enter<T>(&self, work: impl FnOnce() -> T) -> Result<T, TestbedError> {
        let before = own()?;
        let _back = Back(before);
        move_own_process(&self.folder)?;
        Ok(work())
    }
}

struct Back(PathBuf);

impl Drop for Back {
    fn drop(&mut self) {
        if let Err(error) = move_own_process(&self.0) {
            eprintln!("testbed: {error}");
        }
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let removed = eventually(LEAVING, || remove(&self.folder));
        if let Err(error) = removed {
            eprintln!("testbed: remove {}: {error}", self.folder.display());
        }
    }
}

fn move_own_process(folder: &Path) -> Result<(), TestbedError> {
    fs::write(folder.join("cgroup.procs"), "0").map_err(TestbedError::io(format!("move to {}", folder.display())))
}

/// Folder of the cgroup that this process is in.
fn own() -> Result<PathBuf, TestbedError> {
    let text = fs::read_to_string("/proc/self/cgroup").map_err(TestbedError::io("read /proc/self/cgroup"))?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::/"));
    let path = path.ok_or_else(|| TestbedError::Unexpected("no cgroup v2".to_owned()))?;
    Ok(mount()?.join(path))
}

/// Where the v2 tree is mounted from its root.
pub(super) fn mount() -> Result<PathBuf, TestbedError> {
    let text = fs::read_to_string("/proc/self/mounts").map_err(TestbedError::io("read /proc/self/mounts"))?;
    let mounts = text.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let folder = PathBuf::from(fields.next()?);
        (fields.next()? == "cgroup2").then_some(folder)
    });
    let is_root = |folder: &PathBuf| fs::metadata(folder).is_ok_and(|data| data.ino() == ROOT_INODE);
    let found = mounts.into_iter().find(is_root);
    found.ok_or_else(|| TestbedError::Unexpected("no cgroup v2 tree is mounted".to_owned()))
}

fn remove(folder: &Path) -> std::io::Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)?.flatten() {
        if entry.file_type()?.is_dir() {
            remove(&entry.path())?;
        }
    }
    fs::remove_dir(folder)
}

/// Removes the cgroups of processes that are no more.
fn sweep() {
    let Ok(entries) = mount().map(|mount| fs::read_dir(mount).into_iter().flatten().flatten()) else { return };
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').nth(1)?.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            if let Err(error) = remove(&entry.path()) {
                eprintln!("testbed: stale cgroup: {error}");
            }
        }
    }
}
