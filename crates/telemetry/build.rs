// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles `xdp/*.bpf.c` with clang, and makes the Rust types of what these programs tell from their headers.

#[path = "../catalog/bind_c.rs"]
mod bind_c;
#[path = "../catalog/compile_bpf.rs"]
mod compile_bpf;

use std::env;
use std::error::Error;
use std::path::PathBuf;

const PROGRAMS: [&str; 4] = ["arrival", "clock", "metrics", "trace"];
/// Header, and the Rust that it takes types from.
const HEADERS: [(&str, &[&str]); 3] =
    [("ack_clock", &[]), ("metrics", &[]), ("trace_record", &["use ccctl_catalog::kernel::socket_stats;"])];

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo:rerun-if-env-changed=CLANG");
    for path in ["xdp", "bpf/include", "crates/catalog/bind_c.rs", "crates/catalog/compile_bpf.rs"] {
        println!("cargo:rerun-if-changed={}", root.join(path).display());
    }
    for program in PROGRAMS {
        compile_bpf::compile(&root, &root.join(format!("xdp/{program}.bpf.c")), &out)?;
    }
    for (header, imports) in HEADERS {
        bind_c::bind(&root, &[&format!("xdp/{header}.h")], imports, &out.join(format!("{header}.rs")))?;
    }
    Ok(())
}
