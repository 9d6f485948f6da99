// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel says of a connection through `TCP_INFO`.
#![allow(unsafe_code)]

use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd as _;

use nix::libc;

/// Asks for it; what the running kernel does not fill is 0.
pub fn tcp_info(stream: &TcpStream) -> io::Result<libc::tcp_info> {
    // SAFETY: all members are integers, for which zero is a value.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the socket is open, and the kernel writes at most `length` bytes to the struct, which outlives the call.
    let result = unsafe {
        libc::getsockopt(stream.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut info).cast(), &raw mut length)
    };
    if result == 0 {
        Ok(info)
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    #[test]
    fn a_connection_that_has_carried_bytes_says_so() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        sender.write_all(&[1; 10_000]).unwrap();
        receiver.read_exact(&mut [0; 10_000]).unwrap();
        let (sent, arrived) = (tcp_info(&sender).unwrap(), tcp_info(&receiver).unwrap());
        assert_eq!((sent.tcpi_bytes_sent, arrived.tcpi_bytes_received), (10_000, 10_000));
        assert!(sent.tcpi_snd_cwnd >= 10 && sent.tcpi_rtt > 0 && sent.tcpi_total_retrans == 0);
    }
}
