// SPDX-License-Identifier: MIT OR Apache-2.0
//! A folder of one test, removed at its end.

use std::fs;
use std::path::{Path, PathBuf};

pub struct Folder(PathBuf);

impl Folder {
    /// Makes it; the name of the test tells it from those of others.
    pub fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("ccctl-series-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
