// SPDX-License-Identifier: MIT OR Apache-2.0
//! How clang compiles an algorithm: for those that come with ccctl, and for those that `ccctl build` compiles.

/// All but folders of headers, warnings, and files. What LLVM refuses counts as a crash of clang, which would leave two files in
/// the folder for temporary files.
pub const CLANG_FLAGS: [&str; 7] = ["-g", "-O2", "-target", "bpf", "-mcpu=v3", "-std=gnu11", "-fno-crash-diagnostics"];

/// Warnings that are wanted, two that hooks would give for their form, and two that are mistakes in any case: a function that is
/// not declared does not exist for BPF, and of a division by a constant zero nothing is left.
pub const CLANG_WARNINGS: [&str; 6] = [
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
    "-Wno-missing-declarations",
    "-Werror=implicit-function-declaration",
    "-Werror=division-by-zero",
];
