// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel says of a connection through `TCP_INFO`, and single options of its socket.
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

/// `SO_MAX_PACING_RATE`, bytes per second; `u32::MAX`: no limit.
pub fn max_pacing_rate_of(stream: &TcpStream) -> io::Result<u32> {
    number(stream, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE)
}

/// `TCP_NOTSENT_LOWAT`, bytes; 0: what `net.ipv4.tcp_notsent_lowat` says.
pub fn notsent_lowat_of(stream: &TcpStream) -> io::Result<u32> {
    number(stream, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT)
}

/// Sets it, as an application does.
pub fn set_notsent_lowat(stream: &TcpStream, bytes: u32) -> io::Result<()> {
    let length = size_of::<u32>() as libc::socklen_t;
    // SAFETY: the socket is open, and the kernel reads `length` bytes of a number that outlives the call.
    let result = unsafe {
        let value = (&raw const bytes).cast();
        libc::setsockopt(stream.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, value, length)
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Ends the connection of a socket and keeps the socket: it may connect again.
pub fn disconnect(stream: &TcpStream) -> io::Result<()> {
    let nowhere = libc::sockaddr { sa_family: libc::AF_UNSPEC as libc::sa_family_t, sa_data: [0; 14] };
    let length = size_of::<libc::sockaddr>() as libc::socklen_t;
    // SAFETY: the socket is open, and the kernel reads `length` bytes of an address that outlives the call.
    let result = unsafe { libc::connect(stream.as_raw_fd(), &raw const nowhere, length) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn number(stream: &TcpStream, level: i32, name: i32) -> io::Result<u32> {
    let mut value: u32 = 0;
    let mut length = size_of::<u32>() as libc::socklen_t;
    // SAFETY: the socket is open, and the kernel writes at most `length` bytes to a number that outlives the call.
    let result = unsafe { libc::getsockopt(stream.as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut length) };
    if result == 0 {
        Ok(value)
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
        assert_eq!((max_pacing_rate_of(&sender).unwrap(), notsent_lowat_of(&sender).unwrap()), (u32::MAX, 0));
        set_notsent_lowat(&sender, 4096).unwrap();
        assert_eq!(notsent_lowat_of(&sender).unwrap(), 4096);
        assert!(sent.tcpi_snd_cwnd >= 10 && sent.tcpi_rtt > 0 && sent.tcpi_total_retrans == 0);
    }
}
