//! Compiles `xdp/*.bpf.c` with clang, and makes the Rust types of what these programs tell from their headers.

#[path = "../catalog/compile_bpf.rs"]
mod compile_bpf;

use std::env;
use std::error::Error;
use std::path::PathBuf;

const PROGRAMS: [&str; 4] = ["arrival", "clock", "metrics", "trace"];
const HEADERS: [&str; 3] = ["ack_clock", "metrics", "trace_record"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo:rerun-if-env-changed=CLANG");
    for path in ["xdp", "crates/catalog/compile_bpf.rs"] {
        println!("cargo:rerun-if-changed={}", root.join(path).display());
    }
    for program in PROGRAMS {
        compile_bpf::compile(&root, &root.join(format!("xdp/{program}.bpf.c")), &out)?;
    }
    for header in HEADERS {
        bindgen::Builder::default()
            .header(root.join(format!("xdp/{header}.h")).to_string_lossy())
            .use_core()
            .derive_default(true)
            .prepend_enum_name(false)
            .layout_tests(true)
            .generate()?
            .write_to_file(out.join(format!("{header}.rs")))?;
    }
    Ok(())
}
