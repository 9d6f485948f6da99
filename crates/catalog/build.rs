// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles every `bpf/algorithms/*.bpf.c` and `bpf/policy/*.bpf.c` with clang, and writes the list of them.
//!
//! No list of algorithms is kept anywhere: the files are the list.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::{Path, PathBuf};

#[path = "bind_c.rs"]
mod bind_c;
#[path = "compile_bpf.rs"]
mod compile_bpf;

use compile_bpf::{compile, stem};
use sha2::{Digest as _, Sha256};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What all of Rust has from C.
const SHARED_HEADERS: [&str; 3] =
    ["bpf/include/kernel/constants.h", "bpf/include/limits.h", "bpf/include/socket_stats.h"];

const HEADERS_OF_LIBBPF: [&str; 5] =
    ["bpf/bpf_core_read.h", "bpf/bpf_endian.h", "bpf/bpf_helper_defs.h", "bpf/bpf_helpers.h", "bpf/bpf_tracing.h"];

fn main() -> Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    let out = PathBuf::from(env::var("OUT_DIR")?);

    println!("cargo:rerun-if-env-changed=CLANG");
    println!("cargo:rerun-if-changed={}", root.join("bpf").display());
    println!("cargo:rerun-if-changed={}", root.join("configs/profiles").display());

    let mut list = String::new();
    writeln!(list, "pub(crate) static ALGORITHMS: &[crate::Algorithm] = &[")?;
    for source in files(&root.join("bpf/algorithms"), ".bpf.c")? {
        let name = stem(&source, ".bpf.c");
        let object = compile(&root, &source, &out)?;
        writeln!(
            list,
            "crate::Algorithm {{ name: {name:?}, object: include_bytes!({}), hash: {:?}, source: include_str!({}) }},",
            literal(&object),
            Sha256::digest(fs::read(&object)?).as_slice(),
            literal(&source)
        )?;
    }
    writeln!(list, "];\npub(crate) static PROFILES: &[(&str, &str)] = &[")?;
    for file in files(&root.join("configs/profiles"), ".toml")? {
        writeln!(list, "({:?}, include_str!({})),", stem(&file, ".toml"), literal(&file))?;
    }
    writeln!(list, "];")?;
    for source in files(&root.join("bpf/policy"), ".bpf.c")? {
        let name = stem(&source, ".bpf.c").to_uppercase();
        let object = compile(&root, &source, &out)?;
        writeln!(list, "/// Object of `bpf/policy/{}`.", stem(&source, ""))?;
        writeln!(list, "pub static {name}_OBJECT: &[u8] = include_bytes!({});", literal(&object))?;
        let mut hasher = DefaultHasher::new();
        hasher.write(&fs::read(&object)?);
        writeln!(list, "/// By which builds of it are told apart.")?;
        writeln!(list, "pub const {name}_HASH: u64 = u64::from_ne_bytes({:?});", hasher.finish().to_ne_bytes())?;
    }
    list.push_str(&headers(&root)?);
    fs::write(out.join("list.rs"), list)?;
    bind_c::bind(&root, &SHARED_HEADERS, &[], &out.join("kernel.rs"))?;
    Ok(())
}

/// What an algorithm includes, by the path that it writes: with these it can be compiled where there is no repository.
fn headers(root: &Path) -> Result<String> {
    let include = root.join("bpf/include");
    let of_libbpf = PathBuf::from(env::var("DEP_BPF_INCLUDE")?);
    let mut headers = files(&include, ".h")?;
    headers.extend(files(&include.join("kernel"), ".h")?);
    headers.extend(HEADERS_OF_LIBBPF.map(|name| of_libbpf.join(name)));
    let mut text = "/// Headers by path: those of `bpf/include`, and those of libbpf that they include.\n".to_owned();
    writeln!(text, "pub static HEADERS: &[(&str, &str)] = &[")?;
    for path in headers {
        let name = path.strip_prefix(&include).or_else(|_| path.strip_prefix(&of_libbpf))?;
        writeln!(text, "({}, include_str!({})),", literal(name), literal(&path))?;
    }
    Ok(text + "];\n")
}

/// The files of `folder` that end in `ending`, sorted by name.
fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The path as a Rust string literal.
fn literal(path: &Path) -> String {
    format!("{:?}", path.to_string_lossy())
}
