//! The structs that the rules' programs and the loader share, from their C header, and as bytes of maps.
#![allow(unsafe_code)]

use std::ptr;

pub(crate) use generated::*;

#[allow(clippy::all, clippy::pedantic, missing_docs, non_camel_case_types, non_upper_case_globals, dead_code)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/rule_record.rs"));
}

/// A C struct that any bytes are valid for.
///
/// # Safety
/// It consists of integers only and has no padding.
pub(crate) unsafe trait Plain: Default + Copy {
    /// Its bytes.
    fn as_bytes(&self) -> &[u8] {
        // SAFETY: no padding, so all bytes are initialized; the slice borrows the struct.
        unsafe { std::slice::from_raw_parts(ptr::from_ref(self).cast(), size_of::<Self>()) }
    }

    /// From the first bytes of a slice; None where there are too few.
    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..size_of::<Self>())?;
        // SAFETY: any bytes are valid, there are enough of them, and the read is an unaligned one.
        Some(unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() })
    }
}

macro_rules! plain {
    ($($name:ident: $bytes:expr),* $(,)?) => {
        $(
            // SAFETY: integers only; that the members' sizes add up to the struct's is asserted below.
            unsafe impl Plain for $name {}
            const _: () = assert!(size_of::<$name>() == $bytes);
        )*
    };
}

const NAME: usize = RULE_NAME_BYTES as usize;
const CHOICE: usize = 8 + RULE_FALLBACKS as usize * NAME;
const ASSIGNMENT: usize = 8 + 4 * 4 + 3 * NAME;
plain! {
    rules_header: 4 * 4,
    rule_choice: CHOICE,
    rule: 8 + 4 * 4 + 1 + 1 + 2 + 16 + RULE_CHOICES as usize * CHOICE + 4,
    cgroup_key: 4 + RULE_CGROUP_NAME_BYTES as usize,
    cgroup_node: 2 * 4,
    rule_scope: 4 * 4,
    prefix_key: 3 * 4 + 16,
    rule_set: 3 * 4,
    port_key: 2 * 4,
    rule_assignment: ASSIGNMENT,
    rule_query: 8 + 2 * 4,
    rule_report: 3 * 8 + 2 * 16 + NAME + 4 * 4 + 3 * 2 + 2 + 2 * 4 + ASSIGNMENT,
}

/// Text up to the closing zero.
pub(crate) fn text(bytes: &[std::ffi::c_char]) -> String {
    let bytes = bytes.iter().take_while(|byte| **byte != 0).map(|byte| *byte as u8);
    String::from_utf8_lossy(&bytes.collect::<Vec<_>>()).into_owned()
}
