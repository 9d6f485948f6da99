// SPDX-License-Identifier: GPL-2.0-only
//! What happens next: a queue of times.
//!
//! An event is a time and the source that acts then; sources of one time act in the order of their numbers, so that
//! nothing depends on how the queue is built. Events lie unsorted in a wheel of 1 ms slots, and beyond the wheel in a heap.
//! A slot is sorted when its time comes; what is pushed into it after that lies in a small heap. Thousands of timers that
//! are moved before they are due cost one push each and never make a heap deep, and the next events are known in advance.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

const SLOT_SHIFT: u32 = 20; // 2^20 ns a slot
const SLOTS: u64 = 1024;

/// A time in ns and a source, as one number that has their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event(u128);

impl Event {
    fn new(time_ns: u64, source: Source) -> Self {
        Self(u128::from(time_ns) << 64 | u128::from(source.0))
    }

    pub(crate) fn time_ns(self) -> u64 {
        (self.0 >> 64) as u64
    }

    pub(crate) fn source(self) -> Source {
        Source(self.0 as u32)
    }

    fn slot(self) -> u64 {
        self.time_ns() >> SLOT_SHIFT
    }
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
const KIND_BITS: u32 = 3;

impl Source {
    pub(crate) fn new(kind: Kind, index: u32) -> Self {
        Self(index << KIND_BITS | kind as u32)
    }

    pub(crate) fn kind(self) -> Kind {
        KINDS[self.0 as usize % (1 << KIND_BITS)]
    }

    pub(crate) fn index(self) -> usize {
        (self.0 >> KIND_BITS) as usize
    }
}

/// The queue.
#[derive(Debug)]
pub(crate) struct Events {
    due: Vec<Event>,                  // of the slot that was opened last, the next one at the end
    late: BinaryHeap<Reverse<Event>>, // pushed into slots after they were opened
    slot: u64,                        // the first slot that is not open yet
    wheel: Vec<Vec<Event>>,
    in_wheel: usize,
    far: BinaryHeap<Reverse<Event>>,
}

impl Events {
    pub(crate) fn new() -> Self {
        Self {
            due: Vec::new(),
            late: BinaryHeap::new(),
            slot: 1,
            wheel: vec![Vec::new(); SLOTS as usize],
            in_wheel: 0,
            far: BinaryHeap::new(),
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, time_ns: u64, source: Source) {
        let event = Event::new(time_ns, source);
        if event.slot() < self.slot {
            self.late.push(Reverse(event));
        } else if event.slot() < self.slot + SLOTS {
            self.wheel[(event.slot() % SLOTS) as usize].push(event);
            self.in_wheel += 1;
        } else {
            self.far.push(Reverse(event));
        }
    }

    /// Who acts after so many others, as far as that is known already.
    pub(crate) fn ahead(&self, events: usize) -> Option<Source> {
        let index = self.due.len().checked_sub(events)?;
        self.due.get(index).map(|event| event.source())
    }

    /// The next event, if it is not after this time.
    #[inline]
    pub(crate) fn pop_until(&mut self, end_ns: u64) -> Option<Event> {
        let late = self.late.peek().map(|first| first.0);
        let due = self.due.last().copied();
        match (due, late) {
            (None, None) => {
                self.open_slot().then_some(())?;
                self.pop_until(end_ns)
            }
            (Some(due), late) if late.is_none_or(|late| due <= late) => {
                (due.time_ns() <= end_ns).then_some(())?;
                self.due.pop()
            }
            (_, late) => {
                (late?.time_ns() <= end_ns).then_some(())?;
                self.late.pop();
                late
            }
        }
    }

    /// Sorts the next slot that holds anything; false where there is none. All open slots are empty.
    #[cold]
    fn open_slot(&mut self) -> bool {
        while self.due.is_empty() {
            if self.in_wheel == 0 {
                let Some(Reverse(first)) = self.far.peek() else { return false };
                self.slot = self.slot.max(first.slot());
            }
            self.take_from_far();
            std::mem::swap(&mut self.due, &mut self.wheel[(self.slot % SLOTS) as usize]);
            self.in_wheel -= self.due.len();
            self.slot += 1;
        }
        self.due.sort_unstable_by_key(|event| Reverse(*event));
        true
    }

    fn take_from_far(&mut self) {
        while self.far.peek().is_some_and(|first| first.0.slot() < self.slot + SLOTS) {
            let Some(Reverse(event)) = self.far.pop() else { break };
            self.push(event.time_ns(), event.source());
        }
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
            expected.push(Event::new(time_ns, source(index)));
        }
        expected.sort();
        let popped: Vec<Event> = std::iter::from_fn(|| events.pop_until(u64::MAX)).collect();
        assert!(popped == expected);
    }

    /// A heap of all events is the model; time is stopped at places of its own, as at the ends of runs.
    #[test]
    fn what_is_pushed_while_time_passes_comes_as_from_a_heap() {
        let (mut events, mut model) = (Events::new(), BinaryHeap::new());
        let mut random = Random::new(8, Purpose::Application, 0);
        let (mut now_ns, mut popped) = (0, 0);
        for index in 0..100_000 {
            for _ in 0..random.below(3) {
                let magnitude = random.below(34);
                let time_ns = now_ns + random.below(1 << magnitude);
                events.push(time_ns, source(index));
                model.push(Reverse(Event::new(time_ns, source(index))));
            }
            let magnitude = random.below(30);
            let end_ns = now_ns + random.below(1 << magnitude);
            let expected = model.peek().map(|first| first.0).filter(|first| first.time_ns() <= end_ns);
            assert_eq!(events.pop_until(end_ns), expected);
            now_ns = end_ns;
            if let Some(event) = expected {
                model.pop();
                now_ns = event.time_ns();
                popped += 1;
            }
        }
        assert!(popped > 10_000, "{popped}");
    }

    #[test]
    fn nothing_comes_before_its_time() {
        let mut events = Events::new();
        events.push(5_000_000_000, source(1));
        assert_eq!(events.pop_until(4_999_999_999), None);
        events.push(4_999_999_999, source(2));
        assert_eq!(events.pop_until(4_999_999_999).map(Event::source), Some(source(2)));
        assert_eq!(events.pop_until(5_000_000_000).map(Event::source), Some(source(1)));
    }
}
