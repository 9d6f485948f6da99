// SPDX-License-Identifier: GPL-2.0-only
//! Compiles an algorithm's C file into a library.

use std::path::{Path, PathBuf};

use anyhow::{ensure, Context as _, Result};
use ccctl_catalog::{clang_path, Target};

/// Where the algorithms are: `scripts/compare-modules` runs in the tree's top folder, tests run in the crate's.
pub fn bpf_folder() -> PathBuf {
    PathBuf::from(if cfg!(test) { "../../bpf" } else { "bpf" })
}

/// Compiles one; `counted`: with counters for branches.
pub fn compile(source: &Path, include: &Path, out: &Path, counted: bool) -> Result<()> {
    let clang = clang_path();
    let mut command = ccctl_catalog::clang(Target::Native);
    command.args(["-O1", "-g", "-w"]);
    if counted {
        command.args(["-fprofile-instr-generate", "-fcoverage-mapping"]);
    }
    command.arg("-I").arg(include).arg(source).arg("-o").arg(out);
    let output = command.output().with_context(|| format!("cannot run {clang}"))?;
    ensure!(
        output.status.success(),
        "{clang} refused {}: {}",
        source.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
