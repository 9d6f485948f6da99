// SPDX-License-Identifier: MIT OR Apache-2.0
//! Carries out what differs: each step by itself, so that one that fails does not stop the others.

use std::time::SystemTime;

use ccctl_loader::canary;
use ccctl_loader::owner_records::{self, OwnerRecord, RecordText};
use ccctl_loader::{load, retire, set_default, swap, tune, Instance, LoadRequest, Lock, Namespace, SwapRequest};

use super::difference::{of_instances, of_the_rest, record_of, Act, Planned};
use super::step::Step;
use super::{failover, rules};
use crate::configuration::{Configuration, WantedInstance};
use crate::counters::COUNTERS;
use crate::error;
use crate::experiment;
use crate::fence;

/// Brings the kernel to what the file says, or with `dry_run` only tells how it differs.
pub fn execute(lock: &Lock, configuration: &Configuration, dry_run: bool) -> anyhow::Result<Vec<Step>> {
    let (trips, ended) = failover::sort_trips(configuration)?;
    let experimented = configuration.experimented(&experiment::overlays(SystemTime::now())?);
    let diverted = experimented.diverted(&trips).shared(&canary::all()?);
    rules::require_room(&diverted)?;
    let mut steps = failover::end(lock, &ended, dry_run);
    let configuration = &diverted;
    steps.extend(one_by_one(lock, of_instances(configuration)?, dry_run)?);
    steps.extend(rules::apply(lock, configuration, dry_run)?);
    steps.extend(one_by_one(lock, of_the_rest(configuration)?, dry_run)?);
    Ok(steps)
}

fn one_by_one(lock: &Lock, planned: Vec<Planned<'_>>, dry_run: bool) -> anyhow::Result<Vec<Step>> {
    let mut steps = Vec::new();
    for (act, step) in planned {
        let result = if dry_run { Ok(()) } else { run(lock, &act) };
        match (step, result) {
            (Some(step), result) => steps.push(Step { error: result.err().map(|error| error::fault(&error)), ..step }),
            (None, result) => result?,
        }
    }
    Ok(steps)
}

fn run(lock: &Lock, act: &Act<'_>) -> anyhow::Result<()> {
    match act {
        Act::Load(wanted) => load_marked(lock, wanted),
        Act::Swap(wanted) => {
            let WantedInstance { name, program, profile, parameters } = wanted;
            fence::require_same(program, name)?;
            COUNTERS.swap(swap(lock, &SwapRequest { name, program, profile, parameters }))?;
            record_owner(lock, &Instance::named(name)?)
        }
        Act::Tune(wanted) => {
            let values = wanted.parameters.iter();
            let values = values.map(|(parameter, value)| (parameter.name.clone(), parameter.format(value)));
            tune(lock, &wanted.name, &values.collect::<Vec<_>>())?;
            record_owner(lock, &Instance::named(&wanted.name)?)
        }
        Act::Adopt(wanted, record) => {
            Ok(owner_records::set(lock, &OwnerRecord::Instance(wanted.name.clone()), record)?)
        }
        Act::Default { name, former } => {
            if let Some(former) = former {
                owner_records::set(lock, &OwnerRecord::default_of(&Namespace::own()?)?, &RecordText(former.clone()))?;
            }
            set_default(lock, name)?;
            Ok(())
        }
        Act::RestoreDefault(name) => {
            set_default(lock, name)?;
            Ok(owner_records::remove(lock, &OwnerRecord::default_of(&Namespace::own()?)?)?)
        }
        Act::Retire(name) => {
            retire(lock, std::slice::from_ref(name))?;
            Ok(())
        }
        Act::Forget(owner) => Ok(owner_records::remove(lock, owner)?),
    }
}

/// The owner record comes first: killed in between, the instance is known to be the file's.
fn load_marked(lock: &Lock, wanted: &WantedInstance) -> anyhow::Result<()> {
    let WantedInstance { name, program, profile, parameters } = wanted;
    fence::require_no_wide_rule(program, name)?;
    let own = OwnerRecord::Instance(name.clone());
    owner_records::set(lock, &own, &RecordText(String::new()))?;
    match load(lock, &LoadRequest { program, name, profile, parameters }) {
        Ok(loaded) => record_owner(lock, &loaded.instance),
        Err(error) => {
            owner_records::remove(lock, &own)?;
            Err(error.into())
        }
    }
}

fn record_owner(lock: &Lock, instance: &Instance) -> anyhow::Result<()> {
    Ok(owner_records::set(lock, &OwnerRecord::Instance(instance.name.clone()), &record_of(instance))?)
}
