// SPDX-License-Identifier: MIT OR Apache-2.0
//! The structs that the rules' programs and the loader share, from their C header.
#![allow(unsafe_code)] // bytemuck's derives, which check what they promise

pub(crate) use generated::*;

#[allow(clippy::all, clippy::pedantic, missing_docs, non_camel_case_types, non_upper_case_globals, dead_code)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/rule_record.rs"));
}
