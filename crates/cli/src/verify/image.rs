// SPDX-License-Identifier: MIT OR Apache-2.0
//! The guest's file system: this program with its libraries, the object, and folders to mount on.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::inside;

/// A program without a dynamic loader has no libraries.
const IS_STATIC: bool = cfg!(target_feature = "crt-static");
const FOLDER_MODE: u32 = 0o040_755;
const FILE_MODE: u32 = 0o100_755;

/// Writes the image, and gives its size in bytes.
pub fn write(file: &Path, object: &[u8]) -> io::Result<u64> {
    let program = Path::new("/proc/self/exe");
    let mut archive = Archive { file: fs::File::create(file)?, folders: Vec::new(), inode: 0 };
    for folder in inside::FOLDERS {
        archive.folder(Path::new(folder))?;
    }
    archive.add(Path::new(inside::PROGRAM), &fs::read(program)?)?;
    archive.add(Path::new(inside::OBJECT), object)?;
    for library in libraries(program)? {
        archive.add(&library, &fs::read(&library)?)?;
    }
    archive.end()?;
    Ok(fs::metadata(file)?.len())
}

/// The libraries and the loader, as the loader itself lists them: `NAME => PATH (ADDRESS)`.
fn libraries(program: &Path) -> io::Result<Vec<PathBuf>> {
    if IS_STATIC {
        return Ok(Vec::new());
    }
    let listed = Command::new(program).env("LD_TRACE_LOADED_OBJECTS", "1").stdin(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    Ok(text.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect())
}

/// A cpio archive of the kind that kernels take (`newc`).
struct Archive<W: Write> {
    file: W,
    folders: Vec<PathBuf>,
    inode: u32,
}

impl<W: Write> Archive<W> {
    /// A file, and the folders above it.
    fn add(&mut self, path: &Path, contents: &[u8]) -> io::Result<()> {
        if let Some(above) = path.parent() {
            self.folder(above)?;
        }
        self.entry(path, FILE_MODE, contents)
    }

    fn folder(&mut self, path: &Path) -> io::Result<()> {
        let Some(above) = path.parent() else { return Ok(()) }; // the root is there
        self.folder(above)?;
        if self.folders.iter().any(|known| known == path) {
            return Ok(());
        }
        self.folders.push(path.to_owned());
        self.entry(path, FOLDER_MODE, &[])
    }

    fn entry(&mut self, path: &Path, mode: u32, contents: &[u8]) -> io::Result<()> {
        self.inode += 1;
        let name = path.strip_prefix("/").unwrap_or(path);
        let mut entry = cpio::newc::Builder::new(&name.to_string_lossy()).ino(self.inode).nlink(1).mode(mode);
        entry = entry.uid(0).gid(0);
        let size = contents.len().try_into().map_err(io::Error::other)?;
        let mut writer = entry.write(&mut self.file, size);
        writer.write_all(contents)?;
        writer.finish().map(drop)
    }

    fn end(self) -> io::Result<()> {
        cpio::newc::trailer(self.file)?.flush()
    }
}
