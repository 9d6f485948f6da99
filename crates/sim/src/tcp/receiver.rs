// SPDX-License-Identifier: GPL-2.0-only
//! The receiving end: which packets are there, and what is acknowledged when (`tcp_data_queue`, `__tcp_ack_snd_check`).

use super::{Echo, TcpSpec};
use crate::packet::{AckOptions, Packet, Sack, ACK, ECHO, MARKED, REDUCED, SACK_BLOCKS};
use crate::ranges::{Range, RangeSet};

/// A pause after which packets are acknowledged one by one again: the sender may have begun anew.
const PAUSE_NS: u64 = 200_000_000;

/// The receiving end of a connection.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // of the protocol
pub(crate) struct Receiver {
    next: u32,
    acked: u32, // `next` as the last ACK told
    pending_pkts: u16,
    quick_acks: u16,
    ack_every_pkts: u16,
    quick_limit: u16,
    growing_pkts: u32, // over which its window grows still
    ack_delay_ns: u64,
    stamp_us: u32, // to be echoed
    last_stamp_us: u32,
    last_ns: u64,
    header_bytes: u16,
    connection: u8,
    sack: bool,
    echo: Echo,
    marked_pkts: u32,
    echoes: bool,
    marks: bool,            // the state DCTCP.CE of RFC 8257
    feedback_bytes_q8: i32, // of XCP's packets that are not acknowledged yet
    out_of_order: RangeSet,
    recent: [Range; SACK_BLOCKS],
    /// Packets received for the first time, in all connections.
    pub(crate) received_pkts: u64,
    /// Packets that were there already.
    pub(crate) duplicate_pkts: u64,
    /// When the delayed ACK is due.
    pub(crate) due_ns: u64,
    /// When its event is due, of those in the queue.
    pub(crate) queued_ns: u64,
}

impl Receiver {
    pub(crate) fn new(spec: &TcpSpec, echo: Echo) -> Self {
        Self {
            next: 0,
            acked: 0,
            pending_pkts: 0,
            quick_acks: spec.quick_acks,
            ack_every_pkts: spec.ack_every_pkts.max(1),
            quick_limit: spec.quick_acks,
            growing_pkts: spec.growing_window_pkts,
            ack_delay_ns: spec.ack_delay.as_nanos() as u64,
            stamp_us: 0,
            last_stamp_us: 0,
            last_ns: 0,
            header_bytes: spec.header_bytes,
            connection: 0,
            sack: spec.sack,
            echo,
            marked_pkts: 0,
            echoes: false,
            marks: false,
            feedback_bytes_q8: 0,
            out_of_order: RangeSet::default(),
            recent: [Range::default(); SACK_BLOCKS],
            received_pkts: 0,
            duplicate_pkts: 0,
            due_ns: u64::MAX,
            queued_ns: u64::MAX,
        }
    }

    /// The next connection of the same user.
    pub(crate) fn renew(&mut self, spec: &TcpSpec, connection: u8) {
        let next = Self::new(spec, self.echo);
        *self = Self {
            connection,
            received_pkts: self.received_pkts,
            duplicate_pkts: self.duplicate_pkts,
            queued_ns: self.queued_ns,
            ..next
        };
    }

    /// Gives `reply` the ACKs that a packet leads to: at most one for what was there before it, and one with it. The feedback is that of
    /// XCP's header, and 0 without one.
    pub(crate) fn receive(
        &mut self,
        now_ns: u64,
        packet: &Packet,
        feedback_bytes_q8: i32,
        mut reply: impl FnMut(Packet, AckOptions),
    ) {
        if packet.connection() != self.connection {
            return;
        }
        if packet.number <= self.acked {
            self.stamp_us = packet.stamp_us; // of the first packet not acknowledged yet (RFC 7323 section 4.3)
        }
        self.last_stamp_us = packet.stamp_us;
        if now_ns - self.last_ns > PAUSE_NS {
            self.quick_acks = self.quick_acks.max(self.quick_limit);
        }
        self.last_ns = now_ns;
        if self.marks_change(packet) && self.pending_pkts > 0 {
            let (ack, options) = self.ack(now_ns, None);
            reply(ack, options);
        }
        // an ACK for several packets carries the feedback of all of them
        self.feedback_bytes_q8 = self.feedback_bytes_q8.saturating_add(feedback_bytes_q8);
        let mut at_once = self.note_mark(packet);
        let had_gap = !self.out_of_order.is_empty();
        let duplicate = self.take(packet.number);
        if duplicate {
            self.quick_acks = self.quick_limit;
        } else if self.growing_pkts > 0 {
            self.growing_pkts -= 1;
            self.quick_acks |= 1;
        }
        at_once |= duplicate || had_gap || !self.out_of_order.is_empty();
        if at_once || self.quick_acks > 0 || self.pending_pkts >= self.ack_every_pkts {
            let reported = duplicate.then(|| Range::one(packet.number));
            let (ack, options) = self.ack(now_ns, reported);
            reply(ack, options);
        } else if self.due_ns == u64::MAX {
            self.due_ns = now_ns + self.ack_delay_ns;
        }
    }

    /// Takes a packet; true where it was there already.
    #[inline]
    fn take(&mut self, number: u32) -> bool {
        let is_next = number == self.next; // which is never in the set
        if number < self.next || (!is_next && self.out_of_order.contains(number)) {
            self.duplicate_pkts += 1;
            return true;
        }
        self.received_pkts += 1;
        if !is_next {
            let run = self.out_of_order.insert(number);
            self.remember(run);
            return false;
        }
        self.next = number + 1;
        self.pending_pkts = self.pending_pkts.saturating_add(1);
        if let Some(run) = self.out_of_order.first().filter(|run| run.first == self.next) {
            self.next = run.end;
            self.out_of_order.remove_below(self.next);
        }
        false
    }

    /// The run that a packet came to goes first, those that it has swallowed go out (RFC 2018 section 4).
    fn remember(&mut self, run: Range) {
        let mut kept = [Range::default(); SACK_BLOCKS];
        kept[0] = run;
        let others =
            self.recent.iter().filter(|other| !other.is_empty() && (other.end < run.first || other.first > run.end));
        for (place, other) in kept[1..].iter_mut().zip(others) {
            *place = *other;
        }
        self.recent = kept;
    }

    /// For algorithms that count marks every ACK tells of packets with one and the same mark (RFC 8257 section 3.2).
    fn marks_change(&self, packet: &Packet) -> bool {
        self.echo == Echo::EachMark && self.marks != packet.has(MARKED)
    }

    /// ECN (RFC 3168 section 6.1.3): echoes from a mark until the sender has reacted. True: to be acknowledged at once.
    fn note_mark(&mut self, packet: &Packet) -> bool {
        let is_marked = packet.has(MARKED);
        match self.echo {
            Echo::UntilReduced => {}
            Echo::EachMark => {
                let changes = self.marks_change(packet);
                self.marks = is_marked;
                self.echoes = is_marked;
                return changes;
            }
            Echo::Count => return self.count_mark(is_marked),
        }
        let reduced = packet.has(REDUCED);
        if reduced {
            self.echoes = false;
        }
        if is_marked && !self.echoes {
            self.echoes = true;
            self.quick_acks = self.quick_acks.max(2);
        }
        reduced
    }

    /// Accurate ECN counts. The first mark after packets without one is told at once (RFC 9768 section 3.2.2.5.1).
    fn count_mark(&mut self, is_marked: bool) -> bool {
        let begins = is_marked && !self.marks;
        self.marks = is_marked;
        self.marked_pkts = self.marked_pkts.wrapping_add(u32::from(is_marked));
        begins
    }

    /// The delayed ACK is due.
    pub(crate) fn delayed_ack(&mut self, now_ns: u64) -> Option<(Packet, AckOptions)> {
        (self.due_ns <= now_ns).then(|| self.ack(now_ns, None))
    }

    #[inline]
    fn ack(&mut self, now_ns: u64, duplicate: Option<Range>) -> (Packet, AckOptions) {
        self.quick_acks = self.quick_acks.saturating_sub(1);
        self.pending_pkts = 0;
        self.due_ns = u64::MAX;
        self.acked = self.next;
        let mut packet = Packet {
            number: self.next,
            stamp_us: (now_ns / 1000) as u32,
            echo_us: self.stamp_us,
            size_bytes: self.header_bytes,
            flags: ACK | if self.echoes { ECHO } else { 0 },
            ..Packet::default()
        };
        packet.set_connection(self.connection);
        let options = AckOptions {
            sack: self.sack_option(duplicate).filter(|_| self.sack),
            received_ce_pkts: (self.echo == Echo::Count).then_some(self.marked_pkts),
            feedback_bytes_q8: std::mem::take(&mut self.feedback_bytes_q8),
        };
        (packet, options)
    }

    /// RFC 2018, RFC 2883
    #[inline]
    fn sack_option(&mut self, duplicate: Option<Range>) -> Option<Sack> {
        if duplicate.is_none() && self.out_of_order.is_empty() {
            return None;
        }
        let mut sack = Sack { is_duplicate: duplicate.is_some(), ..Sack::default() };
        let mut places = sack.blocks.iter_mut();
        for block in duplicate.into_iter().chain(self.recent.iter().copied().filter(|run| run.end > self.next)) {
            if let (Some(place), false) = (places.next(), block.is_empty()) {
                *place = block;
            }
        }
        Some(sack)
    }

    pub(crate) fn in_order_pkts(&self) -> u32 {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn receiver(echo: Echo) -> Receiver {
        Receiver::new(&TcpSpec { quick_acks: 0, ..TcpSpec::default() }, echo)
    }

    fn data(number: u32, flags: u8) -> Packet {
        Packet { number, flags, stamp_us: 1000 + number, ..Packet::default() }
    }

    /// The ACKs that one packet leads to.
    fn replies(receiver: &mut Receiver, now_ns: u64, packet: &Packet) -> Vec<(Packet, AckOptions)> {
        let mut replies = Vec::new();
        receiver.receive(now_ns, packet, 0, |ack, options| replies.push((ack, options)));
        replies
    }

    /// Receives packets a millisecond apart; the ACKs' numbers, with their blocks.
    fn acks(receiver: &mut Receiver, numbers: &[u32]) -> Vec<(u32, Vec<(u32, u32)>)> {
        let mut seen = Vec::new();
        for (time, number) in numbers.iter().enumerate() {
            receiver.receive(time as u64 * MS, &data(*number, 0), 0, |packet, options| {
                let blocks = options.sack.map(|sack| sack.blocks).unwrap_or_default();
                let blocks = blocks.iter().filter(|block| !block.is_empty()).map(|block| (block.first, block.end));
                seen.push((packet.number, blocks.collect()));
            });
        }
        seen
    }

    /// RFC 1122 section 4.2.3.2, RFC 5681 section 4.2: every second packet, and at once what is out of order or fills a gap.
    #[test]
    fn packets_in_order_are_acknowledged_in_pairs_and_others_at_once() {
        let seen = acks(&mut receiver(Echo::UntilReduced), &[0, 1, 2, 4, 3, 5, 6]);
        let expected = [(2, vec![]), (3, vec![(4, 5)]), (5, vec![]), (7, vec![])];
        assert_eq!(seen, expected);
    }

    /// Linux 6.18's `tcp_grow_window` sets the lowest bit of `icsk_ack.quick`, of which each ACK takes one: 5 packets of a growing
    /// window leave 16 quick ACKs as they were.
    #[test]
    fn each_packet_of_a_growing_window_is_acknowledged() {
        for (quick_acks, first_pair) in [(0, 7), (16, 23)] {
            let spec = TcpSpec { quick_acks, growing_window_pkts: 5, ..TcpSpec::default() };
            let numbers: Vec<u32> = (0..30).collect();
            let seen = acks(&mut Receiver::new(&spec, Echo::UntilReduced), &numbers);
            let alone = (1..first_pair - 1).chain((first_pair..=30).step_by(2));
            assert_eq!(seen.iter().map(|(number, _)| *number).collect::<Vec<_>>(), alone.collect::<Vec<_>>());
        }
    }

    /// RFC 2018 section 4: the newest block first, then those reported before it.
    #[test]
    fn blocks_come_newest_first() {
        let seen = acks(&mut receiver(Echo::UntilReduced), &[2, 4, 8, 5, 10, 12]);
        assert_eq!(seen[3].1, [(4, 6), (8, 9), (2, 3)]);
        assert_eq!(seen[5].1, [(12, 13), (10, 11), (4, 6), (8, 9)]);
    }

    /// RFC 2883 section 4: what was there already goes first, below the acknowledgement or inside the next block.
    #[test]
    fn duplicates_are_reported() {
        let mut receiver = receiver(Echo::UntilReduced);
        acks(&mut receiver, &[0, 1, 3]);
        let again = |receiver: &mut Receiver, number| {
            let (packet, options) = replies(receiver, 10 * MS, &data(number, 0)).pop().expect("at once");
            let sack = options.sack.expect("it is reported");
            assert!(sack.is_duplicate);
            (packet.number, sack.blocks[0], sack.blocks[1])
        };
        assert_eq!(again(&mut receiver, 0), (2, Range::one(0), Range::one(3)));
        assert_eq!(again(&mut receiver, 3), (2, Range::one(3), Range::one(3)));
    }

    /// RFC 7323 section 4.3: the time stamp of the first packet that a delayed ACK is for, and of the one that fills a gap.
    #[test]
    fn the_echo_is_of_the_first_packet_not_acknowledged() {
        let mut receiver = receiver(Echo::UntilReduced);
        let mut echo = |number| replies(&mut receiver, 0, &data(number, 0)).pop().map(|(packet, _)| packet.echo_us);
        assert_eq!([echo(0), echo(1), echo(2), echo(4), echo(3)], [None, Some(1000), None, Some(1002), Some(1003)]);
    }

    /// RFC 3168 section 6.1.3: from the mark until the sender says that it has reacted.
    #[test]
    fn a_mark_is_echoed_until_the_window_was_reduced() {
        let mut receiver = receiver(Echo::UntilReduced);
        let flags = [0, MARKED, 0, 0, REDUCED, 0];
        let mut echoes = Vec::new();
        for (number, flags) in flags.into_iter().enumerate() {
            let replies = replies(&mut receiver, 0, &data(number as u32, flags));
            echoes.extend(replies.iter().map(|(packet, _)| (packet.number, packet.has(ECHO))));
        }
        assert_eq!(echoes, [(2, true), (3, true), (5, false)]);
    }

    /// RFC 8257 section 3.2: each ACK is for packets with one and the same mark.
    #[test]
    fn where_the_mark_changes_the_packets_before_are_acknowledged_first() {
        let mut receiver = receiver(Echo::EachMark);
        let mut told = Vec::new();
        for (number, flags) in [0, 0, 0, MARKED, MARKED, MARKED, 0].into_iter().enumerate() {
            let replies = replies(&mut receiver, 0, &data(number as u32, flags));
            told.extend(replies.iter().map(|(ack, _)| (ack.number, ack.has(ECHO))));
        }
        assert_eq!(told, [(2, false), (3, false), (4, true), (6, true), (7, false)]);
    }

    /// Katabi, Handley, Rohrs, SIGCOMM 2002, section 3.4: what the header says goes back to the sender, once.
    #[test]
    fn an_ack_carries_the_feedback_of_all_its_packets() {
        let mut receiver = receiver(Echo::UntilReduced);
        let mut told = Vec::new();
        for (number, feedback_bytes_q8) in [300, -50, 7, 0, 0, 0].into_iter().enumerate() {
            let packet = data(number as u32, 0);
            receiver.receive(0, &packet, feedback_bytes_q8, |ack, options| {
                told.push((ack.number, options.feedback_bytes_q8));
            });
        }
        assert_eq!(told, [(2, 250), (4, 7), (6, 0)]);
    }

    /// RFC 9768: every ACK carries the count; section 3.2.2.5.1: the first mark after packets without one is told at once.
    #[test]
    fn accurate_ecn_counts_every_mark() {
        let mut receiver = receiver(Echo::Count);
        let mut told = Vec::new();
        for (number, flags) in [0, 0, MARKED, MARKED, MARKED, 0, 0, MARKED].into_iter().enumerate() {
            let replies = replies(&mut receiver, 0, &data(number as u32, flags));
            told.extend(replies.iter().map(|(ack, options)| (ack.number, options.received_ce_pkts)));
            assert!(replies.iter().all(|(ack, _)| !ack.has(ECHO)));
        }
        assert_eq!(told, [(2, Some(0)), (3, Some(1)), (5, Some(3)), (7, Some(3)), (8, Some(4))]);
    }
}
