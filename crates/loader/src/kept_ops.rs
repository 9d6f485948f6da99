// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel's types say, kept in the kernel as long as there are instances: to find it among all types takes as long
//! as everything else that a small command does. It cannot outlive the kernel that it is of.

use std::os::fd::AsFd as _;

use libbpf_rs::libbpf_sys::bpf_map_create_opts;
use libbpf_rs::{MapHandle, MapType};

use crate::bpffs::PinFolder;
use crate::error::{Error, Result};
use crate::kernel_ops::KernelOps;
use crate::lock::Lock;
use crate::sys::{self, PinnedKind};

/// None where nothing is kept, or another build has kept something else.
pub(crate) fn kept() -> Option<KernelOps> {
    let path = PinFolder::find().ok()??.kernel_ops();
    let map = sys::open_pinned(&path).ok()?;
    if !matches!(sys::pinned_kind(map.as_fd()), Ok(PinnedKind::Map)) {
        return None;
    }
    serde_json::from_slice(&sys::read_value(map.as_fd()).ok()?).ok()
}

/// Keeps it where it is not kept.
pub(crate) fn keep(_lock: &Lock) -> Result<()> {
    if kept().is_some() {
        return Ok(());
    }
    let failed = |error| Error::kernel("keep what the kernel's types say", error);
    let text = serde_json::to_vec(KernelOps::get()?).map_err(|error| failed(error.into()))?;
    let size = u32::try_from(text.len()).map_err(|error| failed(std::io::Error::other(error)))?;
    let options = bpf_map_create_opts { sz: size_of::<bpf_map_create_opts>() as u64, ..Default::default() };
    let map = MapHandle::create(MapType::Array, Some("ccctl_kernel"), size_of::<u32>() as u32, size, 1, &options)
        .map_err(|error| Error::libbpf("keep what the kernel's types say", &error))?;
    sys::write_value(map.as_fd(), &text).map_err(failed)?;
    PinFolder::make()?.replace_kernel_ops(|path| sys::pin(map.as_fd(), path)).map_err(failed)
}
