// SPDX-License-Identifier: MIT OR Apache-2.0
//! One file, one folder.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

use crate::{Error, Result};

/// Where files of ccctl go that need not outlive the host.
pub const FOLDER: &str = "/run/ccctl";

/// The folder has the API's socket, which everybody may connect to; its files are closed.
const FOLDER_MODE: u32 = 0o755;
const FILE_MODE: u32 = 0o600;
/// Write permission of group and others.
const OTHERS_WRITE: u32 = 0o022;

/// Makes [`FOLDER`], or refuses one that others could have made or could change.
pub fn make_folder() -> Result<()> {
    let path = Path::new(FOLDER);
    match DirBuilder::new().mode(FOLDER_MODE).create(path) {
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(FOLDER_MODE)), // whatever the umask
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
    .map_err(Error::io(format!("create {FOLDER}")))?;
    let found = fs::symlink_metadata(path).map_err(Error::io(format!("inspect {FOLDER}")))?;
    require_owner(path, &found, "folder", found.is_dir())?;
    if found.mode() & OTHERS_WRITE != 0 {
        return Err(Error::Unsafe {
            path: path.to_owned(),
            what: format!("may be written by others (mode {:04o})", found.mode() & 0o7777),
            remedy: format!("chmod 0755 {FOLDER}, and remove the files in it that are not root's"),
        });
    }
    Ok(())
}

/// Opens a file for reading and writing, with mode 0600; makes it where there is none.
pub fn open(path: &Path) -> Result<File> {
    let step = || Error::io(format!("open {}", path.display()));
    let file = options().read(true).write(true).create(true).truncate(false).mode(FILE_MODE).open(path);
    let file = file.map_err(|error| link_or(path, error, step()))?;
    close_to_others(path, &file)?;
    Ok(file)
}

/// What is in a file; None where there is none. Files are short.
pub fn read(path: &Path) -> Result<Option<String>> {
    let step = || Error::io(format!("read {}", path.display()));
    let mut file = match options().read(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(link_or(path, error, step())),
    };
    let found = file.metadata().map_err(step())?;
    require_owner(path, &found, "file", found.is_file())?;
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(step())?;
    Ok(Some(text))
}

/// Puts a file in its place at one instant: whoever reads it meanwhile sees the old one or the new one, and a full file
/// system leaves the old one.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let new = beside(path);
    let step = || Error::io(format!("write {}", path.display()));
    let written = options()
        .write(true)
        .create_new(true)
        .mode(FILE_MODE)
        .open(&new)
        .and_then(|mut file| {
            file.set_permissions(Permissions::from_mode(FILE_MODE)).and_then(|()| file.write_all(bytes))
        })
        .and_then(|()| fs::rename(&new, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&new); // the error is what matters
        step()(error)
    })
}

/// Removes a file; none is as good.
pub fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io(format!("remove {}", path.display()))(error))
        }
        _ => Ok(()),
    }
}

/// A name that no other thread or process uses.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.{}", std::process::id(), nix::unistd::gettid()));
    path.with_file_name(name)
}

/// A FIFO is not waited for, and no link is followed.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits());
    options
}

/// `O_NOFOLLOW` answers ELOOP for a link.
fn link_or(path: &Path, error: io::Error, otherwise: impl FnOnce(io::Error) -> Error) -> Error {
    if error.raw_os_error() == Some(nix::errno::Errno::ELOOP as i32) {
        return not_ours(path, "is a symbolic link");
    }
    otherwise(error)
}

/// An earlier ccctl, or a umask, may have left it open to others.
fn close_to_others(path: &Path, file: &File) -> Result<()> {
    let step = || Error::io(format!("inspect {}", path.display()));
    let found = file.metadata().map_err(step())?;
    require_owner(path, &found, "file", found.is_file())?;
    if found.mode() & 0o7777 == FILE_MODE {
        return Ok(());
    }
    file.set_permissions(Permissions::from_mode(FILE_MODE)).map_err(Error::io(format!("chmod 0600 {}", path.display())))
}

/// Root's, or of the user that ccctl runs as.
fn require_owner(path: &Path, found: &Metadata, kind: &str, is_kind: bool) -> Result<()> {
    if !is_kind {
        let what = if found.is_symlink() { "is a symbolic link".to_owned() } else { format!("is not a {kind}") };
        return Err(not_ours(path, &what));
    }
    if found.uid() == 0 || found.uid() == nix::unistd::geteuid().as_raw() {
        return Ok(());
    }
    Err(not_ours(path, &format!("belongs to user {}, not to root", found.uid())))
}

fn not_ours(path: &Path, what: &str) -> Error {
    Error::Unsafe {
        path: path.to_owned(),
        what: what.to_owned(),
        remedy: format!("inspect it, then rm -r {}; ccctl creates a new one", path.display()),
    }
}
