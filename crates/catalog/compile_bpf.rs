// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a BPF program is compiled; the build scripts of this crate, of the lab and of the telemetry share it.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "src/clang_flags.rs"]
mod clang_flags;

use clang_flags::{CLANG_FLAGS, CLANG_WARNINGS};

/// The file's name without this ending.
pub fn stem(path: &Path, ending: &str) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.strip_suffix(ending).map_or(name.clone(), str::to_owned)
}

/// Runs clang in the root, on relative paths, so that the object does not depend on where the tree lies.
pub fn compile(root: &Path, source: &Path, out: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let libbpf_headers = env::var("DEP_BPF_INCLUDE")?;
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let object = out.join(stem(source, ".c") + ".o");
    let status = Command::new(&clang)
        .current_dir(root)
        .args(CLANG_FLAGS)
        .args(CLANG_WARNINGS)
        .arg("-Werror")
        .arg("-fdebug-compilation-dir=.")
        .arg(format!("-ffile-prefix-map={libbpf_headers}=libbpf"))
        .args(["-I", "bpf/include", "-isystem", &libbpf_headers])
        .arg("-c")
        .arg(source.strip_prefix(root)?)
        .arg("-o")
        .arg(&object)
        .status()
        .map_err(|error| format!("cannot run {clang}: {error}; install clang 14 or newer, or set CLANG"))?;
    if !status.success() {
        return Err(format!("{clang} refused {}", source.display()).into());
    }
    Ok(object)
}
