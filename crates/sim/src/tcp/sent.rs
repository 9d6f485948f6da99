// SPDX-License-Identifier: GPL-2.0-only
//! What a sender remembers of each packet in flight: 20 bytes in a ring that packet numbers index.

/// Selectively acknowledged.
pub(crate) const SACKED: u8 = 1;
/// Marked lost.
pub(crate) const LOST: u8 = 2;
/// Sent again, and that is in flight (`TCPCB_SACKED_RETRANS`).
pub(crate) const RESENT: u8 = 4;
/// Was ever sent again (`TCPCB_EVER_RETRANS`).
pub(crate) const EVER_RESENT: u8 = 8;
/// Sent while the application had nothing more to send.
pub(crate) const LIMITED: u8 = 16;
/// Has given its rate sample, at its selective acknowledgement.
pub(crate) const SAMPLED: u8 = 32;

/// `struct tcp_skb_cb` of one packet; clocks are the low 32 bits of the time in us.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sent {
    /// Last time it was sent.
    pub(crate) time_us: u32,
    /// `tx.first_tx_mstamp`: when what it is measured against was sent.
    pub(crate) first_sent_us: u32,
    /// `tx.delivered_mstamp`
    pub(crate) delivered_us: u32,
    /// `tx.delivered`
    pub(crate) delivered_pkts: u32,
    pub(crate) flags: u8,
}

impl Sent {
    pub(crate) fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }
}

/// The packets from the first unacknowledged one to the last one sent.
#[derive(Debug)]
pub(crate) struct SentRing {
    slots: Vec<Sent>,
    mask: u32,
}

impl SentRing {
    pub(crate) fn new() -> Self {
        Self { slots: vec![Sent::default(); 16], mask: 15 }
    }

    pub(crate) fn get(&self, number: u32) -> &Sent {
        &self.slots[(number & self.mask) as usize]
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> &mut Sent {
        &mut self.slots[(number & self.mask) as usize]
    }

    /// Makes room for the packet `next` where those from `una` on are kept.
    pub(crate) fn reserve(&mut self, una: u32, next: u32) {
        if next - una <= self.mask {
            return;
        }
        let mask = self.mask * 2 + 1;
        let mut slots = vec![Sent::default(); mask as usize + 1];
        for number in una..next {
            slots[(number & mask) as usize] = *self.get(number);
        }
        (self.slots, self.mask) = (slots, mask);
    }
}

/// a was before b, modulo 2^32
pub(crate) fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// `tcp_skb_sent_after`: by time, and by number where two were sent at one time
pub(crate) fn sent_after(time_us: u32, number: u32, other_time_us: u32, other_number: u32) -> bool {
    is_before(other_time_us, time_us) || (time_us == other_time_us && number > other_number)
}
