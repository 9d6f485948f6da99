// SPDX-License-Identifier: GPL-2.0-only
//! What one point of a sweep asks a backend for: everything resolved, nothing left to look up.

use std::time::Duration;

use ccctl_catalog::ParameterSet;
use ccctl_sim::{Application, Codel, DualPi2, Limit, LinkSpec, Loss, Queue, Red, Stall, TcpSpec};

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
    /// Times at which the network stands still, in their order.
    pub stalls: Vec<Stall>,
}

/// A link.
#[derive(Debug, Clone)]
pub struct Link {
    /// How measures call it.
    pub name: String,
    /// Speed, delay, queue and loss of the forward direction.
    pub spec: LinkSpec,
    /// File of its rate, as the scenario names it; none: constant.
    pub trace_file: Option<String>,
    /// The way back is a link as well, not only a delay.
    pub back_is_link: bool,
    /// Size of a packet of the group that the link's BDP is reckoned for.
    pub packet_bytes: u32,
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

impl Link {
    /// What the queue holds at most, in packets.
    #[must_use]
    pub fn queue_size_pkts(&self) -> f64 {
        match self.spec.queue {
            Queue::DropTail(limit) | Queue::Threshold { limit, .. } | Queue::Step { limit, .. } | Queue::Xcp(limit) => {
                match limit {
                    Limit::Bytes(bytes) => bytes as f64 / f64::from(self.packet_bytes.max(1)),
                    Limit::Packets(pkts) => pkts.into(),
                }
            }
            Queue::Red(Red { limit_pkts, .. })
            | Queue::Codel(Codel { limit_pkts, .. })
            | Queue::DualPi2(DualPi2 { limit_pkts, .. }) => limit_pkts.into(),
        }
    }

    /// The rate, or a trace's mean.
    #[must_use]
    pub fn bits_per_s(&self) -> u64 {
        self.spec.rate.mean().as_bits_per_s()
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
            .map(|link| &link.spec)
            .any(|link| link.loss != Loss::None || !link.jitter.is_zero() || matches!(link.queue, Queue::Red(_)));
        let by_groups = self.groups.iter().filter(|group| !group.schedule.is_empty()).any(|group| {
            let by_application = matches!(
                group.application,
                Application::OnOff { .. } | Application::Web(_) | Application::Short { .. }
            );
            by_application || !group.start_spread.is_zero() || !group.access_jitter.is_zero()
        });
        by_links || by_groups
    }
}
