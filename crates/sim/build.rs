// SPDX-License-Identifier: GPL-2.0-only
//! Compiles every `bpf/algorithms/*.bpf.c` natively, and binds `bpf/include` to Rust.
//!
//! No list of algorithms is kept anywhere: the files are the list. `CCCTL_SANITIZE=1` compiles the C code with the
//! address and undefined behaviour sanitizers (see `scripts/test-sanitized`).

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const STANDARD: &str = "-std=gnu11";

struct Paths {
    include: PathBuf,
    algorithms: PathBuf,
    header: PathBuf,
    out: PathBuf,
}

fn main() -> Result<()> {
    let package = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let bpf = package.join("../../bpf").canonicalize()?;
    let paths = Paths {
        include: bpf.join("include"),
        algorithms: bpf.join("algorithms"),
        header: package.join("native/bindings.h"),
        out: PathBuf::from(env::var("OUT_DIR")?),
    };
    println!("cargo:rerun-if-env-changed=CLANG");
    println!("cargo:rerun-if-env-changed=CCCTL_SANITIZE");
    for path in [&paths.include, &paths.algorithms, &package.join("native")] {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    let sources = algorithms(&paths.algorithms)?;
    let wrappers = bind(&paths)?;
    compile(&paths, &sources, &wrappers);
    compile_layouts(&paths, &package.join("native/layouts.c"))?;
    fs::write(paths.out.join("algorithms.rs"), list(&sources)?)?;
    Ok(())
}

/// Name and file of each algorithm, sorted by name.
fn algorithms(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".bpf.c"));
        if let Some(name) = name {
            found.push((name.to_owned(), path.clone()));
        }
    }
    found.sort();
    Ok(found)
}

/// Writes `bindings.rs`, and C wrappers that give the headers' inline functions an address.
fn bind(paths: &Paths) -> Result<PathBuf> {
    let wrappers = paths.out.join("inline_functions.c");
    bindgen::Builder::default()
        .header(paths.header.to_string_lossy())
        .clang_args([STANDARD, "-I", &paths.include.to_string_lossy()])
        .allowlist_type(
            "tcp_sock|tcp_congestion_ops|ack_sample|rate_sample|cc_native_algorithm|tcp_ca_state|tcp_ca_event|sk_pacing",
        )
        .allowlist_function("(cc|hstcp|hystart)_.*|after")
        .allowlist_var("CC_.*|HSTCP_.*|HYSTART_.*|TCP_.*")
        .derive_default(true)
        .prepend_enum_name(false)
        .wrap_static_fns(true)
        .wrap_static_fns_path(&wrappers)
        .generate()?
        .write_to_file(paths.out.join("bindings.rs"))?;
    Ok(wrappers)
}

fn compile(paths: &Paths, sources: &[(String, PathBuf)], wrappers: &Path) {
    let mut build = cc::Build::new();
    build
        .compiler(env::var("CLANG").unwrap_or_else(|_| "clang".to_owned()))
        .include(&paths.include)
        .files(sources.iter().map(|(_, path)| path))
        .file(wrappers)
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .flag(STANDARD)
        .flag("-Wno-unused-parameter")
        .opt_level(2);
    let sanitize = env::var("CCCTL_SANITIZE").unwrap_or_default();
    if sanitize == "fuzzer" {
        build.flag("-fsanitize=fuzzer-no-link");
    }
    if ["1", "fuzzer"].contains(&sanitize.as_str()) {
        build
            .opt_level(1)
            .flag("-g")
            .flag("-fsanitize=address,undefined,unsigned-integer-overflow")
            .flag("-fno-sanitize-recover=all")
            .flag("-fno-omit-frame-pointer");
    }
    build.compile("ccctl_native");
}

/// The native structs as BTF, from which objects that are interpreted learn where fields are.
fn compile_layouts(paths: &Paths, source: &Path) -> Result<()> {
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let mut command = Command::new(&clang);
    command.args(["-target", "bpf", "-U__bpf__", "-g", "-O2", "-w", STANDARD, "-I"]).arg(&paths.include);
    let status = command.arg("-c").arg(source).arg("-o").arg(paths.out.join("layouts.o")).status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{clang} refused {}", source.display()).into())
    }
}

/// Declares the algorithms' entry points, and an array of them.
fn list(sources: &[(String, PathBuf)]) -> Result<String> {
    let mut text = String::from("unsafe extern \"C\" {\n");
    for (name, _) in sources {
        writeln!(text, "    fn cc_native_{name}() -> *const bindings::cc_native_algorithm;")?;
    }
    writeln!(text, "}}\nconst ENTRIES: &[unsafe extern \"C\" fn() -> *const bindings::cc_native_algorithm] = &[")?;
    for (name, _) in sources {
        writeln!(text, "    cc_native_{name},")?;
    }
    text.push_str("];\n");
    Ok(text)
}
