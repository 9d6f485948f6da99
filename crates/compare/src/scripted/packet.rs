// SPDX-License-Identifier: GPL-2.0-only
//! Packets between the kernel and the peer.

use anyhow::{Context as _, Result};
use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TcpOptionElement, TransportSlice};

use super::language::Settings;
use super::peer::{Acknowledgement, Segment};

/// Of the namespace that the connection comes from, and the peer's.
pub const KERNEL: [u8; 4] = [10, 88, 0, 1];
pub const PEER: [u8; 4] = [10, 88, 0, 2];
pub const NETWORK: &str = "10.88.0.0/24";
pub const PEER_PORT: u16 = 5000;
/// Data of a packet of 1500 bytes, without options.
const MSS_BYTES: u16 = 1460;
/// Options that each packet has then.
const TIMESTAMPS_BYTES: u32 = 12;
/// The peer's window is in units of 1 KiB.
const WINDOW_SHIFT: u8 = 10;
const HOPS: u8 = 64;
/// RFC 3168: congestion experienced.
const MARKED: u8 = 3;

/// Data of a packet.
pub fn segment_bytes(timestamps: bool) -> u32 {
    u32::from(MSS_BYTES) - if timestamps { TIMESTAMPS_BYTES } else { 0 }
}

/// What the kernel has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    pub source_port: u16,
    pub sequence: u32,
    pub data_bytes: u32,
    pub is_syn: bool,
    pub timestamp: Option<u32>,
    pub ecn: u8,
    pub congestion_window_reduced: bool,
}

impl Sent {
    /// Reads a packet; none where it is not TCP over IPv4 to the peer.
    pub fn read(packet: &[u8]) -> Option<Self> {
        let packet = SlicedPacket::from_ip(packet).ok()?;
        let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Tcp(tcp))) = (packet.net, packet.transport) else {
            return None;
        };
        let timestamp = tcp.options_iterator().flatten().find_map(|option| match option {
            TcpOptionElement::Timestamp(value, _) => Some(value),
            _ => None,
        });
        (tcp.destination_port() == PEER_PORT && !tcp.rst()).then(|| Self {
            source_port: tcp.source_port(),
            sequence: tcp.sequence_number(),
            data_bytes: tcp.payload().len() as u32,
            is_syn: tcp.syn(),
            timestamp,
            ecn: ip.header().ecn().value(),
            congestion_window_reduced: tcp.cwr(),
        })
    }

    /// The data, for a receiver that expects `first` as the first byte; `highest_byte` was sent before.
    pub fn segment(&self, first: u32, highest_byte: u32) -> Segment {
        let first_byte = self.sequence.wrapping_sub(first);
        Segment {
            first_byte,
            end_byte: first_byte + self.data_bytes,
            timestamp: self.timestamp,
            is_marked: self.ecn == MARKED,
            congestion_window_reduced: self.congestion_window_reduced,
            is_retransmission: first_byte < highest_byte,
        }
    }
}

/// Where the peer's packets go, and what they have in common.
#[derive(Debug)]
pub struct ToKernel {
    pub port: u16,
    /// Sequence number of the kernel's first byte.
    pub first: u32,
    pub timestamps: bool,
    pub window_pkts: u32,
}

impl ToKernel {
    /// The answer to a SYN.
    pub fn accept(&self, settings: &Settings, timestamp: u32, echoed: u32) -> Result<Vec<u8>> {
        let mut options = vec![
            TcpOptionElement::MaximumSegmentSize(MSS_BYTES),
            TcpOptionElement::Noop,
            TcpOptionElement::WindowScale(WINDOW_SHIFT),
        ];
        if settings.sack {
            options.push(TcpOptionElement::SelectiveAcknowledgementPermitted);
        }
        if settings.timestamps {
            options.push(TcpOptionElement::Timestamp(timestamp, echoed));
        }
        let builder =
            PacketBuilder::ipv4(PEER, KERNEL, HOPS).tcp(PEER_PORT, self.port, 0, u16::MAX).syn().ack(self.first);
        let builder = if settings.ecn { builder.ece() } else { builder };
        let mut packet = Vec::new();
        builder.options(&options).context("options of a SYN")?.write(&mut packet, &[])?;
        Ok(packet)
    }

    /// An acknowledgement.
    pub fn acknowledge(&self, answer: &Acknowledgement, timestamp: u32) -> Result<Vec<u8>> {
        let number = |byte: u32| self.first.wrapping_add(byte);
        let mut options = Vec::new();
        if self.timestamps {
            options.extend([TcpOptionElement::Noop, TcpOptionElement::Noop]);
            options.push(TcpOptionElement::Timestamp(timestamp, answer.echoed_timestamp));
        }
        let mut blocks = answer.blocks.iter().map(|(first, end)| (number(*first), number(*end)));
        if let Some(block) = blocks.next() {
            options.extend([TcpOptionElement::Noop, TcpOptionElement::Noop]);
            let more = [blocks.next(), blocks.next(), None];
            options.push(TcpOptionElement::SelectiveAcknowledgement(block, more));
        }
        let window = (self.window_pkts * segment_bytes(self.timestamps)).div_ceil(1 << WINDOW_SHIFT);
        let window = u16::try_from(window).unwrap_or(u16::MAX);
        let builder =
            PacketBuilder::ipv4(PEER, KERNEL, HOPS).tcp(PEER_PORT, self.port, 1, window).ack(number(answer.next_byte));
        let builder = if answer.echoes_mark { builder.ece() } else { builder };
        let mut packet = Vec::new();
        builder.options(&options).context("options of an acknowledgement")?.write(&mut packet, &[])?;
        Ok(packet)
    }
}
