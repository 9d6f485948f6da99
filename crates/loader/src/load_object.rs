// SPDX-License-Identifier: MIT OR Apache-2.0
//! From an object to its programs in the kernel. The short way is to relocate it by the few types that are kept. libbpf would read
//! all types of the kernel for a `struct_ops` map, and so that map is made here.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::Path;

use ccctl_catalog::kernel::{CC_ECT_1_ESTABLISHED, TCP_CONG_NEEDS_ECN, TCP_CONG_NON_RESTRICTED};
use ccctl_catalog::ParameterSet;
use object::{Object as _, ObjectSection as _};

use crate::error::{Error, Result};
use crate::kept_types::{structs_of, KeptTypes};
use crate::kernel_ops::KernelOps;
use crate::object::{fit_object, full_load, FittedObject, Hook, LoadedObject, Program};
use crate::own_params;
use crate::params::PARAMS_MAP;
use crate::sys::{self, Place, PreparedObject};

/// `BPF_OBJ_NAME_LEN`, with a zero at the end.
const NAME_BYTES: usize = 15;

/// Loads a program under a kernel name with its parameters in force. Nothing can use it yet.
pub(crate) fn load_object(program: &Program, name: &str, profile: &str, set: &ParameterSet) -> Result<LoadedObject> {
    let loaded = match quick_load(program, name, profile) {
        Some(loaded) => loaded,
        None => full_load(program, name, profile)?,
    };
    loaded.set_parameters(set)?;
    Ok(loaded)
}

/// The same for a program that is to be registered: its flags have to be those of a kernel.
pub(crate) fn load_to_register(
    program: &Program,
    name: &str,
    profile: &str,
    set: &ParameterSet,
) -> Result<LoadedObject> {
    let loaded = load_object(program, name, profile, set)?;
    if flags(&loaded)? & CC_ECT_1_ESTABLISHED == 0 {
        return Ok(loaded);
    }
    Err(Error::Host {
        cause: format!(
            "{} needs ECT(1) on all packets, and kernels send ECT(0) once a connection is established",
            program.label
        ),
        remedy: "simulate it with ccctl-lab; in a network of your own, dctcp reacts to marks in the same way"
            .to_owned(),
    })
}

/// Fills the table that the kernel registers. It answers to a flag that it does not know with EINVAL, and says no more.
pub(crate) fn fill(name: &str, loaded: &LoadedObject) -> Result<()> {
    const OF_ALL_KERNELS: u32 = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN;

    sys::write_value(loaded.ops_map()?.as_fd(), &loaded.value).map_err(|error| match flags(loaded) {
        Ok(flags) if error.kind() == io::ErrorKind::InvalidInput && flags & !OF_ALL_KERNELS != 0 => Error::Table {
            object: name.to_owned(),
            cause: format!("it does not know all flags of its table ({flags:#x})"),
            remedy: "look at .flags in its C file: Accurate ECN and ECT(1) need Linux 7.0, or 6.18 since February 2026"
                .to_owned(),
        },
        _ => Error::kernel(format!("fill {name}"), error),
    })
}

fn flags(loaded: &LoadedObject) -> Result<u32> {
    Ok(KernelOps::get()?.flags_of(&loaded.value))
}

/// None where it needs other types than those that are kept, and where anything fails: libbpf then does all of it, and its
/// words say what is wrong.
fn quick_load(program: &Program, name: &str, profile: &str) -> Option<LoadedObject> {
    load_by(&KeptTypes::get()?, program, name, profile).ok()
}

pub(crate) fn load_by(types: &KeptTypes, program: &Program, name: &str, profile: &str) -> Result<LoadedObject> {
    let failed = |error| Error::kernel(format!("load {} by the types that are kept", program.label), error);
    if !structs_of(program.object()).is_some_and(|names| types.have(&names)) {
        return Err(failed(io::Error::other("it needs others")));
    }
    let file = types.file().map_err(failed)?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let mut fitted = fit_object(program, name, profile, Some(Path::new(&path)))?;
    own_params::share(&mut fitted.open)?;
    let (loaded, log) = sys::with_log(|| load(program, fitted));
    loaded.map_err(|error| failed(io::Error::other(format!("{error}\n{log}"))))
}

fn license_of(object: &[u8]) -> Option<CString> {
    let file = object::File::parse(object).ok()?;
    let text = file.section_by_name("license")?.data().ok()?;
    CString::new(text.split(|byte| *byte == 0).next()?).ok()
}

fn load(program: &Program, fitted: FittedObject) -> io::Result<LoadedObject> {
    let FittedObject { open, own, ops } = fitted;
    let kernel = KernelOps::get().map_err(io::Error::other)?;
    let license = license_of(program.object()).ok_or_else(|| io::Error::other("no license"))?;
    let map_flags = if kernel.has_links { libbpf_rs::libbpf_sys::BPF_F_LINK } else { 0 };
    let mut places = Vec::new();
    for (name, member) in own.iter().filter(|(_, member)| member.is_hook) {
        if let (Some(target), Some(address)) = (kernel.members.get(name), member.address_in(&ops)) {
            places.push((address, Place { ops: kernel.ops_type, member: target.number }));
        }
    }
    places.sort_by_key(|(address, _)| *address); // the order of the file
    let addresses: Vec<usize> = places.iter().map(|(address, _)| *address).collect();
    if addresses.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(io::Error::other("a program in two places"));
    }
    let prepared = PreparedObject::new(open, &addresses)?;
    let mut hooks = Vec::new();
    for (address, place) in &places {
        let (name, fd) = prepared.load(*address, place, &license)?;
        hooks.push(Hook { address: *address, name, fd });
    }
    let map_name: String = program.algorithm.chars().take(NAME_BYTES).collect();
    let ops_map =
        prepared.create_ops_map(&CString::new(map_name)?, (kernel.value_type, kernel.value_bytes), map_flags)?;
    let parameters = prepared.map(&CString::new(PARAMS_MAP)?)?.as_fd().try_clone_to_owned()?;
    LoadedObject::new(hooks, ops_map, parameters, (&ops, &own))
}
