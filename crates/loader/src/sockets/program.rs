// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs that sockets run on: their state's layout, and whether they are the ones in service.

use std::collections::hash_map::{Entry, HashMap};
use std::os::fd::AsFd as _;

use ccctl_catalog::Layout;
use libbpf_rs::query::MapInfoIter;
use libbpf_rs::{Btf, MapType};

use crate::bpffs;
use crate::error::Result;
use crate::identity::{Identity, IDENTITY_MAP};
use crate::instance::{find_map, open_maps, program_ids, registered_map_id};
use crate::kernel::available_algorithms;
use crate::sys;

/// A program that sockets use.
#[derive(Debug, Clone)]
pub struct SocketProgram {
    /// Its algorithm and the layout of its state, from its own BTF; None where something else has loaded it.
    pub contents: Option<(String, Layout)>,
    /// Its name leads to another program now, or to none: it was swapped or unloaded under the socket.
    pub is_old: bool,
}

/// The programs met so far, by their `struct_ops` map. As long as a socket uses one, the kernel keeps map, program and
/// BTF, although no name leads there any more.
#[derive(Debug, Default)]
pub struct ProgramLayouts {
    by_map: HashMap<u32, SocketProgram>,
}

impl ProgramLayouts {
    /// The program in this map, as used by sockets under this kernel name; None for built-in algorithms (map 0).
    pub fn of(&mut self, name: &str, map_id: u32) -> Result<Option<&SocketProgram>> {
        if map_id == 0 {
            return Ok(None);
        }
        let program = match self.by_map.entry(map_id) {
            Entry::Occupied(known) => known.into_mut(),
            // A program that goes while it is read had its last socket close.
            Entry::Vacant(room) => {
                room.insert(SocketProgram { contents: read(map_id).ok().flatten(), is_old: is_old(name, map_id)? })
            }
        };
        Ok(Some(program))
    }
}

/// Ids of all `struct_ops` maps in the kernel, those of other kinds included.
pub(super) fn struct_ops_maps() -> impl Iterator<Item = u32> {
    MapInfoIter::default().filter(|map| map.ty == MapType::StructOps).map(|map| map.id)
}

/// The algorithm of the instance in this map; None where something else has loaded it, or it is gone.
pub(super) fn algorithm_in(map_id: u32) -> Option<String> {
    read(map_id).ok().flatten().map(|(algorithm, _)| algorithm)
}

fn read(map_id: u32) -> std::io::Result<Option<(String, Layout)>> {
    let map = sys::map_by_id(map_id)?;
    let ids = program_ids(&map)?;
    let Some(first) = ids.first() else { return Ok(None) };
    let Ok(btf) = Btf::from_prog_id(*first) else { return Ok(None) };
    let mut map_ids = Vec::new();
    for id in &ids {
        let program = sys::program_by_id(*id)?;
        map_ids.extend(sys::program_details(program.as_fd())?.map_ids);
    }
    map_ids.sort_unstable();
    map_ids.dedup();
    let maps = open_maps(&map_ids)?;
    let Ok(rodata) = find_map(&maps, IDENTITY_MAP, "") else { return Ok(None) };
    let bytes = sys::read_value(rodata.as_fd())?;
    let Some(identity) = Identity::read(&btf, &bytes) else { return Ok(None) };
    Ok(Layout::of_btf(&identity.algorithm, &btf).ok().map(|layout| (identity.algorithm, layout)))
}

/// Of names that are no instances of ours, only those that nobody can choose any more are known to be old.
fn is_old(name: &str, map_id: u32) -> Result<bool> {
    if bpffs::instance_names()?.iter().any(|known| known == name) {
        if let Some(registered) = registered_map_id(name) {
            return Ok(registered != map_id);
        }
    }
    Ok(!available_algorithms()?.iter().any(|known| known == name))
}
