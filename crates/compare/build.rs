// SPDX-License-Identifier: GPL-2.0-only
//! Compiles the recorder's BPF program, and binds the record and the algorithms' native half to Rust.

use std::env;
use std::error::Error;
use std::path::PathBuf;

#[path = "../catalog/compile_bpf.rs"]
mod compile_bpf;

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo:rerun-if-env-changed=CLANG");
    for folder in ["bpf/include", "crates/compare/bpf", "crates/compare/native", "crates/catalog/compile_bpf.rs"] {
        println!("cargo:rerun-if-changed={}", root.join(folder).display());
    }
    compile_bpf::compile(&root, &root.join("crates/compare/bpf/record.bpf.c"), &out)?;
    bindgen::Builder::default()
        .header(root.join("crates/compare/native/bindings.h").to_string_lossy())
        .clang_args(["-std=gnu11", "-I", &root.join("bpf/include").to_string_lossy()])
        .allowlist_type(
            "call|call_socket|call_hook|call_extra|tcp_sock|ack_sample|cc_native_algorithm|tcp_ca_state|tcp_ca_event",
        )
        .allowlist_var("CALL_.*|TCP_.*")
        .derive_default(true)
        .prepend_enum_name(false)
        .generate()?
        .write_to_file(out.join("bindings.rs"))?;
    Ok(())
}
