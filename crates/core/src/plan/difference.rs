// SPDX-License-Identifier: MIT OR Apache-2.0
//! What has to be done so that the kernel is as the file has it. Both are read anew each time.

use std::collections::BTreeMap;

use ccctl_loader::owner_records::{self, OwnerRecord, RecordText};
use ccctl_loader::{available_algorithms, current_default, Instance, Namespace};

use super::step::{Kind, Step};
use crate::configuration::{Configuration, WantedInstance};
use crate::settings::{changed, ShownParameter};

/// Something to do.
pub enum Act<'a> {
    /// Register this.
    Load(&'a WantedInstance),
    /// Put this behind its name.
    Swap(&'a WantedInstance),
    /// Give it these parameters.
    Tune(&'a WantedInstance),
    /// Record it as the file's.
    Adopt(&'a WantedInstance, RecordText),
    /// Make this the default; `former` is to be remembered, where nothing is yet.
    Default { name: &'a str, former: Option<String> },
    /// Give the default of before back.
    RestoreDefault(String),
    /// Take it out.
    Retire(String),
    /// Forget the owner record of what is gone.
    Forget(OwnerRecord),
}

/// An act, and how it is told; one that is not told of is no difference.
pub type Planned<'a> = (Act<'a>, Option<Step>);

/// By what an instance is told from another one of its name.
pub fn record_of(instance: &Instance) -> RecordText {
    RecordText(instance.link_id().unwrap_or(instance.map_id).to_string())
}

fn present() -> anyhow::Result<BTreeMap<String, Instance>> {
    Ok(Instance::all()?.into_iter().map(|instance| (instance.name.clone(), instance)).collect())
}

/// Instances that the file names: what rules and default need is to be there before them.
pub fn of_instances(configuration: &Configuration) -> anyhow::Result<Vec<Planned<'_>>> {
    let (present, owners) = (present()?, owner_records::all()?);
    let one = |wanted| of_instance(wanted, present.get(&wanted.name), &owners);
    Ok(configuration.instances.iter().filter_map(one).collect())
}

/// The steps for a host without instances. The kernel's are not read.
pub fn for_empty(configuration: &Configuration) -> Vec<Step> {
    let none = BTreeMap::new();
    let planned = configuration.instances.iter().filter_map(|wanted| of_instance(wanted, None, &none));
    planned.filter_map(|(_, step)| step).collect()
}

/// The default, and instances that the file names no more.
pub fn of_the_rest(configuration: &Configuration) -> anyhow::Result<Vec<Planned<'_>>> {
    let (present, owners) = (present()?, owner_records::all()?);
    let mut acts = Vec::new();
    acts.extend(of_default(configuration, &owners)?);
    for (owner, record) in &owners {
        let OwnerRecord::Instance(name) = owner else { continue };
        if configuration.instances.iter().all(|wanted| wanted.name != *name) {
            acts.push(of_record(owner, name, record, present.get(name)));
        }
    }
    Ok(acts)
}

fn of_instance<'a>(
    wanted: &'a WantedInstance,
    present: Option<&Instance>,
    owners: &BTreeMap<OwnerRecord, RecordText>,
) -> Option<Planned<'a>> {
    let step = |kind, detail: String| Some(Step::new(kind, &wanted.name, detail));
    let Some(present) = present else {
        let with = changed(&ShownParameter::all_in_force(&wanted.parameters));
        let with = if with.is_empty() { with } else { format!(" with {with}") };
        return Some((Act::Load(wanted), step(Kind::Load, format!("{}{with}", wanted.program.label))));
    };
    if present.identity.object_hash != wanted.program.hash {
        let detail = if present.identity.algorithm == wanted.program.algorithm {
            format!("another build of {}", wanted.program.label)
        } else {
            format!("{} instead of {}", wanted.program.label, present.identity.algorithm)
        };
        return Some((Act::Swap(wanted), step(Kind::Swap, detail)));
    }
    if present.parameters != wanted.parameters {
        return Some((Act::Tune(wanted), step(Kind::Tune, changes(present, wanted))));
    }
    let record = record_of(present);
    let is_recorded = owners.get(&OwnerRecord::Instance(wanted.name.clone())) == Some(&record);
    let adopted = format!("{} is already loaded; this file manages it from now on", wanted.program.label);
    (!is_recorded).then(|| (Act::Adopt(wanted, record), step(Kind::Adopt, adopted)))
}

fn changes(present: &Instance, wanted: &WantedInstance) -> String {
    let both = present.parameters.iter().zip(wanted.parameters.iter());
    let differing = both.filter(|((_, before), (_, after))| before != after);
    let one = |((parameter, before), (_, after)): ((&ccctl_catalog::Parameter, u32), (_, u32))| {
        format!("{} = {} (is {})", parameter.name, parameter.format(after), parameter.format(before))
    };
    differing.map(one).collect::<Vec<_>>().join(", ")
}

fn of_default<'a>(
    configuration: &'a Configuration,
    owners: &BTreeMap<OwnerRecord, RecordText>,
) -> anyhow::Result<Option<Planned<'a>>> {
    let now = current_default()?;
    let owner = OwnerRecord::default_of(&Namespace::own()?)?;
    let former = owners.get(&owner);
    let step = |name: &str, why: &str| Some(Step::new(Kind::Default, name, format!("{why} (is {now})")));
    Ok(match (&configuration.default, former) {
        (Some(wanted), _) if *wanted == now => None,
        (Some(wanted), _) => {
            let former = former.is_none().then(|| now.clone());
            Some((Act::Default { name: wanted, former }, step(wanted, "of this network namespace")))
        }
        (None, Some(RecordText(former))) => {
            let usable = available_algorithms()?.contains(former);
            let name = if usable { former } else { "reno" };
            Some((Act::RestoreDefault(name.to_owned()), step(name, "as it was before the file named one")))
        }
        (None, None) => None,
    })
}

/// An owner record of what the file does not name: of an instance that an earlier file had asked for, or of nothing.
fn of_record<'a>(owner: &OwnerRecord, name: &str, record: &RecordText, present: Option<&Instance>) -> Planned<'a> {
    // An empty record: a daemon was killed while it loaded this.
    let is_it = present.is_some_and(|instance| record.0.is_empty() || record_of(instance) == *record);
    if is_it {
        let step = Step::new(Kind::Unload, name, "no longer in the configuration");
        return (Act::Retire(name.to_owned()), Some(step));
    }
    (Act::Forget(owner.clone()), None)
}
