// SPDX-License-Identifier: GPL-2.0-only
//! Where the router takes packets from and hands them over.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};

use ccctl_testbed::{tun, Namespace, TestbedError};

/// One end of the path as the router sees it. Nothing here waits.
pub(super) trait Wire: Send {
    /// The next packet that the end has sent, and its length; none if there is none.
    fn receive(&mut self, packet: &mut [u8]) -> io::Result<Option<usize>>;

    /// Hands a packet to the end.
    fn send(&mut self, packet: &[u8]) -> io::Result<()>;

    /// What can be waited for.
    fn fd(&self) -> BorrowedFd<'_>;
}

/// A TUN device of a namespace. Its packets are as long as on a wire: it offers no segmentation, so the kernel does it.
#[derive(Debug)]
pub(super) struct TunWire(File);

impl TunWire {
    /// Makes the device.
    pub(super) fn new(namespace: &Namespace) -> Result<Self, TestbedError> {
        tun(namespace).map(Self)
    }
}

impl Wire for TunWire {
    fn receive(&mut self, packet: &mut [u8]) -> io::Result<Option<usize>> {
        match self.0.read(packet) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The kernel takes a packet whole. What this thread writes is processed by the receiving TCP inside of the call.
    fn send(&mut self, packet: &[u8]) -> io::Result<()> {
        self.0.write(packet).map(|_| ())
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
