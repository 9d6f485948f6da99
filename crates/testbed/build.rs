// SPDX-License-Identifier: GPL-2.0-only
//! Compiles the testbed's BPF programs.

use std::env;
use std::error::Error;
use std::path::PathBuf;

#[path = "../catalog/compile_bpf.rs"]
mod compile_bpf;

const PROGRAMS: [&str; 6] = ["empty_hooks", "empty_sockops", "empty_trace", "function_time", "marker", "tcp_state"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo:rerun-if-env-changed=CLANG");
    for folder in ["bpf/include", "crates/testbed/bpf", "crates/catalog/compile_bpf.rs"] {
        println!("cargo:rerun-if-changed={}", root.join(folder).display());
    }
    for name in PROGRAMS {
        compile_bpf::compile(&root, &root.join(format!("crates/testbed/bpf/{name}.bpf.c")), &out)?;
    }
    Ok(())
}
