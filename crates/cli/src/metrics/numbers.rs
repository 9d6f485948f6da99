// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers by which the programs in the kernel know the cgroups that rules name.

use std::collections::{BTreeSet, HashMap};

use ccctl_telemetry::{CGROUPS, OTHER};

/// Numbers of paths. One that no rule names any more keeps its number until [`release`](Self::release): until then
/// something may still be counted under it.
#[derive(Debug)]
pub struct Numbers {
    /// By number; 0 is that of all other cgroups.
    slots: Vec<Slot>,
    by_path: HashMap<String, u32>,
    free: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Slot {
    Free,
    Named(String),
    /// Not named any more.
    Left(String),
}

impl Default for Numbers {
    fn default() -> Self {
        Self { slots: vec![Slot::Named(OTHER.to_owned())], by_path: HashMap::new(), free: Vec::new() }
    }
}

impl Numbers {
    /// Rules name these, and no others. Those for which the programs have no room are counted with the cgroup above them;
    /// returns how many. One that has its number keeps it.
    pub fn name(&mut self, named: &BTreeSet<&str>) -> usize {
        for slot in self.slots.iter_mut().skip(1) {
            if let Slot::Named(path) = slot {
                if !named.contains(path.as_str()) {
                    *slot = Slot::Left(std::mem::take(path));
                }
            }
        }
        let mut room = CGROUPS.saturating_sub(self.named().count());
        let mut left_out = 0;
        for path in named {
            let known = self.by_path.get(*path).copied();
            if known.is_some_and(|number| self.is_named(number)) {
                continue;
            }
            if room == 0 {
                left_out += 1;
                continue;
            }
            room -= 1;
            let number = known.unwrap_or_else(|| self.fresh(path));
            self.slots[number as usize] = Slot::Named((*path).to_owned());
        }
        left_out
    }

    fn fresh(&mut self, path: &str) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::Free);
            self.slots.len() as u32 - 1
        });
        self.by_path.insert(path.to_owned(), number);
        number
    }

    /// Those that are named, with their paths.
    pub fn named(&self) -> impl Iterator<Item = (u32, &str)> {
        let slots = self.slots.iter().enumerate().skip(1);
        slots.filter_map(|(number, slot)| match slot {
            Slot::Named(path) => Some((number as u32, path.as_str())),
            _ => None,
        })
    }

    /// The number of a path that is named.
    pub fn number(&self, path: &str) -> Option<u32> {
        self.by_path.get(path).copied().filter(|number| self.is_named(*number))
    }

    /// Labels by number.
    pub fn labels(&self) -> Vec<Option<String>> {
        let label = |slot: &Slot| match slot {
            Slot::Named(path) => Some(path.clone()),
            _ => None,
        };
        self.slots.iter().map(label).collect()
    }

    /// Does a rule name the cgroup of this number?
    pub fn is_named(&self, number: u32) -> bool {
        matches!(self.slots.get(number as usize), Some(Slot::Named(_)))
    }

    /// Is there any that is not named any more, and has its number still?
    pub fn has_left(&self) -> bool {
        self.slots.iter().any(|slot| matches!(slot, Slot::Left(_)))
    }

    /// Nothing is counted any more under those that are not named.
    pub fn release(&mut self) {
        for (number, slot) in self.slots.iter_mut().enumerate() {
            if let Slot::Left(path) = slot {
                self.by_path.remove(path);
                self.free.push(number as u32);
                *slot = Slot::Free;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers_of(numbers: &Numbers) -> Vec<(u32, &str)> {
        numbers.named().collect()
    }

    #[test]
    fn a_number_is_used_again_when_nothing_is_counted_under_it_any_more() {
        let mut numbers = Numbers::default();
        numbers.name(&BTreeSet::from(["/a", "/b"]));
        assert_eq!(numbers_of(&numbers), [(1, "/a"), (2, "/b")]);
        assert_eq!((numbers.number("/b"), numbers.number("/c")), (Some(2), None));
        numbers.name(&BTreeSet::from(["/b", "/c"]));
        assert_eq!(numbers_of(&numbers), [(2, "/b"), (3, "/c")], "/a may still be counted");
        assert!(!numbers.is_named(1) && numbers.has_left() && numbers.number("/a").is_none());
        numbers.release();
        numbers.name(&BTreeSet::from(["/b", "/c", "/d"]));
        assert_eq!(numbers_of(&numbers), [(1, "/d"), (2, "/b"), (3, "/c")]);
        let labels = numbers.labels();
        assert_eq!(labels.iter().flatten().collect::<Vec<_>>(), ["other", "/d", "/b", "/c"]);
    }

    #[test]
    fn one_that_is_named_again_before_has_its_number() {
        let mut numbers = Numbers::default();
        numbers.name(&BTreeSet::from(["/a"]));
        numbers.name(&BTreeSet::new());
        numbers.name(&BTreeSet::from(["/a"]));
        numbers.release();
        assert_eq!(numbers_of(&numbers), [(1, "/a")]);
    }

    #[test]
    fn cgroups_beyond_the_room_of_the_programs_have_no_number() {
        let paths: Vec<String> = (0..CGROUPS + 2).map(|number| format!("/{number:05}")).collect();
        let all: BTreeSet<&str> = paths.iter().map(String::as_str).collect();
        let but_one: BTreeSet<&str> = all.iter().copied().skip(1).collect();
        let mut numbers = Numbers::default();
        assert_eq!((numbers.name(&but_one), numbers.named().count()), (1, CGROUPS));
        let before: Vec<(u32, String)> = numbers.named().map(|(number, path)| (number, path.to_owned())).collect();
        assert_eq!(numbers.name(&all), 2, "/00000 comes first, and takes nobody's room");
        assert!(numbers.named().eq(before.iter().map(|(number, path)| (*number, path.as_str()))));
        let few: BTreeSet<&str> = all.iter().copied().take(2).collect();
        assert_eq!((numbers.name(&few), numbers.named().count()), (0, 2), "there is room again");
    }

    #[test]
    fn churn_takes_no_more_numbers_than_are_named_at_once() {
        let mut numbers = Numbers::default();
        for round in 0..1000 {
            let paths = [format!("/{round}/a"), format!("/{round}/b")];
            numbers.name(&paths.iter().map(String::as_str).collect());
            numbers.release();
        }
        assert_eq!(numbers.labels().len(), 5, "two of now, two of before, and the others");
    }
}
