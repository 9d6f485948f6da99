// SPDX-License-Identifier: MIT OR Apache-2.0
//! Unload: take an algorithm out of the kernel.

use std::fs;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant as Clock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bpffs;
use crate::default::{self, RestoredDefault};
use crate::error::{Error, Result};
use crate::instance::{Anchor, Instance};
use crate::kernel::{available_algorithms, require_available};
use crate::lock::Lock;
use crate::migrate::{migrate, Migration};
use crate::netns::NamespaceScan;
use crate::owner_records::{self, OwnerRecord};
use crate::sockets::{count, SocketFilter};
use crate::{guard, rules, sys};

/// The kernel takes a link down after its last user is gone, on a work queue.
const DEREGISTRATION_PATIENCE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(2);

/// What to do with sockets that use the instance.
#[derive(Debug, Clone, Default)]
pub struct UnloadOptions {
    /// Move them here first.
    pub migrate_to: Option<String>,
    /// Let them keep the program, which stays in the kernel until the last one closes.
    pub force: bool,
}

/// What was done.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Unloaded {
    /// Kernel names taken out.
    pub unloaded: Vec<String>,
    /// Sockets moved.
    pub migrated: usize,
    /// Sockets left on the old program.
    pub left: usize,
    /// Rules that name the algorithm that sockets were moved to instead.
    #[serde(default)]
    pub rules_changed: usize,
    /// Rules left with a name that the kernel no longer has.
    #[serde(default)]
    pub rules_left: usize,
    /// Defaults restored.
    pub defaults_restored: Vec<RestoredDefault>,
    /// Network namespaces in which something could not be put back, and why.
    #[serde(default)]
    pub not_restored: Vec<String>,
    /// Was it only printed, and nothing changed?
    #[serde(default)]
    pub dry_run: bool,
}

impl Unloaded {
    /// Gives each namespace whose default this is the one from before it.
    fn restore_defaults(&mut self, lock: &Lock, scan: &NamespaceScan, name: &str) {
        let (restored, failed) = default::restore_all(lock, scan, name);
        self.defaults_restored.extend(restored);
        self.not_restored.extend(failed);
    }
}

/// Takes instances out of the kernel. All are checked before the first one is touched. Each step leaves a working
/// host: first sockets are moved, then defaults restored, then the name goes.
pub fn unload(lock: &Lock, names: &[String], options: &UnloadOptions) -> Result<Unloaded> {
    let mut instances = Vec::new();
    for name in names {
        if !bpffs::is_leftover(name)? {
            instances.push(Instance::named(name)?);
        }
    }
    check_target(names, options)?;
    let mut result = Unloaded::default();
    let scan = NamespaceScan::all()?;
    for name in names {
        if bpffs::is_leftover(name)? {
            result.restore_defaults(lock, &scan, name);
        }
        if bpffs::remove_leftover(lock, name)? {
            result.unloaded.push(name.clone());
        }
    }
    for instance in &instances {
        clear_users(lock, instance, options, &mut result)?;
    }
    for instance in instances {
        // Defaults that the guard has changed are restored as those of the instance, too.
        match guard::rearm(lock, &instance.name) {
            Err(Error::Partly { causes }) => result.not_restored.extend(causes),
            other => drop(other?),
        }
        result.restore_defaults(lock, &scan, &instance.name);
        owner_records::remove(lock, &OwnerRecord::Instance(instance.name.clone()))?;
        remove(instance, &mut result.unloaded)?;
    }
    if bpffs::instance_names()?.is_empty() {
        default::forget_all()?;
        bpffs::remove_empty_folders();
    }
    Ok(result)
}

fn check_target(names: &[String], options: &UnloadOptions) -> Result<()> {
    let Some(target) = &options.migrate_to else { return Ok(()) };
    require_available(target)?;
    if names.contains(target) {
        return Err(Error::InUse { name: target.clone(), users: "this command, with --migrate-to".to_owned() });
    }
    Ok(())
}

/// What [`unload`] would do: refuses what it would refuse, and changes nothing.
pub fn preview_unload(names: &[String], options: &UnloadOptions) -> Result<Unloaded> {
    check_target(names, options)?;
    let mut result = Unloaded { unloaded: names.to_vec(), dry_run: true, ..Unloaded::default() };
    for name in names {
        if bpffs::is_leftover(name)? {
            continue;
        }
        Instance::named(name)?;
        let (rules, sockets) = (rules::rules_using(name)?, count(name)?.of(name).sockets);
        if options.migrate_to.is_some() {
            result.rules_changed += rules;
            result.migrated += sockets;
        } else {
            require_unused(name, rules, sockets, options)?;
            result.rules_left += rules;
            result.left += sockets;
        }
    }
    Ok(result)
}

/// Moves rules and sockets away, or refuses, or counts those that stay. Rules first: what they give out is not counted.
fn clear_users(lock: &Lock, instance: &Instance, options: &UnloadOptions, result: &mut Unloaded) -> Result<()> {
    let name = &instance.name;
    if let Some(target) = &options.migrate_to {
        result.rules_changed += rules::rename(lock, name, target)?;
        let moved: Migration = migrate(lock, &SocketFilter::of_kernel_name(name), target, false, |_, _| {})?;
        result.migrated += moved.moved;
    }
    let (rules, sockets) = (rules::rules_using(name)?, count(name)?.of(name).sockets);
    require_unused(name, rules, sockets, options)?;
    result.rules_left += rules;
    result.left += sockets;
    Ok(())
}

fn require_unused(name: &str, rules: usize, sockets: usize, options: &UnloadOptions) -> Result<()> {
    if rules + sockets == 0 || options.force {
        return Ok(());
    }
    let users = [(rules, "rule"), (sockets, "socket")];
    let users = users.iter().filter(|(number, _)| *number > 0).map(|(number, noun)| match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    });
    Err(Error::InUse { name: name.to_owned(), users: users.collect::<Vec<_>>().join(" and ") })
}

fn remove(instance: Instance, unloaded: &mut Vec<String>) -> Result<()> {
    let name = instance.name.clone();
    if let Anchor::Map(map) = &instance.anchor {
        sys::delete_value(map.as_fd()).map_err(|error| Error::kernel(format!("deregister {name}"), error))?;
    }
    let path = bpffs::require_instance_pin(&name)?;
    fs::remove_file(&path).map_err(|error| Error::kernel(format!("remove {}", path.display()), error))?;
    drop(instance); // our own descriptors hold the link, too
    let start = Clock::now();
    while available_algorithms()?.contains(&name) {
        if start.elapsed() > DEREGISTRATION_PATIENCE {
            return Err(Error::Host {
                cause: format!("{name} is unpinned, but the kernel has not removed it within 5 s"),
                remedy: "another program may hold its link (bpftool link), or the kernel hangs (ccctl doctor)"
                    .to_owned(),
            });
        }
        std::thread::sleep(POLL);
    }
    unloaded.push(name);
    Ok(())
}
