// SPDX-License-Identifier: GPL-2.0-only
//! What crosses the network: 32 bytes a packet, whatever it carries.

use crate::ranges::Range;

/// Congestion experienced, set by a queue.
pub(crate) const MARKED: u8 = 1;
/// May be marked instead of dropped (ECT).
pub(crate) const MARKABLE: u8 = 2;
/// An ACK that echoes a mark (ECE).
pub(crate) const ECHO: u8 = 4;
/// Data that says the window was reduced (CWR).
pub(crate) const REDUCED: u8 = 8;
/// An acknowledgement.
pub(crate) const ACK: u8 = 16;
/// A packet sent again.
pub(crate) const RETRANSMITTED: u8 = 32;
/// Which of a user's connections it belongs to, modulo 4.
const CONNECTION_SHIFT: u32 = 6;

/// A packet on its way.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Packet {
    /// When it is where it goes next.
    pub(crate) time_ns: u64,
    pub(crate) flow: u32,
    /// Data: its number. ACK: the first one that is missing.
    pub(crate) number: u32,
    /// When it was sent; its time stamp.
    pub(crate) stamp_us: u32,
    /// ACK: the time stamp that it echoes.
    pub(crate) echo_us: u32,
    /// ACK: its SACK option, 0 where it has none.
    pub(crate) sack: u32,
    pub(crate) size_bytes: u16,
    /// Links of its path that it has crossed.
    pub(crate) hop: u8,
    pub(crate) flags: u8,
}

impl Packet {
    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    pub(crate) fn set_connection(&mut self, connection: u8) {
        self.flags = self.flags & !(3 << CONNECTION_SHIFT) | (connection & 3) << CONNECTION_SHIFT;
    }

    pub(crate) fn connection(&self) -> u8 {
        self.flags >> CONNECTION_SHIFT
    }
}

/// Blocks that one ACK has room for beside time stamps (RFC 2018), and one more without them.
pub(crate) const SACK_BLOCKS: usize = 4;

/// A SACK option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sack {
    /// Empty ones mean nothing.
    pub(crate) blocks: [Range; SACK_BLOCKS],
    /// The first one tells of a packet that was there already (RFC 2883).
    pub(crate) is_duplicate: bool,
}

/// SACK options on their way; few at a time, and their places are used again.
#[derive(Debug, Default)]
pub(crate) struct SackOptions {
    options: Vec<Sack>,
    free: Vec<u32>,
}

impl SackOptions {
    /// The number that the packet is to carry.
    pub(crate) fn put(&mut self, sack: Sack) -> u32 {
        if let Some(number) = self.free.pop() {
            self.options[number as usize - 1] = sack;
            return number;
        }
        self.options.push(sack);
        self.options.len() as u32
    }

    pub(crate) fn take(&mut self, number: u32) -> Option<Sack> {
        let sack = *self.options.get((number as usize).checked_sub(1)?)?;
        self.free.push(number);
        Some(sack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_half_a_cache_line() {
        assert_eq!(size_of::<Packet>(), 32);
    }

    #[test]
    fn a_packet_knows_its_connection_and_its_flags() {
        let mut packet = Packet { flags: MARKED | ACK, ..Packet::default() };
        packet.set_connection(7);
        assert_eq!(packet.connection(), 3);
        packet.set_connection(1);
        assert!(packet.connection() == 1 && packet.has(MARKED) && packet.has(ACK) && !packet.has(MARKABLE));
    }

    #[test]
    fn places_of_options_are_used_again() {
        let mut options = SackOptions::default();
        let sack = Sack { is_duplicate: true, ..Sack::default() };
        let first = options.put(sack);
        assert_ne!(first, 0);
        assert_eq!(options.take(first), Some(sack));
        assert_eq!(options.put(Sack::default()), first);
        assert_eq!(options.take(0), None);
    }
}
