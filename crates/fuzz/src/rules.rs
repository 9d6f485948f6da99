// SPDX-License-Identifier: GPL-2.0-only
//! Rules as `assign`, `apply` and `rules` read and print them: a line for each, with cgroup, prefix, port and targets. What
//! was read is printed and read again, and must be the same; all rules together must make maps.

use ccctl_core::RuleTarget;
use ccctl_loader::without_kernel::{compile_rules, parse_targets};
use ccctl_loader::{
    consider, format_choices, is_unit_name, rename_choices, Attributes, CgroupPath, Choice, Conditions, Flow, Prefix,
    RuleTable, Selector, Verdict,
};

/// What the kernel has. The running one may change between two readings of a rule.
const AVAILABLE: [&str; 5] = ["reno", "cubic", "web", "bulk", "bpf_cubic"];
const RULES_MAX: usize = 64;

/// Reads rules.
///
/// # Panics
/// Where what is printed means something else, or a rule does not win its own connections.
pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let available = AVAILABLE.map(str::to_owned);
    let mut table = RuleTable::default();
    for line in text.lines().take(RULES_MAX) {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        let [who, to, port, targets] = words[..] else { continue };
        let (selector, choices) = (selector(who, to, port), choices(targets, &available));
        if let (Some(selector), Some(choices)) = (selector, choices) {
            table.put(selector, choices.into(), 1).expect("there is room");
        }
    }
    for rule in table.rules() {
        let selector = &rule.selector;
        let flow = Flow {
            cgroup: selector.cgroup.clone(),
            peer: selector.to.map(|to| to.address()),
            service_port: selector.to_port.unwrap_or(0),
            attributes: Attributes::default(),
        };
        let (winner, verdict) = consider(&table, &flow)[0];
        assert!(verdict == Verdict::Won && winner.selector.cgroup == selector.cgroup, "{selector} lost to {winner:?}");
    }
    if let Err(error) = compile_rules(&table) {
        assert!(error.to_string().contains("nested"), "{error}");
    }
}

/// `-` leaves out a prefix or a port. For units the host is asked, and they are left out.
fn selector(who: &str, to: &str, port: &str) -> Option<Selector> {
    if is_unit_name(who) {
        return None;
    }
    let given = |word| (word != "-").then_some(word);
    let to_port = given(port).map(str::parse).transpose().ok()?;
    let conditions = Conditions::default();
    let target = RuleTarget { cgroup: Some(who), unit: None, pid: None, dst: given(to), port: to_port, conditions };
    let selector = target.selector(true).ok()?;
    assert_eq!(CgroupPath::parse(selector.cgroup.as_str()).ok().as_ref(), Some(&selector.cgroup));
    if let Some(prefix) = selector.to {
        assert_eq!(prefix.to_string().parse::<Prefix>().ok(), Some(prefix));
    }
    Some(selector)
}

fn choices(targets: &str, available: &[String]) -> Option<Vec<Choice>> {
    let choices = parse_targets(targets, available).ok()?;
    let printed = format_choices(&choices);
    let again =
        parse_targets(&printed, available).unwrap_or_else(|error| panic!("{targets:?} became {printed:?}: {error}"));
    assert_eq!(choices, again);
    let weight = |choices: &[Choice]| choices.iter().map(|choice| u64::from(choice.weight)).sum::<u64>();
    let renamed = rename_choices(&choices, &choices[0].names[0], "reno");
    assert_eq!(weight(&choices), weight(&renamed));
    Some(choices)
}
