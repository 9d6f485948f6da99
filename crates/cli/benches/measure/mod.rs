// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of a benchmark: median, spread, and whether an aim is met.
#![allow(dead_code)] // each benchmark uses its part

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::resource::{getrusage, UsageWho};
use nix::sys::time::TimeValLike as _;

/// Repeated measurements of one quantity.
#[derive(Debug, Clone, Default)]
pub struct Sample(Vec<f64>);

impl Sample {
    /// Adds one.
    pub fn add(&mut self, value: f64) {
        self.0.push(value);
        self.0.sort_by(f64::total_cmp);
    }

    /// Adds a time in ms.
    pub fn add_ms(&mut self, time: Duration) {
        self.add(time.as_secs_f64() * 1e3);
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Their mean.
    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    /// Standard error of the mean; of fewer than two it is not known, and infinite.
    pub fn standard_error(&self) -> f64 {
        let (count, mean) = (self.0.len() as f64, self.mean());
        let squares: f64 = self.0.iter().map(|value| (value - mean).powi(2)).sum();
        if self.0.len() < 2 {
            return f64::INFINITY;
        }
        (squares / (count - 1.0) / count).sqrt()
    }

    /// `mean (min to max)`.
    pub fn mean_cell(&self, digits: usize) -> String {
        let (low, high) = (self.0[0], self.0[self.0.len() - 1]);
        format!("{:.digits$} ({low:.digits$} to {high:.digits$})", self.mean())
    }

    /// The middle one, or the mean of the two in the middle.
    pub fn median(&self) -> f64 {
        median(&mut self.0.clone())
    }

    /// `median (first to third quartile)`: on a busy machine the extremes tell of the others.
    pub fn middle_cell(&self, digits: usize) -> String {
        let quartile = |part: usize| self.0[(self.0.len() - 1) * part / 4];
        format!("{:.digits$} ({:.digits$} to {:.digits$})", self.median(), quartile(1), quartile(3))
    }

    /// `median (first to third quartile)`: where single runs are hit by others on the machine.
    pub fn quartiles(&self, digits: usize) -> String {
        let at = |share: usize| self.0[(self.0.len() - 1) * share / 4];
        format!("{:.digits$} (quartiles {:.digits$} to {:.digits$})", self.median(), at(1), at(3))
    }

    /// `median (min to max)`.
    pub fn cell(&self, digits: usize) -> String {
        let (low, high) = (self.0[0], self.0[self.0.len() - 1]);
        format!("{:.digits$} ({low:.digits$} to {high:.digits$})", self.median())
    }
}

/// A median and where it lies with 95 % confidence.
#[derive(Debug, Clone, Copy)]
pub struct Interval {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl std::fmt::Display for Interval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3} ({:.3} to {:.3})", self.median, self.low, self.high)
    }
}

/// Ratios of runs side by side, in groups: those of one pair of connections resemble each other.
#[derive(Debug, Clone, Default)]
pub struct Ratios(Vec<Vec<f64>>);

const BOOTSTRAPS: usize = 2000;

impl Ratios {
    /// Adds the ratios of one pair of connections.
    pub fn add_group(&mut self, group: Vec<f64>) {
        self.0.push(group);
    }

    /// The median of all, and its interval by drawing groups, and within them ratios, with replacement.
    pub fn median(&self) -> Interval {
        let mut random = crate::support::Random(0x9e37_79b9_7f4a_7c15);
        let mut draw = |count: usize| random.below(count as u64) as usize;
        let mut medians: Vec<f64> = (0..BOOTSTRAPS)
            .map(|_| {
                let mut sample = Vec::new();
                for _ in &self.0 {
                    let group = &self.0[draw(self.0.len())];
                    sample.extend(group.iter().map(|_| group[draw(group.len())]));
                }
                median(&mut sample)
            })
            .collect();
        let median = median(&mut self.0.concat());
        medians.sort_by(f64::total_cmp);
        Interval { median, low: medians[BOOTSTRAPS / 40], high: medians[BOOTSTRAPS - 1 - BOOTSTRAPS / 40] }
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

/// Whether an aim is met, as far as the interval tells.
pub fn verdict(ratio: Interval, limit: f64) -> &'static str {
    if ratio.high <= limit {
        "met"
    } else if ratio.low > limit {
        "missed"
    } else {
        "not measurable: the interval holds the limit"
    }
}

/// How much a benchmark does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As much as a machine of one's own needs.
    Full,
    /// `--smoke`: everything once or twice, to see that it works.
    Smoke,
    /// `--exact`: as much as a guest in virtual time needs, where equal runs are equal.
    Exact,
}

/// Does it only show that it works?
pub fn is_smoke() -> bool {
    form() == Form::Smoke
}

/// How a benchmark was called. (`hooks` is of ack, `traces` of telemetry, `growth` of sockets, `--figure FILE.svg` of those
/// that draw.)
pub fn form() -> Form {
    let others = ["--bench", "hooks", "traces", "growth", "--figure"];
    let is_figure = |word: &str| Path::new(word).extension().is_some_and(|extension| extension == "svg");
    let is_ours = |word: &String| !others.contains(&word.as_str()) && !is_figure(word);
    let words: Vec<String> = std::env::args().skip(1).filter(is_ours).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Form::Full,
        ["--smoke"] => Form::Smoke,
        ["--exact"] => Form::Exact,
        _ => {
            eprintln!("usage: [--smoke | --exact]");
            std::process::exit(2)
        }
    }
}

/// Where `--figure` draws. From the root of the repository; cargo runs benchmarks in the folder of their crate.
pub fn figure_file() -> Option<PathBuf> {
    let mut words = std::env::args().skip_while(|word| word != "--figure");
    Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(words.nth(1)?))
}

/// Processor time of the programs that `action` starts and waits for.
pub fn processor_ms(action: impl FnOnce()) -> f64 {
    let spent_us = || {
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
        (usage.user_time() + usage.system_time()).num_microseconds()
    };
    let before_us = spent_us();
    action();
    (spent_us() - before_us) as f64 / 1e3
}

/// One row of the table of aims.
pub fn aim(what: &str, value: f64, limit: f64, unit: &str) {
    let verdict = if value <= limit {
        "met".to_owned()
    } else {
        format!("missed by {:.2}{unit} ({:.1} times the aim)", value - limit, value / limit)
    };
    println!("| {what} | {value:.3}{unit} | {limit}{unit} | {verdict} |");
    note(what, value, unit.trim());
}

/// Writes a number down for the table of exact costs (`scripts/bench-exact`), where that is asked for.
pub fn note(what: &str, value: f64, unit: &str) {
    note_estimate(what, value, 0.0, unit);
}

/// The same of a mean, with its standard error.
pub fn note_estimate(what: &str, mean: f64, standard_error: f64, unit: &str) {
    let Some(path) = std::env::var_os("CCCTL_COSTS") else { return };
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).expect("it can be written");
    writeln!(file, "{what}\t{mean:.4}\t{unit}\t{standard_error:.4}").expect("there is room");
}

/// Head of the table of aims.
pub fn aims() {
    println!("\n| aim | measured | limit | |\n| --- | --- | --- | --- |");
}

/// Kernel and processors, for the reader of the table.
pub fn machine() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cpus = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown processor");
    format!("Linux {}, {cpus} x {}", kernel.trim(), model.trim_start_matches(['\t', ' ', ':']))
}
