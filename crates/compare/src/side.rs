// SPDX-License-Identifier: GPL-2.0-only
//! Side by side: what the windows of a module's connection and of ours did on the same path.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use ccctl_series::{svg, Axis, Figure, Line, Panel, Point, Scale, Style};

use crate::counterparts::COUNTERPARTS;
use crate::measures::Measures;
use crate::verdict::{self, Found, Kind, Pair};

/// Names of the paths in the series, and for the page.
const PATHS: [(&str, &str); 3] = [
    ("slow", "5 Mbit/s, 40 ms, 17 packets"),
    ("middle", "20 Mbit/s, 40 ms, 67 packets"),
    ("long", "60 Mbit/s, 100 ms, 100 packets"),
];
/// Slow start and what it leaves behind: not measured.
const START_S: f64 = 3.0;
/// The window before a reduction is the largest of so many samples.
const BEFORE_SAMPLES: usize = 6;
/// `TCP_CA_CWR`, and beyond it `TCP_CA_Recovery` and `TCP_CA_Loss`
const REDUCING: f64 = 2.0;
/// Whose backoffs are a change of ssthresh too: the module enters CWR for them, BPF cannot.
const BACKS_OFF_IN_BPF: &str = "cdg";
/// A figure has every fifth sample: ten a second.
const DRAWN: usize = 5;

/// Of one connection every 20 ms.
#[derive(Debug, Clone, Copy)]
struct Sample {
    s: f64,
    cwnd: f64,
    ssthresh: f64,
    acked_bytes: f64,
    ca_state: f64,
}

type Runs = BTreeMap<String, BTreeMap<String, Vec<Sample>>>;

/// What the guest wrote: RUN ALGORITHM MS CWND SSTHRESH `BYTES_ACKED` RETRANSMITTED `CA_STATE`.
fn read(path: &Path, runs: &mut Runs) -> Result<()> {
    let text = fs::read_to_string(path).with_context(|| format!("no series at {}", path.display()))?;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [run, name, rest @ ..] = &words[..] else { continue };
        let numbers: Vec<f64> = rest.iter().filter_map(|word| word.parse().ok()).collect();
        let [ms, cwnd, ssthresh, acked_bytes, _, ca_state] = numbers[..] else { continue };
        let sample = Sample { s: ms / 1000.0, cwnd, ssthresh, acked_bytes, ca_state };
        runs.entry((*run).to_owned()).or_default().entry((*name).to_owned()).or_default().push(sample);
    }
    Ok(())
}

/// Does a reduction begin between these two? The socket's state changes to CWR, Recovery or Loss; or ssthresh changes.
fn reduces(before: &Sample, after: &Sample, by_ssthresh: bool) -> bool {
    before.ca_state < REDUCING
        && (after.ca_state >= REDUCING || by_ssthresh && before.ssthresh.total_cmp(&after.ssthresh).is_ne())
}

/// An epoch ends where a reduction begins.
fn measure(samples: &[Sample], by_ssthresh: bool) -> Option<Measures> {
    let first = samples.iter().position(|sample| sample.s >= START_S)?;
    let inner = &samples[first..];
    let (from, to) = (inner.first()?, inner.last()?);
    let ends: Vec<usize> = (1..inner.len()).filter(|i| reduces(&inner[i - 1], &inner[*i], by_ssthresh)).collect();
    let backoffs: Vec<f64> = ends.iter().filter_map(|end| backoff(inner, *end)).collect();
    let mean = |values: &[f64]| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
    let whole_epochs = ends.len().saturating_sub(1);
    Some(Measures {
        goodput_mbit_per_s: (to.acked_bytes - from.acked_bytes) * 8e-6 / (to.s - from.s).max(0.1),
        mean_cwnd: mean(&inner.iter().map(|sample| sample.cwnd).collect::<Vec<_>>())?,
        peak_cwnd: inner.iter().map(|sample| sample.cwnd).fold(0.0, f64::max),
        backoff: mean(&backoffs),
        backoff_error: standard_error(&backoffs),
        epoch_s: (whole_epochs > 0).then(|| (inner[ends[ends.len() - 1]].s - inner[ends[0]].s) / whole_epochs as f64),
        epochs: ends.len(),
    })
}

/// Of the mean of these values
fn standard_error(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count.max(1.0);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (count - 1.0).max(1.0) / count.max(1.0)).sqrt()
}

/// The window when the reduction that begins here is over, to that before it. It is over when the state has changed back and
/// the window does not fall on.
fn backoff(samples: &[Sample], begin: usize) -> Option<f64> {
    let is_over = |pair: &&[Sample]| pair[0].ca_state < REDUCING && pair[1].cwnd > pair[0].cwnd;
    let after = samples[begin..].windows(2).find(is_over)?[0];
    let before =
        samples[begin.saturating_sub(BEFORE_SAMPLES)..begin].iter().map(|sample| sample.cwnd).fold(1.0, f64::max);
    Some(after.cwnd / before)
}

/// An algorithm's series, measured.
struct Compared {
    name: &'static str,
    runs: Runs,
    pairs: Vec<Pair>,
    found: Vec<Found>,
}

/// Series of all, measured and judged.
pub struct Side(Vec<Compared>);

impl Side {
    /// Of each of these algorithms the series that there are; a line to the terminal for each path.
    pub fn read(algorithms: &[&'static str], folder: &Path) -> Result<Self> {
        let mut all = Vec::new();
        for name in algorithms.iter().copied() {
            let files =
                ["slow.series", "middle.series", "long.series"].map(|ending| folder.join(format!("{name}.{ending}")));
            let there: Vec<&PathBuf> = files.iter().filter(|file| file.exists()).collect();
            if there.is_empty() {
                continue;
            }
            let mut runs = Runs::new();
            for file in there {
                read(file, &mut runs)?;
            }
            let pairs = pairs(&runs, name == BACKS_OFF_IN_BPF);
            let walked = PATHS.iter().filter(|(_, path)| pairs.iter().any(|pair| pair.path == *path));
            let found: Vec<Found> = walked.map(|(_, path)| verdict::judge(name, path, &pairs)).collect();
            for one in &found {
                println!("{}", one.line());
            }
            all.push(Compared { name, runs, pairs, found });
        }
        anyhow::ensure!(!all.is_empty(), "no series in {}", folder.display());
        Ok(Self(all))
    }

    /// Those that differ where they should not.
    pub fn wrong(&self) -> Vec<&'static str> {
        self.0
            .iter()
            .filter(|compared| compared.found.iter().any(Found::differs))
            .map(|compared| compared.name)
            .collect()
    }

    /// The table of verdicts.
    pub fn verdicts(&self) -> String {
        let rows = self.0.iter().flat_map(|compared| &compared.found).map(Found::row);
        verdict::HEADING.to_owned() + &rows.collect::<String>()
    }

    /// The table of all measures.
    pub fn measures(&self) -> String {
        let mut text = String::from(
            "| algorithm | path | how | implementation | \
             goodput (Mbit/s) | mean cwnd (pkts) | peak cwnd (pkts) | backoff | epoch (s) | epochs |\n\
             | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
        );
        for compared in &self.0 {
            for pair in &compared.pairs {
                row(&mut text, compared.name, pair, "module", &pair.module);
                row(&mut text, compared.name, pair, "ours", &pair.ours);
            }
        }
        text
    }

    /// Draws a figure for each into this folder; links to all that are there.
    pub fn figures(&self, folder: &Path) -> Result<String> {
        fs::create_dir_all(folder)?;
        for compared in &self.0 {
            let name = compared.name;
            fs::write(folder.join(format!("{name}.svg")), svg(&figure(name, &compared.runs)))?;
        }
        let names = COUNTERPARTS.iter().map(|counterpart| counterpart.name);
        let there = names.filter(|name| folder.join(format!("{name}.svg")).exists());
        let links = there.map(|name| format!("![{name}: the window of module and ours](module-comparison/{name}.svg)"));
        Ok(links.collect::<Vec<_>>().join("\n\n"))
    }
}

/// Runs of the two alone, and what they share.
fn pairs(runs: &Runs, by_ssthresh: bool) -> Vec<Pair> {
    let of = |run: &str, ours: bool| {
        let flows = runs.get(run)?;
        measure(flows.iter().find(|(name, _)| name.starts_with("bpf_") == ours)?.1, by_ssthresh)
    };
    let kinds = [
        (Kind::Alone, "alone-module", "alone-ours"),
        (Kind::Loss, "loss-module", "loss-ours"),
        (Kind::ModuleFirst, "sharing1", "sharing1"),
        (Kind::OursFirst, "sharing2", "sharing2"),
    ];
    let mut found = Vec::new();
    for (prefix, path) in PATHS {
        for (kind, module, ours) in kinds {
            let module = of(&format!("{prefix}-{module}"), false);
            let ours = of(&format!("{prefix}-{ours}"), true);
            if let (Some(module), Some(ours)) = (module, ours) {
                found.push(Pair { path, kind, module, ours });
            }
        }
    }
    found
}

fn row(text: &mut String, algorithm: &str, pair: &Pair, whose: &str, m: &Measures) {
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.2}"));
    let _ = writeln!(
        text,
        "| {algorithm} | {} | {} | {whose} | {:.2} | {:.1} | {:.0} | {} | {} | {} |",
        pair.path,
        pair.kind.name(),
        m.goodput_mbit_per_s,
        m.mean_cwnd,
        m.peak_cwnd,
        number(m.backoff),
        number(m.epoch_s),
        m.epochs
    );
}

fn figure(algorithm: &str, runs: &Runs) -> Figure {
    let axis = |label: &str, unit: &str| Axis { label: label.to_owned(), unit: unit.to_owned(), scale: Scale::Linear };
    let panel = |title: &str, names: &[String]| {
        let flows = names.iter().filter_map(|run| runs.get(run)).flatten();
        let lines: Vec<Line> = flows
            .map(|(name, samples)| Line {
                label: if name.starts_with("bpf_") { format!("{name} (ours)") } else { format!("{name} (module)") },
                style: Style::Steps,
                points: samples.iter().step_by(DRAWN).map(|sample| Point::at(sample.s, sample.cwnd)).collect(),
            })
            .collect();
        (!lines.is_empty()).then(|| Panel { y: axis(title, "pkts"), lines, marks: Vec::new() })
    };
    let mut panels = Vec::new();
    for (prefix, rate) in [("slow", "5 Mbit/s"), ("middle", "20 Mbit/s"), ("long", "60 Mbit/s")] {
        let title = |how: &str| format!("cwnd, {rate}, {how}");
        let run = |name: &str| format!("{prefix}-{name}");
        panels.push(panel(&title("alone"), &[run("alone-module"), run("alone-ours")]));
        panels.push(panel(&title("loss"), &[run("loss-module"), run("loss-ours")]));
        panels.push(panel(&title("sharing"), &[run("sharing1")]));
    }
    Figure {
        title: format!("{algorithm}: Linux's module and ours on the same path"),
        subtitle: "each alone; each alone with random loss; both at once".to_owned(),
        x: axis("time", "s"),
        panels: panels.into_iter().flatten().collect(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A saw-tooth of 2 s from 10 to 19 packets, of which the first tenth of a second is recovery; 1000 bytes every tenth.
    #[test]
    fn a_saw_tooth_has_the_measures_that_it_is_made_of() {
        let samples: Vec<Sample> = (0..131_u32)
            .map(|i| Sample {
                s: f64::from(i) / 10.0,
                cwnd: 10.0 + f64::from(i % 20 / 2),
                ssthresh: 10.0,
                acked_bytes: 1000.0 * f64::from(i),
                ca_state: if i % 20 == 0 { 3.0 } else { 0.0 },
            })
            .collect();
        let measures = measure(&samples, false).unwrap();
        assert_eq!(measures.epochs, 5); // at 4, 6, 8, 10 and 12 s
        assert!((measures.epoch_s.unwrap() - 2.0).abs() < 1e-9);
        assert!((measures.goodput_mbit_per_s - 0.08).abs() < 1e-9);
        assert!((measures.peak_cwnd - 19.0).abs() < 1e-9);
        assert!((measures.backoff.unwrap() - 10.0 / 19.0).abs() < 1e-9);
    }

    /// 0.5 and 0.8 in turn: a deviation of 0.1732 of four values, and half of that for their mean
    #[test]
    fn the_error_of_a_mean_is_that_of_its_values_over_the_root_of_their_number() {
        assert!((standard_error(&[0.5, 0.8, 0.5, 0.8]) - 0.0866).abs() < 1e-4);
        assert!(standard_error(&[0.5, 0.5]) < 1e-9 && standard_error(&[]) < 1e-9);
    }

    #[test]
    fn without_a_loss_there_are_no_epochs() {
        let samples: Vec<Sample> = (0..10_u32)
            .map(|i| Sample { s: f64::from(i), cwnd: 10.0, ssthresh: 9.0, acked_bytes: 0.0, ca_state: 0.0 })
            .collect();
        let measures = measure(&samples, false).unwrap();
        assert_eq!((measures.epochs, measures.epoch_s, measures.backoff), (0, None, None));
        assert_eq!(measure(&samples[..3], false), None, "nothing but the start");
    }

    /// Every 2 s ssthresh changes, and the window goes from 20 to 14 within three samples; the state never does.
    #[test]
    fn a_backoff_without_a_state_of_its_own_is_seen_by_ssthresh() {
        let samples: Vec<Sample> = (0..131_u32)
            .map(|i| Sample {
                s: f64::from(i) / 10.0,
                cwnd: [20.0, 18.0, 16.0, 14.0].get(i as usize % 20).copied().unwrap_or(15.0 + f64::from(i % 20) / 4.0),
                ssthresh: f64::from(i / 20),
                acked_bytes: 0.0,
                ca_state: 0.0,
            })
            .collect();
        assert_eq!(measure(&samples, false).unwrap().epochs, 0);
        let measures = measure(&samples, true).unwrap();
        assert_eq!(measures.epochs, 5);
        assert!((measures.backoff.unwrap() - 0.7).abs() < 0.02, "{:?}", measures.backoff);
        // 14 of 19.75, rounded up by a sample
    }
}
