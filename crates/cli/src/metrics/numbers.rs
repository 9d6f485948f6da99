//! Numbers by which the programs in the kernel know the cgroups that rules name.

use std::collections::{BTreeSet, HashMap};

use ccctl_telemetry::OTHER;

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
    /// Rules name these, and no others.
    pub fn name(&mut self, named: &BTreeSet<&str>) {
        for slot in self.slots.iter_mut().skip(1) {
            if let Slot::Named(path) = slot {
                if !named.contains(path.as_str()) {
                    *slot = Slot::Left(std::mem::take(path));
                }
            }
        }
        for path in named {
            let number = self.by_path.get(*path).copied().unwrap_or_else(|| self.fresh(path));
            self.slots[number as usize] = Slot::Named((*path).to_owned());
        }
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
        numbers.name(&BTreeSet::from(["/b", "/c"]));
        assert_eq!(numbers_of(&numbers), [(2, "/b"), (3, "/c")], "/a may still be counted");
        assert!(!numbers.is_named(1) && numbers.has_left());
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
