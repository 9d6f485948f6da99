// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the structs and constants of a C header become Rust; the build scripts of this crate, of the loader and of the
//! telemetry share it.

use std::error::Error;
use std::path::Path;

use bindgen::callbacks::{DeriveInfo, DeriveTrait, ImplementsTrait, ParseCallbacks, TypeKind};

/// Every struct is plain data: integers only, each byte named. The derive refuses one that is not.
#[derive(Debug)]
struct PlainData;

impl ParseCallbacks for PlainData {
    fn add_derives(&self, info: &DeriveInfo<'_>) -> Vec<String> {
        match info.kind {
            TypeKind::Struct => vec!["bytemuck::Pod".to_owned(), "bytemuck::Zeroable".to_owned()],
            _ => Vec::new(),
        }
    }

    /// The types that are imported were bound like these.
    fn blocklisted_type_implements_trait(&self, _name: &str, _trait: DeriveTrait) -> Option<ImplementsTrait> {
        Some(ImplementsTrait::Yes)
    }
}

/// Binds what these headers below `root` define, and nothing that they include. `imports` are lines of Rust that bring
/// in the types of other headers.
pub fn bind(root: &Path, headers: &[&str], imports: &[&str], out: &Path) -> Result<(), Box<dyn Error>> {
    let include = root.join("bpf/include");
    println!("cargo:rerun-if-changed={}", include.display());
    let mut builder = bindgen::Builder::default()
        .clang_args(["-I", &include.to_string_lossy()])
        .use_core()
        .derive_default(true)
        .layout_tests(true)
        .prepend_enum_name(false)
        .allowlist_recursively(false)
        .parse_callbacks(Box::new(PlainData));
    for header in headers {
        let path = root.join(header).to_string_lossy().into_owned();
        println!("cargo:rerun-if-changed={path}");
        builder = builder.allowlist_file(path.replace('.', "\\.")).header(path);
    }
    for import in imports {
        builder = builder.raw_line(*import);
    }
    builder.generate()?.write_to_file(out)?;
    Ok(())
}
