// SPDX-License-Identifier: MIT OR Apache-2.0
//! Experiments: a whole service is switched between two algorithms, block by block, and the blocks are compared.
//!
//! A [`Design`] is what a person asks for. [`planning`] makes a frozen [`Plan`] of it, or says what cannot be decided. The
//! plan and the clock say which arm a moment has ([`overlays`]); the daemon only counts ([`Block`]) and has the blocks
//! [analysed](analysis). Everything is kept in files ([`store`]), so nothing depends on a process.

pub mod analysis;
mod design;
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

use ccctl_loader::{Choice, Selector};

use crate::configuration::{Configuration, WantedRule};

pub use analysis::{analyse, Analysis};
pub use design::{Design, Moves};
pub use metric::{Metric, Sums};
pub use plan::Plan;
pub use store::{Block, End, Ended, Kept, Progress};
pub use words::{change, lines as summary, range};

/// What a scope gets at a moment, because of an experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlay {
    /// Whose connections.
    pub selector: Selector,
    /// Kernel name of the arm.
    pub arm: String,
    /// Live ones, too.
    pub existing: bool,
}

/// What scopes get at this moment. Files and clock say it: all processes agree, and none has to remember anything.
pub fn overlays(now: SystemTime) -> anyhow::Result<Vec<Overlay>> {
    let mut overlays = Vec::new();
    for kept in store::all()?.iter().filter(|kept| kept.is_in_force()) {
        overlays.push(Overlay {
            selector: kept.plan.selector()?,
            arm: kept.plan.algorithm(kept.arm(now)?).to_owned(),
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
            let wanted = WantedRule {
                cgroup: Some(overlay.selector.cgroup.to_string()),
                unit: None,
                dst: None,
                port: None,
                choices: vec![Choice { names: vec![overlay.arm.clone()], weight: 1 }],
                existing: overlay.existing,
            };
            match configuration.rules.iter_mut().find(|rule| is_same(rule)) {
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
    use ccctl_loader::CgroupPath;
    pub(crate) use plan::tests::plan;

    #[test]
    fn the_arm_takes_the_place_of_the_rule_of_its_scope_and_of_no_other() {
        let text = "[[rule]]\ncgroup = \"/a\"\nuse = \"reno\"\n[[rule]]\ncgroup = \"/a\"\nport = 80\nuse = \"reno\"\n";
        let file = Configuration::of_text("f.toml", text, crate::trust::Trust::Checked).expect("it is right");
        let overlay = |path: &str| Overlay {
            selector: Selector { cgroup: CgroupPath::parse(path).expect("a path"), to: None, to_port: None },
            arm: "cubic".to_owned(),
            existing: true,
        };
        let rules = file.experimented(&[overlay("/a"), overlay("/b")]).rules;
        let targets: Vec<_> =
            rules.iter().map(|rule| (rule.label(), rule.port, rule.choices[0].names[0].as_str())).collect();
        let (a, b) = ("/a".to_owned(), "/b".to_owned());
        assert_eq!(targets, [(a.clone(), None, "cubic"), (a, Some(80), "reno"), (b, None, "cubic")]);
    }
}
