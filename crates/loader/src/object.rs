// SPDX-License-Identifier: MIT OR Apache-2.0
//! From an object file to programs and maps in the kernel, not yet registered.

use std::borrow::Cow;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use ccctl_catalog::kernel::{text, TCP_CA_NAME_MAX};
use ccctl_catalog::{
    algorithm, algorithm_of_btf, algorithms, closest, object_hash, registered_in_btf, Layout, LayoutError, ObjectHash,
    ParameterSet,
};
use libbpf_rs::btf::types::Composite;
use libbpf_rs::{Btf, MapCore as _, MapType, Object, ObjectBuilder, OpenObject, ProgramType};

use crate::error::{privileges_missing, Error, LogFile, Result};
use crate::identity::{Identity, IDENTITY_MAP};
use crate::kernel::check_name;
use crate::kernel_ops::{members, KernelOps, Member};
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
            let names = algorithms().iter().map(ccctl_catalog::Algorithm::name);
            let hint = match closest(word, names.clone()) {
                Some(name) => format!("did you mean {name}? ccctl algorithms lists all"),
                None => format!("there are {}", names.collect::<Vec<_>>().join(", ")),
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
            Err(_) => Err(unopened(&log)),
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
        let mut open = self.open()?;
        let ops = sys::ops_struct(&mut open).ok_or_else(missing)?;
        let room = name_room(ops, &own).ok_or_else(missing)?;
        let name = text(room);
        check_name(&name)?;
        Ok(name)
    }

    pub(crate) fn object(&self) -> &[u8] {
        &self.object
    }

    fn open(&self) -> Result<OpenObject> {
        let (opened, log) = sys::with_log(|| ObjectBuilder::default().open_memory(&self.object));
        opened.map_err(|_| Error::Object { object: self.label.clone(), error: unopened(&log) })
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

/// Programs and maps in the kernel, with the value that registers them. Dropped, they are gone.
pub(crate) struct LoadedObject {
    object: Object,
    /// What the `struct_ops` map is to be filled with.
    pub(crate) value: Vec<u8>,
}

impl LoadedObject {
    /// The `struct_ops` map.
    pub(crate) fn ops_map(&self) -> Result<OwnedFd> {
        let map = self.object.maps().find(|map| map.map_type() == MapType::StructOps);
        let map = map.ok_or_else(|| Error::kernel("find the struct_ops map", std::io::Error::other("none")))?;
        map.as_fd().try_clone_to_owned().map_err(|error| Error::kernel("keep the struct_ops map", error))
    }

    /// What the verifier looked at, by program; those that this kernel has no hook for are left out.
    pub(crate) fn verified_instructions(&self) -> Result<Vec<(String, u32)>> {
        let loaded = self.object.progs().filter(|program| program.as_fd().as_raw_fd() >= 0);
        loaded
            .map(|program| {
                let details = sys::program_details(program.as_fd());
                let details = details.map_err(|error| Error::kernel("read a program", error))?;
                Ok((program.name().to_string_lossy().into_owned(), details.info.verified_insns))
            })
            .collect()
    }
}

/// An object fitted to this kernel, not yet loaded.
pub(crate) struct FittedObject {
    pub(crate) open: OpenObject,
    own: Vec<(String, Member)>,
    /// The object's struct of hooks, from before it is loaded.
    ops: Vec<u8>,
}

/// Opens a program's object under a kernel name, without the hooks that this kernel does not know.
pub(crate) fn fit_object(program: &Program, name: &str, profile: &str) -> Result<FittedObject> {
    let kernel = KernelOps::get()?;
    let own = program.own_members()?;
    let mut open = program.open()?;
    let ops = sys::ops_struct(&mut open).ok_or_else(|| Error::Object {
        object: program.label.clone(),
        error: LayoutError::Missing("struct_ops map".to_owned()),
    })?;
    write_name(ops, &own, name);
    clear_unknown_hooks(ops, &own, kernel);
    let ops = ops.to_vec();
    require_hooks(program, &open, &ops, &own)?;
    write_identity(&mut open, program, profile)?;
    write_kernel_facts(&mut open, kernel);
    if !kernel.has_links {
        clear_link_flag(&mut open)?;
    }
    Ok(FittedObject { open, own, ops })
}

/// Loads a program under a kernel name with its parameters in force. Nothing can use it yet.
pub(crate) fn load_object(program: &Program, name: &str, profile: &str, set: &ParameterSet) -> Result<LoadedObject> {
    let FittedObject { open, own, ops } = fit_object(program, name, profile)?;
    let object = load(open, program)?;
    let value = kernel_value(&object, &ops, &own, KernelOps::get()?)
        .map_err(|error| Error::kernel(format!("find the programs of {}", program.label), error))?;
    fill_parameters(&object, set)?;
    Ok(LoadedObject { object, value })
}

/// The kernel would refuse to register it, and would not say why.
fn require_hooks(program: &Program, open: &OpenObject, ops: &[u8], own: &[(String, Member)]) -> Result<()> {
    let names: Vec<String> = open.progs().map(|program| program.name().to_string_lossy().into_owned()).collect();
    let object = || program.label.clone();
    missing_hook(ops, own, &names)
        .map_or(Ok(()), |Refusal { cause, remedy }| Err(Error::MissingHook { object: object(), cause, remedy }))
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

/// The kernel's struct out of the object's: hooks become descriptors of their programs.
fn kernel_value(object: &Object, ops: &[u8], own: &[(String, Member)], kernel: &KernelOps) -> std::io::Result<Vec<u8>> {
    let mut value = vec![0; kernel.value_bytes];
    for (name, member) in own {
        let Some(target) = kernel.members.get(name) else { continue };
        if member.is_hook {
            let slot = ops.get(member.offset..member.offset + 8).and_then(|slot| slot.try_into().ok());
            let slot = slot.ok_or_else(|| std::io::Error::other("slot outside the struct"))?;
            if let Some(fd) = sys::program_fd(object, usize::from_ne_bytes(slot))? {
                let fd = u64::try_from(fd).map_err(std::io::Error::other)?;
                value[target.offset..target.offset + 8].copy_from_slice(&fd.to_le_bytes());
            }
        } else {
            let bytes = member.bytes.min(target.bytes);
            let own = ops.get(member.offset..member.offset + bytes);
            let own = own.ok_or_else(|| std::io::Error::other("member outside the struct"))?;
            value[target.offset..target.offset + bytes].copy_from_slice(own);
        }
    }
    Ok(value)
}

fn fill_parameters(object: &Object, set: &ParameterSet) -> Result<()> {
    let map = object.maps().find(|map| map.name() == PARAMS_MAP);
    let map = map.ok_or_else(|| Error::kernel(format!("find {PARAMS_MAP}"), std::io::Error::other("no such map")))?;
    hold_parameters(object, map.as_fd())
        .map_err(|error| Error::kernel(format!("keep {PARAMS_MAP} with the programs"), error))?;
    publish(map.as_fd(), &set.to_bytes())
}

/// An instance is found from its hooks, and they hold only the maps that they use; an algorithm may use no parameter.
fn hold_parameters(object: &Object, map: BorrowedFd<'_>) -> std::io::Result<()> {
    let mut hooks = object.progs().filter(|program| program.prog_type() == ProgramType::StructOps);
    let hook = hooks.find(|program| program.as_fd().as_raw_fd() >= 0);
    hook.map_or(Ok(()), |hook| sys::bind_map(hook.as_fd(), map))
}
