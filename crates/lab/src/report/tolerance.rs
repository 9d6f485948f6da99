// SPDX-License-Identifier: GPL-2.0-only
//! How far apart two values may be and still count as one.

use std::collections::BTreeMap;

use crate::run::Versions;

/// Between the simulator and the kernel, in percent of the first: measures by name.
const BETWEEN_BACKENDS: [(&str, f64); 13] = [
    ("goodput", 3.0),
    ("goodput_per_flow", 3.0),
    ("share", 3.0),
    ("utilisation", 3.0),
    ("jain", 3.0),
    ("loss_epochs", 15.0),
    ("rtos", 15.0),
    ("retransmits", 15.0),
    ("retransmit_rate", 15.0),
    ("loss_rate", 15.0),
    ("drops", 15.0),
    ("losses", 15.0),
    ("marks", 15.0),
];
/// All others, among them `cwnd_mean`.
const OTHERS_PCT: f64 = 10.0;
/// Where these are few, one event at the edge of the window would be more than any share.
const EVENTS: [&str; 2] = ["loss_epochs", "rtos"];
/// What the simulator's TCP is held against the kernel's by.
const ALWAYS_COMPARED: [&str; 3] = ["goodput", "cwnd_mean", "loss_epochs"];

/// Tolerances of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Tolerances {
    between_backends: bool,
    of_all_pct: Option<f64>,
    of_measures_pct: BTreeMap<String, f64>,
}

impl Tolerances {
    /// Of one backend: none. Between two: the documented ones.
    #[must_use]
    pub fn between(first: &Versions, second: &Versions) -> Self {
        Self { between_backends: first.backend != second.backend, of_all_pct: None, of_measures_pct: BTreeMap::new() }
    }

    /// Sets that of a measure, with its subject or of all subjects, or of all measures.
    pub fn set(&mut self, measure: Option<&str>, pct: f64) {
        match measure {
            Some(measure) => _ = self.of_measures_pct.insert(measure.to_owned(), pct),
            None => self.of_all_pct = Some(pct),
        }
    }

    /// In percent of the first value. The closest word counts: measure and subject, measure, all, the documented one.
    #[must_use]
    pub fn pct(&self, measure: &str) -> f64 {
        let name = name_of(measure);
        let documented = || match BETWEEN_BACKENDS.iter().find(|(known, _)| *known == name) {
            _ if !self.between_backends => 0.0,
            Some((_, pct)) => *pct,
            None => OTHERS_PCT,
        };
        let set = self.of_measures_pct.get(measure).or_else(|| self.of_measures_pct.get(name));
        set.copied().or(self.of_all_pct).unwrap_or_else(documented)
    }

    /// May the second value stand for the first?
    pub(super) fn allows(&self, measure: &str, first: f64, second: f64) -> bool {
        let one_event = self.between_backends && EVENTS.contains(&name_of(measure));
        let most = (self.pct(measure) * first.abs() / 100.0).max(if one_event { 1.0 } else { 0.0 });
        (second - first).abs() <= most
    }

    /// Is this compared, whether pages show it or not?
    pub(super) fn is_always_compared(&self, measure: &str) -> bool {
        self.between_backends && ALWAYS_COMPARED.contains(&name_of(measure)) && !measure.contains('@')
    }
}

/// Without subject and window.
fn name_of(measure: &str) -> &str {
    measure.split([':', '@']).next().unwrap_or(measure)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between_backends() -> Tolerances {
        Tolerances { between_backends: true, of_all_pct: None, of_measures_pct: BTreeMap::new() }
    }

    /// The bounds that cross-validation asks for.
    #[test]
    fn the_closest_word_counts() {
        let mut tolerances = between_backends();
        let pcts =
            |of: &Tolerances| ["goodput:a", "cwnd_mean", "loss_epochs:a@1 s..2 s"].map(|name| of.pct(name) as u32);
        assert_eq!(pcts(&tolerances), [3, 10, 15]);
        tolerances.set(Some("goodput"), 5.0);
        assert_eq!(pcts(&tolerances), [5, 10, 15]);
        tolerances.set(None, 1.0);
        assert_eq!(pcts(&tolerances), [5, 1, 1]);
        tolerances.set(Some("goodput:a"), 7.0);
        assert_eq!(pcts(&tolerances), [7, 1, 1]);
        let same = Tolerances { between_backends: false, ..between_backends() };
        assert_eq!(pcts(&same), [0; 3]);
    }

    #[test]
    fn one_event_more_or_less_is_no_difference() {
        let tolerances = between_backends();
        assert!(tolerances.allows("loss_epochs:a", 3.0, 4.0) && tolerances.allows("loss_epochs", 0.0, 1.0));
        assert!(!tolerances.allows("loss_epochs:a", 3.0, 5.0) && tolerances.allows("loss_epochs", 100.0, 115.0));
        assert!(!tolerances.allows("goodput", 10.0, 10.4) && tolerances.allows("goodput", 10.0, 9.71));
        assert!(!Tolerances { between_backends: false, ..tolerances }.allows("loss_epochs", 3.0, 4.0));
    }
}
