// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel's types say of `struct tcp_congestion_ops`, kept: to find it among all types takes as long as everything
//! else that a small command does.

use crate::bpffs::PinFolder;
use crate::error::{Error, Result};
use crate::kept;
use crate::kernel_ops::KernelOps;
use crate::lock::Lock;

/// None where nothing is kept, or another build has kept something else.
pub(crate) fn kept() -> Option<KernelOps> {
    serde_json::from_slice(&kept::read(PinFolder::kernel_ops)?).ok()
}

/// Keeps it where it is not kept.
pub(crate) fn keep(_lock: &Lock) -> Result<()> {
    if kept().is_some() {
        return Ok(());
    }
    let text = serde_json::to_vec(KernelOps::get()?);
    let text = text.map_err(|error| Error::kernel("keep what the kernel's types say", error.into()))?;
    kept::write(PinFolder::kernel_ops, &text)
}
