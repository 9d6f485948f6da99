// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel says of its algorithms, and which names it takes.

use ccctl_catalog::did_you_mean;
use std::fs;

use crate::error::{Error, Result};

const CURRENT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Default of the namespace that the calling thread is in.
pub fn current_default() -> Result<String> {
    Ok(read(CURRENT)?.trim().to_owned())
}

/// All algorithms that the kernel can give to a socket.
pub fn available_algorithms() -> Result<Vec<String>> {
    Ok(read(AVAILABLE)?.split_whitespace().map(str::to_owned).collect())
}

fn read(path: &str) -> Result<String> {
    fs::read_to_string(path).map_err(|error| Error::kernel(format!("read {path}"), error))
}

/// Sets the default of that namespace.
pub(crate) fn set_default(name: &str) -> Result<()> {
    fs::write(CURRENT, name).map_err(|error| Error::kernel(format!("make {name} the default"), error))
}

/// Refuses a name that no socket could be moved to.
pub fn require_available(name: &str) -> Result<()> {
    let available = available_algorithms()?;
    if available.iter().any(|known| known == name) {
        return Ok(());
    }
    let hint =
        did_you_mean(name, available.iter().map(String::as_str), || format!("the kernel has {}", available.join(", ")));
    Err(Error::Unknown { kind: "algorithm in the kernel", name: name.to_owned(), hint })
}

/// Kernel names have 1 to 15 characters of a small alphabet (`TCP_CA_NAME_MAX`, `bpf_obj_name_cpy`).
pub fn check_name(name: &str) -> Result<()> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
    let fine = (1..=15).contains(&name.len()) && name.bytes().all(allowed) && !name.bytes().all(|byte| byte == b'.');
    if fine {
        Ok(())
    } else {
        Err(Error::BadName { name: name.to_owned() })
    }
}
