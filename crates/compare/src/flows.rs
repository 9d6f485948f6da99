// SPDX-License-Identifier: GPL-2.0-only
//! Five at once in a small queue: retransmissions, goodput and window of module and ours over several runs.
//!
//! One run says little: who loses which packet is chance. What two means of as many runs of the same module are apart in 95
//! of 100 cases is measured from the module's own runs, and is called noise here.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{ensure, Context as _, Result};

/// Names of the paths, and what they are.
const PATHS: [(&str, &str); 2] = [("near", "no delay, 60 kB"), ("far", "40 ms, 100 kB")];
/// Besides the noise ours may be so far from the module, as a share of the module's mean.
const TOLERANCE: f64 = 0.03;
/// A handful of retransmissions, one a connection: of so few a share says nothing.
const FEW_PKTS: f64 = 5.0;
/// Student's t for 97.5 %, of 1, 2, ... degrees of freedom (W. S. Gosset, Biometrika 6, 1908); 1.96 for many
const T: [f64; 12] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179];
const T_OF_MANY: f64 = 2.1;

/// Differences that are meant: whose, in what they show, and the reason.
const MEANT: &[(&str, &[&str], &str)] = &[
    (
        "lp",
        &["retransmitted", "goodput", "window"],
        "the module's sum of clocks overflows, so that what it takes for early congestion is chance, and it fills the queue as \
         Reno does; profile linux has its rules without the overflow",
    ),
    (
        "highspeed",
        &["retransmitted"],
        "the module decreases by b(W) of the last window in congestion avoidance, so that a loss that ends slow start takes half \
         of any window; profile linux takes b(W) of the window at the loss, as RFC 3649 has it",
    ),
];

const MEASURES: [&str; 3] = ["retransmitted", "goodput", "window"];

/// Of one implementation on one path: for each measure a value of each run.
type Runs = [Vec<f64>; 3];

/// An algorithm on one path.
pub struct Flows {
    /// Algorithm.
    pub algorithm: String,
    path: &'static str,
    module: Runs,
    linux: Runs,
    default: Option<Runs>,
    differences: Vec<(&'static str, String)>,
}

impl Flows {
    fn new(algorithm: &str, path: &'static str, mut runs: BTreeMap<String, Runs>) -> Result<Self> {
        let mut take = |name: &str| runs.remove(name);
        let (module, linux, default) = (take("module"), take("linux"), take("default"));
        let module = module.with_context(|| format!("{algorithm}, {path}: no runs of the module"))?;
        let linux = linux.with_context(|| format!("{algorithm}, {path}: no runs of ours"))?;
        ensure!(module[0].len() > 1, "{algorithm}, {path}: one run has no noise");
        let mut flows = Self { algorithm: algorithm.to_owned(), path, module, linux, default, differences: Vec::new() };
        flows.differences = (0..MEASURES.len()).filter_map(|measure| flows.difference(measure)).collect();
        Ok(flows)
    }

    /// How far apart ours and the module are, if that is further than they may be.
    fn difference(&self, measure: usize) -> Option<(&'static str, String)> {
        let (module, ours) = (mean(&self.module[measure]), mean(&self.linux[measure]));
        let few = if measure == 0 { FEW_PKTS } else { 0.0 };
        let allowed = (TOLERANCE * module).max(few) + noise(&self.module[measure], self.linux[measure].len());
        ((ours - module).abs() > allowed)
            .then(|| (MEASURES[measure], format!("{} {}", MEASURES[measure], percent(ours, module))))
    }

    fn reason(&self) -> Option<&'static str> {
        let is_all = |what: &[&str]| self.differences.iter().all(|(name, _)| what.contains(name));
        MEANT.iter().find(|(name, what, _)| *name == self.algorithm && is_all(what)).map(|(.., reason)| *reason)
    }

    /// Is anything further apart than it may be without a reason?
    pub fn differs(&self) -> bool {
        !self.differences.is_empty() && self.reason().is_none()
    }

    fn verdict(&self) -> &'static str {
        match (self.differences.is_empty(), self.differs()) {
            (true, _) => "alike",
            (false, true) => "differs",
            (false, false) => "intended difference",
        }
    }

    /// For the terminal.
    pub fn line(&self) -> String {
        let cells: Vec<String> = (0..MEASURES.len()).map(|measure| self.cell(measure)).collect();
        format!("{:10} {}: {}; {}", self.algorithm, self.path, cells.join("; "), self.verdict())
    }

    /// Module, ours with profile linux, ours by default, and the noise
    fn cell(&self, measure: usize) -> String {
        let (factor, digits) = [(1.0, 0), (1e-6, 2), (1.0, 1)][measure];
        let number = |runs: &Runs| format!("{:.digits$}", factor * mean(&runs[measure]));
        let default = self.default.as_ref().map_or_else(|| "the same".to_owned(), number);
        let noise = noise(&self.module[measure], self.linux[measure].len()) / mean(&self.module[measure]).max(1e-9);
        format!("{} / {} / {default} (±{:.1} %)", number(&self.module), number(&self.linux), 100.0 * noise)
    }

    /// For the page.
    fn row(&self) -> String {
        let mut why = self.differences.iter().map(|(_, difference)| difference.as_str()).collect::<Vec<_>>().join(", ");
        if let Some(reason) = self.reason().filter(|_| !self.differences.is_empty()) {
            why = format!("{why}: {reason}");
        }
        let cells: Vec<String> = (0..MEASURES.len()).map(|measure| self.cell(measure)).collect();
        let cells = cells.join(" | ");
        let runs = self.module[0].len();
        let default = self.default_against_module();
        format!("| {} | {} | {runs} | {cells} | {} | {why} | {default} |\n", self.algorithm, self.path, self.verdict())
    }

    /// How many packets more are retransmitted with our own parameters than by the module, where that is more than noise.
    fn default_against_module(&self) -> String {
        let Some(default) = &self.default else { return "the same".to_owned() };
        let (module, ours) = (mean(&self.module[0]), mean(&default[0]));
        if (ours - module).abs() > noise(&self.module[0], default[0].len()).max(FEW_PKTS) {
            percent(ours, module)
        } else {
            "alike".to_owned()
        }
    }
}

fn percent(ours: f64, module: f64) -> String {
    format!("{:+.1} %", 100.0 * (ours / module.max(1e-9) - 1.0))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Means of these runs and of so many others of the same are further apart in 5 of 100 cases.
fn noise(values: &[f64], others: usize) -> f64 {
    let (mean, count) = (mean(values), values.len());
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let freedom = count.saturating_sub(1).max(1);
    let t = T.get(freedom - 1).copied().unwrap_or(T_OF_MANY);
    t * (squares / freedom as f64 * (1.0 / count.max(1) as f64 + 1.0 / others.max(1) as f64)).sqrt()
}

/// What the guest wrote: PATH RUN IMPLEMENTATION RETRANSMITTED `GOODPUT_BIT_PER_S` `MEAN_CWND_PKTS`.
fn parse(text: &str) -> Result<BTreeMap<String, Runs>> {
    let mut found: BTreeMap<String, Runs> = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, _, implementation, values @ ..] = &words[..] else { continue };
        let values: Vec<f64> = values.iter().filter_map(|word| word.parse().ok()).collect();
        ensure!(values.len() == MEASURES.len(), "this line is not a run: {line:?}");
        let runs = found.entry((*implementation).to_owned()).or_default();
        for (measure, value) in values.iter().enumerate() {
            runs[measure].push(*value);
        }
    }
    Ok(found)
}

/// Of each of these algorithms the paths that there are; a line to the terminal for each.
pub fn read(algorithms: &[String], folder: &Path) -> Result<Vec<Flows>> {
    let mut all = Vec::new();
    for name in algorithms {
        for (path, description) in PATHS {
            let file = folder.join(format!("{name}.{path}.flows"));
            if file.exists() {
                let flows = Flows::new(name, description, parse(&fs::read_to_string(&file)?)?)?;
                println!("{}", flows.line());
                all.push(flows);
            }
        }
    }
    ensure!(!all.is_empty(), "no runs of five flows at once in {}", folder.display());
    Ok(all)
}

/// The table.
pub fn page(all: &[Flows]) -> String {
    let mut text =
        "| algorithm | path | runs | retransmitted (pkts) | goodput (Mbit/s) | mean cwnd (pkts) | verdict | further \
                    than noise, and why | own parameters retransmit |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
    for flows in all {
        let _ = write!(text, "{}", flows.row());
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn runs(module: &[u32], linux: &[u32]) -> Flows {
        let lines = |name: &str, values: &[u32]| -> String {
            let lines: Vec<String> =
                values.iter().map(|value| format!("near 1 {name} {value} 18000000 8.5\n")).collect();
            lines.concat()
        };
        let text = lines("module", module) + &lines("linux", linux);
        Flows::new("any", "near", parse(&text).unwrap()).unwrap()
    }

    /// 2941 and 5442 packets: what five connections of bbr had before the two were ever compared.
    #[test]
    fn nearly_twice_the_retransmissions_are_a_difference() {
        let flows = runs(&[2900, 2941, 2982], &[5400, 5442, 5484]);
        assert!(flows.differs());
        assert!(flows.row().contains("retransmitted +85.0 %"), "{}", flows.row());
    }

    #[test]
    fn own_parameters_have_a_share_beyond_noise() {
        let text = |default: u32| {
            let lines =
                ["module 990", "module 1000", "module 1010", "linux 1000"].map(|run| format!("near 1 {run} 18 8.5\n"));
            lines.concat() + &format!("near 1 default {default} 18 8.5\n").repeat(3)
        };
        let flows = |default| Flows::new("any", "near", parse(&text(default)).unwrap()).unwrap();
        assert_eq!(flows(1030).default_against_module(), "alike", "35 are noise");
        assert_eq!(flows(1200).default_against_module(), "+20.0 %");
        assert_eq!(runs(&[1, 2, 3], &[1, 2, 3]).default_against_module(), "the same");
    }

    /// Standard deviation 10, three runs each: t of 2 degrees 4.303, times 10, times the root of 2/3
    #[test]
    fn the_noise_is_that_of_the_difference_of_two_means() {
        assert!((noise(&[90.0, 100.0, 110.0], 3) - 35.13).abs() < 0.01);
        assert!(!runs(&[990, 1000, 1010], &[1064, 1064, 1064]).differs(), "3 % and 35 are 65");
        assert!(runs(&[990, 1000, 1010], &[1066, 1066, 1066]).differs());
        assert!(runs(&[990, 1000, 1010], &[934, 934, 934]).differs());
    }

    #[test]
    fn of_a_handful_of_packets_a_share_says_nothing() {
        assert!(!runs(&[0, 0, 0], &[4, 5, 3]).differs());
        assert!(runs(&[0, 0, 0], &[6, 7, 8]).differs());
    }

    #[test]
    fn a_run_that_says_too_little_is_refused() {
        assert!(parse("near 1 module 100 18000000").is_err());
        assert!(Flows::new("any", "near", parse("near 1 module 1 2 3\nnear 1 linux 1 2 3\n").unwrap()).is_err());
        assert!(Flows::new("any", "near", parse("near 1 module 1 2 3\nnear 2 module 1 2 3\n").unwrap()).is_err());
    }
}
