//! Compiles `xdp/*.bpf.c` with clang, and makes the Rust types of what these programs tell from their header.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const PROGRAMS: [&str; 2] = ["arrival", "clock"];

fn main() -> Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo:rerun-if-env-changed=CLANG");
    println!("cargo:rerun-if-changed={}", root.join("xdp").display());
    for program in PROGRAMS {
        compile(&root, program, &out)?;
    }
    bindgen::Builder::default()
        .header(root.join("xdp/ack_clock.h").to_string_lossy())
        .use_core()
        .derive_default(true)
        .layout_tests(true)
        .generate()?
        .write_to_file(out.join("ack_clock.rs"))?;
    Ok(())
}

/// Runs clang in the root, on relative paths, so that the object does not depend on where the tree lies.
fn compile(root: &Path, program: &str, out: &Path) -> Result<()> {
    let libbpf_headers = env::var("DEP_BPF_INCLUDE")?;
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let status = Command::new(&clang)
        .current_dir(root)
        .args(["-g", "-O2", "-target", "bpf", "-mcpu=v3", "-std=gnu11", "-Wall", "-Wextra", "-Werror"])
        .args(["-Wno-unused-parameter", "-Wno-missing-declarations"])
        .arg("-fdebug-compilation-dir=.")
        .arg(format!("-ffile-prefix-map={libbpf_headers}=libbpf"))
        .args(["-I", "xdp", "-isystem", &libbpf_headers])
        .arg("-c")
        .arg(format!("xdp/{program}.bpf.c"))
        .arg("-o")
        .arg(out.join(format!("{program}.o")))
        .status()
        .map_err(|error| format!("cannot run {clang}: {error}; install clang 14 or newer, or set CLANG"))?;
    if !status.success() {
        return Err(format!("{clang} refused xdp/{program}.bpf.c").into());
    }
    Ok(())
}
