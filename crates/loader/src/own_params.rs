// SPDX-License-Identifier: MIT OR Apache-2.0
//! Connections' own parameters in the kernel: the map of `bpf/include/own_params.h`, one for all instances and rules, pinned as
//! long as there are any.
#![allow(unsafe_code)] // bytemuck's derives, which check what they promise

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use bytemuck::bytes_of;
use ccctl_catalog::{object_hash, Layout, Parameter};
use libbpf_rs::libbpf_sys::{bpf_map_create_opts, BPF_F_NO_PREALLOC, BPF_MAP_TYPE_HASH};
use libbpf_rs::{MapCore as _, MapHandle, MapType, OpenObject};

use crate::bpffs::PinFolder;
use crate::error::{Error, Result};
use crate::lock::Lock;
use crate::object::Program;
use crate::sys::{self, copy_name};

use generated::cc_own_params;
pub(crate) use generated::{cc_own_instance, cc_own_values, CC_OWN_SOCKETS};

#[allow(clippy::all, clippy::pedantic, missing_docs, non_camel_case_types, non_upper_case_globals, dead_code)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/own_params.rs"));
}

/// Its name in objects and in the kernel.
pub(crate) const OWN_PARAMS_MAP: &str = "cc_own_params";
/// Read-only data of an algorithm: for which instance elements of the map are, so that they are for it.
pub(crate) const OWN_INSTANCE_MAP: &str = ".rodata.own";

impl PartialEq for cc_own_instance {
    fn eq(&self, other: &Self) -> bool {
        bytes_of(self) == bytes_of(other)
    }
}

impl PartialEq for cc_own_values {
    fn eq(&self, other: &Self) -> bool {
        bytes_of(self) == bytes_of(other)
    }
}

impl Eq for cc_own_values {}

impl cc_own_instance {
    /// Of the kernel name of an instance, and of what its file declares.
    pub(crate) fn of(name: &str, algorithm: &str, layout: &Layout) -> Self {
        let mut own = Self { declared: declared(algorithm, layout), ..Self::default() };
        copy_name(&mut own.name, name);
        own
    }
}

/// The same number for the same parameters per connection, whatever else two builds differ in; 0: there are none.
fn declared(algorithm: &str, layout: &Layout) -> u64 {
    let one = |one: &Parameter| {
        let (unit, step, words) = (one.unit(), one.step(), one.words.join("|"));
        format!("\n{} {} {} {unit} {step} {words}", one.member, one.minimum, one.maximum)
    };
    let declared: String = layout.per_connection().map(one).collect();
    if declared.is_empty() {
        return 0;
    }
    let text = format!("{algorithm}{declared}");
    let hash = object_hash(text.as_bytes());
    u64::from_le_bytes([hash[0], hash[1], hash[2], hash[3], hash[4], hash[5], hash[6], hash[7]]).max(1)
}

/// The one that is pinned; None where nothing has needed it yet.
pub(crate) fn pinned() -> Result<Option<OwnedFd>> {
    let Some(path) = PinFolder::find()?.map(|folder| folder.own_params()) else { return Ok(None) };
    let failed = |error| Error::kernel(format!("open {}", path.display()), error);
    let map = match sys::open_pinned(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(failed)?,
    };
    if !matches!(sys::pinned_kind(map.as_fd()), Ok(sys::PinnedKind::Map)) {
        return Err(foreign(&path, "not a map"));
    }
    let info = sys::map_info(map.as_fd()).map_err(failed)?;
    let sizes = (info.type_, info.key_size as usize, info.value_size as usize);
    if sizes == (BPF_MAP_TYPE_HASH, size_of::<u64>(), size_of::<cc_own_params>()) {
        return Ok(Some(map));
    }
    Err(foreign(&path, "of another version"))
}

fn foreign(path: &std::path::Path, what: &str) -> Error {
    Error::Host {
        cause: format!("{} is {what}: it cannot hold connections' own parameters", path.display()),
        remedy: format!("unload the instances and remove the rules that use it, or rm {}", path.display()),
    }
}

/// The one that is pinned, made where there is none.
pub(crate) fn require(_lock: &Lock) -> Result<OwnedFd> {
    const STEP: &str = "make the map of connections' own parameters";

    if let Some(map) = pinned()? {
        return Ok(map);
    }
    let options = bpf_map_create_opts {
        sz: size_of::<bpf_map_create_opts>() as u64,
        map_flags: BPF_F_NO_PREALLOC,
        ..Default::default()
    };
    let (key, value) = (size_of::<u64>() as u32, size_of::<cc_own_params>() as u32);
    let made = MapHandle::create(MapType::Hash, Some(OWN_PARAMS_MAP), key, value, CC_OWN_SOCKETS, &options);
    let map = made.map_err(|error| Error::libbpf(STEP, &error))?;
    let path = PinFolder::make()?.own_params();
    sys::pin(map.as_fd(), &path).map_err(|error| Error::kernel(format!("pin {}", path.display()), error))?;
    map.as_fd().try_clone_to_owned().map_err(|error| Error::kernel(STEP, error))
}

/// Makes it for a program that has parameters per connection.
pub(crate) fn prepare(lock: &Lock, program: &Program) -> Result<()> {
    match program.layout.per_connection().next() {
        Some(_) => require(lock).map(drop),
        None => Ok(()),
    }
}

/// Gives an object that is to be loaded the map that is pinned, if it wants one; without, it gets one that nobody writes.
pub(crate) fn share(open: &mut OpenObject) -> Result<()> {
    for mut map in open.maps_mut().filter(|map| map.name() == OWN_PARAMS_MAP) {
        if let Some(shared) = pinned()? {
            map.reuse_fd(shared.as_fd()).map_err(|error| Error::libbpf("share connections' own parameters", &error))?;
        }
    }
    Ok(())
}

/// May a connection have some?
pub(crate) fn has_any(map: &OwnedFd) -> Result<bool> {
    let failed = |error| Error::libbpf("read connections' own parameters", &error);
    let id =
        sys::map_info(map.as_fd()).map_err(|error| Error::kernel("inspect connections' own parameters", error))?.id;
    Ok(MapHandle::from_map_id(id).map_err(failed)?.keys().next().is_some())
}

/// Is this the map that is pinned? One that an earlier ccctl has loaded, or whose pin somebody has removed, has another one.
pub(crate) fn is_pinned(map: &OwnedFd) -> Result<bool> {
    let id = |map: &OwnedFd| {
        let info = sys::map_info(map.as_fd());
        info.map(|info| info.id).map_err(|error| Error::kernel("inspect connections' own parameters", error))
    };
    pinned()?.map_or(Ok(false), |pinned| Ok(id(&pinned)? == id(map)?))
}

#[cfg(test)]
mod tests {
    use ccctl_catalog::algorithm;

    use super::*;

    #[test]
    fn values_are_for_programs_of_one_name_that_declare_the_same() {
        let layout = |name| algorithm(name).expect("it exists").layout();
        let (fixed, reno) = (layout("fixed"), layout("reno"));
        let own = cc_own_instance::of("bpf_fixed", "fixed", &fixed);
        assert_eq!(&own.name[..10], b"bpf_fixed\0".map(|byte| byte as std::ffi::c_char));
        assert_eq!(own.declared, cc_own_instance::of("other", "fixed", &fixed).declared);
        assert_eq!(declared("reno", &reno), 0);
        let mut changed = fixed.clone();
        changed.parameters[0].maximum -= 1;
        assert_ne!(declared("fixed", &changed), own.declared);
        assert_ne!(declared("mine", &fixed), own.declared);
        // what is not per connection may change
        let mut changed = fixed;
        changed.parameters.pop();
        assert_eq!(declared("fixed", &changed), own.declared);
    }
}
