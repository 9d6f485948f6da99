// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the administrator's own files are.

use std::path::PathBuf;

const FOLDER: &str = "/etc/ccctl";
/// Names another folder, which tests do.
const FOLDER_VARIABLE: &str = "CCCTL_ETC";

fn administrators(name: &str) -> PathBuf {
    std::env::var_os(FOLDER_VARIABLE).map_or_else(|| FOLDER.into(), PathBuf::from).join(name)
}

/// Object files of further algorithms.
#[must_use]
pub fn algorithm_folder() -> PathBuf {
    administrators("algorithms")
}

/// Profiles, which are looked for here before those built in.
#[must_use]
pub fn profile_folder() -> PathBuf {
    administrators("profiles")
}
