// SPDX-License-Identifier: GPL-2.0-only
//! What one point of a sweep asks a backend for: everything resolved, nothing left to look up.

use std::sync::Arc;
use std::time::Duration;

use ccctl_catalog::ParameterSet;
use ccctl_sim::{RateTrace, TcpSpec};

/// An experiment, one point of a sweep.
#[derive(Debug, Clone)]
pub struct PointSpec {
    /// Links, forward direction.
    pub links: Vec<Link>,
    /// Groups of flows; a group of none is there, too.
    pub groups: Vec<Group>,
    /// Length.
    pub duration: Duration,
    /// Averages are taken from here
    pub window: (Duration, Duration),
    /// Between two samples.
    pub sample_interval: Duration,
    /// Rates over time are means over this.
    pub rate_interval: Duration,
}

/// A link.
#[derive(Debug, Clone)]
pub struct Link {
    /// How measures call it.
    pub name: String,
    /// Speed.
    pub rate: LinkRate,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// Up to so much more for each packet.
    pub jitter: Duration,
    /// Where packets wait.
    pub queue: Queue,
    /// What is lost on the way.
    pub loss: Loss,
    /// The way back is a link as well, not only a delay.
    pub back_is_link: bool,
    /// Size of a packet of the group that the link's BDP is reckoned for.
    pub packet_bytes: u32,
}

/// A link's speed.
#[derive(Debug, Clone)]
pub enum LinkRate {
    /// Bits per second.
    Constant(u64),
    /// Times of opportunities.
    Trace {
        /// The file, as the scenario names it.
        file: String,
        /// What it says.
        trace: Arc<RateTrace>,
    },
}

/// A queue's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Packets.
    Packets(u32),
    /// Bytes.
    Bytes(u64),
}

/// A queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Queue {
    /// Drops what does not fit.
    Droptail(Size),
    /// Marks above a length.
    Threshold {
        /// That length.
        mark_above_pkts: u32,
        /// What fits.
        size: Size,
    },
    /// Random early detection.
    Red {
        /// No early drops below.
        min_threshold_pkts: u32,
        /// `max_probability` is reached.
        max_threshold_pkts: u32,
        /// Probability there.
        max_probability: f64,
        /// Weight 2^-shift of the average.
        weight_shift: u32,
        /// Rises to 1 beyond.
        gentle: bool,
        /// Marks.
        ecn: bool,
        /// What fits.
        limit_pkts: u32,
    },
    /// Controlled delay.
    Codel {
        /// Delay that may stand.
        target: Duration,
        /// For how long a queue may stand.
        interval: Duration,
        /// Marks.
        ecn: bool,
        /// What fits.
        limit_pkts: u32,
    },
}

/// A law of loss; probabilities are of single packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    /// None.
    None,
    /// Each packet alike.
    Bernoulli(f64),
    /// Two states.
    GilbertElliott {
        /// After a packet.
        good_to_bad: f64,
        /// After a packet.
        bad_to_good: f64,
        /// Of a packet.
        loss_in_good: f64,
        /// Of a packet.
        loss_in_bad: f64,
    },
}

/// A group of alike flows.
#[derive(Debug, Clone)]
pub struct Group {
    /// How measures call it.
    pub name: String,
    /// Name of the catalogue.
    pub algorithm: String,
    /// All its parameters.
    pub parameters: ParameterSet,
    /// Of each flow: when it begins and ends, before `start_spread`; no end: the run's.
    pub schedule: Vec<Schedule>,
    /// Each flow begins up to so much later, by the seed.
    pub start_spread: Duration,
    /// What is sent.
    pub application: Application,
    /// Numbers of links, in the order in which data crosses them.
    pub path: Vec<usize>,
    /// Data crosses them against their direction.
    pub reverse: bool,
    /// Beyond the links, one way.
    pub access_delay: Duration,
    /// Up to so much more for each ACK.
    pub access_jitter: Duration,
    /// Both ends.
    pub tcp: TcpSpec,
    /// RTT without queues.
    pub base_rtt: Duration,
}

/// When a flow begins and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// From then
    pub start: Duration,
    /// until then.
    pub stop: Option<Duration>,
}

/// What an application sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Application {
    /// As much as possible.
    Bulk,
    /// One transfer.
    Transfer {
        /// Its length.
        bytes: u64,
    },
    /// Evenly.
    Limited {
        /// Rate.
        bits_per_s: u64,
    },
    /// On and off.
    OnOff {
        /// Mean.
        on: Duration,
        /// Mean.
        off: Duration,
        /// Rate when on.
        bits_per_s: u64,
    },
    /// A user of the web.
    Web(ccctl_sim::WebUser),
}

impl LinkRate {
    /// The rate, or a trace's mean.
    #[must_use]
    pub fn bits_per_s(&self) -> u64 {
        match self {
            Self::Constant(bits) => *bits,
            Self::Trace { trace, .. } => trace.mean().as_bits_per_s(),
        }
    }
}

impl Size {
    /// In packets of this size.
    #[must_use]
    pub fn pkts(self, packet_bytes: u32) -> f64 {
        match self {
            Self::Packets(pkts) => f64::from(pkts),
            Self::Bytes(bytes) => bytes as f64 / f64::from(packet_bytes.max(1)),
        }
    }
}

impl Link {
    /// What the queue holds at most, in packets.
    #[must_use]
    pub fn queue_size_pkts(&self) -> f64 {
        match self.queue {
            Queue::Droptail(size) | Queue::Threshold { size, .. } => size.pkts(self.packet_bytes),
            Queue::Red { limit_pkts, .. } | Queue::Codel { limit_pkts, .. } => f64::from(limit_pkts),
        }
    }
}

impl Group {
    /// Size of a data packet.
    #[must_use]
    pub fn packet_bytes(&self) -> u32 {
        u32::from(self.tcp.mss_bytes) + u32::from(self.tcp.header_bytes)
    }
}

impl PointSpec {
    /// The group of this name.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// Does a seed change anything?
    #[must_use]
    pub fn is_random(&self) -> bool {
        let by_links = self
            .links
            .iter()
            .any(|link| link.loss != Loss::None || !link.jitter.is_zero() || matches!(link.queue, Queue::Red { .. }));
        let by_groups = self.groups.iter().filter(|group| !group.schedule.is_empty()).any(|group| {
            let by_application = matches!(group.application, Application::OnOff { .. } | Application::Web(_));
            by_application || !group.start_spread.is_zero() || !group.access_jitter.is_zero()
        });
        by_links || by_groups
    }
}
