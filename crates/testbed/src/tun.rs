// SPDX-License-Identifier: GPL-2.0-only
//! A network device whose wire is a file.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;

use nix::libc;

use super::{Namespace, TestbedError};

const NAME: &[u8; 5] = b"tun0\0";

/// Makes the device `tun0` in a namespace: each read gives a packet that was sent there, each write is one received. The
/// device goes with the file, which does not block.
pub fn tun(namespace: &Namespace) -> Result<File, TestbedError> {
    namespace.enter(|| {
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_NONBLOCK);
        let file = options.open("/dev/net/tun").map_err(TestbedError::io("open /dev/net/tun"))?;
        // SAFETY: a C struct of integers and arrays of them, for which zero bytes are valid.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(NAME) {
            *to = *from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        // SAFETY: the file is open, and the request outlives the call, which reads no more than a struct ifreq.
        let answer = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw const request) };
        nix::errno::Errno::result(answer).map_err(TestbedError::errno("make a TUN device"))?;
        Ok(file)
    })?
}
