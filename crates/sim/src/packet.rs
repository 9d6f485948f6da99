// SPDX-License-Identifier: GPL-2.0-only
//! What crosses the network: 32 bytes a packet, whatever it carries.

use crate::ranges::Range;

/// Congestion experienced, set by a queue.
pub(crate) const MARKED: u8 = 1;
/// May be marked instead of dropped (ECT).
pub(crate) const MARKABLE: u8 = 2;
/// An ACK that echoes a mark (ECE).
pub(crate) const ECHO: u8 = 4;
/// Data of a scalable sender (ECT(1), RFC 9331). Only ACKs have an echo, so the two share a bit: see `is_scalable`.
pub(crate) const ECT_1: u8 = ECHO;
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
    /// The number of what it carries besides, 0 where it has none: of an ACK's options, of the congestion header of data.
    pub(crate) options: u32,
    pub(crate) size_bytes: u16,
    /// Links of its path that it has crossed.
    pub(crate) hop: u8,
    pub(crate) flags: u8,
}

impl Packet {
    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Data with ECT(1).
    pub(crate) fn is_scalable(&self) -> bool {
        self.flags & (ACK | ECT_1) == ECT_1
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

/// What an ACK tells beyond its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct AckOptions {
    pub(crate) sack: Option<Sack>,
    /// Accurate ECN (RFC 9768): packets with a mark that the receiver has had so far. In packets, as the simulator counts, and
    /// without the wrapping of the field of three bits.
    pub(crate) received_ce_pkts: Option<u32>,
    /// XCP: the feedback of the packets that it acknowledges, in 2^-8 bytes of window.
    pub(crate) feedback_bytes_q8: i32,
}

/// The congestion header of XCP (Katabi, Handley, Rohrs, SIGCOMM 2002, figure 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CongestionHeader {
    /// `H_cwnd`: the sender's window, in bytes of whole packets.
    pub(crate) cwnd_bytes: u64,
    /// `H_rtt`: its RTT; 0: not known yet.
    pub(crate) rtt_us: u32,
    /// `H_feedback`: what the window is to change by, in 2^-8 bytes.
    pub(crate) feedback_bytes_q8: i32,
}

/// What packets carry beyond their 32 bytes; few have any at a time, and their places are used again.
#[derive(Debug, Default)]
pub(crate) struct OnTheWay<T> {
    carried: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy + Default + PartialEq> OnTheWay<T> {
    /// The number that the packet is to carry.
    pub(crate) fn put(&mut self, what: T) -> u32 {
        if what == T::default() {
            return 0;
        }
        if let Some(number) = self.free.pop() {
            self.carried[number as usize - 1] = what;
            return number;
        }
        self.carried.push(what);
        self.carried.len() as u32
    }

    pub(crate) fn take(&mut self, number: u32) -> T {
        let Some(what) = self.get_mut(number).copied() else { return T::default() };
        self.free.push(number);
        what
    }

    /// To be changed on the way.
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let place = (number as usize).checked_sub(1)?;
        self.carried.get_mut(place)
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
        let mut options = OnTheWay::default();
        let sack = AckOptions { sack: Some(Sack::default()), ..AckOptions::default() };
        let count = AckOptions { received_ce_pkts: Some(7), ..AckOptions::default() };
        let first = options.put(sack);
        assert_ne!(first, 0);
        assert_eq!(options.take(first), sack);
        assert_eq!(options.put(count), first);
        assert_eq!(options.take(first), count);
        assert_eq!((options.put(AckOptions::default()), options.take(0)), (0, AckOptions::default()));
    }

    #[test]
    fn an_echo_is_not_ect_1() {
        let data = Packet { flags: ECT_1 | MARKABLE, ..Packet::default() };
        let ack = Packet { flags: ECHO | ACK, ..Packet::default() };
        assert_eq!((data.is_scalable(), ack.is_scalable()), (true, false));
    }
}
