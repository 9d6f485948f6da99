// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules: which algorithm the connections of a cgroup get, and which settings.
//!
//! A rule names a cgroup, perhaps also a prefix of peers and a port, and what connections there get. Rules are kept by
//! the kernel and nowhere else: reading them is asking it. How they are put into force is behind [`Assignment`].

mod cgroup;
mod compile;
mod conditions;
mod installed;
mod live;
mod matching;
mod object;
mod parameters;
mod record;
mod settings;
mod sockops;
mod table;
mod target;
#[cfg(test)]
mod tests;
mod unit;
mod why;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use libbpf_rs::{MapCore as _, MapHandle};
use nix::time::{clock_gettime, ClockId};

pub use cgroup::{CgroupPath, CgroupTree};
pub use conditions::{Attributes, Conditions, Mark, RttLimit};
pub use live::Moved;
pub use matching::{consider, Flow, Verdict};
pub use parameters::{RuleParameter, RuleParameters};
pub use settings::{MetSetting, SocketSetting, SocketSettings};
pub use table::{format_choices, rename_choices, Choice, Rule, RuleContent, RuleTable, Selector, MOST_RULES};
pub use unit::{cgroup_of_unit, is_unit_name};
pub use why::{why, Event, Explanation, Finding, Met, Now, SocketQuery};

pub(crate) use compile::compile;
pub(crate) use installed::program_id;
pub(crate) use sockops::{is_unsettled, settle};

use crate::check::{Check, Status};
use crate::error::{Error, Result};
use crate::lock::Lock;
use crate::owner_records::{self, OwnerRecord};
use crate::sockets::{SocketFilter, SocketReader};
use live::RuleSocket;
use sockops::Sockops;
pub(crate) use table::{join_choices, split_choices};
pub(crate) use target::{parse_choices, Names};

/// Newest format of the maps of rules that is read and written.
pub const RULES_FORMAT: u32 = record::RULES_FORMAT;

/// Weights are relative; larger ones only make draws less exact.
const MOST_WEIGHT: u32 = 1_000_000;

/// A way to put rules into force. Kernels are getting others than [`Sockops`].
trait Assignment {
    /// The rules in force.
    fn read(&self) -> Result<RuleTable>;
    /// Puts other rules into force, all at one instant. Without any, nothing of them is left.
    fn replace(&self, lock: &Lock, table: &RuleTable, live: Live) -> Result<Moved>;
    /// Live sockets by the rule that they met.
    fn usage(&self) -> Result<BTreeMap<u32, usize>>;
    /// Those live sockets that are wanted.
    fn sockets(&self, is_wanted: &dyn Fn(&RuleSocket) -> bool) -> Result<Vec<RuleSocket>>;
}

/// What a change of rules does to connections that are alive. Listening sockets follow in any case: what they give to
/// the connections that they accept must not outlive its rule.
#[derive(Debug, Clone)]
enum Live {
    /// Nothing.
    Keep,
    /// Those that match one of these rules get it.
    Move(Vec<u32>),
    /// Those that met this rule get what they match now, or what they had before.
    Release(u32),
    /// Those that met any rule get what they had before.
    Restore,
}

fn assignment() -> impl Assignment {
    Sockops
}

/// What to assign.
#[derive(Debug, Clone)]
pub struct AssignRequest<'a> {
    /// To whom.
    pub selector: Selector,
    /// What.
    pub content: &'a RuleContent,
    /// Also to connections that are alive.
    pub existing: bool,
}

/// What was assigned.
#[derive(Debug, Clone)]
pub struct Assigned {
    /// The rule, as the kernel has it now.
    pub rule: Rule,
    /// The rule with the same selector that was there.
    pub before: Option<Rule>,
    /// Names in it that the kernel does not have now.
    pub absent: Vec<String>,
    /// What was done to live sockets.
    pub moved: Moved,
}

/// Sets a rule. One for the same sockets keeps its id and is replaced.
pub fn assign(lock: &Lock, request: &AssignRequest<'_>) -> Result<Assigned> {
    let names = Names::now()?;
    let absent = absent_names(&request.content.choices, &names);
    let mut table = read_rules()?;
    let (id, before) = put(&mut table, request)?;
    let live = if request.existing { Live::Move(vec![id]) } else { Live::Keep };
    let unchanged = before.as_ref() == table.rule(id);
    let moved =
        if unchanged && !request.existing { Moved::default() } else { assignment().replace(lock, &table, live)? };
    let rule = rule_named(&read_rules()?, id)?.clone();
    Ok(Assigned { rule, before, absent, moved })
}

fn put(table: &mut RuleTable, request: &AssignRequest<'_>) -> Result<(u32, Option<Rule>)> {
    table.put(request.selector.clone(), request.content.clone(), now_ns())
}

/// What [`assign`] would do. Of live sockets it counts those in the cgroup with this peer and port: at most so many would be
/// moved.
pub fn preview_assign(request: &AssignRequest<'_>) -> Result<Assigned> {
    let names = Names::now()?;
    let absent = absent_names(&request.content.choices, &names);
    let mut table = read_rules()?;
    let (id, before) = put(&mut table, request)?;
    let mut moved = Moved::default();
    let Selector { cgroup, to, to_port, .. } = &request.selector;
    if request.existing && CgroupTree::find()?.has(cgroup) {
        let filter = SocketFilter {
            cgroup: Some(cgroup.to_string().into()),
            destination: *to,
            port: *to_port,
            ..SocketFilter::default()
        };
        moved.unreadable = SocketReader::new(&filter)?.each(|_, _| moved.found += 1)?;
    }
    Ok(Assigned { rule: rule_named(&table, id)?.clone(), before, absent, moved })
}

/// What [`unassign`] would remove, or [`remove_all`] without an id, and how many live sockets have met those rules.
pub fn preview_unassign(id: Option<u32>) -> Result<(Vec<Rule>, Moved)> {
    let table = read_rules()?;
    let rules = match id {
        Some(id) => vec![rule_named(&table, id)?.clone()],
        None => table.rules().to_vec(),
    };
    let usage = rule_usage()?;
    let found = rules.iter().filter_map(|rule| usage.get(&rule.id)).sum();
    Ok((rules, Moved { found, ..Moved::default() }))
}

/// Puts these rules into force in place of all others, at one instant. Selectors that had a rule keep its id.
pub fn set_rules(lock: &Lock, wanted: &[(Selector, String)]) -> Result<RuleTable> {
    let names = Names::now()?;
    let mut table = read_rules()?;
    let obsolete: Vec<u32> = {
        let selectors: BTreeSet<&Selector> = wanted.iter().map(|(selector, _)| selector).collect();
        table.rules().iter().filter(|rule| !selectors.contains(&rule.selector)).map(|rule| rule.id).collect()
    };
    let before = table.clone();
    for id in obsolete {
        table.remove(id);
    }
    let now_ns = now_ns();
    for (selector, targets) in wanted {
        table.put(selector.clone(), parse_choices(targets, &names)?.into(), now_ns)?;
    }
    if table != before {
        assignment().replace(lock, &table, Live::Keep)?;
    }
    read_rules()
}

/// Sets these rules and takes those with these ids out, all at one instant; others stay. Then live connections are moved that
/// are to be; after a kill in between, whoever takes the lock next does that. `prepare` sees what the rules will be, just before.
pub fn change_rules(
    lock: &Lock,
    requests: &[AssignRequest<'_>],
    remove: &[u32],
    prepare: impl FnOnce(&RuleTable) -> Result<()>,
) -> Result<Moved> {
    let mut table = read_rules()?;
    let before = table.clone();
    for id in remove {
        table.remove(*id);
    }
    let mut moving = Vec::new();
    for request in requests {
        let (id, _) = put(&mut table, request)?;
        moving.extend(request.existing.then_some(id));
    }
    if table == before {
        return Ok(Moved::default());
    }
    prepare(&table)?;
    assignment().replace(lock, &table, Live::Move(moving))
}

/// What connections get, from words: `yeah`, `yeah|cubic`, `yeah=10,cubic=90`. The kernel must have each name, or will have
/// it: `coming` are to be loaded before.
pub fn parse_targets(text: &str, coming: &[String]) -> Result<Vec<Choice>> {
    parse_choices(text, &Names::now()?.with(coming))
}

/// Refuses choices of which the kernel has no name, and will have none.
pub fn require_names(choices: &[Choice], coming: &[String]) -> Result<()> {
    let names = Names::now()?.with(coming);
    choices.iter().try_for_each(|choice| names.require(choice))
}

fn absent_names(choices: &[Choice], names: &Names) -> Vec<String> {
    let all = choices.iter().flat_map(|choice| &choice.names);
    let absent: BTreeSet<&String> = all.filter(|name| !names.has(name)).collect();
    absent.into_iter().cloned().collect()
}

/// `CLOCK_MONOTONIC`, which BPF programs also read.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

fn rule_named(table: &RuleTable, id: u32) -> Result<&Rule> {
    table.rule(id).ok_or_else(|| {
        let ids: Vec<String> = table.rules().iter().map(|rule| rule.id.to_string()).collect();
        let hint = if ids.is_empty() {
            "there are no rules: ccctl assign adds one".to_owned()
        } else {
            format!("there are {}", ids.join(", "))
        };
        Error::Unknown { kind: "rule", name: id.to_string(), hint }
    })
}

/// Takes a rule out. With `existing`, live connections that met it get what they match now, or what they had before.
pub fn unassign(lock: &Lock, id: u32, existing: bool) -> Result<(Rule, Moved)> {
    let mut table = read_rules()?;
    let rule = rule_named(&table, id)?.clone();
    table.remove(id);
    let live = if existing { Live::Release(id) } else { Live::Keep };
    let moved = assignment().replace(lock, &table, live)?;
    owner_records::remove(lock, &OwnerRecord::Rule(id))?;
    Ok((rule, moved))
}

/// Takes all rules out, and with `restore` gives every live socket that met one what it had before.
pub fn remove_all(lock: &Lock, restore: bool) -> Result<(Vec<Rule>, Moved)> {
    let table = read_rules()?;
    let live = if restore { Live::Restore } else { Live::Keep };
    let moved = assignment().replace(lock, &RuleTable::default(), live)?;
    for rule in table.rules() {
        owner_records::remove(lock, &OwnerRecord::Rule(rule.id))?;
    }
    Ok((table.rules().to_vec(), moved))
}

/// The rules in force.
pub fn read_rules() -> Result<RuleTable> {
    assignment().read()
}

/// How many live sockets have met each rule.
pub fn rule_usage() -> Result<BTreeMap<u32, usize>> {
    assignment().usage()
}

/// The maps in which sockets remember which algorithm rules have given them, by name; none without rules.
pub(crate) fn memory_of_sockets() -> Result<Vec<(&'static str, MapHandle)>> {
    let Some(installed) = installed::Installed::open()? else { return Ok(Vec::new()) };
    let maps = object::ALGORITHM_MEMORY_MAPS.iter().filter_map(|name| Some((*name, installed.map(name)?)));
    let maps = maps.map(|(name, map)| Ok((name, MapHandle::from_map_id(map.info()?.info.id)?)));
    maps.collect::<libbpf_rs::Result<_>>().map_err(|error| Error::libbpf("open what sockets remember of rules", &error))
}

/// How many rules can give this name to a connection.
pub(crate) fn rules_using(name: &str) -> Result<usize> {
    Ok(read_rules()?.users(name).count())
}

/// Puts another name where this one stands in rules. Gives the number of rules that have changed.
pub fn rename(lock: &Lock, from: &str, to: &str) -> Result<usize> {
    let mut table = read_rules()?;
    let renamed = table.rename(from, to);
    if renamed > 0 {
        assignment().replace(lock, &table, Live::Keep)?;
    }
    Ok(renamed)
}

/// Puts these rules into force; live connections keep what they have.
pub(crate) fn put_all(lock: &Lock, table: &RuleTable) -> Result<()> {
    assignment().replace(lock, table, Live::Keep).map(drop)
}

/// What `ccctl doctor` says of rules.
pub(crate) fn check() -> Check {
    const NAME: &str = "rules";
    let tried = CgroupTree::find().and_then(|tree| {
        object::load_program(&compile::compile(&RuleTable::default())?, None)?;
        Ok(tree)
    });
    match tried {
        Ok(tree) => {
            let rules = read_rules().map_or_else(
                |error| error.to_string(),
                |table| match table.rules().len() {
                    1 => "1 rule".to_owned(),
                    count => format!("{count} rules"),
                },
            );
            Check::new(NAME, Status::Ok, format!("{rules}, cgroups in {}", tree.mount().display()), "")
        }
        Err(error) => {
            let remedy = error.remedy().unwrap_or_default();
            Check::new(NAME, Status::Warn, error.to_string(), &remedy)
        }
    }
}
