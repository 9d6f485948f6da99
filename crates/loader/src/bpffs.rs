//! Where instances are pinned.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nix::sys::statfs::{statfs, FsType};

use crate::default::available_algorithms;
use crate::error::{Error, Result};
use crate::lock::Lock;
use crate::mount_view::require_lasting;

/// Where the BPF file system is mounted.
pub const BPFFS: &str = "/sys/fs/bpf";
/// Everything of ours in it.
pub const PIN_ROOT: &str = "/sys/fs/bpf/ccctl";

const BPF_FS_MAGIC: i64 = 0xcafe_4a11; // include/uapi/linux/magic.h

/// Is a BPF file system mounted at [`BPFFS`]?
#[must_use]
pub fn mounted() -> bool {
    statfs(BPFFS).is_ok_and(|stat| stat.filesystem_type() == FsType(BPF_FS_MAGIC))
}

/// Refuses to go on where there is nothing to pin to.
pub(crate) fn require() -> Result<()> {
    require_lasting()?;
    if mounted() {
        return Ok(());
    }
    Err(Error::Host {
        cause: format!("no BPF file system is mounted at {BPFFS}"),
        remedy: format!("mount -t bpf bpf {BPFFS}"),
    })
}

fn instances_folder() -> PathBuf {
    Path::new(PIN_ROOT).join("instances")
}

/// The BPF file system allows no dot in a file's name, and the kernel no dash in an algorithm's.
const DOT: &str = "-";

/// Pin of the instance with this kernel name.
pub(crate) fn instance_pin(name: &str) -> PathBuf {
    instances_folder().join(name.replace('.', DOT))
}

/// Pin of the table of defaults that `load --default` replaced.
pub(crate) fn defaults_pin() -> PathBuf {
    Path::new(PIN_ROOT).join("defaults")
}

/// Pin of the table of marks.
pub(crate) fn marks_pin() -> PathBuf {
    Path::new(PIN_ROOT).join("marks")
}

/// Pin of the link that holds the rules.
pub(crate) fn rules_pin() -> PathBuf {
    Path::new(PIN_ROOT).join("rules")
}

/// Makes the folders; only root may look inside.
pub(crate) fn make_folders() -> Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    require()?;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(instances_folder())
        .map_err(|error| Error::kernel(format!("create {}", instances_folder().display()), error))
}

/// Removes the folders where they are empty, so that the host is as it was found.
pub(crate) fn remove_empty_folders() {
    for folder in [instances_folder(), PathBuf::from(PIN_ROOT)] {
        // A folder with something in it stays: that is what an error means here.
        let _ = fs::remove_dir(folder);
    }
}

/// Names of all pinned instances, sorted.
pub(crate) fn instance_names() -> Result<Vec<String>> {
    require_lasting()?;
    let entries = match fs::read_dir(instances_folder()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::kernel(format!("read {PIN_ROOT}"), error)),
    };
    let files = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = files.map(|file| file.replace(DOT, ".")).collect();
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
    let path = instance_pin(name);
    fs::remove_file(&path).map_err(|error| Error::kernel(format!("remove {}", path.display()), error))?;
    Ok(true)
}
