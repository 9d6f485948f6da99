// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules as data: who, and what they get.

use std::collections::BTreeMap;
use std::fmt;

use super::cgroup::CgroupPath;
use super::conditions::Conditions;
use super::parameters::RuleParameters;
use super::record::{RULE_CHOICES, RULE_FALLBACKS};
use super::settings::SocketSettings;
use super::MOST_WEIGHT;
use crate::error::{Error, Result};
use crate::prefix::Prefix;

/// So many rules there can be: each takes some 800 bytes in the kernel, and an owner record if a file has asked for it.
pub const MOST_RULES: usize = 16_000;

/// Which sockets a rule is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selector {
    /// Those of this cgroup and of all below it.
    pub cgroup: CgroupPath,
    /// Only with peers in this prefix.
    pub to: Option<Prefix>,
    /// Only of this service: the peer's port of connections made, the own port of connections accepted.
    pub to_port: Option<u16>,
    /// Only those that meet these.
    pub conditions: Conditions,
}

/// One alternative of a rule: the first of these names that the kernel has when the connection begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Kernel names, in order.
    pub names: Vec<String>,
    /// Its share, relative to the weights of the others.
    pub weight: u32,
}

/// What a rule gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleContent {
    /// Algorithms; none: the rule leaves the algorithm alone.
    pub choices: Vec<Choice>,
    /// What it sets besides.
    pub settings: SocketSettings,
    /// Parameters of the first algorithm that are for its connections alone.
    pub parameters: RuleParameters,
}

impl From<Vec<Choice>> for RuleContent {
    fn from(choices: Vec<Choice>) -> Self {
        Self { choices, ..Self::default() }
    }
}

/// All that it gives, in one line: `bpf_fixed rate=50mbit, min_rto=50ms`.
impl fmt::Display for RuleContent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameters = self.parameters.to_string();
        let space = if parameters.is_empty() { "" } else { " " };
        let parts = [format!("{}{space}{parameters}", format_choices(&self.choices)), self.settings.to_string()];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        formatter.write_str(&parts.join(", "))
    }
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Number; not used again while there are rules.
    pub id: u32,
    /// For whom.
    pub selector: Selector,
    /// What they get.
    pub content: RuleContent,
    /// When it was set, on `CLOCK_MONOTONIC`, ns.
    pub added_ns: u64,
}

impl Rule {
    /// Does it have a choice that begins with this name? One that leaves the algorithm alone has none, and an empty name is
    /// what it gives.
    pub(crate) fn has_choice(&self, first: &str) -> bool {
        let choices = &self.content.choices;
        choices.iter().any(|choice| choice.names[0] == first) || (choices.is_empty() && first.is_empty())
    }
}

/// All rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleTable {
    /// By id.
    rules: Vec<Rule>,
    /// Ids by selector.
    ids: BTreeMap<Selector, u32>,
    next_id: u32,
}

impl Default for RuleTable {
    fn default() -> Self {
        Self { rules: Vec::new(), ids: BTreeMap::new(), next_id: 1 }
    }
}

impl RuleTable {
    /// From the kernel.
    pub(crate) fn of_parts(mut rules: Vec<Rule>, next_id: u32) -> Self {
        rules.sort_by_key(|rule| rule.id);
        let ids = rules.iter().map(|rule| (rule.selector.clone(), rule.id)).collect();
        Self { rules, ids, next_id }
    }

    /// All, by id.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Id of the next rule.
    pub(crate) fn next_id(&self) -> u32 {
        self.next_id
    }

    /// The rule with this id.
    #[must_use]
    pub fn rule(&self, id: u32) -> Option<&Rule> {
        self.position(id).map(|position| &self.rules[position])
    }

    /// The rule for exactly these sockets.
    #[must_use]
    pub fn rule_for(&self, selector: &Selector) -> Option<&Rule> {
        self.ids.get(selector).and_then(|id| self.rule(*id))
    }

    fn position(&self, id: u32) -> Option<usize> {
        self.rules.binary_search_by_key(&id, |rule| rule.id).ok()
    }

    /// Refuses more rules than there can be.
    pub fn require_room(count: usize) -> Result<()> {
        if count <= MOST_RULES {
            return Ok(());
        }
        Err(Error::Request {
            cause: format!("there would be {count} rules: the limit is {MOST_RULES}"),
            remedy: "use one rule for a parent cgroup instead of many for those below".to_owned(),
        })
    }

    /// Adds a rule, or gives the one with the same selector another content; returns its id and what it was before.
    pub fn put(&mut self, selector: Selector, content: RuleContent, added_ns: u64) -> Result<(u32, Option<Rule>)> {
        let RuleContent { choices, settings, .. } = &content;
        debug_assert!(choices.len() <= RULE_CHOICES as usize && !(choices.is_empty() && settings.is_empty()));
        debug_assert!(choices.iter().all(|choice| choice.names.len() <= RULE_FALLBACKS as usize));
        let present = self.ids.get(&selector).and_then(|id| self.position(*id));
        if let Some(rule) = present.map(|position| &mut self.rules[position]) {
            let before = rule.clone();
            if rule.content != content {
                (rule.content, rule.added_ns) = (content, added_ns);
            }
            return Ok((rule.id, Some(before)));
        }
        Self::require_room(self.rules.len() + 1)?;
        let id = self.next_id;
        self.next_id += 1;
        self.ids.insert(selector.clone(), id);
        self.rules.push(Rule { id, selector, content, added_ns });
        Ok((id, None))
    }

    /// Takes a rule out.
    pub fn remove(&mut self, id: u32) -> Option<Rule> {
        let rule = self.rules.remove(self.position(id)?);
        self.ids.remove(&rule.selector);
        Some(rule)
    }

    /// Rules that can give this name to a socket.
    pub fn users<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Rule> {
        let has_it = move |choice: &Choice| choice.names.iter().any(|known| known == name);
        self.rules.iter().filter(move |rule| rule.content.choices.iter().any(has_it))
    }

    /// Puts another name where this one stands. Returns how many rules have changed.
    pub fn rename(&mut self, from: &str, to: &str) -> usize {
        let has = |choice: &Choice| choice.names.iter().any(|name| name == from);
        let names = |rule: &Rule| rule.content.choices.iter().any(has);
        self.change(|rule| names(rule).then(|| rename_choices(&rule.content.choices, from, to)))
    }

    /// Gives rules other choices, where `choices` has some for them. Returns how many have changed. They stay the same rules, and
    /// keep their parameters if the choices still have what these are for.
    pub fn change(&mut self, mut choices: impl FnMut(&Rule) -> Option<Vec<Choice>>) -> usize {
        let mut changed = 0;
        for rule in &mut self.rules {
            if let Some(choices) = choices(rule) {
                rule.content.parameters = rule.content.parameters.kept_for(&choices);
                rule.content.choices = choices;
                changed += 1;
            }
        }
        changed
    }
}

/// Puts another name where this one stands. Two names that become one in a fallback list are one, and two choices that
/// begin with the same name are one choice.
#[must_use]
pub fn rename_choices(choices: &[Choice], from: &str, to: &str) -> Vec<Choice> {
    let mut result: Vec<Choice> = Vec::new();
    for choice in choices {
        let mut names: Vec<String> = Vec::new();
        for name in &choice.names {
            let name = if name == from { to } else { name };
            if names.iter().all(|known| known != name) {
                names.push(name.to_owned());
            }
        }
        match result.iter_mut().find(|known| known.names[0] == names[0]) {
            Some(known) => known.weight += choice.weight,
            None => result.push(Choice { names, weight: choice.weight }),
        }
    }
    result
}

/// So many times the weights there were: a share is a whole number of per cent of it.
const PARTS: u32 = 100;

/// Gives `share_pct` of what `name` gets to `candidate`, which has `name` behind it. None: nobody gets `name` first here, or
/// the candidate has its share.
///
/// # Errors
/// Where a rule cannot have one choice more, or its weights are too large to be split.
pub fn split_choices(
    choices: &[Choice],
    name: &str,
    (candidate, share_pct): (&str, u32),
) -> Result<Option<Vec<Choice>>> {
    let is_split = choices.iter().any(|choice| choice.names[0] == candidate);
    let own = choices.iter().find(|choice| choice.names[0] == name);
    let Some(own) = own.filter(|_| !is_split) else { return Ok(None) };
    let refuse = |cause: String, remedy: String| Err(Error::Request { cause, remedy });
    if choices.len() >= RULE_CHOICES as usize || own.names.len() >= RULE_FALLBACKS as usize {
        let cause = format!("{} has no room for {candidate}", format_choices(choices));
        return refuse(
            cause,
            format!("use fewer than {RULE_CHOICES} alternatives and {RULE_FALLBACKS} names in a list"),
        );
    }
    if choices.iter().any(|choice| choice.weight > MOST_WEIGHT / PARTS) {
        let cause = format!("the weights of {} are too large to be split", format_choices(choices));
        return refuse(cause, format!("use weights up to {}", MOST_WEIGHT / PARTS));
    }
    let mut split: Vec<Choice> = Vec::new();
    for Choice { names, weight } in choices {
        let rest = if names[0] == name { PARTS - share_pct } else { PARTS };
        split.push(Choice { names: names.clone(), weight: weight * rest });
    }
    let names = std::iter::once(candidate.to_owned()).chain(own.names.iter().cloned()).collect();
    split.push(Choice { names, weight: own.weight * share_pct });
    Ok(Some(split))
}

/// The opposite: what the candidate has goes back to what is behind it. None: it has nothing here.
#[must_use]
pub fn join_choices(choices: &[Choice], candidate: &str) -> Option<Vec<Choice>> {
    let place = choices.iter().position(|choice| choice.names[0] == candidate)?;
    let mut joined = choices.to_vec();
    let Choice { names, weight } = joined.remove(place);
    match joined.iter_mut().find(|choice| names.get(1) == Some(&choice.names[0])) {
        Some(own) => own.weight += weight,
        None if names.len() > 1 => joined.push(Choice { names: names[1..].to_vec(), weight }),
        None => {}
    }
    if joined.iter().all(|choice| choice.weight.is_multiple_of(PARTS)) {
        for choice in &mut joined {
            choice.weight /= PARTS;
        }
    }
    Some(joined)
}

impl fmt::Display for Selector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "cgroup {}", self.cgroup)?;
        if let Some(to) = self.to {
            write!(formatter, " to {to}")?;
        }
        if let Some(port) = self.to_port {
            write!(formatter, " port {port}")?;
        }
        self.conditions.fmt(formatter)
    }
}

/// The choices as one types them.
#[must_use]
pub fn format_choices(choices: &[Choice]) -> String {
    let weighted = choices.len() > 1;
    let word = |choice: &Choice| {
        let names = choice.names.join("|");
        if weighted {
            format!("{names}={}", choice.weight)
        } else {
            names
        }
    };
    choices.iter().map(word).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(cgroup: &str) -> Selector {
        Selector {
            cgroup: CgroupPath::parse(cgroup).expect("a path"),
            to: None,
            to_port: None,
            conditions: Conditions::default(),
        }
    }

    fn choice(names: &[&str], weight: u32) -> Choice {
        Choice { names: names.iter().map(|name| (*name).to_owned()).collect(), weight }
    }

    #[test]
    fn the_same_selector_keeps_its_id_and_ids_are_not_used_twice() {
        let mut table = RuleTable::default();
        let reno = || RuleContent::from(vec![choice(&["reno"], 1)]);
        assert_eq!(table.put(selector("/a"), reno(), 1).expect("room").0, 1);
        assert_eq!(table.put(selector("/b"), reno(), 1).expect("room").0, 2);
        let (id, before) = table.put(selector("/b"), vec![choice(&["cubic"], 1)].into(), 2).expect("room");
        assert_eq!((id, before.map(|rule| rule.content)), (2, Some(reno())));
        assert!(table.remove(2).is_some() && table.remove(2).is_none());
        assert_eq!(table.put(selector("/b"), reno(), 3).expect("room").0, 3);
    }

    #[test]
    fn the_last_rule_that_fits_is_the_16000th() {
        let mut table = RuleTable::default();
        let reno = || RuleContent::from(vec![choice(&["reno"], 1)]);
        for number in 0..16_000 {
            table.put(selector(&format!("/{number}")), reno(), 1).expect("room");
        }
        let error = table.put(selector("/more"), reno(), 1).expect_err("there is no room");
        assert_eq!(error.to_string(), "there would be 16001 rules: the limit is 16000");
        table.put(selector("/7"), vec![choice(&["cubic"], 1)].into(), 2).expect("it is there already");
        assert!(table.remove(8).is_some() && table.rule_for(&selector("/7")).is_none());
        assert_eq!(table.put(selector("/more"), reno(), 3).expect("room").0, 16_001);
        assert_eq!(table.rule(16_001), table.rule_for(&selector("/more")));
    }

    #[test]
    fn renaming_merges_what_becomes_the_same() {
        let mut table = RuleTable::default();
        let split = vec![choice(&["a", "b"], 10), choice(&["b"], 20), choice(&["c"], 70)];
        table.put(selector("/x"), split.into(), 1).expect("room");
        assert_eq!(table.rename("a", "b"), 1);
        assert_eq!(format_choices(&table.rules()[0].content.choices), "b=30,c=70");
        assert_eq!(table.rename("a", "b"), 0);
    }
}
