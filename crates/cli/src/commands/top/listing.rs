// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names and sums put together: one row for each algorithm that is loaded or in use.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::sample::{Counters, InstanceSample, Instances, Kind, Senders};
use ccctl_core::operations::Listing;

/// What the names stand for.
#[derive(Debug, Default)]
pub struct Known {
    by_name: BTreeMap<String, (Kind, Option<u32>)>,
}

/// Sums over the sockets of one program.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// All sockets.
    pub sockets: u64,
    /// What they did since the last look.
    pub counters: Counters,
    /// Those that send.
    pub senders: Senders,
    /// Connections with a window or threshold that no algorithm can mean.
    pub impossible: u64,
}

impl Known {
    /// As `ccctl list` has it.
    pub fn of(listing: &Listing) -> Self {
        let own = listing.instances.iter().map(|instance| {
            (instance.name.clone(), (Kind::Instance(instance.algorithm.clone()), Some(instance.map_id)))
        });
        let others = listing.others.iter().map(|other| (other.name.clone(), (Kind::Other, Some(other.map_id))));
        let built_in = listing.built_in.iter().map(|one| (one.name.clone(), (Kind::BuiltIn, None)));
        Self { by_name: own.chain(others).chain(built_in).collect() }
    }

    /// Nothing was read yet?
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }
}

/// One row a name; of built-in algorithms only those in use.
pub fn instances(
    known: &Known,
    found: &BTreeMap<(String, u32), Found>,
    elapsed: Option<Duration>,
    unreadable: usize,
) -> Instances {
    let loaded = known.by_name.iter().filter(|(_, (kind, _))| *kind != Kind::BuiltIn).map(|(name, _)| name);
    let used = found.keys().map(|(name, _)| name);
    let names: BTreeSet<&String> = loaded.chain(used).filter(|name| !name.is_empty()).collect();
    let rows = names.into_iter().map(|name| row(name, known, found, elapsed.is_some()));
    Instances {
        elapsed,
        rows: rows.collect(),
        targets: known.by_name.keys().cloned().collect(),
        unreadable,
        ..Instances::default()
    }
}

fn row(name: &str, known: &Known, found: &BTreeMap<(String, u32), Found>, has_grown: bool) -> InstanceSample {
    let (kind, program) = known.by_name.get(name).cloned().unwrap_or_default();
    let mut row = InstanceSample { name: name.to_owned(), kind, program, ..InstanceSample::default() };
    for ((_, map_id), sums) in found.range((name.to_owned(), 0)..=(name.to_owned(), u32::MAX)) {
        row.sockets += sums.sockets;
        if *map_id != program.unwrap_or_default() {
            row.on_old_program += sums.sockets;
        }
        row.impossible += sums.impossible;
        if has_grown {
            row.counters.add(sums.counters);
            row.senders.add(sums.senders);
        }
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known {
        let instance = (Kind::Instance("cubic".to_owned()), Some(7));
        let names = [("bpf_cubic", instance), ("reno", (Kind::BuiltIn, None)), ("vegas", (Kind::BuiltIn, None))];
        Known { by_name: names.map(|(name, what)| (name.to_owned(), what)).into() }
    }

    fn sums(sockets: u64, acked_bytes: u64) -> Found {
        let counters = Counters { acked_bytes, ..Counters::default() };
        Found { sockets, counters, ..Found::default() }
    }

    #[test]
    fn programs_of_a_name_are_one_row_and_built_in_ones_need_sockets() {
        let found = [("bpf_cubic", 5, sums(2, 10)), ("bpf_cubic", 7, sums(3, 20)), ("reno", 0, sums(1, 1))];
        let mut found: BTreeMap<_, _> = found.map(|(name, map, sums)| ((name.to_owned(), map), sums)).into();
        found.insert(("gone".to_owned(), 3), sums(4, 0));
        let all = instances(&known(), &found, Some(Duration::from_secs(1)), 0);
        let short = |row: &InstanceSample| {
            (row.name.clone(), row.sockets, row.on_old_program, row.counters.acked_bytes, row.kind.clone())
        };
        let rows: Vec<_> = all.rows.iter().map(short).collect();
        let cubic = ("bpf_cubic".to_owned(), 5, 2, 30, Kind::Instance("cubic".to_owned()));
        let gone = ("gone".to_owned(), 4, 4, 0, Kind::Unloaded);
        assert_eq!(rows, [cubic, gone, ("reno".to_owned(), 1, 0, 1, Kind::BuiltIn)]);
        assert_eq!(all.targets, ["bpf_cubic", "reno", "vegas"]);
    }

    #[test]
    fn the_first_look_tells_no_growth() {
        let found = BTreeMap::from([(("reno".to_owned(), 0), sums(1, 1_000_000))]);
        let first = instances(&known(), &found, None, 0);
        assert_eq!(first.rows.iter().map(|row| row.counters.acked_bytes).sum::<u64>(), 0);
    }
}
