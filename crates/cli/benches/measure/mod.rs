//! Numbers of a benchmark: median, spread, and whether an aim is met.
#![allow(dead_code)] // each benchmark uses its part

use std::time::Duration;

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

    /// The middle one, or the mean of the two in the middle.
    pub fn median(&self) -> f64 {
        let middle = self.0.len() / 2;
        if self.0.len() % 2 == 1 {
            self.0[middle]
        } else {
            f64::midpoint(self.0[middle - 1], self.0[middle])
        }
    }

    /// Largest over smallest: how quiet the machine was.
    pub fn spread(&self) -> f64 {
        self.0[self.0.len() - 1] / self.0[0]
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

/// How a benchmark was called: `--smoke` runs everything once or twice, to see that it works.
pub fn is_smoke() -> bool {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--smoke"] => true,
        _ => {
            eprintln!("usage: [--smoke]");
            std::process::exit(2)
        }
    }
}

/// One row of the table of aims.
pub fn aim(what: &str, value: f64, limit: f64, unit: &str) {
    let verdict = if value <= limit {
        "met".to_owned()
    } else {
        format!("missed by {:.2}{unit} ({:.1} times the aim)", value - limit, value / limit)
    };
    println!("| {what} | {value:.3}{unit} | {limit}{unit} | {verdict} |");
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
