// SPDX-License-Identifier: MIT OR Apache-2.0
//! Marks: what a configuration file has put into the kernel. They are kept in the kernel itself, in a pinned map, so that
//! whoever reads the next file knows what an earlier one had asked for, however the process in between has ended.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::AsFd as _;
use std::path::PathBuf;

use ccctl_catalog::kernel::text;
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};

use crate::bpffs::{self, PinFolder};
use crate::error::{Error, Result};
use crate::lock::Lock;
use crate::netns::Namespace;
use crate::sys;

const KEY_BYTES: usize = 64;
const VALUE_BYTES: usize = 256;
/// More than all rules that there can be, instances and network namespaces; a table of an older ccctl has 16,384.
const MOST: u32 = 32_768;

/// What is marked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum OwnerRecord {
    /// An instance by its kernel name.
    Instance(String),
    /// A rule by its id.
    Rule(u32),
    /// The default of the namespace with this cookie.
    Default(u64),
    /// An instance, by its kernel name, that the guard has tripped for.
    Tripped(String),
    /// The default of the namespace with this cookie, which the guard has changed and no file had set.
    Diverted(u64),
    /// An instance, by its kernel name, of which a canary takes a share.
    Canary(String),
}

impl OwnerRecord {
    /// The default of this namespace.
    pub fn default_of(namespace: &Namespace) -> Result<Self> {
        namespace.cookie().map(Self::Default)
    }

    fn key(&self) -> [u8; KEY_BYTES] {
        let text = match self {
            Self::Instance(name) => format!("instance {name}"),
            Self::Rule(id) => format!("rule {id}"),
            Self::Default(cookie) => format!("default {cookie}"),
            Self::Tripped(name) => format!("tripped {name}"),
            Self::Diverted(cookie) => format!("diverted {cookie}"),
            Self::Canary(name) => format!("canary {name}"),
        };
        let mut key = [0; KEY_BYTES];
        key[..text.len()].copy_from_slice(text.as_bytes()); // a kernel name has 15 letters, a number 20
        key
    }

    fn of_key(key: &[u8]) -> Option<Self> {
        let text = text(key);
        let (kind, rest) = text.split_once(' ')?;
        match kind {
            "instance" => Some(Self::Instance(rest.to_owned())),
            "rule" => rest.parse().ok().map(Self::Rule),
            "default" => rest.parse().ok().map(Self::Default),
            "tripped" => Some(Self::Tripped(rest.to_owned())),
            "diverted" => rest.parse().ok().map(Self::Diverted),
            "canary" => Some(Self::Canary(rest.to_owned())),
            _ => None,
        }
    }
}

/// What an owner record remembers: for an instance, the id of its link or map, so that another one of its name is not taken for
/// it; for a default, what was there before; of the guard, what its module writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordText(pub String);

/// All owner records.
pub fn all() -> Result<BTreeMap<OwnerRecord, RecordText>> {
    let Some(table) = open()? else { return Ok(BTreeMap::new()) };
    let mut found = BTreeMap::new();
    for key in table.keys() {
        let value =
            table.lookup(&key, MapFlags::ANY).map_err(|error| Error::libbpf("read the owner records", &error))?;
        if let (Some(owner), Some(value)) = (OwnerRecord::of_key(&key), value) {
            found.insert(owner, RecordText(text(&value)));
        }
    }
    Ok(found)
}

/// Sets an owner record. What it is of is made after it: a kill in between leaves a record of nothing, which does no harm.
pub fn set(_lock: &Lock, owner: &OwnerRecord, record: &RecordText) -> Result<()> {
    let table = match open()? {
        Some(table) => table,
        None => make()?,
    };
    let mut value = vec![0; table.value_size() as usize]; // of a table that an older ccctl has made: 16
    let length = record.0.len().min(value.len());
    value[..length].copy_from_slice(&record.0.as_bytes()[..length]);
    table.update(&owner.key(), &value, MapFlags::ANY).map_err(|error| Error::libbpf("write an owner record", &error))
}

/// Removes an owner record, and the table with the last one.
pub fn remove(_lock: &Lock, owner: &OwnerRecord) -> Result<()> {
    let Some(table) = open()? else { return Ok(()) };
    let _ = table.delete(&owner.key()); // none is as good
    if table.keys().next().is_none() {
        if let Some(path) = pin()? {
            fs::remove_file(&path).map_err(|error| Error::kernel(format!("remove {}", path.display()), error))?;
        }
        bpffs::remove_empty_folders();
    }
    Ok(())
}

fn open() -> Result<Option<MapHandle>> {
    let Some(path) = pin()? else { return Ok(None) };
    let map = MapHandle::from_pinned_path(&path)
        .map_err(|error| Error::libbpf(format!("open {}", path.display()), &error))?;
    if (map.map_type(), map.key_size()) != (MapType::Hash, KEY_BYTES as u32) {
        return Err(Error::Host {
            cause: format!("{} is not a table of owner records that this ccctl can read", path.display()),
            remedy: format!("find out whose it is, then rm {}", path.display()),
        });
    }
    Ok(Some(map))
}

/// Where the table is pinned; None where there is none.
fn pin() -> Result<Option<PathBuf>> {
    Ok(PinFolder::find()?.map(|folder| folder.marks()).filter(|path| path.exists()))
}

fn make() -> Result<MapHandle> {
    let folder = PinFolder::make()?;
    let options = libbpf_rs::libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_rs::libbpf_sys::bpf_map_create_opts>() as u64,
        map_flags: libbpf_rs::libbpf_sys::BPF_F_NO_PREALLOC,
        ..Default::default()
    };
    let (key, value) = (KEY_BYTES as u32, VALUE_BYTES as u32);
    let map = MapHandle::create(MapType::Hash, Some("ccctl_marks"), key, value, MOST, &options)
        .map_err(|error| Error::libbpf("create the table of owner records", &error))?;
    sys::pin(map.as_fd(), &folder.marks()).map_err(|error| Error::kernel("pin the table of owner records", error))?;
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_record_is_read_back_from_its_key() {
        for owner in [
            OwnerRecord::Instance("fifteen_letters".to_owned()),
            OwnerRecord::Rule(7),
            OwnerRecord::Default(u64::MAX),
            OwnerRecord::Tripped("a.b".to_owned()),
            OwnerRecord::Diverted(9),
            OwnerRecord::Canary("web".to_owned()),
        ] {
            assert_eq!(OwnerRecord::of_key(&owner.key()), Some(owner));
        }
        assert_eq!(OwnerRecord::of_key(b"other 1\0"), None);
    }
}
