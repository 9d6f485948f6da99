// SPDX-License-Identifier: MIT OR Apache-2.0
//! From an object file to programs and maps in the kernel, not yet registered.

use std::borrow::Cow;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::Path;

use ccctl_catalog::kernel::{text, TCP_CA_NAME_MAX};
use ccctl_catalog::{
    algorithm, algorithm_of_btf, closest, names, object_hash, registered_in_btf, Layout, LayoutError, ObjectHash,
    ParameterSet,
};
use libbpf_rs::btf::types::Composite;
use libbpf_rs::{Btf, Map, MapCore as _, MapType, Object, ObjectBuilder, OpenObject};

use crate::error::{privileges_missing, Error, LogFile, Result};
use crate::identity::{Identity, IDENTITY_MAP};
use crate::kernel::check_name;
use crate::kernel_ops::{members, KernelOps, Member};
use crate::own_params::{self, cc_own_instance, OWN_INSTANCE_MAP};
use crate::params::{publish, PARAMS_MAP};
use crate::refusal::{missing_hook, unloaded, unopened, Refusal};
use crate::sys;
use crate::verifier_log::write_log;
use crate::writable_fields::{unwritable_field, writable_since};

/// Read-only data of objects whose `cong_control` asks how many arguments it has.
const KERNEL_MAP: &str = ".rodata.kernel";

/// An algorithm as an object file: one that is built in, or a file of the user's.
#[derive(Debug, Clone)]
pub struct Program {
    /// What the user called it.
    pub label: String,
    /// The algorithm in it.
    pub algorithm: String,
    /// Parameters and state.
    pub layout: Layout,
    /// By which two builds are told apart.
    pub hash: ObjectHash,
    object: Cow<'static, [u8]>,
}

impl Program {
    /// The built-in algorithm of this name. No file is read, whatever the word is.
    pub fn named(word: &str) -> Result<Self> {
        let known = algorithm(word).ok_or_else(|| {
            let names = names();
            let hint = match closest(word, names.iter().copied()) {
                Some(name) => format!("did you mean {name}? ccctl algorithms lists all"),
                None => format!("there are {}", names.join(", ")),
            };
            Error::Unknown { kind: "algorithm", name: word.to_owned(), hint }
        })?;
        Ok(Self {
            label: word.to_owned(),
            algorithm: word.to_owned(),
            layout: known.layout(),
            hash: known.hash(),
            object: Cow::Borrowed(known.object()),
        })
    }

    /// Does the word mean an object file?
    #[must_use]
    pub fn is_file(word: &str) -> bool {
        word.contains('/') || Path::new(word).extension().is_some_and(|ending| ending == "o")
    }

    /// The algorithm in an object file that was read; `label` is how messages call it.
    pub fn of_object(label: &str, bytes: Vec<u8>) -> Result<Self> {
        let (parsed, log) = sys::with_log(|| Btf::from_raw("file", &bytes).map(|btf| btf.map(|btf| contents(&btf))));
        let contents = match parsed {
            Ok(Some(contents)) => contents,
            Ok(None) => Err(LayoutError::NoBtf("no .BTF section".to_owned())),
            Err(_) => Err(unopened(&bytes, &log)),
        };
        let (algorithm, layout) = contents.map_err(|error| Error::Object { object: label.to_owned(), error })?;
        let hash = object_hash(&bytes);
        Ok(Self { label: label.to_owned(), algorithm, layout, hash, object: Cow::Owned(bytes) })
    }

    /// The algorithm's defaults.
    #[must_use]
    pub fn defaults(&self) -> ParameterSet {
        ParameterSet::defaults(&self.algorithm, &self.layout.parameters)
    }

    /// The name that the object itself carries, under which the kernel gets to know it unless another is chosen.
    pub fn default_name(&self) -> Result<String> {
        let missing = || Error::Object {
            object: self.label.clone(),
            error: LayoutError::Missing("name of its struct_ops map".to_owned()),
        };
        let own = self.own_members()?;
        let mut open = self.open(None)?;
        let ops = sys::ops_struct(&mut open).ok_or_else(missing)?;
        let room = name_room(ops, &own).ok_or_else(missing)?;
        let name = text(room);
        check_name(&name)?;
        Ok(name)
    }

    /// The object file.
    #[must_use]
    pub fn object(&self) -> &[u8] {
        &self.object
    }

    fn open(&self, types: Option<&Path>) -> Result<OpenObject> {
        let mut builder = ObjectBuilder::default();
        if let Some(types) = types {
            builder.btf_custom_path(types).map_err(|error| Error::libbpf("name the kernel's types", &error))?;
        }
        let (opened, log) = sys::with_log(|| builder.open_memory(&self.object));
        opened.map_err(|_| Error::Object { object: self.label.clone(), error: unopened(&self.object, &log) })
    }

    fn own_members(&self) -> Result<Vec<(String, Member)>> {
        let missing =
            |what: &str| Error::Object { object: self.label.clone(), error: LayoutError::Missing(what.into()) };
        let btf = btf_of(&self.object).ok_or_else(|| missing("BTF"))?;
        let ops: Composite<'_> =
            btf.type_by_name("tcp_congestion_ops").ok_or_else(|| missing("struct tcp_congestion_ops"))?;
        Ok(members(&btf, &ops).into_iter().collect())
    }
}

/// The algorithm that an object file declares, under the name that it is registered by.
fn contents(btf: &Btf<'_>) -> std::result::Result<(String, Layout), LayoutError> {
    let name = algorithm_of_btf(btf).ok_or_else(|| LayoutError::Missing("parameters".to_owned()))?;
    let layout = Layout::of_btf(&name, btf)?;
    match registered_in_btf(btf).filter(|registered| *registered != name) {
        Some(registered) => Err(LayoutError::TwoNames { parameters: name, registered }),
        None => Ok((name, layout)),
    }
}

/// An object's types. libbpf opens the whole object for them, and has something to say of sections that it does not know.
fn btf_of(object: &[u8]) -> Option<Btf<'_>> {
    sys::with_log(|| Btf::from_raw("object", object)).0.ok().flatten()
}

/// A program in the kernel.
pub(crate) struct Hook {
    /// Where libbpf has it, which is what the object's struct of hooks says.
    pub(crate) address: usize,
    pub(crate) name: String,
    pub(crate) fd: OwnedFd,
}

/// Programs and maps in the kernel, with the value that registers them. Dropped, they are gone.
pub(crate) struct LoadedObject {
    hooks: Vec<Hook>,
    map: OwnedFd,
    parameters: OwnedFd,
    /// What the `struct_ops` map is to be filled with.
    pub(crate) value: Vec<u8>,
}

impl LoadedObject {
    /// Of the object's struct of hooks and its members.
    pub(crate) fn new(hooks: Vec<Hook>, map: OwnedFd, parameters: OwnedFd, ops: OwnOps<'_>) -> std::io::Result<Self> {
        let kernel = KernelOps::get().map_err(std::io::Error::other)?;
        let value = kernel_value(&hooks, ops, kernel)?;
        // An instance is found from its hooks, and they hold only the maps that they use; an algorithm may use no parameter.
        if let Some(hook) = hooks.first() {
            sys::bind_map(hook.fd.as_fd(), parameters.as_fd())?;
        }
        Ok(Self { hooks, map, parameters, value })
    }

    /// The `struct_ops` map.
    pub(crate) fn ops_map(&self) -> Result<OwnedFd> {
        self.map.try_clone().map_err(|error| Error::kernel("keep the struct_ops map", error))
    }

    /// Puts the parameters in force.
    pub(crate) fn set_parameters(&self, set: &ParameterSet) -> Result<()> {
        publish(self.parameters.as_fd(), &set.to_bytes())
    }

    /// The kernel's hash of each program's instructions, and what the verifier looked at.
    #[cfg(test)]
    pub(crate) fn tags(&self) -> std::io::Result<Vec<(String, [u8; 8], u32)>> {
        let tag = |hook: &Hook| {
            let info = sys::program_details(hook.fd.as_fd())?.info;
            Ok((hook.name.clone(), info.tag, info.verified_insns))
        };
        let mut tags: Vec<_> = self.hooks.iter().map(tag).collect::<std::io::Result<_>>()?;
        tags.sort();
        Ok(tags)
    }

    /// What the verifier looked at, by program; those that this kernel has no hook for are left out.
    pub(crate) fn verified_instructions(&self) -> Result<Vec<(String, u32)>> {
        let verified = |hook: &Hook| {
            let details = sys::program_details(hook.fd.as_fd());
            let details = details.map_err(|error| Error::kernel("read a program", error))?;
            Ok((hook.name.clone(), details.info.verified_insns))
        };
        self.hooks.iter().map(verified).collect()
    }
}

/// An object's struct of hooks, and its members.
type OwnOps<'a> = (&'a [u8], &'a [(String, Member)]);

/// An object fitted to this kernel, not yet loaded.
pub(crate) struct FittedObject {
    pub(crate) open: OpenObject,
    pub(crate) own: Vec<(String, Member)>,
    /// The object's struct of hooks, from before it is loaded.
    pub(crate) ops: Vec<u8>,
}

/// Opens a program's object under a kernel name, without the hooks that this kernel does not know. It is to be relocated by
/// the types in a file, or by all of the kernel's.
pub(crate) fn fit_object(program: &Program, name: &str, profile: &str, types: Option<&Path>) -> Result<FittedObject> {
    let kernel = KernelOps::get()?;
    let own = program.own_members()?;
    let mut open = program.open(types)?;
    let ops = sys::ops_struct(&mut open).ok_or_else(|| Error::Object {
        object: program.label.clone(),
        error: LayoutError::Missing("struct_ops map".to_owned()),
    })?;
    write_name(ops, &own, name);
    clear_unknown_hooks(ops, &own, kernel);
    let ops = ops.to_vec();
    require_hooks(program, &open, &ops, &own)?;
    write_identity(&mut open, program, profile)?;
    write_own_instance(&mut open, program, name);
    write_kernel_facts(&mut open, kernel);
    if !kernel.has_links {
        clear_link_flag(&mut open)?;
    }
    Ok(FittedObject { open, own, ops })
}

/// All of it by libbpf.
pub(crate) fn full_load(program: &Program, name: &str, profile: &str) -> Result<LoadedObject> {
    let FittedObject { mut open, own, ops } = fit_object(program, name, profile, None)?;
    own_params::share(&mut open)?;
    let object = load(open, program)?;
    let failed = |error| Error::kernel(format!("find the programs of {}", program.label), error);
    let hooks = sys::programs(&object).map_err(failed)?;
    let hooks = hooks.into_iter().map(|(address, name, fd)| Hook { address, name, fd }).collect();
    let map = |found: &dyn Fn(&Map<'_>) -> bool| {
        let map = object.maps().find(|map| found(map)).ok_or_else(|| std::io::Error::other("a map is missing"))?;
        map.as_fd().try_clone_to_owned()
    };
    let ops_map = map(&|map| map.map_type() == MapType::StructOps).map_err(failed)?;
    let parameters = map(&|map| map.name() == PARAMS_MAP).map_err(failed)?;
    LoadedObject::new(hooks, ops_map, parameters, (&ops, &own)).map_err(failed)
}

/// The map of this name.
pub(crate) fn map_of<'a>(object: &'a Object, name: &str) -> Result<Map<'a>> {
    let map = object.maps().find(|map| map.name() == name);
    map.ok_or_else(|| Error::kernel(format!("find the map {name}"), std::io::Error::other("no such map")))
}

/// The kernel would refuse to register it, and would not say why.
fn require_hooks(program: &Program, open: &OpenObject, ops: &[u8], own: &[(String, Member)]) -> Result<()> {
    let names: Vec<String> = open.progs().map(|program| program.name().to_string_lossy().into_owned()).collect();
    let object = || program.label.clone();
    missing_hook(ops, own, &names)
        .map_or(Ok(()), |Refusal { cause, remedy }| Err(Error::Table { object: object(), cause, remedy }))
}

/// Where the object's struct has the kernel name.
fn name_room<'a>(ops: &'a mut [u8], own: &[(String, Member)]) -> Option<&'a mut [u8]> {
    let (_, member) = own.iter().find(|(member, _)| member == "name")?;
    ops.get_mut(member.offset..member.offset + TCP_CA_NAME_MAX as usize)
}

fn write_name(ops: &mut [u8], own: &[(String, Member)], name: &str) {
    if let Some(room) = name_room(ops, own) {
        room.fill(0);
        room[..name.len()].copy_from_slice(name.as_bytes());
    }
}

/// A hook that this kernel does not know is left out, and libbpf leaves its program out with it.
fn clear_unknown_hooks(ops: &mut [u8], own: &[(String, Member)], kernel: &KernelOps) {
    for (name, member) in own.iter().filter(|(name, _)| !kernel.members.contains_key(name)) {
        if let (true, Some(slot)) = (member.is_hook, ops.get_mut(member.offset..member.offset + 8)) {
            let _ = name;
            slot.fill(0);
        }
    }
}

/// What is written is read again: an instance whose identity cannot be read could be neither listed nor unloaded.
fn write_identity(open: &mut OpenObject, program: &Program, profile: &str) -> Result<()> {
    let identity = Identity::new(&program.algorithm, profile, program.hash);
    let btf = btf_of(&program.object);
    for mut map in open.maps_mut() {
        if map.name().to_string_lossy().ends_with(IDENTITY_MAP) {
            if let (Some(btf), Some(room)) = (&btf, map.initial_value_mut()) {
                identity.write(btf, room);
                if Identity::read(btf, room).is_some_and(|read| read == identity) {
                    return Ok(());
                }
            }
        }
    }
    Err(Error::Object { object: program.label.clone(), error: LayoutError::Missing("struct cc_identity".to_owned()) })
}

/// For whom elements of the map of connections' own parameters are, so that they are for this instance.
fn write_own_instance(open: &mut OpenObject, program: &Program, name: &str) {
    let own = cc_own_instance::of(name, &program.algorithm, &program.layout);
    let bytes = bytemuck::bytes_of(&own);
    for mut map in open.maps_mut().filter(|map| map.name().to_string_lossy().ends_with(OWN_INSTANCE_MAP)) {
        if let Some(room) = map.initial_value_mut().and_then(|room| room.get_mut(..bytes.len())) {
            room.copy_from_slice(bytes);
        }
    }
}

/// `cc_cong_control_arguments`, the only word of its section. Programs are verified with the value that it then has.
fn write_kernel_facts(open: &mut OpenObject, kernel: &KernelOps) {
    for mut map in open.maps_mut().filter(|map| map.name().to_string_lossy().ends_with(KERNEL_MAP)) {
        if let Some(word) = map.initial_value_mut().and_then(|bytes| bytes.first_chunk_mut::<4>()) {
            *word = kernel.cong_control_arguments.to_ne_bytes();
        }
    }
}

fn clear_link_flag(open: &mut OpenObject) -> Result<()> {
    for mut map in open.maps_mut().filter(|map| map.map_type() == MapType::StructOps) {
        let flags = map.map_flags() & !libbpf_rs::libbpf_sys::BPF_F_LINK;
        map.set_map_flags(flags).map_err(|error| Error::libbpf("prepare for a kernel without links", &error))?;
    }
    Ok(())
}

fn load(open: OpenObject, program: &Program) -> Result<Object> {
    let (loaded, log) = sys::with_log(|| open.load());
    loaded.map_err(|error| {
        if error.kind() == libbpf_rs::ErrorKind::PermissionDenied && !log.contains("PROG LOAD LOG") {
            return privileges_missing(&format!("load {}", program.label));
        }
        refused(program, &log, write_log(&program.algorithm, &log), &error.to_string())
    })
}

fn refused(program: &Program, text: &str, log: LogFile, otherwise: &str) -> Error {
    let object = program.label.clone();
    if let Some(field) = unwritable_field(text) {
        return Error::Unwritable { object, since: writable_since(&field), field, log };
    }
    let Refusal { cause, remedy } = unloaded(&program.object, text, otherwise);
    Error::Refused { object, cause, remedy, log }
}

/// The kernel's struct out of the object's: hooks become descriptors of their programs. Nothing is registered with holes.
fn kernel_value(hooks: &[Hook], (ops, own): OwnOps<'_>, kernel: &KernelOps) -> std::io::Result<Vec<u8>> {
    let mut value = vec![0; kernel.value_bytes];
    for (name, member) in own {
        let Some(target) = kernel.members.get(name) else { continue };
        if member.is_hook {
            let Some(address) = member.address_in(ops) else { continue };
            let hook = hooks.iter().find(|hook| hook.address == address);
            let hook = hook.ok_or_else(|| std::io::Error::other("slot does not name a program of the object"))?;
            let fd = u64::try_from(hook.fd.as_raw_fd()).map_err(std::io::Error::other)?;
            value[target.offset..target.offset + 8].copy_from_slice(&fd.to_le_bytes());
        } else {
            let bytes = member.bytes.min(target.bytes);
            let own = ops.get(member.offset..member.offset + bytes);
            let own = own.ok_or_else(|| std::io::Error::other("member outside the struct"))?;
            value[target.offset..target.offset + bytes].copy_from_slice(own);
        }
    }
    Ok(value)
}
