// SPDX-License-Identifier: MIT OR Apache-2.0
//! The default algorithm of a network namespace, and what it was before.

use std::fs;
use std::io;
use std::os::fd::AsFd as _;
use std::path::PathBuf;

use ccctl_catalog::kernel::{text, TCP_CA_NAME_MAX};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bpffs::PinFolder;
use crate::error::{Error, Result};
use crate::instance::Instance;
use crate::kernel::{available_algorithms, current_default, require_available, set_default};
use crate::lock::Lock;
use crate::netns::{Namespace, NamespaceScan};
use crate::owner_records::{self, OwnerRecord};

const MOST_NAMESPACES: u32 = 4096;
/// A namespace's cookie.
const KEY_BYTES: u32 = 8;
const NAME_BYTES: usize = TCP_CA_NAME_MAX as usize;

/// What was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultChange {
    /// Default before.
    pub before: String,
    /// Default now.
    pub now: String,
}

/// A default that was restored.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RestoredDefault {
    /// Namespace.
    pub namespace: String,
    /// Kernel name, as in `net.ipv4.tcp_congestion_control`: its default now.
    pub congestion_control: String,
}

/// Makes `name` the default of the caller's namespace. Where it is one of our instances, what was the default before is
/// remembered in the kernel, and unloading the instance restores it.
pub fn set(_lock: &Lock, name: &str) -> Result<DefaultChange> {
    require_available(name)?;
    let before = current_default()?;
    let namespace = Namespace::own()?;
    if before != name && Instance::exists(name)? && !Instance::exists(&before)? {
        remember(&namespace, &before)?;
    }
    set_default(name)?; // also where the name is the same: the program behind it may have been swapped
    if !Instance::exists(name)? {
        forget(&namespace)?;
    }
    Ok(DefaultChange { before, now: current_default()? })
}

/// Where a namespace's default is one of these names, makes the namespace look the name up again: it keeps the program
/// itself, not the name, and would go on with the one before a swap. Goes on after an error, and gives all of them.
pub(crate) fn look_up_again(names: &[String]) -> Result<NotFollowed> {
    let mut not_followed = NotFollowed::default();
    let mut scan = NamespaceScan::all()?;
    // The kernel allows an algorithm everywhere once it is the default of the first namespace.
    let first = Namespace::first().map_or(0, |first| first.inode);
    scan.found.sort_by_key(|namespace| namespace.inode != first);
    not_followed.namespaces = scan.each(|namespace| {
        let is_final = look_up_in(namespace, names);
        not_followed.may_yet |= !matches!(is_final, Ok(()) | Err(Error::Gone { .. } | Error::Host { .. }));
        is_final
    });
    Ok(not_followed)
}

/// Network namespaces that go on with what was behind a name before.
#[derive(Debug, Default)]
pub(crate) struct NotFollowed {
    /// Which, and why.
    pub(crate) namespaces: Vec<String>,
    /// Another try may help: what the kernel does not permit stays so.
    pub(crate) may_yet: bool,
}

fn look_up_in(namespace: &Namespace, names: &[String]) -> Result<()> {
    let name = namespace.run(current_default)?;
    if !names.contains(&name) {
        return Ok(());
    }
    match namespace.run(|| set_default(&name)) {
        Err(Error::Kernel { answer, .. }) if answer.kind() == io::ErrorKind::NotFound => Ok(()), // no such name any more
        Err(Error::Host { .. }) => Err(Error::Host {
            cause: format!("its default {name} keeps the previous program: only the first namespace may use it"),
            remedy: format!("load {name} from an object with the flag TCP_CONG_NON_RESTRICTED"),
        }),
        result => result,
    }
}

/// Puts `to` in the place of `from` where that is the default, and keeps what was remembered from before it: for a time, and
/// taken back by the same with the names exchanged. True where it was.
pub(crate) fn replace(_lock: &Lock, namespace: &Namespace, from: &str, to: &str) -> Result<bool> {
    let is_default = namespace.run(current_default)? == from;
    if is_default {
        namespace.run(|| set_default(to))?;
    }
    Ok(is_default)
}

/// Does [`restore`] in all namespaces: gives what was restored, and what could not be.
pub(crate) fn restore_all(lock: &Lock, scan: &NamespaceScan, instance: &str) -> (Vec<RestoredDefault>, Vec<String>) {
    let mut restored = Vec::new();
    let failed = scan.each(|namespace| {
        let name = restore(lock, namespace, instance)?;
        restored
            .extend(name.map(|name| RestoredDefault { namespace: namespace.label.clone(), congestion_control: name }));
        Ok(())
    });
    (restored, failed)
}

/// Gives a namespace whose default is `instance` the one it had before. Returns the name, or None where the default is
/// another one.
fn restore(lock: &Lock, namespace: &Namespace, instance: &str) -> Result<Option<String>> {
    if namespace.run(current_default)? != instance {
        return Ok(None);
    }
    let available = available_algorithms()?;
    let usable = |name: &String| name != instance && available.contains(name);
    let remembered = remembered(namespace)?.filter(usable);
    // A namespace made while the instance was the default of the first one inherited it and remembers nothing.
    let name = match remembered {
        Some(name) => name,
        None => inherited(instance)?.filter(usable).unwrap_or_else(|| "reno".to_owned()),
    };
    namespace.run(|| set_default(&name))?;
    forget(namespace)?;
    owner_records::remove(lock, &OwnerRecord::default_of(namespace)?)?;
    Ok(Some(name))
}

/// What the initial namespace, or else the caller's, remembers or uses.
fn inherited(instance: &str) -> Result<Option<String>> {
    let own = Namespace::own()?;
    let first = Namespace::first().unwrap_or(own);
    let now = first.run(current_default)?;
    if now != instance {
        return Ok(Some(now));
    }
    remembered(&first)
}

fn open_table() -> Result<Option<MapHandle>> {
    let Some(path) = table_pin()? else { return Ok(None) };
    let map = MapHandle::from_pinned_path(&path)
        .map_err(|error| Error::libbpf(format!("open {}", path.display()), &error))?;
    if (map.map_type(), map.key_size(), map.value_size()) != (MapType::Hash, KEY_BYTES, NAME_BYTES as u32) {
        return Err(Error::Host {
            cause: format!("{} is not a table of defaults that this ccctl can read", path.display()),
            remedy: format!("find out whose it is, then rm {}", path.display()),
        });
    }
    Ok(Some(map))
}

/// Where the table is pinned; None where there is none.
fn table_pin() -> Result<Option<PathBuf>> {
    Ok(PinFolder::find()?.map(|folder| folder.defaults()).filter(|path| path.exists()))
}

fn make_table() -> Result<MapHandle> {
    if let Some(map) = open_table()? {
        return Ok(map);
    }
    let folder = PinFolder::make()?;
    let options = libbpf_rs::libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_rs::libbpf_sys::bpf_map_create_opts>() as u64,
        ..Default::default()
    };
    let failed = |error: libbpf_rs::Error| Error::libbpf("create the table of defaults", &error);
    let map = MapHandle::create(
        MapType::Hash,
        Some("ccctl_defaults"),
        KEY_BYTES,
        NAME_BYTES as u32,
        MOST_NAMESPACES,
        &options,
    )
    .map_err(failed)?;
    crate::sys::pin(map.as_fd(), &folder.defaults())
        .map_err(|error| Error::kernel("pin the table of defaults", error))?;
    Ok(map)
}

fn remember(namespace: &Namespace, name: &str) -> Result<()> {
    let mut value = [0; NAME_BYTES];
    value[..name.len().min(NAME_BYTES)].copy_from_slice(&name.as_bytes()[..name.len().min(NAME_BYTES)]);
    make_table()?
        .update(&namespace.cookie()?.to_le_bytes(), &value, MapFlags::ANY)
        .map_err(|error| Error::libbpf(format!("save the previous default {name}"), &error))
}

fn remembered(namespace: &Namespace) -> Result<Option<String>> {
    let Some(table) = open_table()? else { return Ok(None) };
    let value = table
        .lookup(&namespace.cookie()?.to_le_bytes(), MapFlags::ANY)
        .map_err(|error| Error::libbpf("read the table of defaults", &error))?;
    Ok(value.map(|bytes| text(&bytes)))
}

/// Removes what a namespace remembers, and the table with its last entry.
fn forget(namespace: &Namespace) -> Result<()> {
    let Some(table) = open_table()? else { return Ok(()) };
    // Nothing remembered is as good as forgotten.
    let _ = table.delete(&namespace.cookie()?.to_le_bytes());
    remove_table_if(table.keys().next().is_none())
}

/// Removes the table when no instance is left that could be a default.
pub(crate) fn forget_all() -> Result<()> {
    remove_table_if(true)
}

fn remove_table_if(condition: bool) -> Result<()> {
    let Some(path) = table_pin()?.filter(|_| condition) else { return Ok(()) };
    fs::remove_file(&path).map_err(|error| Error::kernel(format!("remove {}", path.display()), error))
}
