// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel says of a connection.
#![allow(unsafe_code)]

use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd as _;

use ccctl_catalog::kernel::{TCP_CLOSE, TCP_INFINITE_SSTHRESH};
use nix::libc;

/// `struct tcp_info` of linux/tcp.h as of Linux 6.7; older kernels fill less of it.
const BYTES: usize = 248;
/// `TCP_CLOSE_WAIT`: the other side has ended, and the kernel has counted its FIN as a byte.
const ENDED: u8 = 8;

/// A connection at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct TcpInfo {
    pub(super) is_closed: bool,
    pub(super) ca_state: u8,
    pub(super) cwnd_pkts: u32,
    pub(super) ssthresh_pkts: Option<u32>,
    pub(super) srtt_us: u32,
    pub(super) in_flight_pkts: u32,
    pub(super) unacked_pkts: u32,
    pub(super) unsent_bytes: u32,
    pub(super) received_bytes: u64,
    pub(super) delivered_pkts: u32,
    pub(super) sent_pkts: u32,
    pub(super) retransmitted_pkts: u32,
    pub(super) timeouts: u16,
    /// Acknowledged, the SYN included.
    pub(super) acked_bytes: u64,
    /// Sent for the first time.
    pub(super) new_bytes: u64,
}

/// Asks for it.
pub(super) fn tcp_info(stream: &TcpStream) -> io::Result<TcpInfo> {
    let mut bytes = [0_u8; BYTES];
    let mut length = BYTES as libc::socklen_t;
    // SAFETY: the socket is open, and the kernel writes at most `length` bytes to the buffer, which outlives the call.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(parse(&bytes))
}

/// Offsets of the members.
fn parse(bytes: &[u8; BYTES]) -> TcpInfo {
    let u16_at = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
    let u32_at = |at: usize| u32::from(u16_at(at)) | u32::from(u16_at(at + 2)) << 16;
    let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
    let (unacked_pkts, sacked_pkts, lost_pkts, repeated_pkts) = (u32_at(24), u32_at(28), u32_at(32), u32_at(36));
    let ssthresh_pkts = u32_at(76);
    TcpInfo {
        is_closed: u32::from(bytes[0]) == TCP_CLOSE,
        ca_state: bytes[1],
        cwnd_pkts: u32_at(80),
        ssthresh_pkts: (ssthresh_pkts < TCP_INFINITE_SSTHRESH).then_some(ssthresh_pkts),
        srtt_us: u32_at(68),
        in_flight_pkts: (unacked_pkts + repeated_pkts).saturating_sub(sacked_pkts + lost_pkts), // tcp_packets_in_flight
        unacked_pkts,
        unsent_bytes: u32_at(144),
        received_bytes: u64_at(128) - u64::from(bytes[0] == ENDED),
        delivered_pkts: u32_at(192),
        sent_pkts: u32_at(156),
        retransmitted_pkts: u32_at(100),
        timeouts: u16_at(240),
        acked_bytes: u64_at(120),
        new_bytes: u64_at(200).saturating_sub(u64_at(208)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    /// Over loopback, without losses: what is known of such a connection.
    #[test]
    fn members_are_where_the_kernel_puts_them() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        for _ in 0..10 {
            sender.write_all(&[1; 1000]).unwrap();
            receiver.read_exact(&mut [0; 1000]).unwrap();
        }
        let (sent, arrived) = (tcp_info(&sender).unwrap(), tcp_info(&receiver).unwrap());
        assert_eq!(arrived.received_bytes, 10_000);
        assert!(!sent.is_closed && sent.cwnd_pkts >= 10 && sent.srtt_us > 0, "{sent:?}");
        assert_eq!((sent.ca_state, sent.retransmitted_pkts, sent.timeouts, sent.unsent_bytes), (0, 0, 0, 0));
        assert!((1..=10).contains(&sent.sent_pkts), "{sent:?}");
        assert!(sent.delivered_pkts + sent.unacked_pkts >= sent.sent_pkts, "{sent:?}");
        assert_eq!(sent.ssthresh_pkts, None);
        assert_eq!(sent.new_bytes, 10_000);
        assert!(sent.acked_bytes <= 10_001);
        sender.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(receiver.read(&mut [0]).unwrap(), 0);
        assert_eq!(tcp_info(&receiver).unwrap().received_bytes, 10_000);
    }
}
