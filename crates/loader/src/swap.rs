// SPDX-License-Identifier: MIT OR Apache-2.0
//! Swap: another program behind the same kernel name, at one instant.

use std::os::fd::{AsFd as _, OwnedFd};

use ccctl_catalog::ParameterSet;

use crate::error::{Error, Result};
use crate::instance::{open_anchor, Anchor, Instance};
use crate::load_object::{fill, load_to_register};
use crate::lock::Lock;
use crate::object::Program;
use crate::{own_params, recover, sys};

/// What to put behind the name.
#[derive(Debug)]
pub struct SwapRequest<'a> {
    /// Kernel name.
    pub name: &'a str,
    /// The new algorithm, or a newer build of the same.
    pub program: &'a Program,
    /// Name of the profile that `parameters` come from; empty: none.
    pub profile: &'a str,
    /// All parameters.
    pub parameters: &'a ParameterSet,
}

/// What was done.
#[derive(Debug)]
pub struct Swapped {
    /// The instance's map now.
    pub map_id: u32,
    /// Its map before.
    pub map_id_before: u32,
    /// Network namespaces whose default goes on with the program before, and why.
    pub not_followed: Vec<String>,
}

/// Puts a new program behind a kernel name. New connections get it at once; live ones keep the old program until they
/// are migrated. The new one is complete before the switch, which is one system call: a kill leaves one or the other.
/// Namespaces whose default is this name follow at once.
pub fn swap(lock: &Lock, request: &SwapRequest<'_>) -> Result<Swapped> {
    let (link, map_id_before) = link_of(request)?;
    own_params::prepare(lock, request.program)?;
    let object = load_to_register(request.program, request.name, request.profile, request.parameters)?;
    let map = object.ops_map()?;
    let failed = |error| Error::kernel(format!("swap {}", request.name), error);
    fill(request.name, &object)?;
    let not_followed = recover::settle_after(lock, || sys::update_link(link.as_fd(), map.as_fd()).map_err(failed))?;
    let map_id = sys::map_info(map.as_fd()).map_err(failed)?.id;
    Ok(Swapped { map_id, map_id_before, not_followed })
}

/// Makes the checks of [`swap`], the verifier's among them, and changes nothing; returns the id of the map in force.
pub fn preview_swap(request: &SwapRequest<'_>) -> Result<u32> {
    let (_, map_id) = link_of(request)?;
    load_to_register(request.program, request.name, request.profile, request.parameters)?.verified_instructions()?;
    Ok(map_id)
}

/// The instance's link, and the id of the map behind it.
fn link_of(request: &SwapRequest<'_>) -> Result<(OwnedFd, u32)> {
    Instance::require(request.name)?;
    match open_anchor(request.name)? {
        (Anchor::Link(link, _), _, map_id) => Ok((link, map_id)),
        (Anchor::Map(_), ..) => Err(no_links(request)),
    }
}

fn no_links(request: &SwapRequest<'_>) -> Error {
    let SwapRequest { name, program, .. } = request;
    Error::Host {
        cause: "swap needs struct_ops links, which this kernel does not have (Linux 6.4)".to_owned(),
        remedy: format!(
            "use ccctl load {} --instance OTHER, ccctl migrate --instance {name} --to OTHER, ccctl unload {name}",
            program.label
        ),
    }
}
