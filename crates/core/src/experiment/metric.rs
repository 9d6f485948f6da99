// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an experiment compares: each metric is one number per block, on the log scale, made of sums over all sockets.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use ccctl_inference::guard_rail::Worse;
use ccctl_inference::histogram::Histogram;
use ccctl_inference::pairs::Totals;
use ccctl_inference::Refusal;
use ccctl_telemetry::{fine_bound_us, Counts};
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A metric.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Metric {
    /// Bytes acknowledged per second in which the network limits a socket
    #[default]
    Goodput,
    /// Share of the bytes that were retransmissions
    Retransmits,
    /// Retransmission timeouts per million segments
    Timeouts,
    /// Median of the smoothed RTT less the smallest one, at each ACK
    QueueingP50,
    /// 95th percentile of the same
    QueueingP95,
}

/// Added to the sums above the line, so that a block without retransmissions or timeouts has a logarithm: one segment of
/// Ethernet, one timeout, 1 us. They are the same for all experiments.
const SEGMENT_BYTES: f64 = 1448.0;
const ONE_TIMEOUT: f64 = 1.0;
const ONE_US: f64 = 1.0;

impl Metric {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Goodput, Self::Retransmits, Self::Timeouts, Self::QueueingP50, Self::QueueingP95];

    /// As people call it.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Goodput => "goodput",
            Self::Retransmits => "retransmitted share",
            Self::Timeouts => "timeouts",
            Self::QueueingP50 => "queueing, median",
            Self::QueueingP95 => "queueing, 95th percentile",
        }
    }

    /// Is it a ratio of sums, and no quantile?
    #[must_use]
    pub fn is_ratio(self) -> bool {
        matches!(self, Self::Goodput | Self::Retransmits | Self::Timeouts)
    }

    /// Which direction is harm.
    #[must_use]
    pub fn worse(self) -> Worse {
        match self {
            Self::Goodput => Worse::Lower,
            _ => Worse::Higher,
        }
    }

    /// The value of a block, as a logarithm.
    pub fn log(self, sums: &Sums) -> Result<f64, Refusal> {
        match self {
            Self::Goodput => sums.ratio(sums.acked_bytes as f64, sums.network_limited_s).log_ratio(0.0),
            Self::Retransmits => {
                let all = sums.acked_bytes + sums.retransmitted_bytes;
                sums.ratio(sums.retransmitted_bytes as f64, all as f64).log_ratio(SEGMENT_BYTES)
            }
            Self::Timeouts => sums.ratio(sums.timeouts as f64, sums.data_segments as f64 / 1e6).log_ratio(ONE_TIMEOUT),
            Self::QueueingP50 => sums.queueing(0.5),
            Self::QueueingP95 => sums.queueing(0.95),
        }
    }

    /// The value as people read it.
    #[must_use]
    pub fn text(self, log: f64) -> String {
        let value = log.exp();
        match self {
            Self::Goodput => format!("{:.3} Mbit/s", value * 8e-6),
            Self::Retransmits => format!("{:.3} %", value * 100.0),
            Self::Timeouts => format!("{value:.1} per million"),
            Self::QueueingP50 | Self::QueueingP95 => format!("{:.3} ms", value * 1e-3),
        }
    }
}

impl Display for Metric {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.to_possible_value().as_ref().map_or("", |value| value.get_name()))
    }
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        <Self as ValueEnum>::from_str(text, false).map_err(|_| {
            let names = Self::ALL.map(|metric| metric.to_string());
            match ccctl_catalog::closest(text, names.iter().map(String::as_str)) {
                Some(similar) => format!("there is no metric {text:?}: did you mean {similar}?"),
                None => format!("there is no metric {text:?}: {}", names.join(", ")),
            }
        })
    }
}

/// What the sockets of a scope have done in some time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sums {
    /// Connections opened.
    pub opened: u64,
    /// Bytes acknowledged.
    pub acked_bytes: u64,
    /// Bytes retransmitted.
    pub retransmitted_bytes: u64,
    /// Segments with data that were sent.
    pub data_segments: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Time in which the network limited sockets, in seconds of all sockets together.
    pub network_limited_s: f64,
    /// ACKs by time in queues: bucket `2e + h` ends at `2^e (1 + (h + 1) / 2)` us.
    pub queueing_acks: Vec<u64>,
}

impl Sums {
    /// Of what the kernel has counted; `tick_s` is the length of a jiffy.
    #[must_use]
    pub fn of(counts: &Counts, tick_s: f64) -> Self {
        Self {
            opened: counts.opened,
            acked_bytes: counts.bytes_acked,
            retransmitted_bytes: counts.bytes_retransmitted,
            data_segments: counts.data_segments,
            timeouts: counts.timeouts,
            network_limited_s: counts.network_limited_jiffies as f64 * tick_s,
            queueing_acks: counts.queueing_us.to_vec(),
        }
    }

    /// Adds what others have done.
    pub fn add(&mut self, more: &Self) {
        self.opened += more.opened;
        self.acked_bytes += more.acked_bytes;
        self.retransmitted_bytes += more.retransmitted_bytes;
        self.data_segments += more.data_segments;
        self.timeouts += more.timeouts;
        self.network_limited_s += more.network_limited_s;
        let buckets = self.queueing_acks.len().max(more.queueing_acks.len());
        self.queueing_acks.resize(buckets, 0);
        self.queueing_acks.iter_mut().zip(&more.queueing_acks).for_each(|(sum, count)| *sum += count);
    }

    /// What was done since `before`; None where a counter went back, because the counting began anew.
    #[must_use]
    pub fn since(&self, before: &Self) -> Option<Self> {
        let count = |index: usize| before.queueing_acks.get(index).copied().unwrap_or(0);
        let acks = self.queueing_acks.iter().enumerate();
        Some(Self {
            opened: self.opened.checked_sub(before.opened)?,
            acked_bytes: self.acked_bytes.checked_sub(before.acked_bytes)?,
            retransmitted_bytes: self.retransmitted_bytes.checked_sub(before.retransmitted_bytes)?,
            data_segments: self.data_segments.checked_sub(before.data_segments)?,
            timeouts: self.timeouts.checked_sub(before.timeouts)?,
            network_limited_s: (self.network_limited_s - before.network_limited_s).max(0.0),
            queueing_acks: acks.map(|(index, now)| now.checked_sub(count(index))).collect::<Option<_>>()?,
        })
    }

    #[allow(clippy::unused_self)] // reads as a ratio of these sums
    fn ratio(&self, numerator: f64, denominator: f64) -> Totals {
        Totals { numerator, denominator }
    }

    fn queueing(&self, below: f64) -> Result<f64, Refusal> {
        let bounds = (0..self.queueing_acks.len()).map(fine_bound_us).collect();
        let quantile = Histogram::new(bounds, self.queueing_acks.clone())?.quantile(below)?;
        Ok((quantile + ONE_US).ln())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums() -> Sums {
        Sums {
            acked_bytes: 10_000_000,
            retransmitted_bytes: 0,
            data_segments: 7000,
            network_limited_s: 8.0,
            queueing_acks: vec![0, 0, 0, 0, 10],
            ..Sums::default()
        }
    }

    #[test]
    fn values_are_ratios_of_sums() {
        let value = |metric: Metric| metric.log(&sums()).expect("it has a value").exp();
        assert!((value(Metric::Goodput) - 1_250_000.0).abs() < 1e-3);
        assert!((value(Metric::Retransmits) - 1448.0 / 10_000_000.0).abs() < 1e-12);
        assert!((value(Metric::Timeouts) - 1.0 / 0.007).abs() < 1e-9);
        // bucket 4 is 4 to 6 us; its middle is 5, and 1 us is added
        assert!((value(Metric::QueueingP50) - 6.0).abs() < 1e-9);
        assert!(Metric::Goodput.log(&Sums::default()).is_err(), "no data has no value");
    }

    #[test]
    fn what_was_counted_since_is_a_difference_and_a_new_beginning_is_seen() {
        let mut later = sums();
        later.add(&sums());
        assert_eq!(later.since(&sums()), Some(sums()));
        assert_eq!(sums().since(&later), None);
    }

    #[test]
    fn names_are_read_back() {
        for metric in Metric::ALL {
            assert_eq!(metric.to_string().parse(), Ok(metric));
        }
        assert!("godput".parse::<Metric>().unwrap_err().contains("did you mean goodput"));
    }
}
