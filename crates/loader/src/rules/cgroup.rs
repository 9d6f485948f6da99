// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cgroups by path: what a user types, and what is there.

use std::fmt;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ccctl_catalog::closest;

use super::record::{RULE_CGROUP_DEPTH, RULE_CGROUP_NAME_BYTES};
use crate::error::{Error, Result};

/// Inode of the root of the cgroup tree; that of a cgroup namespace has another.
const ROOT_INODE: u64 = 1;

/// Absolute path of a cgroup below the root of the cgroup v2 tree: `/`, `/system.slice/nginx.service`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CgroupPath(String);

impl CgroupPath {
    /// The whole host.
    #[must_use]
    pub fn root() -> Self {
        Self("/".to_owned())
    }

    /// Brings an absolute path into its only form.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |hint: &str| {
            Err(Error::Request { cause: format!("{text:?} is not a cgroup path"), remedy: hint.to_owned() })
        };
        if !text.starts_with('/') {
            return wrong("write a path from the root of the tree, such as /system.slice/nginx.service");
        }
        let components: Vec<&str> = text.split('/').filter(|component| !component.is_empty()).collect();
        if components.iter().any(|component| matches!(*component, "." | "..")) {
            return wrong("write the path without . and ..");
        }
        if components.iter().any(|component| component.len() >= RULE_CGROUP_NAME_BYTES as usize) {
            return wrong("a name has at most 255 bytes");
        }
        if components.len() > RULE_CGROUP_DEPTH as usize {
            return wrong(&format!(
                "use at most {RULE_CGROUP_DEPTH} levels: a rule for a parent cgroup covers those below"
            ));
        }
        Ok(Self(format!("/{}", components.join("/"))))
    }

    /// Its components; none for the root.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|component| !component.is_empty())
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Is `other` this cgroup or below it?
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let mut inside = other.components();
        self.components().all(|component| inside.next() == Some(component))
    }

    pub(crate) fn of_components<'a>(components: impl IntoIterator<Item = &'a str>) -> Self {
        Self(format!("/{}", components.into_iter().collect::<Vec<_>>().join("/")))
    }
}

impl fmt::Display for CgroupPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The tree as it is mounted here.
#[derive(Debug, Clone)]
pub struct CgroupTree {
    mount: PathBuf,
}

impl CgroupTree {
    /// Finds where the root of the cgroup v2 tree is mounted.
    pub fn find() -> Result<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo")
            .map_err(|error| Error::kernel("read /proc/self/mountinfo", error))?;
        let folders: Vec<PathBuf> = mounts.lines().filter_map(mounted_at).collect();
        let is_root = |folder: &PathBuf| fs::metadata(folder).is_ok_and(|data| data.ino() == ROOT_INODE);
        if let Some(mount) = folders.iter().find(|folder| is_root(folder)) {
            return Ok(Self { mount: mount.clone() });
        }
        Err(match folders.first() {
            None => Error::Host {
                cause: "no cgroup v2 tree is mounted".to_owned(),
                remedy: "mount -t cgroup2 none /sys/fs/cgroup".to_owned(),
            },
            Some(folder) => Error::Host {
                cause: format!("{} is only a part of the cgroup tree", folder.display()),
                remedy: "run ccctl on the host, not in a container".to_owned(),
            },
        })
    }

    /// Where it is mounted.
    #[must_use]
    pub fn mount(&self) -> &Path {
        &self.mount
    }

    /// The root, opened.
    pub(crate) fn open_root(&self) -> Result<File> {
        File::open(&self.mount).map_err(|error| Error::kernel(format!("open {}", self.mount.display()), error))
    }

    /// The folder of a cgroup.
    fn folder(&self, path: &CgroupPath) -> PathBuf {
        self.mount.join(path.as_str().trim_start_matches('/'))
    }

    /// Is there such a cgroup now?
    #[must_use]
    pub fn has(&self, path: &CgroupPath) -> bool {
        self.folder(path).is_dir()
    }

    /// A path as typed: from the root of the tree, or from that of the file system.
    pub fn path(&self, text: &str) -> Result<CgroupPath> {
        let mount = self.mount.to_string_lossy();
        let below = text.strip_prefix(mount.as_ref()).filter(|rest| rest.is_empty() || rest.starts_with('/'));
        CgroupPath::parse(match below {
            Some("") => "/",
            Some(rest) => rest,
            None => text,
        })
    }

    /// Refuses a path that is not there, naming what is.
    pub fn require(&self, path: &CgroupPath) -> Result<()> {
        if self.has(path) {
            return Ok(());
        }
        let mut parent = self.mount.clone();
        let mut missing = "";
        for component in path.components() {
            missing = component;
            if !parent.join(component).is_dir() {
                break;
            }
            parent.push(component);
        }
        let siblings: Vec<String> = folders_in(&parent).filter_map(|folder| name_of(&folder)).collect();
        let tip = "use --absent-ok if it will exist later";
        let hint = match closest(missing, siblings.iter().map(String::as_str)) {
            Some(similar) => {
                let above = parent.strip_prefix(&self.mount).unwrap_or(Path::new(""));
                format!("did you mean {}? {tip}", Path::new("/").join(above).join(similar).display())
            }
            None => format!("ls {}; {tip}", parent.display()),
        };
        Err(Error::Unknown { kind: "cgroup", name: path.to_string(), hint })
    }

    /// The cgroup that a process is in.
    pub fn of_process(pid: u32) -> Result<CgroupPath> {
        let unknown = |hint: String| Error::Unknown { kind: "process", name: pid.to_string(), hint };
        let text =
            fs::read_to_string(format!("/proc/{pid}/cgroup")).map_err(|_| unknown("ps -e lists them".to_owned()))?;
        let path = text.lines().find_map(|line| line.strip_prefix("0::"));
        let path = path.ok_or_else(|| unknown("it is not in a cgroup of version 2".to_owned()))?;
        if path.ends_with(" (deleted)") {
            return Err(unknown(format!("its cgroup {path} has been removed: restart the process")));
        }
        if path.starts_with("/..") {
            return Err(unknown("its cgroup is outside of this cgroup namespace: run ccctl on the host".to_owned()));
        }
        CgroupPath::parse(path)
    }

    /// All cgroups of this name.
    pub(crate) fn named(&self, name: &str) -> Vec<CgroupPath> {
        let mut found = Vec::new();
        let mut open = vec![self.mount.clone()];
        while let Some(folder) = open.pop() {
            for child in folders_in(&folder) {
                if name_of(&child).as_deref() == Some(name) {
                    let below = child.strip_prefix(&self.mount).unwrap_or(&child);
                    found.extend(CgroupPath::parse(&format!("/{}", below.display())));
                }
                open.push(child);
            }
        }
        found.sort();
        found
    }

    /// Names of all cgroups that could be a unit's.
    pub(crate) fn unit_names(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut open = vec![self.mount.clone()];
        while let Some(folder) = open.pop() {
            for child in folders_in(&folder) {
                found.extend(name_of(&child).filter(|name| name.contains('.')));
                open.push(child);
            }
        }
        found
    }
}

/// Where this line of mountinfo says that a cgroup v2 tree is; spaces and the like are escaped in octal.
fn mounted_at(line: &str) -> Option<PathBuf> {
    let (fields, kind) = line.split_once(" - ")?;
    let folder = fields.split(' ').nth(4)?;
    kind.starts_with("cgroup2 ").then(|| PathBuf::from(folder.replace("\\040", " ")))
}

fn folders_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path())
}

fn name_of(folder: &Path) -> Option<String> {
    folder.file_name().and_then(|name| name.to_str()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_form() {
        for (typed, form) in [("/", "/"), ("//", "/"), ("/a/", "/a"), ("//a//b", "/a/b"), ("/a b", "/a b")] {
            assert_eq!(CgroupPath::parse(typed).expect("a path").as_str(), form);
        }
        for wrong in ["", "a", "a/b", "/a/../b", "/.", &format!("/{}", "x".repeat(256)), &"/x".repeat(33)] {
            assert!(CgroupPath::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_cgroup_covers_itself_and_what_is_below() {
        let path = |text: &str| CgroupPath::parse(text).expect("a path");
        for (above, below, covers) in [
            ("/", "/", true),
            ("/", "/a/b", true),
            ("/a", "/a", true),
            ("/a", "/a/b", true),
            ("/a/b", "/a", false),
            ("/a", "/ab", false),
        ] {
            assert_eq!(path(above).covers(&path(below)), covers, "{above} {below}");
        }
    }

    #[test]
    fn a_mount_is_found_among_others() {
        let line = "41 31 0:38 / /sys/fs/cgroup/uni\\040fied rw,relatime shared:9 - cgroup2 cgroup2 rw";
        assert_eq!(mounted_at(line), Some(PathBuf::from("/sys/fs/cgroup/uni fied")));
        assert_eq!(mounted_at("32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu"), None);
    }
}
