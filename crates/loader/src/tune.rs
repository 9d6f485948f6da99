//! Tune: other parameters in a running instance.

use std::os::fd::AsFd as _;

use ccctl_catalog::ParameterSet;

use crate::error::{Error, Result};
use crate::instance::Instance;
use crate::lock::Lock;
use crate::object::{load_prepare, run_prepare, Program};
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
    let instance = Instance::named(name)?;
    let mut wanted = instance.parameters.clone();
    for (key, value) in changes {
        wanted.set(key, value)?;
    }
    if wanted == instance.parameters {
        return Ok(Tuned { before: wanted.clone(), after: wanted });
    }
    let prepare = prepare_of(&instance)?;
    let map = instance.map(PARAMS_MAP)?;
    publish(map.as_fd(), &wanted.to_bytes(), || prepare.as_ref().map_or(Ok(()), run_prepare))?;
    Ok(Tuned { before: instance.parameters, after: Instance::named(name)?.parameters })
}

/// The program that works out tables, from the object that the instance was loaded from.
fn prepare_of(instance: &Instance) -> Result<Option<libbpf_rs::Object>> {
    if instance.maps.iter().all(|(name, _)| name != DERIVED_MAP) {
        return Ok(None);
    }
    let program = Program::named(&instance.identity.algorithm)?;
    if program.hash != instance.identity.object_hash {
        return Err(Error::Host {
            cause: format!(
                "{} was loaded by another build of ccctl ({}), whose tables this one cannot work out",
                instance.name, instance.identity.ccctl_version
            ),
            remedy: format!("ccctl swap {} --set KEY=VALUE...", instance.name),
        });
    }
    load_prepare(&program, &instance.maps)
}

/// The map of tables, see `CC_DERIVED`.
const DERIVED_MAP: &str = ".data.derived";
