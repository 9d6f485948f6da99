// SPDX-License-Identifier: GPL-2.0-only
//! Made from `bpf/include` by build.rs; each struct comes with a test of its size and of its fields' offsets.

#![allow(
    missing_docs,
    non_camel_case_types,
    non_upper_case_globals,
    dead_code,
    unused_qualifications,
    clippy::all,
    clippy::pedantic
)]

include!(concat!(env!("OUT_DIR"), "/bindings.rs"));
