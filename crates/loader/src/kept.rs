// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is kept in the kernel as long as there are instances, each as a map with one value. It cannot outlive the kernel
//! that it is of.

use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::{fs, io};

use libbpf_rs::libbpf_sys::bpf_map_create_opts;
use libbpf_rs::{MapHandle, MapType};

use crate::bpffs::PinFolder;
use crate::error::{Error, Result};
use crate::sys::{self, PinnedKind};

/// Where it is pinned.
pub(crate) type Pin = fn(&PinFolder) -> PathBuf;

/// None where nothing is kept.
pub(crate) fn read(pin: Pin) -> Option<Vec<u8>> {
    let map = sys::open_pinned(&pin(&PinFolder::find().ok()??)).ok()?;
    if !matches!(sys::pinned_kind(map.as_fd()), Ok(PinnedKind::Map)) {
        return None;
    }
    sys::read_value(map.as_fd()).ok()
}

/// Keeps it in place of what is kept.
pub(crate) fn write(pin: Pin, value: &[u8]) -> Result<()> {
    const STEP: &str = "keep what the kernel's types say";
    let failed = |error| Error::kernel(STEP, error);
    let size = u32::try_from(value.len()).map_err(|error| failed(io::Error::other(error)))?;
    let options = bpf_map_create_opts { sz: size_of::<bpf_map_create_opts>() as u64, ..Default::default() };
    let map = MapHandle::create(MapType::Array, Some("ccctl_kernel"), size_of::<u32>() as u32, size, 1, &options)
        .map_err(|error| Error::libbpf(STEP, &error))?;
    sys::write_value(map.as_fd(), value).map_err(failed)?;
    let path = pin(&PinFolder::make()?);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
        _ => sys::pin(map.as_fd(), &path).map_err(failed),
    }
}
