// SPDX-License-Identifier: MIT OR Apache-2.0
//! Everything back to what was there before ccctl.

use ccctl_loader::canary::{self, Canary};
use ccctl_loader::owner_records::{self, OwnerRecord, RecordText};
use ccctl_loader::{
    available_algorithms, current_default, remove_all, retire, set_default, Instance, Lock, Moved, NamespaceScan,
    RestoredDefault, Unloaded,
};

/// What was taken back.
pub struct TornDown {
    /// Rules, and the sockets that they had given something.
    pub rules: (usize, Moved),
    /// Instances, sockets and defaults.
    pub unloaded: Unloaded,
}

/// Takes back what files have asked for and what was made by hand. It may be killed at any point and run again.
pub fn teardown(lock: &Lock) -> anyhow::Result<TornDown> {
    let (rules, moved) = remove_all(lock, true)?;
    let (restored, failed) = restore_defaults(lock)?;
    let mut unloaded = retire(lock, &Instance::names()?)?;
    unloaded.defaults_restored.splice(0..0, restored);
    unloaded.not_restored.splice(0..0, failed);
    canary::all()?.iter().try_for_each(Canary::remove_lock)?;
    for owner in owner_records::all()?.keys() {
        owner_records::remove(lock, owner)?;
    }
    Ok(TornDown { rules: (rules.len(), moved), unloaded })
}

/// Defaults that files have set; those that were set by hand are restored with the instance that they name.
fn restore_defaults(lock: &Lock) -> anyhow::Result<(Vec<RestoredDefault>, Vec<String>)> {
    let owners = owner_records::all()?;
    let mut restored = Vec::new();
    let failed = NamespaceScan::all()?.each(|namespace| {
        let owner = OwnerRecord::default_of(namespace)?;
        let Some(RecordText(former)) = owners.get(&owner) else { return Ok(()) };
        let usable = available_algorithms()?.contains(former);
        let name = if usable { former } else { "reno" };
        if namespace.run(current_default)? != name {
            namespace.run(|| set_default(lock, name))?;
            restored.push(RestoredDefault { namespace: namespace.label.clone(), congestion_control: name.to_owned() });
        }
        owner_records::remove(lock, &owner)
    });
    Ok((restored, failed))
}
