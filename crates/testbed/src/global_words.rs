// SPDX-License-Identifier: GPL-2.0-only
//! What a loaded program has counted in its global variables.

use libbpf_rs::{MapCore as _, MapFlags, Object};

use super::TestbedError;

/// The first `N` numbers, 64 bits each, of the object's variables that begin as 0 (`.bss`): those of a C file's only such
/// structure, or of its first.
///
/// # Errors
/// There are fewer, or the kernel does not give them.
pub fn global_words<const N: usize>(object: &Object) -> Result<[u64; N], TestbedError> {
    let missing = || TestbedError::Unexpected(format!("fewer than {N} numbers in a program's global variables"));
    let map = object.maps().find(|map| map.name().to_string_lossy().ends_with(".bss")).ok_or_else(missing)?;
    let bytes = map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY);
    let bytes = bytes.map_err(TestbedError::bpf("read a program's global variables"))?.ok_or_else(missing)?;
    let (words, _) = bytes.as_chunks();
    words.first_chunk().map(|words| words.map(u64::from_ne_bytes)).ok_or_else(missing)
}
