// SPDX-License-Identifier: GPL-2.0-only
//! What happens next: a queue of times.
//!
//! An event is a time and the source that is to act then; sources of one time act in the order of their numbers, so that
//! nothing depends on how the queue is built. What is due soon lies in a heap of four children a node; what is later lies
//! unsorted in a wheel of 1 ms slots, and beyond the wheel in a heap of its own. Thousands of timers that are moved before
//! they are due cost one push each and never make the near heap deep.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

const SLOT_SHIFT: u32 = 20; // 2^20 ns a slot
const SLOTS: u64 = 1024;

/// A time in ns, and a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    pub(crate) time_ns: u64,
    pub(crate) source: Source,
}

/// Who acts: a kind and an index, packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Source(u32);

/// The kinds of sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A packet has crossed a link.
    Crossing,
    /// A packet that a link held back has crossed it.
    Straggler,
    /// A queue gives a packet to its link.
    Service,
    /// An ACK has come back.
    Return,
    /// A timer of a sender.
    Sender,
    /// A timer of a receiver.
    Receiver,
}

const KINDS: [Kind; 6] = [Kind::Crossing, Kind::Straggler, Kind::Service, Kind::Return, Kind::Sender, Kind::Receiver];

impl Source {
    pub(crate) fn new(kind: Kind, index: u32) -> Self {
        Self(index * KINDS.len() as u32 + kind as u32)
    }

    pub(crate) fn kind(self) -> Kind {
        KINDS[self.0 as usize % KINDS.len()]
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize / KINDS.len()
    }
}

/// The queue.
#[derive(Debug)]
pub(crate) struct Events {
    near: Vec<Event>, // a heap with four children a node
    slot: u64,        // the first slot that is not in the near heap yet
    wheel: Vec<Vec<Event>>,
    in_wheel: usize,
    far: BinaryHeap<Reverse<Event>>,
}

impl Events {
    pub(crate) fn new() -> Self {
        Self { near: Vec::new(), slot: 1, wheel: vec![Vec::new(); SLOTS as usize], in_wheel: 0, far: BinaryHeap::new() }
    }

    pub(crate) fn push(&mut self, time_ns: u64, source: Source) {
        let event = Event { time_ns, source };
        let slot = time_ns >> SLOT_SHIFT;
        if slot < self.slot {
            self.push_near(event);
        } else if slot < self.slot + SLOTS {
            self.wheel[(slot % SLOTS) as usize].push(event);
            self.in_wheel += 1;
        } else {
            self.far.push(Reverse(event));
        }
    }

    /// The next event, if it is not after this time.
    pub(crate) fn pop_until(&mut self, end_ns: u64) -> Option<Event> {
        if self.near.is_empty() && !self.refill() {
            return None;
        }
        let first = self.near[0];
        if first.time_ns > end_ns {
            return None;
        }
        let last = self.near.pop()?;
        if !self.near.is_empty() {
            self.sift_down(last);
        }
        Some(first)
    }

    /// Moves the wheel on to the next slot that holds anything.
    fn refill(&mut self) -> bool {
        while self.near.is_empty() {
            if self.in_wheel == 0 {
                let Some(Reverse(first)) = self.far.peek() else { return false };
                self.slot = self.slot.max(first.time_ns >> SLOT_SHIFT);
            }
            let slot = (self.slot % SLOTS) as usize;
            self.slot += 1;
            let mut due = std::mem::take(&mut self.wheel[slot]);
            self.in_wheel -= due.len();
            for event in due.drain(..) {
                self.push_near(event);
            }
            self.wheel[slot] = due; // keeps its room
            self.take_from_far();
        }
        true
    }

    fn take_from_far(&mut self) {
        while let Some(Reverse(first)) = self.far.peek() {
            if first.time_ns >> SLOT_SHIFT >= self.slot + SLOTS {
                break;
            }
            let Some(Reverse(event)) = self.far.pop() else { break };
            self.push(event.time_ns, event.source);
        }
    }

    fn push_near(&mut self, event: Event) {
        let mut child = self.near.len();
        self.near.push(event);
        while child > 0 {
            let parent = (child - 1) / 4;
            if self.near[parent] <= event {
                break;
            }
            self.near[child] = self.near[parent];
            child = parent;
        }
        self.near[child] = event;
    }

    fn sift_down(&mut self, event: Event) {
        let heap = &mut self.near[..];
        let mut parent = 0;
        loop {
            let first = 4 * parent + 1;
            if first >= heap.len() {
                break;
            }
            let mut least = first;
            for child in first + 1..heap.len().min(first + 4) {
                if heap[child] < heap[least] {
                    least = child;
                }
            }
            if event <= heap[least] {
                break;
            }
            heap[parent] = heap[least];
            parent = least;
        }
        heap[parent] = event;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Random};

    fn source(index: u32) -> Source {
        Source::new(Kind::Sender, index)
    }

    #[test]
    fn a_source_keeps_its_kind_and_index() {
        for kind in KINDS {
            let source = Source::new(kind, 20_000);
            assert_eq!((source.kind(), source.index()), (kind, 20_000));
        }
    }

    #[test]
    fn events_come_in_the_order_of_time_and_source() {
        let mut events = Events::new();
        let mut random = Random::new(7, Purpose::Application, 0);
        let mut expected = Vec::new();
        for index in 0..20_000 {
            // from a nanosecond to a day, and often at one time
            let magnitude = 3 + random.below(44);
            let time_ns = random.below(1 << magnitude);
            events.push(time_ns, source(index));
            expected.push(Event { time_ns, source: source(index) });
        }
        expected.sort();
        let popped: Vec<Event> = std::iter::from_fn(|| events.pop_until(u64::MAX)).collect();
        assert!(popped == expected);
    }

    #[test]
    fn what_is_pushed_while_time_passes_comes_in_order() {
        let mut events = Events::new();
        let mut random = Random::new(8, Purpose::Application, 0);
        let mut now_ns = 0;
        events.push(0, source(0));
        for index in 1..100_000 {
            let event = events.pop_until(u64::MAX).expect("one is always there");
            assert!(event.time_ns >= now_ns);
            now_ns = event.time_ns;
            let magnitude = random.below(34);
            events.push(now_ns + random.below(1 << magnitude), source(index));
            if index.is_multiple_of(3) {
                events.push(now_ns + random.below(1 << 23), source(index));
            }
        }
    }

    #[test]
    fn nothing_comes_before_its_time() {
        let mut events = Events::new();
        events.push(5_000_000_000, source(1));
        assert_eq!(events.pop_until(4_999_999_999), None);
        events.push(4_999_999_999, source(2));
        assert_eq!(events.pop_until(4_999_999_999).map(|event| event.source), Some(source(2)));
        assert_eq!(events.pop_until(5_000_000_000).map(|event| event.source), Some(source(1)));
    }
}
