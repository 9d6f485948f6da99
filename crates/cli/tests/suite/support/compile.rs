// SPDX-License-Identifier: MIT OR Apache-2.0
//! Algorithms that a test brings along: compiled as the build compiles those that come with ccctl.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ccctl_testbed::run_ok;

use super::{Folder, CCCTL};

const LIMIT: Duration = Duration::from_secs(60);

/// Compiles the text of a C file to `LABEL.bpf.o` and gives its path.
#[track_caller]
pub fn compile(folder: &Folder, source: &str, label: &str) -> String {
    let file = folder.file(&format!("{label}.bpf.c"), source);
    let object = folder.path().join(format!("{label}.bpf.o"));
    let root = format!("{}/../..", env!("CARGO_MANIFEST_DIR"));
    let mut clang = Command::new(std::env::var("CLANG").unwrap_or_else(|_| "clang".to_owned()));
    clang.args(["-target", "bpf", "-mcpu=v3", "-std=gnu11", "-O2", "-g", "-c", &file, "-o"]).arg(&object);
    clang.arg(format!("-I{root}/bpf/include"));
    for headers in libbpf_headers() {
        clang.arg("-isystem").arg(headers);
    }
    run_ok(&mut clang, LIMIT).unwrap();
    object.to_str().unwrap().to_owned()
}

/// The headers of the vendored libbpf lie beside the program under test.
pub fn libbpf_headers() -> Vec<PathBuf> {
    let build = Path::new(CCCTL).with_file_name("build");
    let outputs =
        std::fs::read_dir(build).into_iter().flatten().flatten().map(|entry| entry.path().join("out/include"));
    outputs.filter(|headers| headers.join("bpf/bpf_helpers.h").exists()).collect()
}
