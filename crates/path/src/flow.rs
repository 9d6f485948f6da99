// SPDX-License-Identifier: GPL-2.0-only
//! What the router reads of a packet, and the one thing that it writes: the congestion mark.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const IPV4_HEADER_BYTES: usize = 20;
const IPV6_HEADER_BYTES: usize = 40;
const FRAGMENT_OFFSET: u16 = 0x1fff;
/// Numbers of IANA.
const TCP: u8 = 6;
const UDP: u8 = 17;
/// RFC 3168 section 5: the two low bits; 11 is "congestion experienced", 00 cannot be marked.
const ECN: u8 = 3;

/// Which connection a packet belongs to, in its direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowKey {
    /// Where it comes from; IPv4 addresses are mapped.
    source: Ipv6Addr,
    destination: Ipv6Addr,
    source_port: u16,
    destination_port: u16,
    protocol: u8,
}

impl FlowKey {
    /// Sending address and port; port 0 where the protocol has none.
    #[must_use]
    pub fn source(&self) -> SocketAddr {
        SocketAddr::new(self.source.to_canonical(), self.source_port)
    }

    /// Receiving address and port.
    #[must_use]
    pub fn destination(&self) -> SocketAddr {
        SocketAddr::new(self.destination.to_canonical(), self.destination_port)
    }

    /// Receiving address.
    #[must_use]
    pub fn destination_address(&self) -> IpAddr {
        self.destination.to_canonical()
    }

    /// Number of the protocol.
    #[must_use]
    pub fn protocol(&self) -> u8 {
        self.protocol
    }

    /// Whether it is TCP.
    #[must_use]
    pub fn is_tcp(&self) -> bool {
        self.protocol == TCP
    }
}

impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.source(), self.destination())
    }
}

/// The header of a packet, as far as the router needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) flow: FlowKey,
    /// ECN-capable, marked or not.
    pub(super) is_markable: bool,
    /// It came with a mark.
    pub(super) is_marked: bool,
}

impl Header {
    /// Reads it; none where the packet is neither IPv4 nor IPv6 or is cut off.
    pub(super) fn read(packet: &[u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => Self::read_v4(packet),
            6 => Self::read_v6(packet),
            _ => None,
        }
    }

    fn read_v4(packet: &[u8]) -> Option<Self> {
        let header = packet.get(..IPV4_HEADER_BYTES)?;
        let address = |at: usize| {
            let bytes: [u8; 4] = header[at..at + 4].try_into().ok()?;
            Some(Ipv4Addr::from(bytes).to_ipv6_mapped())
        };
        let is_later_fragment = u16::from_be_bytes([header[6], header[7]]) & FRAGMENT_OFFSET != 0;
        let ports_at = usize::from(header[0] & 0xf) * 4;
        let ports = if is_later_fragment { [0, 0] } else { ports(packet, header[9], ports_at)? };
        Some(Self::new([address(12)?, address(16)?], ports, header[9], header[1]))
    }

    /// Behind extension headers no ports are looked for: connections of the testbed have none.
    fn read_v6(packet: &[u8]) -> Option<Self> {
        let header = packet.get(..IPV6_HEADER_BYTES)?;
        let address = |at: usize| {
            let bytes: [u8; 16] = header[at..at + 16].try_into().ok()?;
            Some(Ipv6Addr::from(bytes))
        };
        let traffic_class = header[0] << 4 | header[1] >> 4;
        let ports = ports(packet, header[6], IPV6_HEADER_BYTES)?;
        Some(Self::new([address(8)?, address(24)?], ports, header[6], traffic_class))
    }

    fn new(addresses: [Ipv6Addr; 2], ports: [u16; 2], protocol: u8, traffic_class: u8) -> Self {
        let [source, destination] = addresses;
        let [source_port, destination_port] = ports;
        let flow = FlowKey { source, destination, source_port, destination_port, protocol };
        let ecn = traffic_class & ECN;
        Self { flow, is_markable: ecn != 0, is_marked: ecn == ECN }
    }
}

fn ports(packet: &[u8], protocol: u8, at: usize) -> Option<[u16; 2]> {
    if protocol != TCP && protocol != UDP {
        return Some([0, 0]);
    }
    let bytes = packet.get(at..at + 4)?;
    Some([u16::from_be_bytes([bytes[0], bytes[1]]), u16::from_be_bytes([bytes[2], bytes[3]])])
}

/// Sets "congestion experienced" in a packet whose header was read.
pub(super) fn mark(packet: &mut [u8]) {
    if packet[0] >> 4 == 6 {
        packet[1] |= ECN << 4;
        return;
    }
    let before = u16::from_be_bytes([packet[0], packet[1]]);
    packet[1] |= ECN;
    let after = u16::from_be_bytes([packet[0], packet[1]]);
    let checksum = u16::from_be_bytes([packet[10], packet[11]]);
    packet[10..12].copy_from_slice(&updated(checksum, before, after).to_be_bytes());
}

/// RFC 1624, equation 3.
fn updated(checksum: u16, before: u16, after: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The header that RFC 1071's method is usually shown with (checksum b861), as TCP here, ports 80 and 4711.
    fn v4(traffic_class: u8) -> Vec<u8> {
        let mut packet = vec![0x45, traffic_class, 0, 0x73, 0, 0, 0x40, 0, 0x40, TCP, 0, 0];
        packet.extend([192, 168, 0, 1, 192, 168, 0, 199, 0, 80, 0x12, 0x67]);
        let sum = checksum(&packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet
    }

    /// RFC 1071: the complement of the ones' complement sum of all words.
    fn checksum(header: &[u8]) -> u16 {
        let words = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        let mut sum: u32 = words.sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !sum as u16
    }

    fn v6(traffic_class: u8) -> Vec<u8> {
        let mut packet = vec![0x60 | traffic_class >> 4, traffic_class << 4 | 7, 1, 2, 0, 4, UDP, 64];
        packet.extend([0xfd; 16]);
        packet.extend([0xfe; 16]);
        packet.extend([0, 9, 0, 9]);
        packet
    }

    #[test]
    fn addresses_and_ports_are_read() {
        let flow = Header::read(&v4(0)).unwrap().flow;
        assert_eq!(flow.to_string(), "192.168.0.1:80 -> 192.168.0.199:4711");
        assert!(flow.is_tcp());
        let flow = Header::read(&v6(0)).unwrap().flow;
        assert_eq!(flow.source().to_string(), "[fdfd:fdfd:fdfd:fdfd:fdfd:fdfd:fdfd:fdfd]:9");
        assert_eq!(flow.protocol(), UDP);
    }

    /// RFC 3168 section 5: 10 and 01 are ECT(0) and ECT(1).
    #[test]
    fn only_ect_can_be_marked() {
        for (traffic_class, is_markable, is_marked) in
            [(0, false, false), (0xb8, false, false), (1, true, false), (0xba, true, false), (3, true, true)]
        {
            for packet in [v4(traffic_class), v6(traffic_class)] {
                let header = Header::read(&packet).unwrap();
                assert_eq!((header.is_markable, header.is_marked), (is_markable, is_marked), "{traffic_class:#x}");
            }
        }
    }

    #[test]
    fn a_mark_changes_two_bits_and_keeps_the_checksum_right() {
        for traffic_class in [1, 2, 0xb9, 0xba, 3] {
            let mut packet = v4(traffic_class);
            mark(&mut packet);
            assert_eq!(packet, v4(traffic_class | 3), "{traffic_class:#x}");
            let mut packet = v6(traffic_class);
            mark(&mut packet);
            assert_eq!(packet, v6(traffic_class | 3), "{traffic_class:#x}");
        }
    }

    #[test]
    fn what_is_cut_off_is_no_packet() {
        for packet in [v4(0), v6(0)] {
            assert!((0..packet.len()).all(|length| Header::read(&packet[..length]).is_none()));
        }
        assert_eq!(Header::read(&[0; 60]), None);
    }

    #[test]
    fn later_fragments_have_no_ports() {
        let mut packet = v4(0);
        packet[7] = 1;
        assert_eq!(Header::read(&packet).unwrap().flow.source().port(), 0);
    }
}
