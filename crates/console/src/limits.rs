// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits of the process.

use nix::sys::resource::{getrlimit, setrlimit, Resource};

/// Raises the limit on open files to what the user may have. A shell's limit is a quarter of what many sockets need, and
/// nothing here depends on a low one.
pub fn raise_file_limit() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        if soft < hard {
            let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard); // the low one is enough for most
        }
    }
}
