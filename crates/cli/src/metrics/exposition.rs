// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text of a scrape: `OpenMetrics`, or the older format for those who do not ask for it.

use std::collections::BTreeMap;
use std::rc::Rc;

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

/// Labels as they are written, between the braces. All samples of a series share them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels(Rc<str>);

impl Labels {
    /// Escapes the values.
    pub fn of(labels: &[(&str, &str)]) -> Self {
        let mut text = String::new();
        for (name, value) in labels {
            let comma = if text.is_empty() { "" } else { "," };
            text.extend([comma, name, "=\""]);
            for part in value.split_inclusive(['\\', '"', '\n']) {
                match part.as_bytes().last() {
                    Some(b'\n') => text.extend([&part[..part.len() - 1], "\\n"]),
                    Some(b'\\' | b'"') => text.extend([&part[..part.len() - 1], "\\", &part[part.len() - 1..]]),
                    _ => text.push_str(part),
                }
            }
            text.push('"');
        }
        Self(text.into())
    }
}

/// What was collected, by the name of the family. Families that are missing are not written.
#[derive(Debug, Default)]
pub struct Samples(pub BTreeMap<&'static str, Vec<Sample>>);

impl Samples {
    /// Adds to a family.
    pub fn add(&mut self, name: &'static str, labels: Labels, value: Value) {
        debug_assert!(FAMILIES.iter().any(|family| family.name == name), "{name} is in no table");
        self.0.entry(name).or_default().push(Sample { labels, value });
    }

    /// A family that has no samples yet, and is shown nevertheless.
    pub fn touch(&mut self, name: &'static str) {
        self.0.entry(name).or_default();
    }

    /// Writes them. Of hundreds of series each has some 60 lines with the same labels, which other writers make for each line.
    pub fn text(&self, format: Format) -> String {
        let mut text = String::with_capacity(self.bytes());
        for family in FAMILIES {
            if let Some(samples) = self.0.get(family.name) {
                write_head(&mut text, family, format);
                write_samples(&mut text, family, samples);
            }
        }
        if format == Format::OpenMetrics {
            text.push_str("# EOF\n");
        }
        text
    }

    /// About so long is the text: a line's name and value take less than this beside its labels.
    fn bytes(&self) -> usize {
        const LINE: usize = 64;
        let lines = |value: &Value| if let Value::Histogram(_, buckets) = value { buckets.len() + 2 } else { 1 };
        let samples = self.0.values().flatten();
        samples.map(|sample| (LINE + sample.labels.0.len()) * lines(&sample.value)).sum::<usize>() + (1 << 14)
    }
}

/// In the older format a counter's head has its whole name, and there are neither units nor an end.
fn write_head(text: &mut String, family: &Family, format: Format) {
    let full = family.full_name();
    let kind = match family.kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram => "histogram",
    };
    let name = match (format, family.kind) {
        (Format::OpenMetrics, Kind::Counter) => full.trim_end_matches("_total"),
        _ => &full,
    };
    text.extend(["# HELP ", name, " ", family.help, "\n# TYPE ", name, " ", kind, "\n"]);
    if format == Format::OpenMetrics && !family.unit.is_empty() {
        text.extend(["# UNIT ", name, " ", family.unit, "\n"]);
    }
}

fn write_samples(text: &mut String, family: &Family, samples: &[Sample]) {
    let name = family.full_name();
    let (mut whole, mut other) = (itoa::Buffer::new(), dtoa::Buffer::new());
    let mut bounds = Bounds::default();
    for Sample { labels, value } in samples {
        match value {
            Value::Count(value) => write_line(text, [&name, ""], ["", &labels.0], whole.format(*value)),
            Value::Number(value) => write_line(text, [&name, ""], ["", &labels.0], other.format(*value)),
            Value::Histogram(sum, buckets) => {
                let count: u64 = buckets.iter().map(|(_, count)| count).sum();
                write_line(text, [&name, "_sum"], ["", &labels.0], other.format(*sum));
                write_line(text, [&name, "_count"], ["", &labels.0], whole.format(count));
                let mut seen = 0;
                for (index, (bound, count)) in buckets.iter().enumerate() {
                    seen += count;
                    write_line(text, [&name, "_bucket"], [bounds.label(index, *bound), &labels.0], whole.format(seen));
                }
            }
        }
    }
}

fn write_line(text: &mut String, name: [&str; 2], [bound, labels]: [&str; 2], value: &str) {
    text.extend(name);
    if !bound.is_empty() || !labels.is_empty() {
        let comma = if bound.is_empty() || labels.is_empty() { "" } else { "," };
        text.extend(["{", bound, comma, labels, "}"]);
    }
    text.extend([" ", value, "\n"]);
}

/// The label of each bucket, which all histograms of a family share.
#[derive(Default)]
struct Bounds(Vec<(f64, String)>);

impl Bounds {
    fn label(&mut self, index: usize, bound: f64) -> &str {
        let label = |bound: f64| match bound {
            f64::INFINITY => "le=\"+Inf\"".to_owned(),
            bound => format!("le=\"{}\"", dtoa::Buffer::new().format(bound)),
        };
        if self.0.get(index).is_none_or(|(known, _)| known.to_bits() != bound.to_bits()) {
            self.0.truncate(index);
            self.0.push((bound, label(bound)));
        }
        &self.0[index].1
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::collector::Collector;
    use prometheus_client::encoding::{text, DescriptorEncoder};
    use prometheus_client::metrics::exemplar::Exemplar;
    use prometheus_client::metrics::MetricType;
    use prometheus_client::registry::{Registry, Unit};

    use super::*;

    type NoLabels = [(&'static str, &'static str); 0];

    /// Small bounds, as those of the clock, and large ones.
    const BUCKETS: [(f64, u64); 5] = [(256e-9, 1), (32e-6, 0), (0.5, 2), (65536.0, 0), (f64::INFINITY, 3)];

    fn samples() -> Samples {
        let mut samples = Samples::default();
        let labels = |cgroup: &str| Labels::of(&[("name", "web"), ("cgroup", cgroup)]);
        samples.add("acked", labels("/a\"b\\c\nd"), Value::Count(7));
        samples.add("rtt", labels("other"), Value::Histogram(0.5, vec![(0.25, 1), (1.0, 2), (f64::INFINITY, 3)]));
        samples.add("look_age", Labels::of(&[]), Value::Number(1.5));
        samples
    }

    /// As the specification of `OpenMetrics` has names, units, escapes, buckets and the end.
    #[test]
    fn open_metrics_as_specified() {
        let text = samples().text(Format::OpenMetrics);
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

    /// prometheus-client writes the same, but makes the labels anew for each line.
    #[test]
    fn as_the_library_writes_it() {
        #[derive(Debug)]
        struct Theirs;
        impl Collector for Theirs {
            fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
                let labels = [("name", "web"), ("cgroup", "/a\"b\\c\nd")];
                let no_exemplar: Option<&Exemplar<NoLabels, u64>> = None;
                let seconds = Unit::Seconds;
                let bytes = Unit::Bytes;
                let help = |name: &str| FAMILIES.iter().find(|family| family.name == name).expect("a family").help;
                let mut acked = encoder.encode_descriptor("acked", help("acked"), Some(&bytes), MetricType::Counter)?;
                acked.encode_family(&labels)?.encode_counter(&7_u64, no_exemplar)?;
                let mut rtt = encoder.encode_descriptor("rtt", help("rtt"), Some(&seconds), MetricType::Histogram)?;
                rtt.encode_family(&labels)?.encode_histogram::<NoLabels>(0.1, 6, &BUCKETS, None)?;
                let help = help("look_age");
                let mut age = encoder.encode_descriptor("look_age", help, Some(&seconds), MetricType::Gauge)?;
                age.encode_gauge(&1.5)
            }
        }
        let mut samples = Samples::default();
        let labels = Labels::of(&[("name", "web"), ("cgroup", "/a\"b\\c\nd")]);
        samples.add("acked", labels.clone(), Value::Count(7));
        samples.add("rtt", labels, Value::Histogram(0.1, BUCKETS.to_vec()));
        samples.add("look_age", Labels::of(&[]), Value::Number(1.5));
        let mut registry = Registry::with_prefix("ccctl");
        registry.register_collector(Box::new(Theirs));
        let mut theirs = String::new();
        text::encode(&mut theirs, &registry).expect("a String takes everything");
        assert_eq!(samples.text(Format::OpenMetrics), theirs);
    }

    #[test]
    fn the_older_format_names_counters_in_full() {
        let text = samples().text(Format::Plain);
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
