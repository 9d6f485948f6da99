// SPDX-License-Identifier: MIT OR Apache-2.0
//! The map that holds an instance's parameters: `{ u32 active; set[2] }`, as `bpf/include/target_bpf.h` lays it out.

use std::os::fd::BorrowedFd;

use crate::error::{Error, Result};
use crate::sys;

/// Its name in the kernel.
pub(crate) const PARAMS_MAP: &str = ".data.params";

const ACTIVE_BYTES: usize = 4;

/// The set in force, as bytes.
pub(crate) fn read_active(map: BorrowedFd<'_>) -> Result<Vec<u8>> {
    let (value, set_bytes) = read(map)?;
    let start = ACTIVE_BYTES + active(&value) * set_bytes;
    Ok(value[start..start + set_bytes].to_vec())
}

/// Puts a set in force: writes the idle one, then flips. A hook sees all of it or nothing, and a crash before the last step
/// changes nothing.
pub(crate) fn publish(map: BorrowedFd<'_>, set: &[u8]) -> Result<()> {
    let (mut value, set_bytes) = read(map)?;
    if set.len() != set_bytes {
        let sizes = format!("{} bytes of parameters, the instance has {set_bytes}", set.len());
        return Err(Error::kernel("write the parameters", std::io::Error::other(sizes)));
    }
    let idle = 1 - active(&value);
    let start = ACTIVE_BYTES + idle * set_bytes;
    value[start..start + set_bytes].copy_from_slice(set);
    write(map, &value)?;
    value[..ACTIVE_BYTES].copy_from_slice(&(idle as u32).to_le_bytes());
    write(map, &value)
}

fn active(value: &[u8]) -> usize {
    usize::from(value[0] & 1)
}

fn read(map: BorrowedFd<'_>) -> Result<(Vec<u8>, usize)> {
    let failed = |error| Error::kernel("read the parameters", error);
    let value = sys::read_value(map).map_err(failed)?;
    let sets = value.len().checked_sub(ACTIVE_BYTES).filter(|bytes| bytes % 2 == 0);
    let sets = sets.ok_or_else(|| failed(std::io::Error::other(format!("{} bytes are not two sets", value.len()))))?;
    Ok((value, sets / 2))
}

fn write(map: BorrowedFd<'_>, value: &[u8]) -> Result<()> {
    sys::write_value(map, value).map_err(|error| Error::kernel("write the parameters", error))
}
