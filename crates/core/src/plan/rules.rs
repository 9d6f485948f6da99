// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules: how the kernel's differ from the file's, and making them the same at one instant.

use std::collections::{BTreeMap, BTreeSet};

use ccctl_console::UsageError;
use ccctl_loader::owner_records::{self, OwnerRecord, RecordText};
use ccctl_loader::{
    change_rules, read_rules, require_names, AssignRequest, Lock, Moved, Rule, RuleContent, RuleTable, Selector,
    MOST_RULES,
};

use super::step::{Kind, Step};
use crate::configuration::Configuration;
use crate::configuration::WantedRule;
use crate::counters::COUNTERS;
use crate::error;

/// What has to be done.
#[derive(Default)]
struct Difference {
    /// Rules to set, and how that is told.
    put: Vec<(Put, Step)>,
    /// Rules to take out, by id.
    remove: Vec<(u32, Step)>,
    /// Rules that are as the file has them, and not marked as its own.
    adopt: Vec<(OwnerRecord, RecordText, Step)>,
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

impl Put {
    fn request(&self) -> AssignRequest<'_> {
        AssignRequest { selector: self.selector.clone(), content: &self.content, existing: self.existing }
    }
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
    let Difference { put, remove, adopt, failed, .. } = difference;
    let steps = put.into_iter().map(|(_, step)| step).chain(remove.into_iter().map(|(_, step)| step));
    steps.chain(adopt.into_iter().map(|(_, _, step)| step)).chain(failed).collect()
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
    let mut named = BTreeSet::new();
    for wanted in &configuration.rules {
        match of_wanted(wanted, &coming, table, owners, &mut difference) {
            Ok(id) => named.extend(id),
            Err(error) => {
                let step = Step::new(Kind::Assign, wanted.label(), wanted.content.to_string());
                difference.failed.push(Step { error: Some(error::fault(&error)), ..step });
            }
        }
    }
    for (owner, record) in owners {
        let OwnerRecord::Rule(id) = owner else { continue };
        match table.rule(*id) {
            Some(rule) if record_of(rule) == *record && !named.contains(id) => {
                let step = Step::new(Kind::Unassign, rule.selector.to_string(), "no longer in the configuration");
                difference.remove.push((*id, step));
            }
            Some(rule) if record_of(rule) == *record => {}
            Some(_) if named.contains(id) => {} // it is the file's, changed by hand, and gets a new record
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
            let owner = OwnerRecord::Rule(rule.id);
            if owners.get(&owner) != Some(&record_of(rule)) {
                let step = step(Kind::Adopt, format!("this file manages rule {} from now on", rule.id));
                difference.adopt.push((owner, record_of(rule), step));
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

/// The owner records come first: killed in between, there are records of nothing, which does no harm.
fn run(lock: &Lock, difference: Difference) -> anyhow::Result<Vec<Step>> {
    let Difference { put, remove, adopt, forget, failed, .. } = difference;
    let mut steps = failed;
    let (mut ready, mut set): (Vec<Put>, Vec<Step>) = (Vec::new(), Vec::new());
    let mut replaced = Vec::new();
    for (put, step) in put {
        // An instance that could not be loaded is missing here, or there is an older one that has no parameters per connection.
        match require_names(&put.content.choices, &[]).and_then(|()| put.content.parameters.require_read()) {
            Ok(()) => {
                replaced.extend(put.replaced);
                set.push(step);
                ready.push(put);
            }
            Err(error) => steps.push(Step { error: Some(error::fault(&error.into())), ..step }),
        }
    }
    let (mut ids, removed): (Vec<u32>, Vec<Step>) = remove.into_iter().unzip();
    ids.append(&mut replaced);
    let mark_all = |table: &RuleTable| {
        let rules = ready.iter().filter_map(|put| table.rule_for(&put.selector));
        rules.into_iter().try_for_each(|rule| owner_records::set(lock, &OwnerRecord::Rule(rule.id), &record_of(rule)))
    };
    let requests: Vec<AssignRequest<'_>> = ready.iter().map(Put::request).collect();
    let changed = change_rules(lock, &requests, &ids, mark_all).map_err(anyhow::Error::from);
    let error = changed.as_ref().err().map(error::fault);
    steps.extend(set.into_iter().chain(removed).map(|step| Step { error: error.clone(), ..step }));
    if let Ok(moved) = changed {
        if ready.iter().any(|put| put.existing) {
            tell_moved(&moved);
        }
        let gone = ids.into_iter().map(OwnerRecord::Rule).chain(forget);
        gone.into_iter().try_for_each(|owner| owner_records::remove(lock, &owner))?;
    }
    for (owner, record, step) in adopt {
        owner_records::set(lock, &owner, &record)?;
        steps.push(step);
    }
    Ok(steps)
}

/// Those that cannot be moved keep what they have.
fn tell_moved(moved: &Moved) {
    COUNTERS.moved(moved);
    if !moved.failed.is_empty() {
        tracing::warn!("{} of {} live connections could not be moved", moved.failed.len(), moved.found);
    }
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
