// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cgroups (v2) by path and by the id that sockets carry, which is the inode of the cgroup's folder.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use crate::error::{Error, Result};

/// Where the hierarchy is mounted, by the mount table.
fn root() -> Result<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").map_err(|error| Error::kernel("read the mounts", error))?;
    root_in(&mounts).ok_or_else(|| Error::Host {
        cause: "cgroup v2 is not mounted".to_owned(),
        remedy: "mount -t cgroup2 none /sys/fs/cgroup".to_owned(),
    })
}

fn root_in(mounts: &str) -> Option<PathBuf> {
    let mut fields = mounts.lines().map(|line| line.split(' '));
    fields.find_map(|mut fields| {
        let folder = fields.nth(1)?;
        (fields.next() == Some("cgroup2")).then(|| PathBuf::from(folder))
    })
}

/// Id of a cgroup: its path from the root of the hierarchy, as in `/proc/PID/cgroup`, or its folder. With `..` it would lead
/// out of the tree, to files that who asks the daemon may not see.
pub fn cgroup_id(path: &Path) -> Result<u64> {
    let root = root()?;
    if path.components().any(|component| component == Component::ParentDir) {
        let cause = format!("{} is not a cgroup path", path.display());
        return Err(Error::Request { cause, remedy: "write the path without ..".to_owned() });
    }
    let folder = match path.strip_prefix("/") {
        Ok(inner) if !path.starts_with(&root) => root.join(inner),
        Ok(_) => path.to_owned(),
        Err(_) => root.join(path),
    };
    let metadata = fs::metadata(&folder);
    match metadata {
        Ok(metadata) if folder.join("cgroup.procs").exists() => Ok(metadata.ino()),
        _ => Err(Error::Unknown {
            kind: "cgroup",
            name: path.display().to_string(),
            hint: format!("use a path below {}, as systemd-cgls and /proc/PID/cgroup show it", root.display()),
        }),
    }
}

/// Paths of cgroups by their ids; the tree is read when the first one is asked for.
#[derive(Debug, Default)]
pub struct CgroupPaths {
    by_id: Option<HashMap<u64, String>>,
}

impl CgroupPaths {
    /// Path from the root of the hierarchy; None for a cgroup that was removed while its sockets stayed.
    pub fn of(&mut self, id: u64) -> Option<&str> {
        self.by_id.get_or_insert_with(read_tree).get(&id).map(String::as_str)
    }
}

fn read_tree() -> HashMap<u64, String> {
    let mut found = HashMap::new();
    let Ok(root) = root() else { return found };
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        let Ok(metadata) = fs::metadata(&folder) else { continue };
        let path = folder.strip_prefix(&root).unwrap_or(&folder);
        found.insert(metadata.ino(), format!("/{}", path.display()));
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        folders.extend(
            entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hierarchy_is_where_the_mount_table_says() {
        let hybrid = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
            cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(root_in(hybrid), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        assert_eq!(root_in("tmpfs /sys/fs/cgroup tmpfs rw 0 0\n"), None);
    }
}
