// SPDX-License-Identifier: GPL-2.0-only
//! Device offloads through `SIOCETHTOOL`, because `ethtool` is often not installed.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsRawFd;

use nix::libc;
use nix::sys::socket::{socket, AddressFamily, SockFlag, SockType};

use super::TestbedError;

/// Work that a device takes over from the network stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offload {
    /// TCP segmentation.
    Tso,
    /// Generic segmentation.
    Gso,
    /// Generic receive: merging of arriving segments.
    Gro,
}

/// `struct ethtool_value` of linux/ethtool.h.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

impl Offload {
    /// `ETHTOOL_G...` and `ETHTOOL_S...` of linux/ethtool.h.
    fn commands(self) -> (u32, u32) {
        match self {
            Offload::Tso => (0x1e, 0x1f),
            Offload::Gso => (0x23, 0x24),
            Offload::Gro => (0x2b, 0x2c),
        }
    }

    /// Switches it for `device` of the namespace of this thread.
    pub fn set(self, device: &str, on: bool) -> Result<(), TestbedError> {
        ethtool(device, self.commands().1, on.into()).map(|_| ())
    }

    /// Whether it is on for `device` of the namespace of this thread.
    pub fn get(self, device: &str) -> Result<bool, TestbedError> {
        Ok(ethtool(device, self.commands().0, 0)? != 0)
    }
}

fn ethtool(device: &str, command: u32, data: u32) -> Result<u32, TestbedError> {
    let step = || format!("ask ethtool of {device} (command {command:#x})");
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)
        .map_err(TestbedError::errno(step()))?;
    let mut value = EthtoolValue { command, data };
    // SAFETY: all zeroes is a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if device.len() >= request.ifr_name.len() {
        return Err(TestbedError::Unexpected(format!("{device} is too long for a device")));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the request names a NUL-terminated device and points to an ethtool_value; both outlive the call, and the
    // kernel writes no more than that struct for the commands of `commands`.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    if result < 0 {
        return Err(TestbedError::io(step())(io::Error::last_os_error()));
    }
    Ok(value.data)
}
