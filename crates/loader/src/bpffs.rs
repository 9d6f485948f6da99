// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where instances are pinned.
//!
//! Whoever can make or move a pin decides what ccctl takes for its own, so folders of others are refused before each use.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use nix::sys::statfs::{statfs, FsType};

use crate::error::{Error, Result};
use crate::kernel::available_algorithms;
use crate::lock::Lock;
use crate::mount_view::require_lasting;
pub use crate::mount_view::BPFFS;

/// Everything of ours in it.
pub const PIN_ROOT: &str = "/sys/fs/bpf/ccctl";
/// Format of the pins: their names, and what the maps behind them hold. It changes where a ccctl cannot take over what the
/// one before has pinned (docs/reference/upgrades.md); the rules have a number of their own.
pub const PIN_FORMAT: u32 = 1;
/// How to mount it: the kernel's own default lets everybody make files in it.
pub const MOUNT: &str = "mount -t bpf -o mode=0700 bpf /sys/fs/bpf";

const BPF_FS_MAGIC: i64 = 0xcafe_4a11; // include/uapi/linux/magic.h
/// Permissions of group and others; their permission to write; the sticky bit.
const OTHERS: u32 = 0o077;
const OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// Is a BPF file system mounted at [`BPFFS`]?
#[must_use]
pub fn mounted() -> bool {
    statfs(BPFFS).is_ok_and(|stat| stat.filesystem_type() == FsType(BPF_FS_MAGIC))
}

/// Refuses to go on where there is nothing to pin to.
pub fn require() -> Result<()> {
    require_lasting()?;
    if mounted() {
        return Ok(());
    }
    Err(Error::Host { cause: format!("no BPF file system is mounted at {BPFFS}"), remedy: MOUNT.to_owned() })
}

/// Folder of the instances, in [`PIN_ROOT`].
const INSTANCES: &str = "instances";
/// How the names of programs that count sockets begin.
const COUNTER: &str = "counter-";
/// What the kernel's types say.
const KERNEL_OPS: &str = "kernel-types";
/// Those of them that programs are relocated by.
const RELOCATION_TYPES: &str = "relocation-types";

/// Our folder, looked at a moment ago: nobody else can make, move or remove what is in it. There is no other way to the
/// path of a pin.
pub(crate) struct PinFolder {
    root: &'static Path,
}

impl PinFolder {
    /// None where there is none: nothing is pinned then, whatever others may put there next.
    pub(crate) fn find() -> Result<Option<Self>> {
        require_mount()?;
        let root = Path::new(PIN_ROOT);
        Ok(is_private(root)?.then_some(Self { root }))
    }

    /// Makes it where there is none.
    pub(crate) fn make() -> Result<Self> {
        require()?;
        require_mount()?;
        let root = Path::new(PIN_ROOT);
        for folder in [root.to_owned(), root.join(INSTANCES)] {
            match fs::DirBuilder::new().mode(0o700).create(&folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(Error::kernel(format!("create {}", folder.display()), error));
                }
                _ => is_private(&folder)?,
            };
        }
        Ok(Self { root })
    }

    /// Names of the files of instances.
    fn instances(&self) -> Result<Vec<String>> {
        let folder = self.root.join(INSTANCES);
        if !is_private(&folder)? {
            return Ok(Vec::new());
        }
        let entries = fs::read_dir(folder).map_err(|error| Error::kernel(format!("read {PIN_ROOT}"), error))?;
        Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
    }

    /// Pin of the instance with this kernel name.
    pub(crate) fn instance(&self, name: &str) -> Result<PathBuf> {
        let folder = self.root.join(INSTANCES);
        is_private(&folder)?;
        Ok(folder.join(name.replace('.', DOT)))
    }

    /// Pin of the table of defaults that `load --default` replaced.
    pub(crate) fn defaults(&self) -> PathBuf {
        self.root.join("defaults")
    }

    /// Pin of the table of marks.
    pub(crate) fn marks(&self) -> PathBuf {
        self.root.join("marks")
    }

    /// Pin of the program that counts sockets, of the build with this number.
    pub(crate) fn counter(&self, build: u64) -> PathBuf {
        self.root.join(format!("{COUNTER}{build:016x}"))
    }

    /// Pin of what the kernel's types say.
    pub(crate) fn kernel_ops(&self) -> PathBuf {
        self.root.join(KERNEL_OPS)
    }

    /// Pin of the types that programs are relocated by.
    pub(crate) fn relocation_types(&self) -> PathBuf {
        self.root.join(RELOCATION_TYPES)
    }

    /// Pin of the map of connections' own parameters.
    pub(crate) fn own_params(&self) -> PathBuf {
        self.root.join("own-parameters")
    }

    /// Removes what serves instances, of all builds.
    fn remove_kept(&self) {
        for entry in fs::read_dir(self.root).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name == KERNEL_OPS || name == RELOCATION_TYPES || name.to_string_lossy().starts_with(COUNTER) {
                // Where it stays, the folder is not empty, and stays too.
                let _ = fs::remove_file(entry.path());
            }
        }
        // Rules need it as well.
        if !self.rules().exists() {
            let _ = fs::remove_file(self.own_params());
        }
    }

    /// Pin of the link that holds the rules.
    pub(crate) fn rules(&self) -> PathBuf {
        self.root.join("rules")
    }
}

/// What somebody may do to the folder that ours is in, they do to ours. In one with the sticky bit, each user may only
/// touch what is his.
fn require_mount() -> Result<()> {
    let found = match fs::symlink_metadata(BPFFS) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()), // nor is there a mount to refuse
        Err(error) => return Err(Error::kernel(format!("inspect {BPFFS}"), error)),
    };
    let is_open = found.mode() & OTHERS_WRITE != 0 && found.mode() & STICKY == 0;
    if found.is_dir() && is_trusted(&found) && !is_open {
        return Ok(());
    }
    let (owner, mode) = (found.uid(), found.mode() & 0o7777);
    Err(Error::Host {
        cause: format!("other users can replace the contents of {BPFFS} (owner {owner}, mode {mode:04o})"),
        remedy: format!("umount {BPFFS} && {MOUNT}"),
    })
}

/// False where there is nothing; refuses what somebody else has made or may look into.
fn is_private(folder: &Path) -> Result<bool> {
    let found = match fs::symlink_metadata(folder) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Error::kernel(format!("inspect {}", folder.display()), error)),
    };
    let what = match () {
        () if found.is_symlink() => "is a symbolic link".to_owned(),
        () if !found.is_dir() => "is not a folder".to_owned(),
        () if !is_trusted(&found) => format!("belongs to user {}", found.uid()),
        () if found.mode() & OTHERS != 0 => format!("is open to others (mode {:04o})", found.mode() & 0o7777),
        () => return Ok(true),
    };
    Err(Error::Host {
        cause: format!("{} {what}: its contents may not be ccctl's", folder.display()),
        remedy: format!("find out whose it is, then rm -r {}, and chmod 0700 {BPFFS}", folder.display()),
    })
}

/// Root's, or of the user that ccctl runs as.
fn is_trusted(found: &fs::Metadata) -> bool {
    found.uid() == 0 || found.uid() == nix::unistd::geteuid().as_raw()
}

/// May others make files in the BPF file system?
pub(crate) fn is_open_to_others() -> bool {
    fs::symlink_metadata(BPFFS).is_ok_and(|found| found.mode() & OTHERS_WRITE != 0)
}

/// The BPF file system allows no dot in a file's name, and the kernel no dash in an algorithm's.
const DOT: &str = "-";

/// Pin of the instance with this kernel name, which there is.
pub(crate) fn require_instance_pin(name: &str) -> Result<PathBuf> {
    let missing = || Error::kernel(format!("open the pin of {name}"), io::ErrorKind::NotFound.into());
    PinFolder::find()?.ok_or_else(missing)?.instance(name)
}

/// Removes the folders where they are empty, so that the host is as it was found, and before them what serves instances.
pub(crate) fn remove_empty_folders() {
    let Ok(Some(folder)) = PinFolder::find() else { return };
    if folder.instances().is_ok_and(|names| names.is_empty()) {
        folder.remove_kept();
    }
    for folder in [Path::new(PIN_ROOT).join(INSTANCES), PathBuf::from(PIN_ROOT)] {
        // A folder with something in it stays: that is what an error means here.
        let _ = fs::remove_dir(folder);
    }
}

/// Names of all pinned instances, sorted.
pub(crate) fn instance_names() -> Result<Vec<String>> {
    require_lasting()?;
    let Some(folder) = PinFolder::find()? else { return Ok(Vec::new()) };
    let mut names: Vec<String> = folder.instances()?.iter().map(|file| file.replace(DOT, ".")).collect();
    names.sort();
    Ok(names)
}

/// Is this a pin whose algorithm the kernel does not know? A kill has left it, or somebody is loading or unloading at
/// this moment: on kernels without links the pin is made before the registration and removed after it.
pub(crate) fn is_leftover(name: &str) -> Result<bool> {
    let pinned = instance_names()?.iter().any(|known| known == name);
    Ok(pinned && !available_algorithms()?.iter().any(|known| known == name))
}

/// Takes such a pin away; true where there was one. Whoever calls it holds the lock: nobody is at work on it.
pub(crate) fn remove_leftover(_lock: &Lock, name: &str) -> Result<bool> {
    if !is_leftover(name)? {
        return Ok(false);
    }
    let path = require_instance_pin(name)?;
    fs::remove_file(&path).map_err(|error| Error::kernel(format!("remove {}", path.display()), error))?;
    Ok(true)
}
