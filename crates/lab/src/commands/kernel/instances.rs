// SPDX-License-Identifier: GPL-2.0-only
//! The instances of a run: loaded when it begins, unloaded when it ends, and what a killed run has left.

use std::io::Write as _;
use std::time::Duration;

use ccctl_catalog::ParameterSet;
use ccctl_console::cause;
use ccctl_lab::backend::{Algorithms, BackendError, KernelAlgorithm};
use ccctl_loader::{
    available_algorithms, load, recover, unload, Instance, LoadRequest, Lock, Program, Recovered, UnloadOptions,
};

use super::failed;
use super::owner::Owner;

/// Names are `lab_PID_N`: 15 letters at most with the largest process number of Linux.
const PREFIX: &str = "lab_";
const MOST: u32 = 1000;

/// How long to wait for another ccctl. Its longest work, moving 100,000 sockets, takes seconds.
const LOCK_PATIENCE: Duration = Duration::from_secs(30);

/// Loads them by the loader.
pub struct Instances;

impl Algorithms for Instances {
    fn provide(&self, algorithm: &str, parameters: &ParameterSet) -> Result<Box<dyn KernelAlgorithm>, BackendError> {
        let loaded = load_one(algorithm, parameters).map_err(|error| failed(&error))?;
        Ok(Box::new(loaded))
    }
}

/// An instance that goes with this.
struct Loaded {
    name: String,
}

impl KernelAlgorithm for Loaded {
    fn kernel_name(&self) -> &str {
        &self.name
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        if let Err(error) = lock().and_then(|lock| remove(&lock, std::slice::from_ref(&self.name))) {
            // With stderr closed there is nobody to tell; the next run takes it away.
            let _ = writeln!(std::io::stderr(), "ccctl-lab: cannot remove {}: {}", self.name, cause(&error));
        }
    }
}

fn load_one(algorithm: &str, parameters: &ParameterSet) -> anyhow::Result<Loaded> {
    let program = Program::named(algorithm)?;
    let profile = Owner::this()?.profile();
    let lock = lock()?;
    let name = free_name()?;
    load(&lock, &LoadRequest { program: &program, name: &name, profile: &profile, parameters })?;
    Ok(Loaded { name })
}

/// Takes the lock of those who change something. What a killed ccctl has left and cannot be finished keeps no run from going on.
fn lock() -> anyhow::Result<Lock> {
    let Recovered { lock, left, .. } = recover(LOCK_PATIENCE)?;
    for left in left {
        // With stderr closed there is nobody to tell.
        let _ = writeln!(std::io::stderr(), "ccctl-lab: a killed ccctl left this behind: {left}");
    }
    Ok(lock)
}

/// The first that nobody has; names that look alike may be a user's.
fn free_name() -> anyhow::Result<String> {
    let (taken, pinned, pid) = (available_algorithms()?, Instance::names()?, std::process::id());
    let mut names = (0..MOST).map(|number| format!("{PREFIX}{pid}_{number}"));
    let free = names.find(|name| !taken.contains(name) && !pinned.contains(name));
    free.ok_or_else(|| anyhow::anyhow!("all instance names of a run are in use"))
}

fn remove(lock: &Lock, names: &[String]) -> anyhow::Result<()> {
    unload(lock, names, &UnloadOptions { migrate_to: None, force: true })?;
    Ok(())
}

/// Takes out what runs have loaded that are no more, and gives their names.
pub fn remove_leftovers() -> anyhow::Result<Vec<String>> {
    if !Instance::names()?.iter().any(|name| name.starts_with(PREFIX)) {
        return Ok(Vec::new());
    }
    let lock = lock()?;
    let mut stale: Vec<String> = Instance::names()?.into_iter().filter(|name| is_leftover(name)).collect();
    stale.sort();
    if !stale.is_empty() {
        remove(&lock, &stale)?;
    }
    Ok(stale)
}

/// Under the lock nobody is loading or unloading: a pin without an instance is what a kill has left of a load.
fn is_leftover(name: &str) -> bool {
    if !name.starts_with(PREFIX) {
        return false;
    }
    match Instance::named(name) {
        Ok(instance) => Owner::of_profile(&instance.identity.profile).is_some_and(|owner| !owner.is_alive()),
        Err(_) => available_algorithms().is_ok_and(|known| !known.iter().any(|known| known == name)),
    }
}
