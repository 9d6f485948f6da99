// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes the Rust types of what BPF programs and the loader exchange from the C headers, their only source.

use std::env;
use std::error::Error;
use std::path::PathBuf;

#[path = "../catalog/bind_c.rs"]
mod bind_c;

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo:rerun-if-changed={}", root.join("crates/catalog/bind_c.rs").display());
    for (folder, name, imports) in [
        ("policy", "socket_record", &["use ccctl_catalog::kernel::socket_stats;"][..]),
        ("policy", "rule_record", &["use crate::own_params::cc_own_values;"]),
        ("include", "own_params", &[]),
    ] {
        let header = format!("bpf/{folder}/{name}.h");
        bind_c::bind(&root, &[&header], imports, &out.join(format!("{name}.rs")))?;
    }
    Ok(())
}
