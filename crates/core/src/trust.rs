// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that ccctl acts on with its rights: read whole and once, and only where nobody but root can have written them.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

use ccctl_console::{Exit, Fault};
use nix::fcntl::OFlag;
use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};

/// As many links may lie on a path; the kernel's own limit.
const MOST_LINKS: usize = 40;
const GROUP_AND_OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// What is accepted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trust {
    /// What root alone, or the calling user, can write.
    #[default]
    Checked,
    /// Also what others can write: `--trust-writable`.
    Writable,
}

impl Trust {
    /// As the option says it.
    #[must_use]
    pub fn of_option(trust_writable: bool) -> Self {
        if trust_writable {
            Self::Writable
        } else {
            Self::Checked
        }
    }
}

/// Why a file was not read.
#[derive(Debug)]
pub enum Unread {
    /// The kernel's answer.
    Failed(io::Error),
    /// It is not to be acted on.
    Refused(Fault),
}

/// Reads a file of at most `most_bytes`. What it is is asked before it is opened: a FIFO would be waited for.
pub fn read(path: &Path, most_bytes: u64, trust: Trust) -> Result<Vec<u8>, Unread> {
    let handle = OpenOptions::new().read(true).custom_flags(OFlag::O_PATH.bits()).open(path).map_err(Unread::Failed)?;
    let found = handle.metadata().map_err(Unread::Failed)?;
    if found.is_dir() {
        return Err(Unread::Failed(io::ErrorKind::IsADirectory.into()));
    }
    if !found.is_file() {
        return refused(Exit::Usage, format!("{} is not a regular file", path.display()), "copy it to a regular file");
    }
    if trust == Trust::Checked {
        require_trusted(path, &found)?;
    }
    let mut bytes = Vec::new();
    let file = File::open(format!("/proc/self/fd/{}", handle.as_raw_fd())).map_err(Unread::Failed)?;
    file.take(most_bytes + 1).read_to_end(&mut bytes).map_err(Unread::Failed)?;
    if bytes.len() as u64 > most_bytes {
        let cause = format!("{} is larger than {} MB", path.display(), most_bytes >> 20);
        return refused(Exit::Usage, cause, "check the file's name");
    }
    Ok(bytes)
}

fn refused<T>(exit: Exit, cause: String, remedy: impl Into<String>) -> Result<T, Unread> {
    Err(Unread::Refused(Fault::new(exit, cause, remedy)))
}

/// Why the API's socket is not made in this folder: others could put a socket of their own there, and commands would ask
/// that; or a folder above could be exchanged. None where only root can write it.
///
/// # Errors
/// A folder on the way that cannot be looked at.
pub fn require_own_folder(folder: &Path) -> io::Result<Option<Fault>> {
    let (open, end) = first_open(folder)?;
    let is_shared = |stat: &Metadata| stat.mode() & GROUP_AND_OTHERS_WRITE != 0;
    let open = open.or_else(|| Some(end).filter(|(_, stat)| is_shared(stat)));
    Ok(open.map(|(place, stat)| {
        let above = if place == folder { String::new() } else { format!(", above {}", folder.display()) };
        let remedy = format!("chmod 0755 {}, or set another [api] socket: /run/ccctl/ccctl.sock", place.display());
        Fault::new(
            Exit::Refused,
            format!("{}{above}: ccctl does not create a socket there", open_text(&place, &stat)),
            remedy,
        )
    }))
}

/// Nobody else can write the file, or put another in its place: by a folder above it, or a link on the way.
fn require_trusted(path: &Path, found: &Metadata) -> Result<(), Unread> {
    let (open, (_, end)) = first_open(path).map_err(Unread::Failed)?;
    if let Some((place, stat)) = open {
        let above = if place == path { String::new() } else { format!(", above {}", path.display()) };
        let remedy =
            "copy the file to where only root can write (install -m644 FILE /etc/ccctl/), or use --trust-writable";
        return refused(Exit::Refused, format!("{}{above}", open_text(&place, &stat)), remedy);
    }
    if (end.dev(), end.ino()) != (found.dev(), found.ino()) {
        return refused(
            Exit::Refused,
            format!("{} was replaced while it was read", path.display()),
            "run the command again",
        );
    }
    Ok(())
}

/// A path, and what is there.
type Place = (PathBuf, Metadata);

/// The first place on the way to a path, links included, that others than root can write; and the end of the way.
fn first_open(path: &Path) -> io::Result<(Option<Place>, Place)> {
    let mut here = PathBuf::from("/");
    let mut ahead = parts(&std::path::absolute(path)?);
    let (mut links, mut open) = (0, None);
    while let Some(part) = ahead.pop() {
        match Path::new(&part).components().next() {
            Some(Component::RootDir) => here = PathBuf::from("/"),
            Some(Component::ParentDir) => {
                here.pop();
            }
            _ => here.push(&part),
        }
        let stat = fs::symlink_metadata(&here)?;
        if open.is_none() && !is_own(&stat) {
            open = Some((here.clone(), stat.clone()));
        }
        if stat.is_symlink() {
            links += 1;
            if links > MOST_LINKS {
                return Err(nix::errno::Errno::ELOOP.into());
            }
            ahead.extend(parts(&fs::read_link(&here)?));
            here.pop();
        }
    }
    let end = fs::symlink_metadata(&here)?;
    Ok((open, (here, end)))
}

/// The parts of a path, the first one last.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter(|component| *component != Component::CurDir);
    let mut parts: Vec<OsString> = parts.map(|component| component.as_os_str().to_owned()).collect();
    parts.reverse();
    parts
}

/// In a folder with the sticky bit, such as /tmp, others may make files and not touch those of root. Anybody may seem to be
/// able to write a link, and nobody can.
fn is_own(stat: &Metadata) -> bool {
    let is_ours = stat.uid() == 0 || stat.uid() == geteuid().as_raw();
    let is_open = stat.mode() & GROUP_AND_OTHERS_WRITE != 0 && !stat.is_symlink();
    is_ours && (!is_open || stat.is_dir() && stat.mode() & STICKY != 0)
}

fn open_text(place: &Path, stat: &Metadata) -> String {
    let (owner, mode) = (stat.uid(), stat.mode() & 0o7777);
    format!("other users than root can write {} (owner {owner}, mode {mode:04o})", place.display())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::{symlink, PermissionsExt as _};

    struct Folder(PathBuf);

    impl Folder {
        fn new(label: &str) -> Self {
            let path = std::env::temp_dir().join(format!("ccctl-trust-{}-{label}", std::process::id()));
            fs::create_dir(&path).unwrap();
            let folder = Self(path);
            folder.mode("", 0o755);
            folder
        }

        fn file(&self, name: &str) -> PathBuf {
            let path = self.0.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "12345678").unwrap();
            self.mode(name, 0o644);
            path
        }

        fn mode(&self, name: &str, mode: u32) {
            fs::set_permissions(self.0.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0); // what stays is in the folder for temporary files
        }
    }

    fn why(path: &Path) -> String {
        match read(path, 8, Trust::Checked) {
            Ok(bytes) => format!("{} bytes", bytes.len()),
            Err(Unread::Failed(error)) => error.to_string(),
            Err(Unread::Refused(fault)) => fault.cause,
        }
    }

    #[test]
    fn attack_files_that_others_can_write_are_refused_by_name_owner_and_mode() {
        let folder = Folder::new("modes");
        let file = folder.file("inner/file");
        folder.mode("inner", 0o755);
        assert_eq!(why(&file), "8 bytes", "/tmp is sticky");
        folder.mode("inner/file", 0o664);
        assert!(why(&file).contains("file (owner 0, mode 0664)") || geteuid().as_raw() != 0, "{}", why(&file));
        folder.mode("inner/file", 0o644);
        folder.mode("inner", 0o777);
        assert!(why(&file).contains("inner (owner") && why(&file).contains("mode 0777), above"), "{}", why(&file));
        assert!(matches!(read(&file, 8, Trust::Writable), Ok(bytes) if bytes.len() == 8));
        folder.mode("inner", 0o1777);
        assert_eq!(why(&file), "8 bytes");
        if geteuid().is_root() {
            std::os::unix::fs::chown(&file, Some(65534), None).unwrap();
            assert!(why(&file).contains("owner 65534, mode 0644"), "{}", why(&file));
        }
    }

    #[test]
    fn attack_a_link_leads_through_no_folder_of_others() {
        let folder = Folder::new("links");
        let file = folder.file("good/file");
        folder.mode("good", 0o755);
        folder.file("open/other");
        folder.mode("open", 0o777);
        symlink("../good/file", folder.0.join("open/link")).unwrap();
        symlink("open/link", folder.0.join("through")).unwrap();
        symlink("good/../good/file", folder.0.join("direct")).unwrap();
        symlink("loop", folder.0.join("loop")).unwrap();
        assert_eq!(why(&file), "8 bytes");
        assert_eq!(why(&folder.0.join("direct")), "8 bytes");
        assert!(why(&folder.0.join("through")).contains("open (owner"), "{}", why(&folder.0.join("through")));
        assert!(why(&folder.0.join("loop")).contains("symbolic links"), "{}", why(&folder.0.join("loop")));
    }

    #[test]
    fn what_is_too_large_or_no_file_is_not_read() {
        let folder = Folder::new("kinds");
        fs::write(folder.file("file"), "123456789").unwrap();
        assert!(why(&folder.0.join("file")).contains("larger than"));
        nix::unistd::mkfifo(&folder.0.join("fifo"), nix::sys::stat::Mode::S_IRUSR).unwrap();
        assert!(why(&folder.0.join("fifo")).contains("not a regular file"));
        assert!(why(Path::new("/dev/zero")).contains("not a regular file"));
    }
}
