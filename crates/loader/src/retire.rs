//! Retire: unload, with every socket moved to what the default of its namespace becomes.

use std::collections::BTreeMap;

use crate::default;
use crate::error::Result;
use crate::lock::Lock;
use crate::netns::{Namespace, NamespaceScan};
use crate::sockets::{SocketFilter, SocketIterator};
use crate::unload::{unload, RestoredDefault, UnloadOptions, Unloaded};

/// Connections that begin while others are moved are met by the next pass.
const PASSES: usize = 3;

/// Takes instances out of the kernel as if they had never been there: first the defaults of before, then sockets move to
/// these, then the names go. Sockets that cannot be moved keep the program until they close, and are counted as left.
/// It may be killed at any point and run again.
pub fn retire(lock: &Lock, names: &[String]) -> Result<Unloaded> {
    let scan = NamespaceScan::all()?;
    let mut defaults_restored = Vec::new();
    for namespace in &scan.found {
        for name in names {
            if let Some(name) = default::restore(lock, namespace, name)? {
                defaults_restored.push(RestoredDefault { namespace: namespace.label.clone(), name });
            }
        }
    }
    let mut migrated = 0;
    for _ in 0..PASSES {
        let moved = move_all(names, &scan.found)?;
        migrated += moved;
        if moved == 0 {
            break;
        }
    }
    let unloaded = unload(lock, names, &UnloadOptions { migrate_to: None, force: true })?;
    defaults_restored.extend(unloaded.defaults_restored);
    Ok(Unloaded { migrated, defaults_restored, ..unloaded })
}

fn move_all(names: &[String], namespaces: &[Namespace]) -> Result<usize> {
    let mut by_default: BTreeMap<String, Vec<&Namespace>> = BTreeMap::new();
    for namespace in namespaces {
        by_default.entry(namespace.run(default::current)?).or_default().push(namespace);
    }
    let mut moved = 0;
    for name in names {
        for (default, namespaces) in by_default.iter().filter(|(default, _)| *default != name) {
            let iterator = SocketIterator::load(&SocketFilter::of_algorithm(name), default)?;
            for namespace in namespaces {
                moved += iterator.all(namespace)?.iter().filter(|record| record.moved != 0).count();
            }
        }
    }
    Ok(moved)
}
