//! Makes the Rust types of what BPF programs and the loader tell each other from the C header, their only source.

use std::env;
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    for name in ["socket_record", "rule_record"] {
        let header = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join(format!("../../bpf/policy/{name}.h"));
        println!("cargo:rerun-if-changed={}", header.display());
        bindgen::Builder::default()
            .header(header.to_string_lossy())
            .use_core()
            .derive_default(true)
            .layout_tests(true)
            .prepend_enum_name(false)
            .generate()?
            .write_to_file(PathBuf::from(env::var("OUT_DIR")?).join(format!("{name}.rs")))?;
    }
    Ok(())
}
