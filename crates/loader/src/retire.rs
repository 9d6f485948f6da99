// SPDX-License-Identifier: MIT OR Apache-2.0
//! Retire: unload, with every socket moved to what the default of its namespace becomes.

use std::collections::{BTreeMap, BTreeSet};

use crate::default;
use crate::error::Result;
use crate::kernel::current_default;
use crate::lock::Lock;
use crate::netns::NamespaceScan;
use crate::sockets::{SocketFilter, SocketIterator};
use crate::unload::{unload, UnloadOptions, Unloaded};

/// Connections that begin while others are moved are met by the next pass.
const PASSES: usize = 3;

/// Takes instances out of the kernel as if they had never been there: first the defaults of before, then sockets move to
/// these, then the names go. Sockets that cannot be moved keep the program until they close, and are counted as left.
/// It may be killed at any point and run again.
pub fn retire(lock: &Lock, names: &[String]) -> Result<Unloaded> {
    let scan = NamespaceScan::all()?;
    let (mut defaults_restored, mut not_restored) = (Vec::new(), Vec::new());
    for name in names {
        let (restored, failed) = default::restore_all(lock, &scan, name);
        defaults_restored.extend(restored);
        not_restored.extend(failed);
    }
    let mut migrated = 0;
    for _ in 0..PASSES {
        let moved = move_all(names, &scan, &mut not_restored)?;
        migrated += moved;
        if moved == 0 {
            break;
        }
    }
    let unloaded = unload(lock, names, &UnloadOptions { migrate_to: None, force: true })?;
    defaults_restored.extend(unloaded.defaults_restored);
    not_restored.extend(unloaded.not_restored);
    not_restored.sort();
    not_restored.dedup(); // each pass meets them again
    Ok(Unloaded { migrated, defaults_restored, not_restored, ..unloaded })
}

fn move_all(names: &[String], scan: &NamespaceScan, failed: &mut Vec<String>) -> Result<usize> {
    let mut defaults = BTreeMap::new();
    failed.extend(
        scan.each(|namespace| namespace.run(current_default).map(|name| drop(defaults.insert(namespace.inode, name)))),
    );
    let mut moved = 0;
    for name in names {
        for default in defaults.values().filter(|default| *default != name).collect::<BTreeSet<_>>() {
            let iterator = SocketIterator::load(&SocketFilter::of_kernel_name(name), default)?;
            failed.extend(scan.each(|namespace| {
                if defaults.get(&namespace.inode) == Some(default) {
                    moved += iterator.all(namespace)?.iter().filter(|record| record.moved != 0).count();
                }
                Ok(())
            }));
        }
    }
    Ok(moved)
}
