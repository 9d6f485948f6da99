// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whose socket is at the other end of a loopback connection: asked of the kernel with `sock_diag(7)`.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd as _;

use nix::sys::socket::{recv, sendto, socket, AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType};

const HEADER_BYTES: usize = 16; // struct nlmsghdr
const REQUEST_BYTES: u32 = 72; // with struct inet_diag_req_v2
const SOCK_DIAG_BY_FAMILY: u16 = 20; // include/uapi/linux/sock_diag.h
const NLM_F_REQUEST: u16 = 1;
const NO_COOKIE: u32 = u32::MAX;
/// In struct `inet_diag_msg`.
const STATE_AT: usize = HEADER_BYTES + 1;
const UID_AT: usize = HEADER_BYTES + 64;
const ESTABLISHED: u8 = 1;

/// The user of `peer`, which is connected to `own` in this network namespace. None where the kernel does not say, or where
/// the peer has closed: nobody owns its socket then.
pub fn user_of(peer: SocketAddr, own: SocketAddr) -> Option<u32> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let kernel = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkSockDiag).ok()?;
    sendto(kernel.as_raw_fd(), &request(peer, own), &NetlinkAddr::new(0, 0), MsgFlags::empty()).ok()?;
    let mut answer = [0; 1024];
    let length = recv(kernel.as_raw_fd(), &mut answer, MsgFlags::empty()).ok()?;
    owner(answer.get(..length)?)
}

fn request(peer: SocketAddr, own: SocketAddr) -> Vec<u8> {
    let family = if peer.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 } as u8;
    let mut bytes = Vec::with_capacity(REQUEST_BYTES as usize);
    bytes.extend(REQUEST_BYTES.to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    bytes.extend([0; 8]); // number, sender
    bytes.extend([family, libc::IPPROTO_TCP as u8, 0, 0]);
    bytes.extend(u32::MAX.to_ne_bytes()); // in any state
    bytes.extend(peer.port().to_be_bytes());
    bytes.extend(own.port().to_be_bytes());
    bytes.extend(padded(peer.ip()));
    bytes.extend(padded(own.ip()));
    bytes.extend(0_u32.to_ne_bytes()); // any interface
    bytes.extend(NO_COOKIE.to_ne_bytes());
    bytes.extend(NO_COOKIE.to_ne_bytes());
    bytes
}

fn padded(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V6(address) => address.octets(),
        IpAddr::V4(address) => {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&address.octets());
            bytes
        }
    }
}

fn owner(answer: &[u8]) -> Option<u32> {
    let kind = answer.get(4..6)?.try_into().map(u16::from_ne_bytes).ok()?;
    if kind != SOCK_DIAG_BY_FAMILY || *answer.get(STATE_AT)? != ESTABLISHED {
        return None;
    }
    answer.get(UID_AT..UID_AT + 4)?.try_into().map(u32::from_ne_bytes).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn the_kernel_says_whose_a_connection_is() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let own = listener.local_addr().unwrap();
            let client = TcpStream::connect(own).unwrap();
            let (_server, peer) = listener.accept().unwrap();
            assert_eq!(user_of(peer, own), Some(nix::unistd::geteuid().as_raw()), "{address}");
            drop(client);
            assert_eq!(user_of(peer, own), None, "nobody's any more");
        }
    }
}
