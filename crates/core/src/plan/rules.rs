// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules: how the kernel's differ from the file's, and making them the same at one instant.

use std::collections::{BTreeMap, BTreeSet};

use ccctl_console::{Fault, UsageError};
use ccctl_loader::owner_records::{self, OwnerRecord, RecordText};
use ccctl_loader::{
    assign, change_rules, read_rules, require_names, AssignRequest, Lock, Rule, RuleContent, RuleTable, Selector,
    MOST_RULES,
};

use super::step::{Kind, Step};
use crate::configuration::Configuration;
use crate::configuration::WantedRule;
use crate::counters::COUNTERS;
use crate::error;

/// What a step says that only moves live connections.
const LIVE: &str = "its live connections";

/// What has to be done.
#[derive(Default)]
struct Difference {
    /// Rules to set, and how that is told.
    put: Vec<(Put, Step)>,
    /// Rules to take out, by id.
    remove: Vec<(u32, Step)>,
    /// Rules that are as the file has them, and not marked as its own.
    adopt: Vec<(OwnerRecord, RecordText, Step)>,
    /// Rules that are as the file has them, whose live connections an earlier run has not moved to the end.
    unfinished: Vec<(Moving, Step)>,
    /// Marks of rules that are gone.
    forget: Vec<OwnerRecord>,
    /// Rules whose cgroup cannot be found, or for which there is another one.
    failed: Vec<Step>,
    /// Of all rules of the file.
    selectors: BTreeSet<Selector>,
}

struct Put {
    selector: Selector,
    content: RuleContent,
    existing: bool,
    /// None has this selector.
    is_new: bool,
    /// The rule whose place a new one takes, so that live connections draw anew.
    replaced: Option<u32>,
}

/// A rule whose live connections get what it says.
struct Moving {
    selector: Selector,
    content: RuleContent,
}

/// By what a rule is told from a later one of its id.
fn record_of(rule: &Rule) -> RecordText {
    RecordText(format!("{:x}", rule.added_ns))
}

/// Refuses a file with which there would be more rules than there can be, before anything is changed. The file's own were
/// counted when it was read: this is about those that were made by hand.
pub fn require_room(configuration: &Configuration) -> anyhow::Result<()> {
    let present = read_rules()?.rules().len();
    if present + configuration.rules.len() <= MOST_RULES {
        return Ok(());
    }
    let Difference { put, remove, .. } = difference(configuration)?;
    let new = put.iter().filter(|(put, _)| put.is_new).count();
    Ok(RuleTable::require_room(present - remove.len() + new)?)
}

/// Brings the rules to what the file says, or with `dry_run` only tells how they differ.
pub fn apply(lock: &Lock, configuration: &Configuration, dry_run: bool) -> anyhow::Result<Vec<Step>> {
    let difference = difference(configuration)?;
    if dry_run {
        return Ok(steps(difference));
    }
    run(lock, difference)
}

/// The steps for a host without rules. The kernel's are not read.
pub fn for_empty(configuration: &Configuration) -> Vec<Step> {
    steps(difference_from(configuration, &RuleTable::default(), &BTreeMap::new()))
}

fn steps(difference: Difference) -> Vec<Step> {
    let Difference { put, remove, adopt, unfinished, failed, .. } = difference;
    let steps = put.into_iter().map(|(_, step)| step).chain(remove.into_iter().map(|(_, step)| step));
    let steps = steps.chain(adopt.into_iter().map(|(_, _, step)| step));
    steps.chain(unfinished.into_iter().map(|(_, step)| step)).chain(failed).collect()
}

fn difference(configuration: &Configuration) -> anyhow::Result<Difference> {
    Ok(difference_from(configuration, &read_rules()?, &owner_records::all()?))
}

fn difference_from(
    configuration: &Configuration,
    table: &RuleTable,
    owners: &BTreeMap<OwnerRecord, RecordText>,
) -> Difference {
    let coming: Vec<String> = configuration.instances.iter().map(|wanted| wanted.name.clone()).collect();
    let mut difference = Difference::default();
    let mut named = BTreeMap::new(); // by id: are its live connections to be moved?
    for wanted in &configuration.rules {
        match of_wanted(wanted, &coming, table, owners, &mut difference) {
            Ok(id) => named.extend(id.map(|id| (id, wanted.existing))),
            Err(error) => {
                let step = Step::new(Kind::Assign, wanted.label(), wanted.content.to_string());
                difference.failed.push(Step { error: Some(error::fault(&error)), ..step });
            }
        }
    }
    for (owner, record) in owners {
        if let OwnerRecord::Moving(id) = owner {
            if named.get(id) != Some(&true) {
                difference.forget.push(owner.clone());
            }
        }
        let OwnerRecord::Rule(id) = owner else { continue };
        match table.rule(*id) {
            Some(rule) if record_of(rule) == *record && !named.contains_key(id) => {
                let step = Step::new(Kind::Unassign, rule.selector.to_string(), "no longer in the configuration");
                difference.remove.push((*id, step));
            }
            Some(rule) if record_of(rule) == *record => {}
            Some(_) if named.contains_key(id) => {} // it is the file's, changed by hand, and gets a new record
            _ => difference.forget.push(owner.clone()),
        }
    }
    difference
}

/// Gives the id of the rule that is there for these sockets.
fn of_wanted(
    wanted: &WantedRule,
    coming: &[String],
    table: &RuleTable,
    owners: &BTreeMap<OwnerRecord, RecordText>,
    difference: &mut Difference,
) -> anyhow::Result<Option<u32>> {
    let selector = wanted.selector()?;
    if !difference.selectors.insert(selector.clone()) {
        // A unit may run in a cgroup that another rule names.
        let cause = format!("a second rule for the same connections: {selector}");
        return Err(UsageError::new(cause, "write one rule for them; the first of the file is in force").into());
    }
    require_names(&wanted.content.choices, coming)?;
    let present = table.rule_for(&selector);
    let step = |kind, detail: String| Step::new(kind, selector.to_string(), detail);
    match present {
        Some(rule) if rule.content == wanted.content => {
            let has = |owner: &OwnerRecord| owners.get(owner) == Some(&record_of(rule));
            let owner = OwnerRecord::Rule(rule.id);
            if !has(&owner) {
                let step = step(Kind::Adopt, format!("this file manages rule {} from now on", rule.id));
                difference.adopt.push((owner, record_of(rule), step));
            }
            if wanted.existing && has(&OwnerRecord::Moving(rule.id)) {
                let moving = Moving { selector: selector.clone(), content: wanted.content.clone() };
                difference.unfinished.push((moving, step(Kind::Assign, LIVE.to_owned())));
            }
        }
        _ => {
            let before = present.map(|rule| format!(" instead of {}", rule.content));
            let detail = format!("{}{}", wanted.content, before.unwrap_or_default());
            let put = Put {
                selector: selector.clone(),
                content: wanted.content.clone(),
                existing: wanted.existing,
                is_new: present.is_none(),
                replaced: present.filter(|_| wanted.redraws).map(|rule| rule.id),
            };
            difference.put.push((put, step(Kind::Assign, detail)));
        }
    }
    Ok(present.map(|rule| rule.id))
}

/// The owner records come first: killed in between, there are records of nothing, which does no harm, and of rules whose live
/// connections the next run has to move.
fn run(lock: &Lock, difference: Difference) -> anyhow::Result<Vec<Step>> {
    let Difference { put, remove, adopt, unfinished, forget, failed, .. } = difference;
    let mut steps = failed;
    let mut ready: Vec<(Selector, RuleContent)> = Vec::new();
    let (mut set, mut moving): (Vec<Step>, Vec<Moving>) = (Vec::new(), Vec::new());
    let mut replaced = Vec::new();
    for (put, step) in put {
        // An instance that could not be loaded is missing here, or there is an older one that has no parameters per connection.
        match require_names(&put.content.choices, &[]).and_then(|()| put.content.parameters.require_read()) {
            Ok(()) => {
                ready.push((put.selector.clone(), put.content.clone()));
                replaced.extend(put.replaced);
                set.push(step);
                moving.extend(put.existing.then_some(Moving { selector: put.selector, content: put.content }));
            }
            Err(error) => steps.push(Step { error: Some(error::fault(&error.into())), ..step }),
        }
    }
    let (mut ids, removed): (Vec<u32>, Vec<Step>) = remove.into_iter().unzip();
    ids.append(&mut replaced);
    let mark_all = |table: &RuleTable| {
        let mark = |selector: &Selector, owner: fn(u32) -> OwnerRecord| {
            table.rule_for(selector).map_or(Ok(()), |rule| owner_records::set(lock, &owner(rule.id), &record_of(rule)))
        };
        moving.iter().try_for_each(|moving| mark(&moving.selector, OwnerRecord::Moving))?;
        ready.iter().try_for_each(|(selector, ..)| mark(selector, OwnerRecord::Rule))
    };
    let changed = change_rules(lock, &ready, &ids, mark_all).map_err(anyhow::Error::from);
    let error = changed.as_ref().err().map(error::fault);
    steps.extend(set.into_iter().chain(removed).map(|step| Step { error: error.clone(), ..step }));
    if error.is_none() {
        for moving in moving {
            steps.extend(move_existing(lock, &moving)?.map(|error| moving.failed(error)));
        }
        ids.iter().try_for_each(|id| owner_records::remove_rule(lock, *id))?;
        forget.iter().try_for_each(|owner| owner_records::remove(lock, owner))?;
    }
    for (moving, step) in unfinished {
        steps.push(Step { error: move_existing(lock, &moving)?, ..step });
    }
    for (owner, record, step) in adopt {
        owner_records::set(lock, &owner, &record)?;
        steps.push(step);
    }
    Ok(steps)
}

impl Moving {
    fn failed(&self, error: Fault) -> Step {
        Step { error: Some(error), ..Step::new(Kind::Assign, self.selector.to_string(), LIVE) }
    }
}

/// Moves live connections of a rule, and tells those that cannot be moved. What has failed as a whole keeps its mark and is
/// given: it is tried again.
fn move_existing(lock: &Lock, Moving { selector, content }: &Moving) -> anyhow::Result<Option<Fault>> {
    let request = AssignRequest { selector: selector.clone(), content, existing: true };
    let assigned = match assign(lock, &request) {
        Ok(assigned) => assigned,
        Err(error) => return Ok(Some(error::fault(&error.into()))),
    };
    COUNTERS.moved(&assigned.moved);
    let (failed, found) = (assigned.moved.failed.len(), assigned.moved.found);
    if failed > 0 {
        tracing::warn!("{selector}: {failed} of {found} live connections could not be moved");
    }
    owner_records::remove(lock, &OwnerRecord::Moving(assigned.rule.id))?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ccctl_loader::{Choice, Conditions};

    fn rule(cgroup: &str, name: &str) -> WantedRule {
        WantedRule {
            cgroup: Some(cgroup.to_owned()),
            unit: None,
            dst: None,
            port: None,
            conditions: Conditions::default(),
            content: vec![Choice { names: vec![name.to_owned()], weight: 1 }].into(),
            existing: false,
            redraws: false,
        }
    }

    /// With both, each reconciliation would find the other one in force and set both again.
    #[test]
    fn of_two_rules_for_the_same_connections_the_first_is_set_and_the_second_fails() {
        let rules = vec![rule("/a", "reno"), rule("/a/", "cubic"), rule("/b", "reno")];
        let steps = for_empty(&Configuration { rules, ..Configuration::default() });
        let failed: Vec<_> = steps.iter().filter_map(|step| step.error.as_ref()).map(ToString::to_string).collect();
        assert_eq!(steps.len(), 3, "{steps:?}");
        assert!(
            failed.len() == 1 && failed[0].contains("a second rule for the same connections: cgroup /a"),
            "{failed:?}"
        );
    }
}
