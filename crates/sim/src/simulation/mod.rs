// SPDX-License-Identifier: GPL-2.0-only
//! A simulation: links, flows, and time.

mod step;

use std::sync::Arc;
use std::time::Duration;

use crate::network::clock::BitRate;
use crate::network::link::{Link, LinkSpec};
use crate::network::{Network, PacketBalance, Stall};
use crate::record::Call;
use crate::scenario::{Completion, FlowId, FlowSpec, LinkId, SimulationError};
use crate::tcp::{Receiver, Sender};
use crate::traffic::Workload;
use crate::view::{FlowView, LinkView};

/// A network and its flows, run in virtual time. The same links, flows and seed lead to the same states on any machine, and
/// it does not matter in how many steps one runs.
pub struct Simulation {
    seed: u64,
    network: Network,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    workloads: Vec<Workload>,
    transfers: Vec<(u64, u32)>, // of each flow: start and packets of the transfer under way
    completions: Vec<Completion>,
    rates: Vec<BitRate>,
    events: u64,
    events_limit: u64,
}

impl Simulation {
    /// An empty one at time 0.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            network: Network::new(),
            senders: Vec::new(),
            receivers: Vec::new(),
            workloads: Vec::new(),
            transfers: Vec::new(),
            completions: Vec::new(),
            rates: Vec::new(),
            events: 0,
            events_limit: u64::MAX,
        }
    }

    /// Gives up after so many events; for those who run what they did not write.
    pub fn limit_events(&mut self, events: u64) {
        self.events_limit = events;
    }

    /// The network will stand still then. The simulation's time is the network's. Stalls are added in the order of their times.
    pub fn add_stall(&mut self, stall: Stall) {
        self.network.add_stall(stall);
    }

    /// Adds a link, in one direction.
    pub fn add_link(&mut self, spec: &LinkSpec) -> LinkId {
        let index = self.network.links.len() as u32;
        self.network.links.push(Link::new(spec, self.seed, index));
        self.rates.push(spec.rate.mean());
        LinkId(index)
    }

    /// Adds a flow. It may be added while time goes on; a start in the past is now.
    pub fn add_flow(&mut self, spec: &FlowSpec) -> Result<FlowId, SimulationError> {
        let flow = self.senders.len() as u32;
        self.check(flow, spec)?;
        let links = |path: &[LinkId]| path.iter().map(|link| link.0).collect::<Vec<u32>>();
        let ns = |time: Duration| time.as_nanos() as u64;
        let (delay_ns, jitter_ns) = (ns(spec.access_delay), ns(spec.access_jitter));
        self.network.add_route(&links(&spec.path), &links(&spec.ack_path), delay_ns, jitter_ns, self.seed);
        let start_ns = ns(spec.start).max(self.network.now_ns);
        let mut sender = Sender::new(Arc::clone(&spec.instance), spec.tcp, flow, self.seed, spec.start);
        if start_ns > self.network.now_ns {
            sender.flow.release(); // the kernel would not have this socket yet
        }
        self.receivers.push(Receiver::new(&spec.tcp, sender.echo()));
        self.senders.push(sender);
        let stop_ns = spec.stop.map_or(u64::MAX, ns);
        self.workloads.push(Workload::new(spec.application, start_ns, stop_ns, spec.tcp.mss_bytes, self.seed, flow));
        self.transfers.push((0, 0));
        self.schedule_sender(flow as usize);
        Ok(FlowId(flow))
    }

    fn check(&self, flow: u32, spec: &FlowSpec) -> Result<(), SimulationError> {
        if spec.path.is_empty() || spec.path.len() > 255 || spec.ack_path.len() > 255 {
            return Err(SimulationError::Path { flow });
        }
        let links = spec.path.iter().chain(&spec.ack_path);
        if let Some(link) = links.map(|link| link.0).find(|link| *link as usize >= self.network.links.len()) {
            return Err(SimulationError::NoSuchLink { flow, link });
        }
        match spec.tcp.fault().or_else(|| self.xcp_fault(spec)) {
            Some(what) => Err(SimulationError::Tcp { flow, what }),
            None => Ok(()),
        }
    }

    /// What keeps a flow that asks for XCP from having it.
    fn xcp_fault(&self, spec: &FlowSpec) -> Option<&'static str> {
        let has_router = || spec.path.iter().any(|link| self.network.links[link.0 as usize].has_xcp_router());
        match () {
            () if !spec.tcp.xcp => None,
            () if spec.instance.controls_cwnd() => Some("XCP sets the window, and so does the algorithm"),
            () if !has_router() => Some("XCP needs a link with XCP's router on the path of the data"),
            () => None,
        }
    }

    /// Lets time pass until then, and checks that no packet was lost track of.
    pub fn run_until(&mut self, end: Duration) -> Result<(), SimulationError> {
        let end_ns = end.as_nanos() as u64;
        while let Some(event) = self.network.events.pop_until(end_ns) {
            self.events += 1;
            if self.events > self.events_limit {
                return Err(SimulationError::TooManyEvents(self.events_limit));
            }
            self.step(event);
        }
        self.network.pass_to(self.network.now_ns.max(end_ns));
        self.check_sums()
    }

    /// Lets time pass until then, and shows what there is to see after each interval: a time series.
    pub fn run_sampled(
        &mut self,
        end: Duration,
        interval: Duration,
        mut see: impl FnMut(&Self),
    ) -> Result<(), SimulationError> {
        let interval = interval.max(Duration::from_nanos(1));
        while self.now() < end {
            self.run_until((self.now() + interval).min(end))?;
            see(self);
        }
        Ok(())
    }

    fn check_sums(&self) -> Result<(), SimulationError> {
        let balance = self.network.balance();
        if balance.sent_pkts != balance.arrived_pkts + balance.dropped_pkts + balance.inside_pkts {
            return Err(SimulationError::Conservation(balance));
        }
        for (flow, sender) in self.senders.iter().enumerate() {
            if let Some(what) = sender.fault() {
                return Err(SimulationError::Inconsistent { flow: flow as u32, now: self.now(), what });
            }
        }
        Ok(())
    }

    /// From now on the calls of this flow's hooks are recorded, until its user begins another connection. Its algorithm
    /// begins anew.
    pub fn record(&mut self, flow: FlowId) {
        self.senders[flow.0 as usize].flow.record();
    }

    /// The calls since then, or since they were last taken.
    pub fn take_calls(&mut self, flow: FlowId) -> Vec<Call> {
        self.senders[flow.0 as usize].flow.take_calls()
    }

    /// The time that has been reached.
    #[must_use]
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.network.now_ns)
    }

    /// Events so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// All flows, in the order in which they were added.
    pub fn flows(&self) -> impl Iterator<Item = FlowId> {
        (0..self.senders.len() as u32).map(FlowId)
    }

    /// All links, likewise.
    pub fn links(&self) -> impl Iterator<Item = LinkId> {
        (0..self.network.links.len() as u32).map(LinkId)
    }

    /// A flow as it is now.
    #[must_use]
    pub fn flow(&self, flow: FlowId) -> FlowView<'_> {
        let index = flow.0 as usize;
        FlowView {
            sender: &self.senders[index],
            receiver: &self.receivers[index],
            dropped_pkts: self.network.dropped_pkts[index],
        }
    }

    /// A link as it is now.
    #[must_use]
    pub fn link(&self, link: LinkId) -> LinkView<'_> {
        let index = link.0 as usize;
        LinkView { link: &self.network.links[index], rate: self.rates[index], now_ns: self.network.now_ns }
    }

    /// Transfers that have ended, in the order of their ends.
    #[must_use]
    pub fn completions(&self) -> &[Completion] {
        &self.completions
    }

    /// What has become of all packets so far.
    #[must_use]
    pub fn balance(&self) -> PacketBalance {
        self.network.balance()
    }
}
