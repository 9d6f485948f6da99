//! Side by side: what the windows of a module's connection and of ours did on the same path.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use ccctl_series::{svg, Axis, Figure, Line, Panel, Point, Scale, Style};

/// Of one connection every tenth of a second.
#[derive(Debug, Clone, Copy)]
struct Sample {
    s: f64,
    cwnd: f64,
    ssthresh: f64,
    acked_bytes: f64,
    retransmitted: f64,
}

type Runs = BTreeMap<String, BTreeMap<String, Vec<Sample>>>;

/// What the guest wrote: RUN ALGORITHM MS CWND SSTHRESH BYTES RETRANSMITTED.
fn read(path: &Path) -> Result<Runs> {
    let text = fs::read_to_string(path).with_context(|| format!("no series at {}", path.display()))?;
    let mut runs = Runs::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [run, name, rest @ ..] = &words[..] else { continue };
        let numbers: Vec<f64> = rest.iter().filter_map(|word| word.parse().ok()).collect();
        let [ms, cwnd, ssthresh, acked_bytes, retransmitted] = numbers[..] else { continue };
        let sample = Sample { s: ms / 1000.0, cwnd, ssthresh, acked_bytes, retransmitted };
        runs.entry((*run).to_owned()).or_default().entry((*name).to_owned()).or_default().push(sample);
    }
    Ok(runs)
}

/// What a row of the table says.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Measures {
    goodput_mbit_per_s: f64,
    mean_cwnd: f64,
    peak_cwnd: f64,
    backoff: f64,
    epoch_s: f64,
    epochs: usize,
}

/// The first epoch, with slow start, is left out. An epoch ends where ssthresh changes with packets lost.
fn measure(samples: &[Sample]) -> Option<Measures> {
    let ends: Vec<usize> = (1..samples.len())
        .filter(|i| {
            (samples[*i].ssthresh - samples[i - 1].ssthresh).abs() >= 1.0
                && samples[*i].retransmitted > samples[i - 1].retransmitted
        })
        .collect();
    let first = *ends.first()?;
    let (from, to) = (samples[first], *samples.last()?);
    let inner = &samples[first..];
    let peak_before =
        |end: usize| samples[end.saturating_sub(4)..end].iter().map(|sample| sample.cwnd).fold(0.0, f64::max);
    let backoffs: Vec<f64> = ends.iter().map(|end| samples[*end].ssthresh / peak_before(*end).max(1.0)).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    Some(Measures {
        goodput_mbit_per_s: (to.acked_bytes - from.acked_bytes) * 8e-6 / (to.s - from.s).max(0.1),
        mean_cwnd: mean(&inner.iter().map(|sample| sample.cwnd).collect::<Vec<_>>()),
        peak_cwnd: inner.iter().map(|sample| sample.cwnd).fold(0.0, f64::max),
        backoff: mean(&backoffs),
        epoch_s: (samples[*ends.last()?].s - from.s) / (ends.len() - 1).max(1) as f64,
        epochs: ends.len(),
    })
}

/// Table of all algorithms, and a figure for each in this folder.
pub fn page(series: &[(String, std::path::PathBuf)], figures: &Path) -> Result<String> {
    let mut text = String::from(
        "| algorithm | path | implementation | goodput (Mbit/s) | mean cwnd (pkts) | peak cwnd (pkts) | ssthresh / peak | epoch (s) | \
         epochs |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let mut pictures = String::new();
    fs::create_dir_all(figures)?;
    for (algorithm, path) in series {
        let runs = read(path)?;
        for (run, flows) in &runs {
            for (name, samples) in flows {
                row(&mut text, algorithm, run, name, samples);
            }
        }
        let file = figures.join(format!("{algorithm}.svg"));
        fs::write(&file, svg(&figure(algorithm, &runs)))?;
        let _ =
            writeln!(pictures, "\n![{algorithm}: the window of module and ours](module-comparison/{algorithm}.svg)");
    }
    Ok(text + &pictures)
}

fn row(text: &mut String, algorithm: &str, run: &str, name: &str, samples: &[Sample]) {
    let path = run.split('-').next().unwrap_or_default();
    let whose = if name.starts_with("bpf_") { "ours" } else { "module" };
    let _ = match measure(samples) {
        Some(m) => writeln!(
            text,
            "| {algorithm} | {path} | {whose} | {:.2} | {:.1} | {:.0} | {:.2} | {:.2} | {} |",
            m.goodput_mbit_per_s, m.mean_cwnd, m.peak_cwnd, m.backoff, m.epoch_s, m.epochs
        ),
        None => writeln!(text, "| {algorithm} | {path} | {whose} | | | | no loss | | 0 |"),
    };
}

fn figure(algorithm: &str, runs: &Runs) -> Figure {
    let axis = |label: &str, unit: &str| Axis { label: label.to_owned(), unit: unit.to_owned(), scale: Scale::Linear };
    let panel = |title: &str, names: &[&str]| {
        let flows = names.iter().filter_map(|run| runs.get(*run)).flatten();
        let lines = flows.map(|(name, samples)| Line {
            label: if name.starts_with("bpf_") { format!("{name} (ours)") } else { format!("{name} (module)") },
            style: Style::Steps,
            points: samples.iter().map(|sample| Point::at(sample.s, sample.cwnd)).collect(),
        });
        Panel { y: axis(title, "pkts"), lines: lines.collect(), marks: Vec::new() }
    };
    Figure {
        title: format!("{algorithm}: Linux's module and ours on the same path"),
        subtitle: "each alone; each alone with random loss; both at once".to_owned(),
        x: axis("time", "s"),
        panels: vec![
            panel("cwnd, alone", &["alone-module", "alone-ours"]),
            panel("cwnd, random loss", &["loss-module", "loss-ours"]),
            panel("cwnd, both", &["both"]),
        ],
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A saw-tooth from 10 to 20 packets: two whole epochs of 1 s after the first loss, 1000 bytes every tenth of a second.
    #[test]
    fn a_saw_tooth_has_the_measures_that_it_is_made_of() {
        let samples: Vec<Sample> = (0..31_u32)
            .map(|i| Sample {
                s: f64::from(i) / 10.0,
                cwnd: 10.0 + f64::from(i % 10),
                ssthresh: 10.0 + f64::from(i / 10),
                acked_bytes: 1000.0 * f64::from(i),
                retransmitted: f64::from(i / 10),
            })
            .collect();
        let measures = measure(&samples).unwrap();
        assert_eq!(measures.epochs, 3);
        assert!((measures.epoch_s - 1.0).abs() < 1e-9);
        assert!((measures.goodput_mbit_per_s - 0.08).abs() < 1e-9);
        assert!((measures.peak_cwnd - 19.0).abs() < 1e-9);
        assert!((measures.backoff - (11.0 + 12.0 + 13.0) / 3.0 / 19.0).abs() < 1e-9);
    }

    #[test]
    fn without_a_loss_there_is_nothing_to_measure() {
        let sample = Sample { s: 0.0, cwnd: 10.0, ssthresh: 20.0, acked_bytes: 0.0, retransmitted: 0.0 };
        assert_eq!(measure(&[sample; 20]), None);
    }
}
