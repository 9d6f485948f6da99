// SPDX-License-Identifier: GPL-2.0-only
//! What a simulation is made of, and what it says of itself.

use std::sync::Arc;
use std::time::Duration;

use crate::native::Instance;
use crate::network::PacketBalance;
use crate::tcp::TcpSpec;
use crate::traffic::Application;

/// A link of a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub(crate) u32);

/// A flow of a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub(crate) u32);

/// A flow: an algorithm, a path, an application.
#[derive(Clone)]
pub struct FlowSpec {
    /// Algorithm and parameters. Flows may share it.
    pub instance: Arc<Instance>,
    /// The links that its data crosses, in this order; at least one.
    pub path: Vec<LinkId>,
    /// The links that its ACKs cross; none: they meet with nothing but the delay below.
    pub ack_path: Vec<LinkId>,
    /// What the RTT has beyond the delays of the links, there and back together.
    pub access_delay: Duration,
    /// Up to so much more for each ACK, in order. A little of it breaks the artificial synchrony of simulated flows.
    pub access_jitter: Duration,
    /// When the application begins.
    pub start: Duration,
    /// When it ends.
    pub stop: Option<Duration>,
    /// What it sends.
    pub application: Application,
    /// Both ends' TCP.
    pub tcp: TcpSpec,
}

impl FlowSpec {
    /// A bulk transfer from time 0 on, over one link.
    #[must_use]
    pub fn bulk(instance: Arc<Instance>, link: LinkId) -> Self {
        Self {
            instance,
            path: vec![link],
            ack_path: Vec::new(),
            access_delay: Duration::ZERO,
            access_jitter: Duration::ZERO,
            start: Duration::ZERO,
            stop: None,
            application: Application::Bulk,
            tcp: TcpSpec::default(),
        }
    }
}

/// A transfer that was acknowledged to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Whose.
    pub flow: FlowId,
    /// Packets.
    pub pkts: u32,
    /// When it was written.
    pub started: Duration,
    /// When its last packet was acknowledged.
    pub finished: Duration,
}

impl Completion {
    /// How long it took.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.finished.saturating_sub(self.started)
    }
}

/// Why a simulation cannot be made, or is not to be believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SimulationError {
    /// A path without links, or one that is too long.
    #[error("flow {flow}: a path has 1 to 255 links, and the way back at most 255")]
    Path {
        /// Which.
        flow: u32,
    },
    /// A link that was not added.
    #[error("flow {flow}: there is no link {link}")]
    NoSuchLink {
        /// Which flow.
        flow: u32,
        /// Which link.
        link: u32,
    },
    /// A TCP setting that makes no connection.
    #[error("flow {flow}: {what}")]
    Tcp {
        /// Which flow.
        flow: u32,
        /// What is wrong.
        what: &'static str,
    },
    /// Packets were made or destroyed: an error of the simulator.
    #[error("packets were not conserved: {0:?}")]
    Conservation(PacketBalance),
    /// A connection's sums do not agree: an error of the simulator.
    #[error("flow {flow} at {now:?}: {what}")]
    Inconsistent {
        /// Which flow.
        flow: u32,
        /// When it was found.
        now: Duration,
        /// What does not agree.
        what: &'static str,
    },
    /// More events than were allowed.
    #[error("more than {0} events")]
    TooManyEvents(u64),
}
