// SPDX-License-Identifier: MIT OR Apache-2.0
//! Experiments: a whole service is switched between two algorithms, block by block, and the blocks are compared.
//!
//! A [`Design`] is what a person asks for. [`planning`] makes a frozen [`Plan`] of it, or says what cannot be decided. The
//! plan and the clock say which arm a moment has ([`overlays`]); the daemon only counts ([`Block`]) and has the blocks
//! [analysed](analysis). Everything is kept in files ([`store`]), so nothing depends on a process.

pub mod analysis;
pub mod completion;
mod design;
pub mod hold_out;
pub mod lines;
mod metric;
mod plan;
pub mod planning;
pub mod report;
pub mod ring;
pub mod store;
mod text;
mod words;

use std::time::SystemTime;

use ccctl_loader::{Choice, RuleContent, Selector};

use crate::configuration::{Configuration, WantedRule};

pub use analysis::{analyse, Analysis};
pub use completion::Completions;
pub use design::{Design, Moves};
pub use hold_out::{ClusterSums, FlowSums};
pub use metric::{Metric, Sums};
pub use plan::Plan;
pub use store::{Block, End, Ended, Kept, Progress};
pub use words::{change, lines as summary, range};

/// By which name a scope is counted: the path of its cgroup, or its rule.
#[must_use]
pub fn counted_as(selector: &Selector) -> String {
    let is_cgroup = selector.to.is_none() && selector.to_port.is_none();
    if is_cgroup {
        selector.cgroup.to_string()
    } else {
        selector.to_string()
    }
}

/// What a scope gets at a moment, because of an experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlay {
    /// Whose connections.
    pub selector: Selector,
    /// Kernel name of the arm.
    pub arm: String,
    /// That of the other arm, and the weights of both, where a share is held out.
    pub held_out: Option<(String, [u32; 2])>,
    /// Live ones, too.
    pub existing: bool,
}

impl Overlay {
    fn choices(&self) -> Vec<Choice> {
        let choice = |name: &String, weight| Choice { names: vec![name.clone()], weight };
        match &self.held_out {
            None => vec![choice(&self.arm, 1)],
            Some((other, [own, held_out])) => {
                vec![choice(&self.arm, *own), choice(other, *held_out)]
            }
        }
    }
}

/// What scopes get at this moment. Files and clock say it: all processes agree, and none has to remember anything.
pub fn overlays(now: SystemTime) -> anyhow::Result<Vec<Overlay>> {
    let mut overlays = Vec::new();
    for kept in store::all()?.iter().filter(|kept| kept.is_in_force()) {
        let arm = kept.arm(now)?;
        let weights = kept.plan.weights().filter(|_| kept.runs());
        let weights = if kept.place(now)?.is_some() { weights } else { None };
        overlays.push(Overlay {
            selector: kept.plan.selector()?,
            arm: kept.plan.algorithm(arm).to_owned(),
            held_out: weights.map(|weights| (kept.plan.algorithm(Plan::other_arm(arm)).to_owned(), weights)),
            existing: kept.plan.moves == Moves::Live,
        });
    }
    Ok(overlays)
}

impl Configuration {
    /// The file with what experiments give to their scopes now.
    #[must_use]
    pub fn experimented(&self, overlays: &[Overlay]) -> Self {
        let mut configuration = self.clone();
        for overlay in overlays {
            let is_same = |rule: &WantedRule| rule.selector().is_ok_and(|selector| selector == overlay.selector);
            let present = configuration.rules.iter_mut().find(|rule| is_same(rule));
            let before = present.as_ref().map(|rule| rule.content.clone()).unwrap_or_default();
            let choices = overlay.choices();
            let parameters = before.parameters.kept_for(&choices);
            let wanted = WantedRule {
                content: RuleContent { choices, parameters, ..before },
                cgroup: Some(overlay.selector.cgroup.to_string()),
                unit: None,
                dst: overlay.selector.to.map(|to| to.to_string()),
                port: overlay.selector.to_port,
                conditions: overlay.selector.conditions,
                existing: overlay.existing,
                redraws: overlay.held_out.is_some(),
            };
            match present {
                Some(rule) => *rule = wanted,
                None => configuration.rules.push(wanted),
            }
        }
        configuration
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    pub(crate) use analysis::tests::blocks;
    use ccctl_loader::{CgroupPath, Conditions};
    pub(crate) use plan::tests::plan;

    #[test]
    fn a_hold_out_gives_the_other_arm_its_weight() {
        let overlay = Overlay {
            selector: Selector {
                cgroup: CgroupPath::parse("/a").expect("a path"),
                to: Some("10.0.0.0/8".parse().expect("a prefix")),
                to_port: Some(443),
                conditions: Conditions::default(),
            },
            arm: "cubic".to_owned(),
            held_out: Some(("bbr".to_owned(), [95_000, 5000])),
            existing: true,
        };
        let rules = Configuration::default().experimented(std::slice::from_ref(&overlay)).rules;
        assert_eq!(rules.len(), 1);
        assert_eq!(ccctl_loader::format_choices(&rules[0].content.choices), "cubic=95000,bbr=5000");
        assert!(rules[0].redraws && rules[0].existing, "live connections draw anew");
        assert_eq!(rules[0].selector().expect("it has one"), overlay.selector);
        assert_eq!(counted_as(&overlay.selector), "cgroup /a to 10.0.0.0/8 port 443");
    }

    #[test]
    fn a_scope_of_a_file_that_cannot_be_is_refused() {
        for (scope, cause) in [
            ("", "experiment web needs one scope"),
            ("cgroup = \"/a\"\nunit = \"b.service\"", "experiment web needs one scope"),
            ("whole_host = true\nport = 80", "the whole host has all peers and ports"),
            ("cgroup = \"/a\"\nport = 0", "port 0 is not a service"),
            ("cgroup = \"/a\"\ndst = \"10.0.0.1/8\"", "10.0.0.1/8"),
        ] {
            let text = format!("[[experiment]]\nname = \"web\"\nb = \"reno\"\n{scope}\n");
            let error = Configuration::of_text("f.toml", &text, crate::trust::Trust::Checked).expect_err(scope);
            assert!(ccctl_console::cause(&error).contains(cause), "{scope}: {}", ccctl_console::cause(&error));
            assert!(crate::error::remedy(&error).is_some(), "{scope}");
        }
    }

    #[test]
    fn the_arm_takes_the_place_of_the_rule_of_its_scope_and_of_no_other() {
        let text = "[[rule]]\ncgroup = \"/a\"\nuse = \"reno\"\nmin_rto = \"50ms\"\n[[rule]]\ncgroup = \"/a\"\nport = 80\nuse = \"reno\"\n";
        let file = Configuration::of_text("f.toml", text, crate::trust::Trust::Checked).expect("it is right");
        let overlay = |path: &str| Overlay {
            selector: Selector {
                cgroup: CgroupPath::parse(path).expect("a path"),
                to: None,
                to_port: None,
                conditions: Conditions::default(),
            },
            arm: "cubic".to_owned(),
            held_out: None,
            existing: true,
        };
        let rules = file.experimented(&[overlay("/a"), overlay("/b")]).rules;
        let targets: Vec<_> =
            rules.iter().map(|rule| (rule.label(), rule.port, rule.content.choices[0].names[0].as_str())).collect();
        let (a, b) = ("/a".to_owned(), "/b".to_owned());
        assert_eq!(targets, [(a.clone(), None, "cubic"), (a, Some(80), "reno"), (b, None, "cubic")]);
        let settings: Vec<_> = rules.iter().map(|rule| rule.content.settings.to_string()).collect();
        assert_eq!(settings, ["min_rto=50ms", "", ""], "an experiment compares algorithms, and leaves the rest");
    }
}
