// SPDX-License-Identifier: MIT OR Apache-2.0
//! Load: register an algorithm under a kernel name.

use std::os::fd::AsFd as _;

use ccctl_catalog::ParameterSet;

use crate::bpffs::{self, PinFolder};
use crate::error::{Error, Result};
use crate::instance::Instance;
use crate::kernel::{available_algorithms, check_name};
use crate::kernel_ops::KernelOps;
use crate::load_object::{fill, load_object, load_to_register};
use crate::lock::Lock;
use crate::object::{LoadedObject, Program};
use crate::{kept_types, kernel_ops, own_params, sockets, sys};

/// What to load.
#[derive(Debug)]
pub struct LoadRequest<'a> {
    /// The algorithm.
    pub program: &'a Program,
    /// Kernel name.
    pub name: &'a str,
    /// Name of the profile that `parameters` come from; empty: none.
    pub profile: &'a str,
    /// All parameters.
    pub parameters: &'a ParameterSet,
}

/// What was loaded.
#[derive(Debug)]
pub struct Loaded {
    /// The instance, as the kernel shows it.
    pub instance: Instance,
    /// False: the same program ran already with the same parameters.
    pub changed: bool,
}

/// Asks the kernel whether it accepts an algorithm, without registering it. Returns what its verifier looked at, in
/// instructions, by program.
pub fn check(program: &Program) -> Result<Vec<(String, u32)>> {
    kernel_ops::require_struct_ops()?;
    load_object(program, &program.default_name()?, "", &program.defaults())?.verified_instructions()
}

/// Registers an algorithm. Its pin outlives the process; until the pin is made, a kill undoes all of it.
pub fn load(lock: &Lock, request: &LoadRequest<'_>) -> Result<Loaded> {
    check_name(request.name)?;
    kernel_ops::require_struct_ops()?;
    PinFolder::make()?;
    bpffs::remove_leftover(lock, request.name)?;
    let result = own_params::prepare(lock, request.program).and_then(|()| load_checked(request));
    match result {
        // Commands that find one of them missing take longer.
        Ok(_) => drop((KernelOps::keep(lock), kept_types::keep(lock), sockets::keep_counter(lock))),
        Err(_) => bpffs::remove_empty_folders(),
    }
    result
}

/// Makes the checks of [`load`], the verifier's among them, and registers nothing. None: `load` would register it; otherwise
/// the same program runs already with the same parameters.
pub fn preview_load(request: &LoadRequest<'_>) -> Result<Option<Instance>> {
    check_name(request.name)?;
    kernel_ops::require_struct_ops()?;
    if Instance::exists(request.name)? {
        return Ok(Some(already_loaded(request)?.instance));
    }
    require_free(request.name)?;
    load_to_register(request.program, request.name, request.profile, request.parameters)?.verified_instructions()?;
    Ok(None)
}

fn load_checked(request: &LoadRequest<'_>) -> Result<Loaded> {
    let name = request.name;
    if Instance::exists(name)? {
        return already_loaded(request);
    }
    require_free(name)?;
    let object = load_to_register(request.program, name, request.profile, request.parameters)?;
    register(name, &object)?;
    Ok(Loaded { instance: Instance::named(name)?, changed: true })
}

/// The kernel has no algorithm of this name.
fn require_free(name: &str) -> Result<()> {
    if available_algorithms()?.iter().any(|known| known == name) {
        return Err(Error::Taken {
            name: name.to_owned(),
            by: "the kernel has an algorithm with this name".to_owned(),
            hint: "--instance ANOTHER_NAME".to_owned(),
        });
    }
    Ok(())
}

fn already_loaded(request: &LoadRequest<'_>) -> Result<Loaded> {
    let instance = Instance::named(request.name)?;
    let same_program = instance.identity.object_hash == request.program.hash;
    if same_program && instance.parameters == *request.parameters {
        return Ok(Loaded { instance, changed: false });
    }
    let (by, hint) = if same_program {
        let by = format!("{} runs under it with other parameters", instance.identity.algorithm);
        (by, format!("use ccctl tune {} KEY=VALUE..., or --instance ANOTHER_NAME", request.name))
    } else {
        let by = format!("{} runs under it", instance.identity.algorithm);
        (by, format!("use ccctl swap {} --with {}, or --instance ANOTHER_NAME", request.name, request.program.label))
    };
    Err(Error::Taken { name: request.name.to_owned(), by, hint })
}

/// A link vanishes with the process unless pinned. A map without link stays registered, so there the pin comes first:
/// whoever finds it unregistered knows that a load was cut short.
fn register(name: &str, object: &LoadedObject) -> Result<()> {
    let map = object.ops_map()?;
    let path = bpffs::require_instance_pin(name)?;
    let failed = |step: &str| {
        let step = format!("{step} {name}");
        move |error| Error::kernel(step, error)
    };
    if KernelOps::get()?.has_links {
        fill(name, object)?;
        let link = sys::create_link(map.as_fd()).map_err(failed("register"))?;
        return sys::pin(link.as_fd(), &path).map_err(failed("pin"));
    }
    sys::pin(map.as_fd(), &path).map_err(failed("pin"))?;
    fill(name, object).inspect_err(|_| drop(std::fs::remove_file(&path)))
}
