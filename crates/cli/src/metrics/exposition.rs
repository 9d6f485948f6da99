// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text of a scrape: `OpenMetrics`, or the older format for those who do not ask for it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame};

use super::{Family, Kind, Sample, Value, FAMILIES};

/// A piece of the text is about this long.
const PIECE_BYTES: usize = 1 << 16;

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

/// Labels as they are written, with the brace behind them. All samples of a series share them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels(Arc<str>);

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
        if !text.is_empty() {
            text.push_str("} ");
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

    /// Their text, which is made piece by piece as it is asked for.
    pub fn text(self, format: Format) -> Text {
        Text {
            samples: self.0,
            families: FAMILIES.iter(),
            family: None,
            format,
            has_end: format == Format::OpenMetrics,
        }
    }
}

/// The text of a scrape in pieces, so that neither the whole nor what is written already is in memory. Of hundreds of series each
/// has some 60 lines with the same labels, which other writers make for each line.
#[derive(Debug)]
pub struct Text {
    samples: BTreeMap<&'static str, Vec<Sample>>,
    families: std::slice::Iter<'static, Family>,
    family: Option<(Heads, std::vec::IntoIter<Sample>)>,
    format: Format,
    has_end: bool,
}

impl Iterator for Text {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let mut text = String::with_capacity(PIECE_BYTES + PIECE_BYTES / 4);
        while text.len() < PIECE_BYTES && self.write(&mut text) {}
        (!text.is_empty()).then_some(text)
    }
}

impl Text {
    /// The next sample, head or end; false if there is no more.
    fn write(&mut self, text: &mut String) -> bool {
        if let Some((heads, samples)) = &mut self.family {
            if let Some(sample) = samples.next() {
                heads.write(text, &sample);
                return true;
            }
        }
        self.family = None;
        if let Some(family) = self.families.next() {
            if let Some(samples) = self.samples.remove(family.name) {
                write_head(text, family, self.format);
                self.family = Some((Heads::new(family), samples.into_iter()));
            }
            return true;
        }
        if self.has_end {
            text.push_str("# EOF\n");
        }
        std::mem::take(&mut self.has_end)
    }
}

impl Body for Text {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.next().map(|piece| Ok(Frame::data(Bytes::from(piece)))))
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

/// What stands before the value: of a sample with labels, and of one without.
#[derive(Debug)]
struct Head {
    labelled: String,
    bare: String,
}

impl Head {
    /// Of a name, and the label that a bucket has for its bound.
    fn new(name: &str, bound: Option<f64>) -> Self {
        match bound {
            None => Self { labelled: format!("{name}{{"), bare: format!("{name} ") },
            Some(f64::INFINITY) => Self::of_bucket(name, "+Inf"),
            Some(bound) => Self::of_bucket(name, dtoa::Buffer::new().format(bound)),
        }
    }

    fn of_bucket(name: &str, bound: &str) -> Self {
        let bare = format!("{name}{{le=\"{bound}\"");
        Self { labelled: format!("{bare},"), bare: format!("{bare}}} ") }
    }

    fn write(&self, text: &mut String, labels: &Labels, value: &str) {
        if labels.0.is_empty() {
            text.push_str(&self.bare);
        } else {
            text.push_str(&self.labelled);
            text.push_str(&labels.0);
        }
        text.push_str(value);
        text.push('\n');
    }
}

/// How the lines of a family begin.
#[derive(Debug)]
struct Heads {
    name: String,
    /// Of the value, or of a histogram's sum and count.
    whole: Vec<Head>,
    /// Of each bucket; all histograms of a family share them.
    buckets: Vec<(f64, Head)>,
}

impl Heads {
    fn new(family: &Family) -> Self {
        let name = family.full_name();
        let endings: &[&str] = if family.kind == Kind::Histogram { &["_sum", "_count"] } else { &[""] };
        let whole = endings.iter().map(|ending| Head::new(&format!("{name}{ending}"), None)).collect();
        Self { whole, buckets: Vec::new(), name }
    }

    fn write(&mut self, text: &mut String, Sample { labels, value }: &Sample) {
        let (mut whole, mut other) = (itoa::Buffer::new(), dtoa::Buffer::new());
        match value {
            Value::Count(value) => self.whole[0].write(text, labels, whole.format(*value)),
            Value::Number(value) => self.whole[0].write(text, labels, other.format(*value)),
            Value::Histogram(sum, buckets) => {
                let count: u64 = buckets.iter().map(|(_, count)| count).sum();
                self.whole[0].write(text, labels, other.format(*sum));
                self.whole[1].write(text, labels, whole.format(count));
                let mut seen = 0;
                for (index, (bound, count)) in buckets.iter().enumerate() {
                    seen += count;
                    self.bucket(index, *bound).write(text, labels, whole.format(seen));
                }
            }
        }
    }

    fn bucket(&mut self, index: usize, bound: f64) -> &Head {
        if self.buckets.get(index).is_none_or(|(known, _)| known.to_bits() != bound.to_bits()) {
            self.buckets.truncate(index);
            self.buckets.push((bound, Head::new(&format!("{}_bucket", self.name), Some(bound))));
        }
        &self.buckets[index].1
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
        let text = samples().text(Format::OpenMetrics).collect::<String>();
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
        assert_eq!(samples.text(Format::OpenMetrics).collect::<String>(), theirs);
    }

    /// Of hundreds of series the text is never in memory as a whole; each family has its head once.
    #[test]
    fn a_long_text_comes_in_pieces() {
        let mut samples = Samples::default();
        for number in 0..500 {
            let labels = Labels::of(&[("name", "web"), ("cgroup", &format!("/service-{number}"))]);
            samples.add("rtt", labels.clone(), Value::Histogram(0.5, BUCKETS.to_vec()));
            samples.add("acked", labels, Value::Count(number));
        }
        let pieces: Vec<String> = samples.text(Format::OpenMetrics).collect();
        assert!(pieces.len() > 2 && pieces.iter().all(|piece| piece.len() < 2 * PIECE_BYTES), "{}", pieces.len());
        let text = pieces.concat();
        let count = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
        assert_eq!([count("# TYPE ccctl_rtt_seconds "), count("# TYPE ccctl_acked_bytes "), count("# EOF")], [1, 1, 1]);
        assert_eq!([count("ccctl_rtt_seconds_bucket{"), count("ccctl_acked_bytes_total{")], [500 * BUCKETS.len(), 500]);
    }

    #[test]
    fn the_older_format_names_counters_in_full() {
        let text = samples().text(Format::Plain).collect::<String>();
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
