// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tune: other parameters in a running instance.

use std::os::fd::AsFd as _;

use ccctl_catalog::ParameterSet;

use crate::error::Result;
use crate::instance::Instance;
use crate::lock::Lock;
use crate::params::{publish, PARAMS_MAP};

/// What was done.
#[derive(Debug)]
pub struct Tuned {
    /// Parameters before.
    pub before: ParameterSet,
    /// Parameters now, as the kernel shows them.
    pub after: ParameterSet,
}

/// Changes parameters of a running instance: all of `changes` or none, and for each hook call all or none too.
pub fn tune(_lock: &Lock, name: &str, changes: &[(String, String)]) -> Result<Tuned> {
    let (instance, wanted) = wanted(name, changes)?;
    if wanted == instance.parameters {
        return Ok(Tuned { before: wanted.clone(), after: wanted });
    }
    let map = instance.map(PARAMS_MAP)?;
    publish(map.as_fd(), &wanted.to_bytes())?;
    Ok(Tuned { after: instance.parameters_now()?, before: instance.parameters })
}

/// What [`tune`] would do.
pub fn preview_tune(name: &str, changes: &[(String, String)]) -> Result<Tuned> {
    let (instance, wanted) = wanted(name, changes)?;
    Ok(Tuned { before: instance.parameters, after: wanted })
}

fn wanted(name: &str, changes: &[(String, String)]) -> Result<(Instance, ParameterSet)> {
    let instance = Instance::named(name)?;
    let mut wanted = instance.parameters.clone();
    for (key, value) in changes {
        wanted.set(key, value)?;
    }
    Ok((instance, wanted))
}
