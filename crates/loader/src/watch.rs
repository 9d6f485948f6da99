// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether anything has changed in the kernel, asked with few system calls: ids and parameter bytes, no BTF.

use std::collections::BTreeMap;
use std::os::fd::AsFd as _;

use crate::error::{Error, Result};
use crate::instance::{anchor_ids, Instance};
use crate::kernel::current_default;
use crate::params::{read_active, PARAMS_MAP};
use crate::{bpffs, rules, sys};

/// What a look has seen. Two that are equal: nothing has changed in between, or all of it was changed back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    default: String,
    rules: Option<u32>,
    instances: BTreeMap<String, SeenInstance>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SeenInstance {
    link_id: Option<u32>,
    map_id: u32,
    params_map_id: u32,
    parameters: Vec<u8>,
}

/// Looks at the kernel; `before` saves finding the parameters of instances whose program is the same.
pub fn look(before: &Seen) -> Result<Seen> {
    let mut seen = Seen { default: current_default()?, rules: rules::program_id()?, ..Seen::default() };
    for name in bpffs::instance_names()? {
        // One that cannot be read is leaving or arriving: the next look sees it.
        if let Ok(instance) = look_at(&name, before.instances.get(&name)) {
            seen.instances.insert(name, instance);
        }
    }
    Ok(seen)
}

fn look_at(name: &str, before: Option<&SeenInstance>) -> Result<SeenInstance> {
    let failed = |error| Error::kernel(format!("read {name}"), error);
    let (link_id, map_id) = anchor_ids(name)?;
    let params_map_id = match before.filter(|before| before.map_id == map_id) {
        Some(before) => before.params_map_id,
        None => sys::map_info(Instance::named(name)?.map(PARAMS_MAP)?.as_fd()).map_err(failed)?.id,
    };
    let parameters = read_active(sys::map_by_id(params_map_id).map_err(failed)?.as_fd())?;
    Ok(SeenInstance { link_id, map_id, params_map_id, parameters })
}
