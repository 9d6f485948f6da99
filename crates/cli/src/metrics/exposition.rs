// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text of a scrape: `OpenMetrics`, or the older format for those who do not ask for it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{text, DescriptorEncoder, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use super::{Family, Kind, Sample, Value, FAMILIES};

/// How to write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `OpenMetrics` 1.0.0
    OpenMetrics,
    /// Prometheus' text format 0.0.4
    Plain,
}

impl Format {
    /// What this Accept header asks for.
    pub fn accepted(header: Option<&str>) -> Self {
        let wanted =
            |kind: &str| kind.split(';').next().is_some_and(|kind| kind.trim() == "application/openmetrics-text");
        if header.is_some_and(|header| header.split(',').any(wanted)) {
            Self::OpenMetrics
        } else {
            Self::Plain
        }
    }

    /// The header of the answer.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Plain => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// What was collected, by the name of the family. Families that are missing are not written.
#[derive(Debug, Default)]
pub struct Samples(pub BTreeMap<&'static str, Vec<Sample>>);

impl Samples {
    /// Adds to a family.
    pub fn add(&mut self, name: &'static str, labels: Vec<(&'static str, String)>, value: Value) {
        debug_assert!(FAMILIES.iter().any(|family| family.name == name), "{name} is in no table");
        self.0.entry(name).or_default().push(Sample { labels, value });
    }

    /// A family that has no samples yet, and is shown nevertheless.
    pub fn touch(&mut self, name: &'static str) {
        self.0.entry(name).or_default();
    }

    /// Writes them.
    pub fn text(self, format: Format) -> Result<String, std::fmt::Error> {
        let mut registry = Registry::with_prefix("ccctl");
        registry.register_collector(Box::new(self));
        let mut written = String::new();
        text::encode(&mut written, &registry)?;
        Ok(match format {
            Format::OpenMetrics => written,
            Format::Plain => plain(&written),
        })
    }
}

impl Collector for Samples {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        for family in FAMILIES {
            if let Some(samples) = self.0.get(family.name) {
                encode(&mut encoder, family, samples)?;
            }
        }
        Ok(())
    }
}

fn encode(encoder: &mut DescriptorEncoder, family: &Family, samples: &[Sample]) -> Result<(), std::fmt::Error> {
    let unit = Some(Unit::Other(family.unit.to_owned())).filter(|_| !family.unit.is_empty());
    let kind = match family.kind {
        Kind::Counter => MetricType::Counter,
        Kind::Gauge => MetricType::Gauge,
        Kind::Histogram => MetricType::Histogram,
    };
    let mut metric = encoder.encode_descriptor(family.name, family.help, unit.as_ref(), kind)?;
    for Sample { labels, value } in samples {
        if labels.is_empty() {
            write_value(&mut metric, value, family.kind)?;
        } else {
            write_value(&mut metric.encode_family(labels)?, value, family.kind)?;
        }
    }
    Ok(())
}

/// Exemplars would have labels; there are none.
type NoLabels = [(&'static str, &'static str); 0];

fn write_value(metric: &mut MetricEncoder<'_>, value: &Value, kind: Kind) -> Result<(), std::fmt::Error> {
    match (value, kind) {
        (Value::Count(value), Kind::Counter) => metric.encode_counter::<NoLabels, _, u64>(value, None),
        (Value::Number(value), Kind::Counter) => metric.encode_counter::<NoLabels, _, u64>(value, None),
        (Value::Count(value), _) => metric.encode_gauge(value),
        (Value::Number(value), _) => metric.encode_gauge(value),
        (Value::Histogram(sum, buckets), _) => {
            let count = buckets.iter().map(|(_, count)| count).sum();
            metric.encode_histogram::<NoLabels>(*sum, count, buckets, None)
        }
    }
}

/// The same in the older format: there, a counter's head has its whole name, and there are neither units nor an end.
fn plain(written: &str) -> String {
    let counters: Vec<String> =
        FAMILIES.iter().filter(|family| family.kind == Kind::Counter).map(Family::full_name).collect();
    let mut text = String::with_capacity(written.len());
    for line in written.lines().filter(|line| *line != "# EOF" && !line.starts_with("# UNIT ")) {
        let head = ["# HELP ", "# TYPE "].iter().find_map(|head| Some((*head, line.strip_prefix(head)?)));
        let split = head.and_then(|(head, rest)| Some((head, rest.split_once(' ')?)));
        let _ = match split {
            Some((head, (name, rest)))
                if counters.iter().any(|counter| counter.strip_suffix("_total") == Some(name)) =>
            {
                writeln!(text, "{head}{name}_total {rest}")
            }
            _ => writeln!(text, "{line}"),
        }; // a String takes everything
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Samples {
        let mut samples = Samples::default();
        let labels = |cgroup: &str| vec![("name", "web".to_owned()), ("cgroup", cgroup.to_owned())];
        samples.add("acked", labels("/a\"b\\c\nd"), Value::Count(7));
        samples.add("rtt", labels("other"), Value::Histogram(0.5, vec![(0.25, 1), (1.0, 2), (f64::INFINITY, 3)]));
        samples.add("look_age", vec![], Value::Number(1.5));
        samples
    }

    /// As the specification of `OpenMetrics` has names, units, escapes, buckets and the end.
    #[test]
    fn open_metrics_as_specified() {
        let text = samples().text(Format::OpenMetrics).expect("it can be written");
        for line in [
            "# TYPE ccctl_acked_bytes counter",
            "# UNIT ccctl_acked_bytes bytes",
            "ccctl_acked_bytes_total{name=\"web\",cgroup=\"/a\\\"b\\\\c\\nd\"} 7",
            "# TYPE ccctl_rtt_seconds histogram",
            "ccctl_rtt_seconds_bucket{le=\"0.25\",name=\"web\",cgroup=\"other\"} 1",
            "ccctl_rtt_seconds_bucket{le=\"1.0\",name=\"web\",cgroup=\"other\"} 3",
            "ccctl_rtt_seconds_bucket{le=\"+Inf\",name=\"web\",cgroup=\"other\"} 6",
            "ccctl_rtt_seconds_count{name=\"web\",cgroup=\"other\"} 6",
            "ccctl_look_age_seconds 1.5",
        ] {
            assert!(text.lines().any(|known| known == line), "{line}\n{text}");
        }
        assert!(text.ends_with("# EOF\n"), "{text}");
        assert!(!text.contains("ccctl_connections"), "what was not collected is left out");
    }

    #[test]
    fn the_older_format_names_counters_in_full() {
        let text = samples().text(Format::Plain).expect("it can be written");
        assert!(text.contains("# TYPE ccctl_acked_bytes_total counter\n"), "{text}");
        assert!(text.contains("# TYPE ccctl_look_age_seconds gauge\n"), "{text}");
        assert!(!text.contains("# EOF") && !text.contains("# UNIT"), "{text}");
    }

    #[test]
    fn the_format_is_what_is_asked_for() {
        let prometheus =
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
            text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(Format::accepted(Some(prometheus)), Format::OpenMetrics);
        for other in [None, Some("*/*"), Some("text/plain"), Some("application/openmetrics-textual")] {
            assert_eq!(Format::accepted(other), Format::Plain, "{other:?}");
        }
    }
}
