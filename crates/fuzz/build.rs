// SPDX-License-Identifier: GPL-2.0-only
//! Compiles the programs of `xdp/` natively, with `native/` in place of libbpf's headers and of the kernel's helpers.
//! `CCCTL_SANITIZE=fuzzer` compiles them for libFuzzer, with the address and undefined behaviour sanitizers.

use std::env;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let package = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let (native, xdp) = (package.join("native"), package.join("../../xdp"));
    println!("cargo:rerun-if-env-changed=CLANG");
    println!("cargo:rerun-if-env-changed=CCCTL_SANITIZE");
    for folder in [&native, &xdp, &package.join("../../bpf/include")] {
        println!("cargo:rerun-if-changed={}", folder.display());
    }
    let mut build = cc::Build::new();
    build
        .compiler(env::var("CLANG").unwrap_or_else(|_| "clang".to_owned()))
        .include(&native)
        .include(&xdp)
        .include(package.join("../../bpf/include"))
        .file(native.join("frames.c"))
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .flag("-std=gnu11")
        .flag("-Wno-unused-parameter")
        .flag("-Wno-unknown-attributes") // what only means something for BPF
        .opt_level(1);
    if env::var("CCCTL_SANITIZE").is_ok_and(|sanitize| sanitize == "fuzzer") {
        build
            .flag("-g")
            .flag("-fsanitize=fuzzer-no-link,address,undefined")
            .flag("-fno-sanitize=alignment") // frames lie at any address, for BPF as well
            .flag("-fno-sanitize-recover=all")
            .flag("-fno-omit-frame-pointer");
    }
    build.compile("ccctl_fuzz_native");
    Ok(())
}
