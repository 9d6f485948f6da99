// SPDX-License-Identifier: MIT OR Apache-2.0
//! What planning an experiment has to know of the host.

use std::collections::BTreeMap;
use std::io::Read as _;

use ccctl_loader::owner_records::{self, OwnerRecord};
use ccctl_loader::{available_algorithms, current_default, read_rules, Choice, Conditions, Instance, Selector};

use crate::experiment::{counted_as, planning, ring, store, Design};
use crate::{daemon, RuleTarget};

/// Seeds of coins are whole numbers that every reader of JSON keeps exactly.
const SEED_BITS: u32 = 48;

/// What a plan has to know; `coming` counts as loaded.
pub(super) fn host(design: &Design, coming: &[String]) -> anyhow::Result<planning::Host> {
    let (selector, label) = scope(design)?;
    let mut algorithms: BTreeMap<String, Option<String>> =
        available_algorithms()?.into_iter().chain(coming.iter().cloned()).map(|name| (name, None)).collect();
    for instance in Instance::all()? {
        let twin = format!("{:?} {:?}", instance.identity.object_hash, instance.parameters);
        algorithms.insert(instance.name, Some(twin));
    }
    let rules = read_rules()?;
    let rule = rules.rule_for(&selector);
    let owners = owner_records::all()?;
    let (path, counted) = (selector.cgroup.to_string(), counted_as(&selector));
    Ok(planning::Host {
        present: match rule {
            None => Some(current_default()?),
            Some(rule) => only(&rule.content.choices),
        },
        rule_by_hand: rule.map(|rule| rule.id).filter(|id| !owners.contains_key(&OwnerRecord::Rule(*id))),
        taken_by: taken_by(&design.name, &selector)?,
        life: daemon::here().and_then(|daemon| daemon.life_p90(&counted)),
        past: ring::series(&ring::read()?, &counted),
        fresh_seed: fresh_seed()?,
        algorithms,
        scope: (label, path),
    })
}

fn only(choices: &[Choice]) -> Option<String> {
    match choices {
        [Choice { names, .. }] if names.len() == 1 => names.first().cloned(),
        _ => None,
    }
}

fn scope(design: &Design) -> anyhow::Result<(Selector, String)> {
    let (cgroup, unit) = (design.cgroup.as_deref(), design.unit.as_deref());
    let cgroup = if design.whole_host { Some("/") } else { cgroup };
    let conditions = Conditions::default();
    let (dst, port) = (design.dst.as_deref(), design.port);
    let selector = RuleTarget { cgroup, unit, pid: None, dst, port, conditions }.selector(false)?;
    let place = if design.whole_host { "the host" } else { unit.or(cgroup).unwrap_or_default() };
    let to = selector.to.map(|to| format!(" to {to}")).unwrap_or_default();
    let port = selector.to_port.map(|port| format!(" port {port}")).unwrap_or_default();
    let label = format!("{place}{to}{port}");
    Ok((selector, label))
}

fn taken_by(name: &str, selector: &Selector) -> anyhow::Result<Option<String>> {
    for kept in store::all()?.iter().filter(|kept| kept.is_in_force() && kept.plan.name != name) {
        if kept.plan.overlaps(selector)? {
            return Ok(Some(kept.plan.name.clone()));
        }
    }
    Ok(None)
}

fn fresh_seed() -> anyhow::Result<u64> {
    let mut bytes = [0; 8];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes) >> (u64::BITS - SEED_BITS))
}
