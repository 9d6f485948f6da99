// SPDX-License-Identifier: GPL-2.0-only
//! Sets of packet numbers, kept as runs: what a receiver has out of order, what a sender was told of it.

use std::collections::VecDeque;

/// first..end
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Range {
    pub(crate) first: u32,
    pub(crate) end: u32,
}

impl Range {
    pub(crate) fn new(first: u32, end: u32) -> Self {
        Self { first, end }
    }

    pub(crate) fn one(number: u32) -> Self {
        Self { first: number, end: number + 1 }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.first >= self.end
    }
}

/// Runs in order, apart from each other. Work is done at the ends, where packets come and go; in the middle it costs a
/// search and a move of the runs on the shorter side.
#[derive(Debug, Clone, Default)]
pub(crate) struct RangeSet {
    runs: VecDeque<Range>,
}

impl RangeSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.runs.clear();
    }

    pub(crate) fn first(&self) -> Option<Range> {
        self.runs.front().copied()
    }

    pub(crate) fn contains(&self, number: u32) -> bool {
        self.run_of(number).is_some()
    }

    /// The run that a number is part of.
    pub(crate) fn run_of(&self, number: u32) -> Option<Range> {
        let after = self.first_ending_after(number);
        self.runs.get(after).copied().filter(|run| run.first <= number)
    }

    /// Index of the first run with end > number; most often one of the two ends.
    fn first_ending_after(&self, number: u32) -> usize {
        match (self.runs.front(), self.runs.back()) {
            (Some(first), _) if first.end > number => 0,
            (_, Some(last)) if last.end <= number => self.runs.len(),
            _ => self.runs.partition_point(|run| run.end <= number),
        }
    }

    /// Adds one number and gives the run that it is part of now.
    pub(crate) fn insert(&mut self, number: u32) -> Range {
        let at = self.first_ending_after(number);
        let joins_left = at > 0 && self.runs[at - 1].end == number;
        let right = self.runs.get(at).copied();
        match right {
            Some(run) if run.first <= number => run,
            Some(run) if run.first == number + 1 && joins_left => {
                self.runs.remove(at);
                self.runs[at - 1].end = run.end;
                self.runs[at - 1]
            }
            Some(run) if run.first == number + 1 => {
                self.runs[at].first = number;
                self.runs[at]
            }
            _ if joins_left => {
                self.runs[at - 1].end = number + 1;
                self.runs[at - 1]
            }
            _ => {
                self.runs.insert(at, Range::one(number));
                Range::one(number)
            }
        }
    }

    /// The first part of `within` that is not in the set.
    pub(crate) fn first_gap(&self, within: Range) -> Option<Range> {
        let mut gap = within;
        let mut at = self.first_ending_after(gap.first);
        while let Some(run) = self.runs.get(at) {
            if run.first > gap.first {
                gap.end = gap.end.min(run.first);
                break;
            }
            gap.first = run.end;
            at += 1;
        }
        (!gap.is_empty()).then_some(gap)
    }

    /// Adds a run of numbers none of which is in the set.
    pub(crate) fn insert_gap(&mut self, gap: Range) {
        let at = self.first_ending_after(gap.first);
        let joins_left = at > 0 && self.runs[at - 1].end == gap.first;
        let joins_right = self.runs.get(at).is_some_and(|run| run.first == gap.end);
        match (joins_left, joins_right) {
            (true, true) => {
                let right = self.runs.remove(at).unwrap_or(gap);
                self.runs[at - 1].end = right.end;
            }
            (true, false) => self.runs[at - 1].end = gap.end,
            (false, true) => self.runs[at].first = gap.first,
            (false, false) => self.runs.insert(at, gap),
        }
    }

    /// Takes out the smallest number.
    pub(crate) fn pop_first(&mut self) -> Option<u32> {
        let run = self.runs.front_mut()?;
        let number = run.first;
        run.first += 1;
        if run.is_empty() {
            self.runs.pop_front();
        }
        Some(number)
    }

    /// Takes out all numbers below this one.
    pub(crate) fn remove_below(&mut self, number: u32) {
        while let Some(run) = self.runs.front_mut() {
            if run.end > number {
                run.first = run.first.max(number);
                break;
            }
            self.runs.pop_front();
        }
    }

    /// One past the largest number.
    pub(crate) fn end(&self) -> Option<u32> {
        self.runs.back().map(|run| run.end)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::random::{Purpose, Random};

    fn numbers(set: &RangeSet) -> Vec<u32> {
        set.runs.iter().flat_map(|run| run.first..run.end).collect()
    }

    fn assert_apart(set: &RangeSet) {
        let runs: Vec<Range> = set.runs.iter().copied().collect();
        assert!(runs.windows(2).all(|pair| pair[0].end < pair[1].first), "{runs:?}");
        assert!(runs.iter().all(|run| !run.is_empty()), "{runs:?}");
    }

    #[test]
    fn it_is_a_set() {
        let mut random = Random::new(3, Purpose::Application, 0);
        let (mut set, mut model) = (RangeSet::default(), BTreeSet::new());
        for _ in 0..20_000 {
            let number = random.below(120) as u32;
            match random.below(8) {
                0 => assert_eq!(set.pop_first(), model.pop_first()),
                1 if number < 30 => {
                    set.remove_below(number);
                    model.retain(|other| *other >= number);
                }
                2 => {
                    let within = Range::new(number, number + random.below(20) as u32);
                    let expected = (within.first..within.end).find(|number| !model.contains(number));
                    let gap = set.first_gap(within);
                    assert_eq!(gap.map(|gap| gap.first), expected);
                    if let Some(gap) = gap {
                        set.insert_gap(gap);
                        assert!((gap.first..gap.end).all(|number| model.insert(number)));
                    }
                }
                _ => {
                    model.insert(number);
                    assert_eq!(Some(set.insert(number)), set.run_of(number));
                }
            }
            assert_apart(&set);
            assert_eq!(set.contains(number), model.contains(&number));
            assert_eq!(set.first().map(|run| run.first), model.first().copied());
            assert_eq!(set.end().map(|end| end - 1), model.last().copied());
        }
        assert_eq!(numbers(&set), model.into_iter().collect::<Vec<u32>>());
    }
}
