// SPDX-License-Identifier: MIT OR Apache-2.0
//! The administrator's own algorithms: the object files of one folder, each known by the name of its file.
//!
//! A file that is refused is left out, with the reason; it changes nothing for the others.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ccctl_catalog::{algorithm_folder, object_hash, AddError, ObjectHash};
use ccctl_console::{Exit, Fault};
use ccctl_loader::Program;

use crate::error::fault;
use crate::object_scan::{self, Depth, MOST_OBJECT_BYTES};
use crate::trust::{self, Trust, Unread};

/// Endings of object files; what is before them is the name.
const ENDINGS: [&str; 2] = [".bpf.o", ".o"];
/// Most object files of the folder.
const MOST_FILES: usize = 100;

/// A file that is not used.
#[derive(Debug, Clone)]
pub struct RefusedFile {
    /// Name that it would have.
    pub name: String,
    /// Why not, and what to do.
    pub fault: Fault,
}

/// What was found when the folder was last looked at.
#[derive(Default)]
struct Folder {
    /// Those in the catalogue, with their files.
    files: BTreeMap<String, PathBuf>,
    refused: Vec<RefusedFile>,
    /// What opening each object has shown, so that it is opened once: a daemon looks often.
    opened: HashMap<ObjectHash, Result<String, Fault>>,
}

static FOLDER: Mutex<Option<Folder>> = Mutex::new(None);

/// Brings the catalogue to what the folder has now.
pub fn refresh() {
    let mut known = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
    let mut before = known.take().unwrap_or_default();
    let mut now = Folder::default();
    for (name, file) in object_files(&algorithm_folder(), &mut now.refused) {
        match accept(&name, &file, &before, &mut now) {
            Ok(()) => drop(now.files.insert(name, file)),
            Err(fault) => now.refused.push(RefusedFile { name, fault }),
        }
    }
    before.files.retain(|name, _| !now.files.contains_key(name));
    before.files.keys().for_each(|name| ccctl_catalog::remove(name));
    *known = Some(now);
}

/// The files that were not taken at the last look.
#[must_use]
pub fn refused() -> Vec<RefusedFile> {
    let known = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
    known.as_ref().map_or_else(Vec::new, |folder| folder.refused.clone())
}

/// Why the file of this name was not taken.
#[must_use]
pub fn refusal_of(name: &str) -> Option<Fault> {
    refused().into_iter().find(|refused| refused.name == name).map(|refused| refused.fault)
}

/// Names and files of those in the catalogue.
#[must_use]
pub fn files() -> BTreeMap<String, PathBuf> {
    let known = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
    known.as_ref().map_or_else(BTreeMap::new, |folder| folder.files.clone())
}

/// The object files by name, in the order of their names. A folder that is not there is an empty one.
fn object_files(folder: &Path, refused: &mut Vec<RefusedFile>) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                refused.push(unlistable(folder, &error));
            }
            return found;
        }
    };
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    for file_name in names {
        let text = file_name.to_string_lossy();
        let Some(name) = ENDINGS.iter().find_map(|ending| text.strip_suffix(ending)) else { continue };
        let file = folder.join(&file_name);
        if let Err(fault) = require_name(name, &file, &found) {
            refused.push(RefusedFile { name: name.escape_debug().to_string(), fault });
        } else {
            found.insert(name.to_owned(), file);
        }
    }
    found
}

fn unlistable(folder: &Path, error: &io::Error) -> RefusedFile {
    let cause = format!("list {}: {error}", folder.display());
    let remedy = format!("make it a folder that only root can write: install -d -m755 {}", folder.display());
    RefusedFile { name: String::new(), fault: Fault::new(Exit::Usage, cause, remedy) }
}

fn require_name(name: &str, file: &Path, found: &BTreeMap<String, PathBuf>) -> Result<(), Fault> {
    let file = file.to_string_lossy();
    let refused = |cause: String, remedy: &str| Err(Fault::new(Exit::Usage, cause, remedy));
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if name.is_empty() || !name.chars().all(is_word) {
        let cause = format!("{} is not named after an algorithm", file.escape_debug());
        return refused(cause, "name it as CC_ALGORITHM does, NAME.o: letters, digits and _");
    }
    if let Some(other) = found.get(name) {
        let cause = format!("{file}: {} has the same name", other.display());
        return refused(cause, "remove one of the two files");
    }
    if ccctl_catalog::algorithms().iter().any(|algorithm| algorithm.name() == name) {
        let cause = format!("{file}: ccctl has an algorithm {name} of its own");
        return refused(
            cause,
            "rename yours in CC_PARAMS and CC_ALGORITHM, compile it again, and name the file after it",
        );
    }
    if found.len() >= MOST_FILES {
        return refused(format!("{file}: there are more than {MOST_FILES} files"), "remove files that are not used");
    }
    Ok(())
}

/// Enters a file's algorithm in the catalogue.
fn accept(name: &str, file: &Path, before: &Folder, now: &mut Folder) -> Result<(), Fault> {
    let object = read(file)?;
    let hash = object_hash(&object);
    let known = before.opened.get(&hash).or_else(|| now.opened.get(&hash)).cloned();
    let opened = known.unwrap_or_else(|| open(file, &object));
    now.opened.insert(hash, opened.clone());
    let algorithm = opened?;
    if algorithm != name {
        let cause = format!("{}: its algorithm is called {algorithm}", file.display());
        let remedy = format!("name the file {}", file.with_file_name(format!("{algorithm}.o")).display());
        return Err(Fault::new(Exit::Usage, cause, remedy));
    }
    let entered = ccctl_catalog::replace(name, object);
    entered.map(|_| ()).map_err(|error| {
        let remedy = match &error {
            AddError::Layout { error, .. } => error.remedy(),
            AddError::Taken(_) => "rename yours".to_owned(),
        };
        Fault::new(Exit::Usage, format!("{}: {error}", file.display()), remedy)
    })
}

/// Only what root alone can write.
fn read(file: &Path) -> Result<Vec<u8>, Fault> {
    trust::read(file, MOST_OBJECT_BYTES, Trust::Checked).map_err(|unread| match unread {
        Unread::Failed(error) => {
            let remedy = "let it be a file that everybody can read and only root can write: install -m644 FILE";
            Fault::new(Exit::Usage, format!("read {}: {error}", file.display()), remedy)
        }
        Unread::Refused(fault) if fault.exit == Exit::Refused as u8 => {
            Fault { remedy: Some("chown root:root, and chmod go-w".to_owned()), ..fault }
        }
        Unread::Refused(fault) => fault,
    })
}

/// The name that the object gives its algorithm. Another process opens it first: a damaged file can crash that one.
fn open(file: &Path, object: &[u8]) -> Result<String, Fault> {
    let label = file.display().to_string();
    object_scan::look_to(Depth::Opened, &label, object).map_err(|error| fault(&error))?;
    let named = || -> anyhow::Result<String> {
        let program = Program::of_object(&label, object.to_vec())?;
        program.default_name()?;
        Ok(program.algorithm)
    };
    named().map_err(|error| fault(&error))
}
