// SPDX-License-Identifier: MIT OR Apache-2.0
//! From rules to the maps that `bpf/policy/rule_match.h` follows.
//!
//! Cgroups that rules name become a tree of path components. A cgroup with rules is a scope, and knows the next one
//! outward. Within a scope each prefix has a set of rules by port, and knows the set of the next shorter prefix. Rules that
//! differ only in their conditions are a chain.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::iter::successors;

use super::record::{
    cgroup_key, cgroup_node, port_key, prefix_key, rule, rule_choice, rule_conditions, rule_parameters, rule_scope,
    rule_set, rule_settings, rules_header, rules_settings, PREFIX_KEY_BITS, RULES_FORMAT, RULES_FORMAT_OF_ALGORITHMS,
    RULES_FORMAT_OF_CONDITIONS, RULES_FORMAT_OF_SETTINGS, RULE_SCOPE_BITS, RULE_SEARCH_STEPS,
};
use super::table::{Rule, RuleTable, Selector, MOST_RULES};
use crate::error::{Error, Result};
use crate::prefix::Prefix;
use crate::sys::copy_name;

/// There are at most as many scopes as rules.
const _: () = assert!(MOST_RULES < 1 << RULE_SCOPE_BITS);

/// Contents of the maps. Element 0 of each array is not used.
#[derive(Default)]
pub(crate) struct Compiled {
    pub(crate) header: rules_header,
    pub(crate) rules: Vec<rule>,
    pub(crate) settings: Vec<rule_settings>,
    /// Of each rule; of none where no rule has conditions.
    pub(crate) conditions: Vec<rule_conditions>,
    /// By id of those rules that have some.
    pub(crate) parameters: Vec<(u32, rule_parameters)>,
    pub(crate) nodes: Vec<(cgroup_key, cgroup_node)>,
    pub(crate) scopes: Vec<rule_scope>,
    pub(crate) prefixes: Vec<(prefix_key, u32)>,
    pub(crate) sets: Vec<rule_set>,
    pub(crate) ports: Vec<(port_key, u32)>,
}

/// The rules of one cgroup by prefix; each as its index.
type ByPrefix = BTreeMap<Option<Prefix>, Vec<usize>>;

/// Works out the maps.
pub(crate) fn compile(table: &RuleTable) -> Result<Compiled> {
    let rules = table.rules();
    let mut compiled = Compiled {
        header: rules_header {
            format: format_of(rules),
            next_id: table.next_id(),
            root_scope: 0,
            rules: rules.len() as u32,
        },
        rules: vec![rule::default()],
        settings: vec![rule_settings::default()],
        conditions: conditions_of(rules),
        parameters: parameters_of(rules),
        scopes: vec![rule_scope::default()],
        sets: vec![rule_set::default()],
        ..Compiled::default()
    };
    let mut tree = Tree::new();
    let mut by_node: BTreeMap<u32, ByPrefix> = BTreeMap::new();
    for (index, rule) in rules.iter().enumerate() {
        let node = tree.node_of(&rule.selector);
        by_node.entry(node).or_default().entry(rule.selector.to).or_default().push(index);
        let settings = compiled.add_settings(rule);
        compiled.rules.push(rule_record(rule, node, settings));
    }
    let mut scope_of_node = vec![0; tree.parents.len()];
    // Parents come before their children.
    for (node, parent) in tree.parents.iter().enumerate() {
        let outer = scope_of_node[*parent as usize];
        scope_of_node[node] = match by_node.get(&(node as u32)) {
            Some(by_prefix) => compiled.add_scope(outer, by_prefix, rules),
            None => outer,
        };
    }
    compiled.header.root_scope = scope_of_node[0];
    for ((parent, name), id) in &tree.children {
        let mut key = cgroup_key { parent: *parent, ..cgroup_key::default() };
        copy_name(&mut key.name, name);
        compiled.nodes.push((key, cgroup_node { id: *id, scope: scope_of_node[*id as usize] }));
    }
    compiled.check_depth()?;
    Ok(compiled)
}

/// Cgroups that rules name, and those above them.
struct Tree {
    /// Parent of each node; the root is its own.
    parents: Vec<u32>,
    children: BTreeMap<(u32, String), u32>,
}

impl Tree {
    fn new() -> Self {
        Self { parents: vec![0], children: BTreeMap::new() }
    }

    fn node_of(&mut self, selector: &Selector) -> u32 {
        let mut node = 0;
        for component in selector.cgroup.components() {
            let next = self.parents.len() as u32;
            let child = *self.children.entry((node, component.to_owned())).or_insert(next);
            if child == next {
                self.parents.push(node);
            }
            node = child;
        }
        node
    }
}

/// The oldest that has all that these rules say, so that an older ccctl reads what it can.
fn format_of(rules: &[Rule]) -> u32 {
    let has_settings = |rule: &Rule| rule.content.choices.is_empty() || !rule.content.settings.is_empty();
    if rules.iter().any(|rule| !rule.content.parameters.is_empty()) {
        RULES_FORMAT
    } else if rules.iter().any(has_conditions) {
        RULES_FORMAT_OF_CONDITIONS
    } else if rules.iter().any(has_settings) {
        RULES_FORMAT_OF_SETTINGS
    } else {
        RULES_FORMAT_OF_ALGORITHMS
    }
}

fn has_conditions(rule: &Rule) -> bool {
    !rule.selector.conditions.is_empty()
}

fn conditions_of(rules: &[Rule]) -> Vec<rule_conditions> {
    let wanted = if rules.iter().any(has_conditions) { rules } else { &[] };
    let records = wanted.iter().map(|rule| rule.selector.conditions.record());
    std::iter::once(rule_conditions::default()).chain(records).collect()
}

fn parameters_of(rules: &[Rule]) -> Vec<(u32, rule_parameters)> {
    let having = rules.iter().filter(|rule| !rule.content.parameters.is_empty());
    having.map(|rule| (rule.id, rule.content.parameters.record())).collect()
}

fn rule_record(source: &Rule, node: u32, settings: u32) -> rule {
    let mut result = rule {
        settings,
        added_ns: source.added_ns,
        id: source.id,
        node,
        choices: source.content.choices.len() as u32,
        port: source.selector.to_port.unwrap_or(0),
        ..rule::default()
    };
    if let Some(prefix) = source.selector.to {
        (result.family, result.prefix_bits, result.address) = (prefix.family(), prefix.bits(), prefix.octets());
    }
    for (choice, room) in source.content.choices.iter().zip(&mut result.choice) {
        result.weight_sum += choice.weight;
        *room = rule_choice { weight: choice.weight, weight_end: result.weight_sum, ..rule_choice::default() };
        for (name, room) in choice.names.iter().zip(&mut room.names) {
            copy_name(room, name);
        }
    }
    result
}

impl Compiled {
    /// The settings of all rules together, and an algorithm other than Reno of those that the kernel has.
    pub(crate) fn settings_of_rules(&self, available: &[String]) -> rules_settings {
        let has = self.settings.iter().fold(0, |all, settings| all | settings.has);
        let mut result = rules_settings { has, ..rules_settings::default() };
        // One that is built in is preferred: an instance may go.
        let others = || available.iter().filter(|name| *name != "reno");
        if let Some(name) = others().find(|name| *name == "cubic").or_else(|| others().next()) {
            copy_name(&mut result.not_reno, name);
        }
        result
    }

    /// The conditions of all rules together.
    pub(crate) fn conditions_of_rules(&self) -> u32 {
        self.conditions.iter().fold(0, |all, conditions| all | conditions.has)
    }

    /// Gives their place; 0 where the rule has none.
    fn add_settings(&mut self, rule: &Rule) -> u32 {
        if rule.content.settings.is_empty() {
            return 0;
        }
        self.settings.push(rule.content.settings.record());
        self.settings.len() as u32 - 1
    }

    fn add_scope(&mut self, outer: u32, by_prefix: &ByPrefix, rules: &[Rule]) -> u32 {
        let scope = self.scopes.len() as u32;
        let mut sets: HashMap<Option<Prefix>, u32> = HashMap::new();
        // In order: any peer first, and a shorter prefix before those that it contains.
        for (prefix, indexes) in by_prefix {
            let set = self.sets.len() as u32;
            let contents = self.set_of(set, indexes, rules);
            self.sets.push(rule_set { wider: wider_set(&sets, *prefix), ..contents });
            sets.insert(*prefix, set);
            if let Some(prefix) = prefix {
                self.prefixes.push((key_of(scope, *prefix), set));
            }
        }
        let any_peer = sets.get(&None).copied().unwrap_or(0);
        let has_prefixes = u32::from(sets.keys().any(Option::is_some));
        let any_peer_set = self.sets[any_peer as usize];
        let is_only = has_prefixes + any_peer_set.has_ports == 0;
        let is_for_all = |rule: &u32| self.conditions.get(*rule as usize).is_none_or(|conditions| conditions.has == 0);
        let only_rule = Some(any_peer_set.any_port).filter(is_for_all).filter(|_| is_only).unwrap_or(0);
        self.scopes.push(rule_scope { outer, only_rule, any_peer, has_prefixes });
        scope
    }

    /// The rules of one prefix, by port.
    fn set_of(&mut self, set: u32, indexes: &[usize], rules: &[Rule]) -> rule_set {
        let mut by_port: BTreeMap<Option<u16>, Vec<usize>> = BTreeMap::new();
        for index in indexes {
            by_port.entry(rules[*index].selector.to_port).or_default().push(*index);
        }
        let rank = |index: &usize| (rules[*index].selector.conditions.rank(), Reverse(rules[*index].id));
        let mut contents = rule_set::default();
        // In order: any port first, where the chain of a port goes on.
        for (port, mut alike) in by_port {
            alike.sort_by_key(rank);
            let first = alike.into_iter().fold(contents.any_port, |next, index| self.chain(index as u32 + 1, next));
            match port {
                None => contents.any_port = first,
                Some(port) => {
                    contents.has_ports = 1;
                    self.ports.push((port_key { set, port: port.into() }, first));
                }
            }
        }
        contents
    }

    /// Puts a rule before another one; gives its place.
    fn chain(&mut self, rule: u32, next: u32) -> u32 {
        if let Some(conditions) = self.conditions.get_mut(rule as usize).filter(|conditions| conditions.has != 0) {
            conditions.next = next;
        }
        rule
    }

    /// Rules of a chain that one search may look at one by one; none where no rule has conditions.
    fn chain_steps(&self, first: u32) -> u32 {
        let of = |rule: u32| self.conditions.get(rule as usize).filter(|_| rule != 0);
        successors(of(first), |conditions| of(conditions.next)).count() as u32
    }

    /// Refuses rules that the program would give up on.
    fn check_depth(&self) -> Result<()> {
        let mut chains: Vec<u32> = self.sets.iter().map(|set| self.chain_steps(set.any_port)).collect();
        for (key, first) in &self.ports {
            let longest = &mut chains[key.set as usize];
            *longest = self.chain_steps(*first).max(*longest);
        }
        let mut set_steps = vec![0; self.sets.len()];
        for (set, contents) in self.sets.iter().enumerate().skip(1) {
            set_steps[set] = 1 + set_steps[contents.wider as usize] + chains[set];
        }
        let mut longest = vec![0; self.scopes.len()];
        for (scope, contents) in self.scopes.iter().enumerate() {
            longest[scope] = set_steps[contents.any_peer as usize];
        }
        for (key, set) in &self.prefixes {
            let longest = &mut longest[key.scope as usize];
            *longest = set_steps[*set as usize].max(*longest);
        }
        for scope in 1..self.scopes.len() {
            longest[scope] += 1 + longest[self.scopes[scope].outer as usize];
        }
        if longest.iter().all(|steps| *steps < RULE_SEARCH_STEPS) {
            return Ok(());
        }
        Err(Error::Host {
            cause: format!(
                "rules are nested too deeply: a connection would search {RULE_SEARCH_STEPS} sets and conditions"
            ),
            remedy: "use fewer nested prefixes, or fewer rules that differ only in their conditions".to_owned(),
        })
    }
}

/// The set of the longest shorter prefix around this one.
fn wider_set(sets: &HashMap<Option<Prefix>, u32>, prefix: Option<Prefix>) -> u32 {
    let around = prefix
        .into_iter()
        .flat_map(|prefix| (0..prefix.bits()).rev().map(move |bits| Some(Prefix::of(prefix.address(), bits))));
    let any_peer = prefix.map(|_| None);
    around.chain(any_peer).find_map(|candidate| sets.get(&candidate).copied()).unwrap_or(0)
}

fn key_of(scope: u32, prefix: Prefix) -> prefix_key {
    prefix_key {
        bits: PREFIX_KEY_BITS + u32::from(prefix.bits()),
        scope,
        family: prefix.family().into(),
        address: prefix.octets(),
    }
}
