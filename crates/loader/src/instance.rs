// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instances, read from the kernel.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, SystemTime};

use ccctl_catalog::kernel::{c_text, TCP_CONG_NEEDS_ECN};
use ccctl_catalog::{did_you_mean, Layout, ParameterSet};
use libbpf_rs::btf::types::Func;
use libbpf_rs::Btf;
use nix::time::{clock_gettime, ClockId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bpffs;
use crate::error::{Error, Result};
use crate::identity::{Identity, IDENTITY_MAP};
use crate::kernel_ops::KernelOps;
use crate::params::{read_active, PARAMS_MAP};
use crate::sys;

/// Swaps that one reading may meet.
const READ_ATTEMPTS: usize = 5;

/// What keeps an instance registered.
#[derive(Debug)]
pub(crate) enum Anchor {
    /// A link (kernels since 6.4), and its id.
    Link(OwnedFd, u32),
    /// The map itself (5.15 to 6.3).
    Map(OwnedFd),
}

/// One hook's program.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ProgramInfo {
    /// Name of the C function.
    pub name: String,
    /// The kernel's id.
    pub id: u32,
    /// Hash of the instructions, as `bpftool` shows it.
    pub tag: String,
    /// Size of the BPF instructions.
    pub translated_bytes: u32,
    /// Size of the machine code; 0 without JIT.
    pub jited_bytes: u32,
    /// What the verifier looked at.
    pub verified_instructions: u32,
    /// Calls while `kernel.bpf_stats_enabled` was on.
    pub run_count: u64,
    /// Time in them, ns.
    pub run_time_ns: u64,
}

/// An algorithm that the kernel knows under a name.
#[derive(Debug)]
pub struct Instance {
    /// Kernel name.
    pub name: String,
    /// Which algorithm, from which object.
    pub identity: Identity,
    /// Parameters and state of the running program.
    pub layout: Layout,
    /// Parameters in force.
    pub parameters: ParameterSet,
    /// The kernel's id of its `struct_ops` map; changes with each swap.
    pub map_id: u32,
    /// It needs ECN, and is not for a connection without: `TCP_CONG_NEEDS_ECN`.
    pub needs_ecn: bool,
    /// Its programs.
    pub programs: Vec<ProgramInfo>,
    /// When this program was loaded.
    pub loaded_at: SystemTime,
    pub(crate) anchor: Anchor,
    pub(crate) maps: Vec<(String, OwnedFd)>,
}

impl Instance {
    /// The instance of this kernel name.
    pub fn named(name: &str) -> Result<Self> {
        Self::require(name)?;
        Self::read_settled(name)
    }

    /// Refuses a name that no instance has.
    pub(crate) fn require(name: &str) -> Result<()> {
        bpffs::require()?;
        if Self::exists(name)? {
            return Ok(());
        }
        let names = bpffs::instance_names()?;
        let hint = if names.iter().any(|known| known == name) {
            format!("a load or unload of it was interrupted: ccctl unload {name} removes the rest")
        } else {
            did_you_mean(name, names.iter().map(String::as_str), || match names.join(", ") {
                all if all.is_empty() => "nothing is loaded; load an algorithm with ccctl load ALGORITHM".to_owned(),
                all => format!("there are {all}"),
            })
        };
        Err(Error::Unknown { kind: "instance", name: name.to_owned(), hint })
    }

    /// All instances, by name. A pin of what is not registered is none: a kill has left it, or somebody is loading or
    /// unloading it at this moment.
    pub fn all() -> Result<Vec<Self>> {
        let mut found = Vec::new();
        for name in bpffs::instance_names()? {
            if bpffs::is_leftover(&name)? {
                continue;
            }
            match Self::read_settled(&name) {
                Ok(instance) => found.push(instance),
                Err(_) if !Self::exists(&name)? => {} // unloaded meanwhile
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Kernel names of all pins, sorted: instances, and what a kill has left of some.
    pub fn names() -> Result<Vec<String>> {
        bpffs::require()?;
        bpffs::instance_names()
    }

    /// Is there one of this name?
    pub(crate) fn exists(name: &str) -> Result<bool> {
        Ok(bpffs::instance_names()?.iter().any(|known| known == name) && !bpffs::is_leftover(name)?)
    }

    /// Reads one that others may swap meanwhile, which takes the programs away that are being looked at.
    fn read_settled(name: &str) -> Result<Self> {
        for _ in 1..READ_ATTEMPTS {
            if let Ok(instance) = Self::read(name) {
                return Ok(instance);
            }
        }
        Self::read(name)
    }

    fn read(name: &str) -> Result<Self> {
        let failed = |what: &str| {
            let step = format!("{what} of instance {name}");
            move |error| Error::kernel(step, error)
        };
        let (anchor, map, map_id) = open_anchor(name)?;
        let value = ops_value(map.as_fd()).map_err(failed("read the map"))?;
        let ids = ids_of_hooks(&value).map_err(failed("read the map"))?;
        let btf = read_btf(name, &ids)?;
        let (programs, load_time_ns, map_ids) = read_programs(&ids, &btf).map_err(failed("read the programs"))?;
        let maps = open_maps(&map_ids).map_err(failed("open the maps"))?;
        let (identity, layout, parameters) = read_contents(name, &btf, &maps)?;
        let loaded_at = wall_clock(load_time_ns);
        let needs_ecn = KernelOps::get()?.flags_of(&value) & TCP_CONG_NEEDS_ECN != 0;
        let name = name.to_owned();
        Ok(Self { name, identity, layout, parameters, map_id, needs_ecn, programs, loaded_at, anchor, maps })
    }

    /// The kernel's id of the link; None on kernels without.
    #[must_use]
    pub fn link_id(&self) -> Option<u32> {
        match &self.anchor {
            Anchor::Link(_, id) => Some(*id),
            Anchor::Map(_) => None,
        }
    }

    /// Parameters of its program as the kernel shows them now.
    pub(crate) fn parameters_now(&self) -> Result<ParameterSet> {
        read_parameters(&self.name, &self.identity, &self.layout, &self.maps)
    }

    pub(crate) fn map(&self, name: &str) -> Result<&OwnedFd> {
        find_map(&self.maps, name, &self.name)
    }
}

pub(crate) fn find_map<'a>(maps: &'a [(String, OwnedFd)], name: &str, instance: &str) -> Result<&'a OwnedFd> {
    let found = maps.iter().find(|(candidate, _)| candidate == name).map(|(_, fd)| fd);
    found.ok_or_else(|| Error::kernel(format!("find {name} of {instance}"), std::io::Error::other("no such map")))
}

/// What is pinned for an instance, its map, and the map's id. Anything but the registration of a TCP algorithm under this
/// very name is refused.
pub(crate) fn open_anchor(name: &str) -> Result<(Anchor, OwnedFd, u32)> {
    let path = bpffs::require_instance_pin(name)?;
    let failed = |error| Error::kernel(format!("open {}", path.display()), error);
    let foreign = |what: &str| Error::Host {
        cause: format!("{} is {what}, not the TCP algorithm {name} of ccctl", path.display()),
        remedy: format!("find out whose it is, then rm {}", path.display()),
    };
    let fd = sys::open_pinned(&path).map_err(failed)?;
    let (anchor, map) = match sys::pinned_kind(fd.as_fd()).map_err(failed)? {
        sys::PinnedKind::StructOpsLink { id, map_id } => {
            let map = sys::map_by_id(map_id).map_err(failed)?;
            (Anchor::Link(fd, id), map)
        }
        sys::PinnedKind::Map => (Anchor::Map(fd.try_clone().map_err(failed)?), fd),
        sys::PinnedKind::Other => return Err(foreign("a link or program of another kind")),
    };
    let info = sys::map_info(map.as_fd()).map_err(failed)?;
    let kernel = KernelOps::get()?;
    if !kernel.is_map(&info) {
        return Err(foreign("a map of another kind"));
    }
    let value = ops_value(map.as_fd()).map_err(failed)?;
    match kernel.name_in(&value) {
        Some(found) if found == name || found.is_empty() => Ok((anchor, map, info.id)), // empty: not registered yet
        found => Err(foreign(&format!("the algorithm {}", found.unwrap_or_default().escape_debug()))),
    }
}

/// Ids of the link, where there is one, and of the map of a pinned instance.
pub(crate) fn anchor_ids(name: &str) -> Result<(Option<u32>, u32)> {
    match open_anchor(name)? {
        (Anchor::Link(_, id), _, map_id) => Ok((Some(id), map_id)),
        (Anchor::Map(_), _, map_id) => Ok((None, map_id)),
    }
}

/// The map behind an instance's name now.
pub(crate) fn registered_map_id(name: &str) -> Option<u32> {
    open_anchor(name).ok().map(|(_, _, map_id)| map_id)
}

/// The hooks of a registered map hold the ids of their programs.
pub(crate) fn program_ids(map: &OwnedFd) -> std::io::Result<Vec<u32>> {
    ids_of_hooks(&ops_value(map.as_fd())?)
}

/// The registered table, of the size that the kernel's types say.
fn ops_value(map: BorrowedFd<'_>) -> std::io::Result<Vec<u8>> {
    let info = sys::map_info(map)?;
    let may_be = info.type_ == libbpf_sys::BPF_MAP_TYPE_STRUCT_OPS; // the kernel's types need not be read for others
    if !may_be || !KernelOps::get().map_err(std::io::Error::other)?.is_map(&info) {
        return Err(std::io::Error::other("not a map of a TCP algorithm"));
    }
    sys::read_value(map)
}

fn ids_of_hooks(value: &[u8]) -> std::io::Result<Vec<u32>> {
    let kernel = KernelOps::get().map_err(std::io::Error::other)?;
    let hooks = kernel.members.values().filter(|member| member.is_hook);
    let ids = hooks.filter_map(|member| value.get(member.offset..member.offset + 4)?.try_into().ok());
    let mut ids: Vec<u32> = ids.map(u32::from_le_bytes).filter(|id| *id != 0).collect();
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// The BTF that the kernel keeps for the instance's programs: they share one, and reading it is most of the work.
fn read_btf(name: &str, program_ids: &[u32]) -> Result<Btf<'static>> {
    let first = program_ids.first().ok_or_else(|| unreadable(name, "programs"))?;
    Btf::from_prog_id(*first).map_err(|error| Error::libbpf(format!("read BTF of {name}"), &error))
}

fn unreadable(name: &str, what: &str) -> Error {
    let cause = std::io::Error::other(format!("it has no {what}: not loaded by this ccctl"));
    Error::kernel(format!("read instance {name}"), cause)
}

fn read_programs(ids: &[u32], btf: &Btf<'_>) -> std::io::Result<(Vec<ProgramInfo>, u64, Vec<u32>)> {
    let mut programs = Vec::new();
    let mut maps = Vec::new();
    let mut load_time_ns = u64::MAX;
    for id in ids {
        let Ok(fd) = sys::program_by_id(*id) else { continue };
        let details = sys::program_details(fd.as_fd())?;
        let info = &details.info;
        load_time_ns = load_time_ns.min(info.load_time);
        maps.extend(&details.map_ids);
        let name = function_name(btf, details.function_type);
        programs.push(ProgramInfo {
            name: name.unwrap_or_else(|| c_text(&info.name)),
            id: *id,
            tag: format!("{:016x}", u64::from_be_bytes(info.tag)),
            translated_bytes: info.xlated_prog_len,
            jited_bytes: info.jited_prog_len,
            verified_instructions: info.verified_insns,
            run_count: info.run_cnt,
            run_time_ns: info.run_time_ns,
        });
    }
    maps.sort_unstable();
    maps.dedup();
    Ok((programs, load_time_ns, maps))
}

/// The function's whole name, from the program's BTF.
fn function_name(btf: &Btf<'_>, function_type: Option<u32>) -> Option<String> {
    let function: Func<'_> = btf.type_by_id(function_type?.into())?;
    Some(function.name()?.to_str()?.to_owned())
}

pub(crate) fn open_maps(ids: &[u32]) -> std::io::Result<Vec<(String, OwnedFd)>> {
    ids.iter()
        .map(|id| {
            let fd = sys::map_by_id(*id)?;
            let name = c_text(&sys::map_info(fd.as_fd())?.name);
            Ok((name, fd))
        })
        .collect()
}

/// Identity, layout and parameters, through the BTF of the instance's programs.
fn read_contents(name: &str, btf: &Btf<'_>, maps: &[(String, OwnedFd)]) -> Result<(Identity, Layout, ParameterSet)> {
    let rodata = find_map(maps, IDENTITY_MAP, name)?;
    let bytes = sys::read_value(rodata.as_fd());
    let bytes = bytes.map_err(|error| Error::kernel(format!("read identity of {name}"), error))?;
    let identity = Identity::read(btf, &bytes).ok_or_else(|| unreadable(name, "identity"))?;
    let layout =
        Layout::of_btf(&identity.algorithm, btf).map_err(|error| Error::Object { object: name.to_owned(), error })?;
    let parameters = read_parameters(name, &identity, &layout, maps)?;
    Ok((identity, layout, parameters))
}

/// The parameters in force.
fn read_parameters(
    name: &str,
    identity: &Identity,
    layout: &Layout,
    maps: &[(String, OwnedFd)],
) -> Result<ParameterSet> {
    let set = read_active(find_map(maps, PARAMS_MAP, name)?.as_fd())?;
    ParameterSet::of_bytes(&identity.algorithm, &layout.parameters, &set)
        .ok_or_else(|| unreadable(name, "readable parameters"))
}

/// The kernel counts from boot, including suspend.
fn wall_clock(since_boot_ns: u64) -> SystemTime {
    let now = SystemTime::now();
    let uptime = clock_gettime(ClockId::CLOCK_BOOTTIME).map(Duration::from).unwrap_or_default();
    now - uptime.saturating_sub(Duration::from_nanos(since_boot_ns))
}

/// A BPF algorithm that something else has loaded.
#[derive(Debug, Clone, Serialize)]
pub struct OtherAlgorithm {
    /// Kernel name.
    pub name: String,
    /// Its `struct_ops` map.
    pub map_id: u32,
}

/// BPF algorithms that the kernel knows and that are not instances of ours.
pub fn other_bpf_algorithms(available: &[String], own: &[Instance]) -> Result<Vec<OtherAlgorithm>> {
    let mut found: Vec<OtherAlgorithm> = Vec::new();
    let mut id = 0;
    while let Some(next) = sys::next_map_id(id) {
        id = next;
        if own.iter().any(|instance| instance.map_id == id) {
            continue;
        }
        let Ok(map) = sys::map_by_id(id) else { continue };
        let Ok(value) = ops_value(map.as_fd()) else { continue };
        let Some(name) = KernelOps::get()?.name_in(&value) else { continue };
        let ours = own.iter().any(|instance| instance.name == name);
        if !ours && available.contains(&name) && !found.iter().any(|other| other.name == name) {
            found.push(OtherAlgorithm { name, map_id: id });
        }
    }
    Ok(found)
}
