// SPDX-License-Identifier: MIT OR Apache-2.0
//! Algorithms that do not come with ccctl: a command line names their files, or they are in the administrator's folder, and
//! then the whole process knows them.

use std::sync::{PoisonError, RwLock};

use crate::btf::LayoutError;
use crate::{object_hash, Algorithm, Layout, ALGORITHMS};

static ADDED: RwLock<Vec<&'static Algorithm>> = RwLock::new(Vec::new());

/// Why an algorithm was not added.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// Its name means another one.
    #[error("there is another algorithm {0}")]
    Taken(String),
    /// Its object cannot be read.
    #[error("the object of {name}: {error}")]
    Layout {
        /// Algorithm.
        name: String,
        /// Why not.
        error: LayoutError,
    },
}

/// Adds an algorithm for as long as the process runs: its name, its object, and its C source, which is empty where there is
/// only the object. Adding the same object again changes nothing.
pub fn add(name: &str, object: Vec<u8>, source: String) -> Result<&'static Algorithm, AddError> {
    enter(name, object, source, false)
}

/// The same of an object without source, which takes the place of one that was added under this name before.
pub fn replace(name: &str, object: Vec<u8>) -> Result<&'static Algorithm, AddError> {
    enter(name, object, String::new(), true)
}

/// Forgets one that was added. Who has it already keeps it.
pub fn remove(name: &str) {
    ADDED.write().unwrap_or_else(PoisonError::into_inner).retain(|known| known.name != name);
}

fn enter(name: &str, object: Vec<u8>, source: String, replaces: bool) -> Result<&'static Algorithm, AddError> {
    let hash = object_hash(&object);
    Layout::of_object(name, &object).map_err(|error| AddError::Layout { name: name.to_owned(), error })?;
    let mut added = ADDED.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = added.iter().find(|known| known.name == name && known.hash == hash) {
        return Ok(known);
    }
    let others = added.iter().copied().filter(|_| !replaces);
    if ALGORITHMS.iter().chain(others).any(|known| known.name == name) {
        return Err(AddError::Taken(name.to_owned()));
    }
    added.retain(|known| known.name != name);
    // Everybody who asks for an algorithm keeps it for ever: a command line names few, and an administrator changes few.
    let algorithm = Box::leak(Box::new(Algorithm {
        name: String::leak(name.to_owned()),
        object: Vec::leak(object),
        hash,
        source: String::leak(source),
    }));
    added.push(algorithm);
    Ok(algorithm)
}

/// All that were added, in the order in which they were.
#[must_use]
pub fn added() -> Vec<&'static Algorithm> {
    ADDED.read().unwrap_or_else(PoisonError::into_inner).clone()
}

pub(crate) fn named(name: &str) -> Option<&'static Algorithm> {
    added().into_iter().find(|known| known.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{algorithm, names};

    #[test]
    fn what_is_added_is_found_and_takes_no_name_from_another() {
        let object = algorithm("reno").expect("it exists").object().to_vec();
        assert!(matches!(add("reno", object.clone(), String::new()), Err(AddError::Taken(name)) if name == "reno"));
        assert!(matches!(add("other", object.clone(), String::new()), Err(AddError::Layout { .. })), "not its name");
        assert!(matches!(add("other", vec![1, 2, 3], String::new()), Err(AddError::Layout { .. })));
        assert!(matches!(replace("reno", object), Err(AddError::Taken(name)) if name == "reno"));
        assert!(algorithm("other").is_none() && names() == ALGORITHMS.iter().map(Algorithm::name).collect::<Vec<_>>());
    }
}
