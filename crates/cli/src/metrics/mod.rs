// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prometheus: the daemon's `/metrics`. The kernel counts; a scrape reads sums, and costs the same at any number of sockets.

mod collect;
mod counted;
mod current;
mod door;
mod exporter;
mod exposition;
mod guests;
mod numbers;
mod port;
mod table;
mod textfile;
mod user_of;

use ccctl_core::counters::{Counter, Counters};
use ccctl_telemetry::Counts;
use std::path::PathBuf;

use ccctl_core::configuration::{Metrics, MetricsPort};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

pub use counted::Counted;
pub use current::{current, replace};
pub use exporter::Exporter;
pub use exposition::Format;
use exposition::Labels;
pub use port::{scrape, PortBody};
pub use table::FAMILIES;

/// Where the metrics go, besides the API's socket.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetricsOutlets {
    /// For Prometheus.
    pub port: Option<MetricsPort>,
    /// For `node_exporter`.
    pub textfile: Option<PathBuf>,
}

impl MetricsOutlets {
    /// Those of a configuration.
    pub fn of(metrics: &Metrics) -> Self {
        Self { port: metrics.port.clone(), textfile: metrics.textfile.clone() }
    }
}

/// Serves them, wherever they are wanted. Does not end.
pub async fn serve(wanted: watch::Receiver<MetricsOutlets>) {
    tokio::join!(port::serve(wanted.clone()), textfile::serve(wanted));
}

/// What a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows while the daemon runs.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counters of values by size.
    Histogram,
}

/// A metric.
#[derive(Debug)]
pub struct Family {
    /// Without prefix, unit and `_total`.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// Its unit; empty: a number of what the name says.
    pub unit: &'static str,
    /// Its labels.
    pub labels: &'static [&'static str],
    /// What it tells, and its source in the kernel.
    pub help: &'static str,
    /// How a scrape gets its value.
    pub read: Read,
}

/// How a scrape gets a value.
#[derive(Debug, Clone, Copy)]
pub enum Read {
    /// Its collector has it.
    Collector,
    /// A member of each series' counters.
    Series(fn(&Counts) -> u64),
    /// One of the daemon's own counters.
    Daemon(fn(&Counters) -> &Counter),
}

impl Family {
    /// The name that queries use; a histogram's is followed by `_bucket`, `_sum` and `_count`.
    pub fn full_name(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!("_{}", self.unit) };
        let total = if self.kind == Kind::Counter { "_total" } else { "" };
        format!("ccctl_{}{unit}{total}", self.name)
    }

    /// For `ccctl metrics`.
    pub fn info(&self) -> MetricInfo {
        let (text, source) = self.help.split_once(" Source: ").unwrap_or((self.help, ""));
        MetricInfo {
            name: self.full_name(),
            kind: format!("{:?}", self.kind).to_lowercase(),
            unit: self.unit.to_owned(),
            labels: self.labels.iter().map(|label| (*label).to_owned()).collect(),
            text: text.trim_end_matches('.').to_owned(),
            origin: source.to_owned(),
        }
    }
}

/// A metric, as `ccctl metrics` lists it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MetricInfo {
    /// The name that queries use.
    pub name: String,
    /// counter, gauge or histogram
    pub kind: String,
    /// Its unit; empty: a number of what the name says.
    pub unit: String,
    /// Its labels.
    pub labels: Vec<String>,
    /// What it tells.
    pub text: String,
    /// Where the value comes from.
    pub origin: String,
}

/// Labels and a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    labels: Labels,
    value: Value,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A whole number.
    Count(u64),
    /// Another one.
    Number(f64),
    /// Sum, and counts by upper bounds; the last bound is infinite.
    Histogram(f64, Vec<(f64, u64)>),
}

#[cfg(test)]
mod tests {
    use super::table::LABELS;
    use super::*;

    #[test]
    fn every_metric_keeps_to_the_conventions() {
        let mut names: Vec<String> = FAMILIES.iter().map(Family::full_name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), FAMILIES.len(), "a name stands twice");
        for family in FAMILIES {
            let name = family.full_name();
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
            assert!(family.labels.iter().all(|label| LABELS.contains(label)), "{name}: {:?}", family.labels);
            let (text, source) = family.help.split_once(". Source: ").unwrap_or_default();
            assert!(!text.is_empty() && !source.is_empty() && !source.ends_with('.'), "{name}: {}", family.help);
            assert!(["", "seconds", "bytes", "bytes_per_second"].contains(&family.unit), "{name}: no base unit");
            let strange = ["_ms", "_us", "_ns", "_kb", "_pct", "_total"];
            assert!(!strange.iter().any(|end| family.name.ends_with(end)), "{name}");
        }
    }
}
