// SPDX-License-Identifier: GPL-2.0-only
//! The peer of a scripted connection: a receiver of TCP that answers as RFC 5681 section 4.2, RFC 2018, RFC 2883, RFC 7323 and
//! RFC 3168 say, and does nothing by itself.

use std::collections::BTreeMap;

use super::language::Settings;

/// At most so many blocks fit beside time stamps.
const BLOCKS: usize = 3;

/// Data as it came: bytes are counted from the first of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    pub first_byte: u32,
    pub end_byte: u32,
    pub timestamp: Option<u32>,
    /// ECN: congestion experienced.
    pub is_marked: bool,
    pub congestion_window_reduced: bool,
    /// Some of it was sent before.
    pub is_retransmission: bool,
}

/// What an acknowledgement says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Acknowledgement {
    /// All before it has come.
    pub next_byte: u32,
    /// Blocks of RFC 2018, that of RFC 2883 first.
    pub blocks: Vec<(u32, u32)>,
    pub has_duplicate: bool,
    pub echoes_mark: bool,
    pub echoed_timestamp: u32,
}

/// A receiver.
#[derive(Debug)]
pub struct Peer {
    settings: Settings,
    next_byte: u32,
    later: BTreeMap<u32, u32>, // by first byte: end
    recent: Vec<u32>,          // first bytes of `later`, the newest first
    pub ack_every_pkts: u32,
    unacknowledged_pkts: u32,
    acknowledged_byte: u32,
    timestamp: u32,
    echoes_mark: bool,
}

impl Peer {
    /// One that has received the SYN.
    pub fn new(settings: &Settings) -> Self {
        Self {
            settings: settings.clone(),
            next_byte: 0,
            later: BTreeMap::new(),
            recent: Vec::new(),
            ack_every_pkts: 2,
            unacknowledged_pkts: 0,
            acknowledged_byte: 0,
            timestamp: 0,
            echoes_mark: false,
        }
    }

    /// The time stamp that it echoes until a later one comes.
    pub fn note_timestamp(&mut self, timestamp: u32) {
        self.timestamp = timestamp;
    }

    /// A segment has come; the acknowledgements that it sends at once.
    pub fn receive(&mut self, segment: &Segment) -> Vec<Acknowledgement> {
        let mut answers = Vec::new();
        if self.settings.echoes_each_mark && segment.is_marked != self.echoes_mark {
            answers.extend(self.delayed());
            self.echoes_mark = segment.is_marked;
        } else if !self.settings.echoes_each_mark {
            self.echoes_mark = (self.echoes_mark && !segment.congestion_window_reduced) || segment.is_marked;
        }
        if let (Some(timestamp), true) = (segment.timestamp, segment.first_byte <= self.acknowledged_byte) {
            self.timestamp = timestamp;
        }
        let duplicate = self.has(segment).then_some((segment.first_byte, segment.end_byte));
        let is_late = segment.first_byte > self.next_byte;
        let fills = !self.later.is_empty();
        if duplicate.is_none() {
            self.keep(segment);
        }
        self.unacknowledged_pkts += 1;
        if duplicate.is_some() || is_late || fills || self.unacknowledged_pkts >= self.ack_every_pkts {
            answers.push(self.acknowledge(duplicate));
        }
        answers
    }

    /// The timer of delayed acknowledgements has ended.
    pub fn delayed(&mut self) -> Option<Acknowledgement> {
        (self.unacknowledged_pkts > 0).then(|| self.acknowledge(None))
    }

    fn has(&self, segment: &Segment) -> bool {
        let before = self.later.range(..=segment.first_byte).next_back();
        segment.end_byte <= self.next_byte || before.is_some_and(|(_, end)| segment.end_byte <= *end)
    }

    fn keep(&mut self, segment: &Segment) {
        let (mut first, mut end) = (segment.first_byte, segment.end_byte);
        while let Some((other, other_end)) = self.later.range(..=end).next_back().map(|(a, b)| (*a, *b)) {
            if other_end < first {
                break;
            }
            (first, end) = (first.min(other), end.max(other_end));
            self.later.remove(&other);
            self.recent.retain(|it| *it != other);
        }
        if first <= self.next_byte {
            self.next_byte = self.next_byte.max(end);
        } else {
            self.later.insert(first, end);
            self.recent.insert(0, first);
        }
    }

    fn acknowledge(&mut self, duplicate: Option<(u32, u32)>) -> Acknowledgement {
        (self.unacknowledged_pkts, self.acknowledged_byte) = (0, self.next_byte);
        let duplicate = duplicate.filter(|_| self.settings.sack && self.settings.duplicate_sack);
        let kept = self.recent.iter().map(|first| (*first, self.later[first]));
        let blocks = duplicate.into_iter().chain(kept).take(BLOCKS);
        Acknowledgement {
            next_byte: self.next_byte,
            blocks: if self.settings.sack { blocks.collect() } else { Vec::new() },
            has_duplicate: duplicate.is_some(),
            echoes_mark: self.echoes_mark,
            echoed_timestamp: self.timestamp,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn packet(number: u32) -> Segment {
        Segment {
            first_byte: (number - 1) * 100,
            end_byte: number * 100,
            timestamp: Some(number),
            is_marked: false,
            congestion_window_reduced: false,
            is_retransmission: false,
        }
    }

    fn peer() -> Peer {
        Peer::new(&Settings::default())
    }

    /// RFC 5681 section 4.2: for every second packet, at once for one that is late, fills a gap, or came before.
    #[test]
    fn acknowledgements_come_when_the_rfc_says() {
        let mut peer = peer();
        let mut answers = |number| peer.receive(&packet(number)).iter().map(|it| it.next_byte).collect::<Vec<_>>();
        assert_eq!((answers(1), answers(2)), (vec![], vec![200]));
        assert_eq!((answers(4), answers(5)), (vec![200], vec![200]));
        assert_eq!((answers(3), answers(3)), (vec![500], vec![500]));
        assert_eq!(answers(6), [0; 0]);
        assert_eq!(peer.delayed().unwrap().next_byte, 600);
        assert!(peer.delayed().is_none());
    }

    /// RFC 2018 section 4: the block with the newest packet first; RFC 2883: what came twice before all.
    #[test]
    fn blocks_are_in_the_order_of_the_rfcs() {
        let mut peer = peer();
        for number in [1, 2, 4, 8] {
            peer.receive(&packet(number));
        }
        assert_eq!(peer.receive(&packet(5))[0].blocks, [(300, 500), (700, 800)]);
        let twice = &peer.receive(&packet(8))[0];
        assert_eq!((twice.blocks.as_slice(), twice.has_duplicate), (&[(700, 800), (300, 500), (700, 800)][..], true));
        assert_eq!(peer.receive(&packet(3))[0].blocks, [(700, 800)]);
    }

    /// RFC 7323 section 4.3: of the first packet that a delayed acknowledgement answers, and not of one behind a gap.
    #[test]
    fn the_time_stamp_is_that_of_the_oldest_packet() {
        let mut peer = peer();
        peer.receive(&packet(1));
        assert_eq!(peer.receive(&packet(2))[0].echoed_timestamp, 1);
        assert_eq!(peer.receive(&packet(4))[0].echoed_timestamp, 1);
        assert_eq!(peer.receive(&packet(3))[0].echoed_timestamp, 3);
    }

    /// RFC 3168 section 6.1.3: until the sender says that it has reduced; RFC 8257 section 3.2: as each packet was.
    #[test]
    fn marks_are_echoed_until_they_are_answered_or_one_by_one() {
        let marked = |number, is_marked| Segment { is_marked, ..packet(number) };
        let mut peer = peer();
        peer.ack_every_pkts = 1;
        let mut echo = |segment: Segment| peer.receive(&segment)[0].echoes_mark;
        assert!(echo(marked(1, true)) && echo(marked(2, false)));
        assert!(!echo(Segment { congestion_window_reduced: true, ..packet(3) }));
        let mut peer = Peer::new(&Settings { echoes_each_mark: true, ..Settings::default() });
        assert!(peer.receive(&packet(1)).is_empty());
        let before = &peer.receive(&marked(2, true))[0];
        assert_eq!((before.next_byte, before.echoes_mark), (100, false));
        assert!(peer.receive(&marked(3, true))[0].echoes_mark);
    }
}
