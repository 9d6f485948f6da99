// SPDX-License-Identifier: MIT OR Apache-2.0
//! Migrate: move live connections to another algorithm.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::kernel::require_available;
use crate::lock::Lock;
use crate::netns::Namespace;
use crate::sockets::raw::socket_record;
use crate::sockets::{reason, Failure, SocketFilter, SocketIterator, MOST_PASSES};

/// Result in one namespace.
#[derive(Debug, Clone, Serialize)]
pub struct NamespaceCount {
    /// How the namespace is called.
    pub namespace: String,
    /// Sockets that were selected in it.
    pub found: usize,
    /// Those that use another program now.
    pub moved: usize,
}

/// What was found and moved.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Migration {
    /// Sockets that were selected.
    pub found: usize,
    /// Those that use another program now.
    pub moved: usize,
    /// Those that already used the program asked for: nothing to do.
    pub already: usize,
    /// Those that could not be moved.
    pub failed: Vec<Failure>,
    /// By namespace; only those with sockets that were selected.
    pub namespaces: Vec<NamespaceCount>,
    /// Namespaces that could not be entered, and why.
    pub unreadable: Vec<String>,
    /// How often the sockets were gone over, in the namespace where that was most often.
    pub passes: usize,
    /// Did the last pass of each namespace find nothing to move? Where not, sockets come faster than they are moved.
    pub is_settled: bool,
}

/// Moves the sockets that are selected to the algorithm `to`. Listening sockets move too, and what they accept from then
/// on uses `to`. Sockets of `to` itself are taken from the program before a swap to the one after it. With `dry_run` they
/// are only counted.
///
/// `progress` is told after each namespace how many of how many are done.
pub fn migrate(
    _lock: &Lock,
    filter: &SocketFilter,
    to: &str,
    dry_run: bool,
    mut progress: impl FnMut(usize, usize),
) -> Result<Migration> {
    require_available(to)?;
    let scan = filter.scan()?;
    let iterator = SocketIterator::load(filter, if dry_run { "" } else { to })?;
    let mut migration = Migration { unreadable: scan.unreadable, is_settled: true, ..Migration::default() };
    for (index, namespace) in scan.found.iter().enumerate() {
        match pass_until_settled(&iterator, namespace) {
            Ok(passes) => migration.add(namespace, &passes),
            Err(error) if filter.namespace.is_some() => return Err(error),
            Err(Error::Gone { .. }) => {}
            Err(error) => migration.unreadable.push(error.to_string()),
        }
        progress(index + 1, scan.found.len());
    }
    if let (0, Some(from)) = (migration.found, &filter.kernel_name) {
        require_available(from)?; // sockets may use a name that was unloaded by force; without any it is a typing error
    }
    Ok(migration)
}

/// What the passes over a namespace have found.
struct Passes {
    /// Each socket once.
    records: Vec<socket_record>,
    count: usize,
    is_settled: bool,
}

fn pass_until_settled(iterator: &SocketIterator, namespace: &Namespace) -> Result<Passes> {
    let mut found: BTreeMap<u64, socket_record> = BTreeMap::new();
    let (mut count, mut is_settled) = (0, false);
    while !is_settled && count < MOST_PASSES {
        is_settled = true;
        count += 1;
        for record in iterator.all(namespace)? {
            is_settled &= record.moved == 0;
            let known = found.entry(record.cookie).or_insert(record);
            if known.moved == 0 {
                *known = record; // it may have been busy
            }
        }
    }
    Ok(Passes { records: found.into_values().collect(), count, is_settled })
}

impl Migration {
    fn add(&mut self, namespace: &Namespace, passes: &Passes) {
        self.passes = self.passes.max(passes.count);
        self.is_settled &= passes.is_settled;
        let records = &passes.records;
        if records.is_empty() {
            return;
        }
        let moved = records.iter().filter(|record| record.moved != 0).count();
        let failed = records.iter().filter(|record| record.error != 0);
        self.failed.extend(failed.map(|record| Failure { socket: record.label(), reason: reason(record.error) }));
        self.already += records.iter().filter(|record| record.error == 0 && record.moved == 0).count();
        self.found += records.len();
        self.moved += moved;
        self.namespaces.push(NamespaceCount { namespace: namespace.label.clone(), found: records.len(), moved });
    }
}
