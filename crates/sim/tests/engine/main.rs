// SPDX-License-Identifier: GPL-2.0-only
//! The engine against what is known without it: closed forms of TCP's behaviour, RFCs, papers. No expected value comes from
//! the simulator.

mod application;
mod bbr;
mod bbr3;
mod closed_forms;
mod determinism;
mod ecn;
mod fixed_rate;
mod ledbatpp;
mod low_priority;
mod path;
mod prague;
mod queues;
mod random;
mod random_network;
mod recovery;
mod slow_start;
mod xcp;

use std::sync::Arc;
use std::time::Duration;

use ccctl_catalog::ParameterSet;
use ccctl_sim::{
    BitRate, DualPi2View, FlowId, FlowSpec, FlowView, Instance, Limit, LinkCounters, LinkId, LinkRate, LinkSpec, Loss,
    Queue, Simulation,
};

/// Of every packet on the wire, here and in the default of [`TcpSpec`](ccctl_sim::TcpSpec).
const PKT_BITS: f64 = 12_000.0;
const NO_LIMIT: Limit = Limit::Packets(10_000_000);

fn instance(algorithm: &str) -> Arc<Instance> {
    Arc::new(Instance::with_defaults(algorithm).expect("it exists"))
}

fn instance_with(algorithm: &str, parameters: &[(&str, &str)]) -> Arc<Instance> {
    let declared = ccctl_catalog::algorithm(algorithm).expect("it exists").layout();
    let mut set = ParameterSet::defaults(algorithm, &declared.parameters);
    for (name, value) in parameters {
        set.set(name, value).expect("a parameter");
    }
    Arc::new(Instance::new(algorithm, &set).expect("it exists"))
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn link(megabits: u64, queue: Queue) -> LinkSpec {
    LinkSpec::new(LinkRate::Constant(BitRate::mbit_per_s(megabits)), Duration::ZERO, queue)
}

/// Flows over one link.
struct Dumbbell {
    simulation: Simulation,
    link: LinkId,
    flows: Vec<FlowId>,
}

impl Dumbbell {
    fn new(link: &LinkSpec) -> Self {
        let mut simulation = Simulation::new(1);
        let link = simulation.add_link(link);
        Self { simulation, link, flows: Vec::new() }
    }

    /// A bulk flow with this RTT.
    fn with(mut self, algorithm: &str, rtt: Duration, change: impl FnOnce(&mut FlowSpec)) -> Self {
        let mut spec = FlowSpec::bulk(instance(algorithm), self.link);
        spec.access_delay = rtt;
        change(&mut spec);
        self.flows.push(self.simulation.add_flow(&spec).expect("a valid flow"));
        self
    }

    fn run_until(&mut self, end: Duration) {
        self.simulation.run_until(end).expect("a consistent simulation");
    }

    fn flow(&self, index: usize) -> FlowView<'_> {
        self.simulation.flow(self.flows[index])
    }

    fn link(&self) -> LinkCounters {
        self.simulation.link(self.link).counters()
    }

    fn queue_pkts(&self) -> usize {
        self.simulation.link(self.link).queue_pkts()
    }

    fn dual_pi2(&self) -> DualPi2View {
        self.simulation.link(self.link).dual_pi2().expect("the link has this queue")
    }

    /// Steps of this length, until then; what was seen after each.
    fn sample<T>(&mut self, step: Duration, end: Duration, mut see: impl FnMut(&Self) -> T) -> Vec<T> {
        let mut seen = Vec::new();
        while self.simulation.now() < end {
            self.run_until(self.simulation.now() + step);
            seen.push(see(self));
        }
        seen
    }

    /// Share of the link that was used between now and then.
    fn utilisation_until(&mut self, end: Duration) -> f64 {
        let (start, before) = (self.simulation.now(), self.link().delivered_bytes);
        self.run_until(end);
        let rate = self.simulation.link(self.link).rate().as_bits_per_s() as f64;
        (self.link().delivered_bytes - before) as f64 * 8.0 / rate / end.saturating_sub(start).as_secs_f64()
    }
}

/// One flow on a link that is never the bottleneck but loses packets.
fn lossy(algorithm: &str, megabits: u64, rtt: Duration, loss: Loss, change: impl FnOnce(&mut FlowSpec)) -> Dumbbell {
    Dumbbell::new(&LinkSpec { loss, ..link(megabits, Queue::DropTail(NO_LIMIT)) }).with(algorithm, rtt, change)
}

fn assert_near(actual: f64, expected: f64, tolerance: f64, what: &str) {
    let off = actual / expected - 1.0;
    assert!(off.abs() <= tolerance, "{what}: {actual:.4}, expected {expected:.4}, off by {:.1} %", off * 100.0);
}
