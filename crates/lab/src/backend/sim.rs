// SPDX-License-Identifier: GPL-2.0-only
//! The simulator as a backend.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ccctl_sim::{
    FlowId, FlowSpec, FlowView, Instance, LinkId, LinkSpec, LinkView, Loss, Simulation, TCP_INFINITE_SSTHRESH,
};

use super::outcome::{Flow, FlowSample, LinkSample, LinkSeries, Outcome, StateField, Transfer};
use super::{Backend, BackendError, Watch};
use crate::experiment::point_spec::{Group, Schedule};
use crate::experiment::PointSpec;
use crate::seed;

/// `ccctl-sim`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sim;

impl Backend for Sim {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn is_deterministic(&self) -> bool {
        true
    }

    fn check(&self, _setup: &PointSpec) -> Result<(), BackendError> {
        Ok(())
    }

    fn run(&self, setup: &PointSpec, seed: u64, watch: &Watch<'_>) -> Result<Outcome, BackendError> {
        let mut run = Run::new(setup, seed)?;
        run.sample();
        let mut now = Duration::ZERO;
        while now < setup.duration {
            now = (now + setup.sample_interval).min(setup.duration);
            run.simulation.run_until(now)?;
            run.sample();
            run.instances.iter().find_map(|it| it.fault()).map_or(Ok(()), |fault| Err(BackendError::Fault(fault)))?;
            watch.pass(now.as_secs_f64() / setup.duration.as_secs_f64())?;
        }
        Ok(run.finish())
    }
}

/// A simulation and what was seen of it.
struct Run {
    simulation: Simulation,
    flows: Vec<FlowId>,
    links: Vec<LinkId>,
    instances: Vec<Arc<Instance>>, // of each flow
    outcome: Outcome,
}

/// Links of a simulation by the number of the scenario's link.
struct Ways {
    forward: Vec<LinkId>,
    back: BTreeMap<usize, LinkId>,
}

impl Run {
    fn new(setup: &PointSpec, seed: u64) -> Result<Self, BackendError> {
        let mut simulation = Simulation::new(seed);
        setup.stalls.iter().for_each(|stall| simulation.add_stall(*stall));
        let forward = setup.links.iter().map(|link| simulation.add_link(&link.spec)).collect();
        let mut back = BTreeMap::new();
        for (number, link) in setup.links.iter().enumerate().filter(|(_, link)| link.back_is_link) {
            let spec = LinkSpec { loss: Loss::None, ..link.spec.clone() };
            back.insert(number, simulation.add_link(&spec));
        }
        let ways = Ways { forward, back };
        let links = ways.forward.clone();
        let series = links.iter().map(|_| LinkSeries::default()).collect();
        let outcome = Outcome { links: series, ..Outcome::default() };
        let mut run = Self { simulation, flows: Vec::new(), links, instances: Vec::new(), outcome };
        for (number, group) in setup.groups.iter().enumerate() {
            run.add_group(setup, &ways, number, group, seed)?;
        }
        Ok(run)
    }

    fn add_group(
        &mut self,
        setup: &PointSpec,
        ways: &Ways,
        number: usize,
        group: &Group,
        seed: u64,
    ) -> Result<(), BackendError> {
        let instance = Arc::new(Instance::new(&group.algorithm, &group.parameters)?);
        let mut spec = flow_spec(setup, ways, group, Arc::clone(&instance));
        for (flow, Schedule { start, stop }) in group.schedule.iter().enumerate() {
            spec.start =
                *start + spread(group.start_spread, seed::mix(&[seed, seed::START, number as u64, flow as u64]));
            spec.stop = *stop;
            self.flows.push(self.simulation.add_flow(&spec)?);
            let fields = instance.layout().state.iter();
            let state = fields.map(|field| StateField { name: field.name.clone(), values: Vec::new() }).collect();
            let (start, stop) = (spec.start, spec.stop);
            self.outcome.flows.push(Flow { group: number, number: flow, start, stop, samples: Vec::new(), state });
            self.instances.push(Arc::clone(&instance));
        }
        Ok(())
    }

    fn sample(&mut self) {
        self.outcome.times.push(self.simulation.now());
        for ((flow, id), instance) in self.outcome.flows.iter_mut().zip(&self.flows).zip(&self.instances) {
            let view = self.simulation.flow(*id);
            flow.samples.push(flow_sample(&view));
            let bytes = view.state_bytes();
            for (series, field) in flow.state.iter_mut().zip(&instance.layout().state) {
                series.values.push(field.value(&bytes).map(|value| value as i64));
            }
        }
        for (series, id) in self.outcome.links.iter_mut().zip(&self.links) {
            series.samples.push(link_sample(&self.simulation.link(*id)));
        }
    }

    fn finish(mut self) -> Outcome {
        let numbers: BTreeMap<FlowId, usize> =
            self.flows.iter().enumerate().map(|(number, id)| (*id, number)).collect();
        self.outcome.transfers = self
            .simulation
            .completions()
            .iter()
            .map(|it| Transfer { flow: numbers[&it.flow], pkts: it.pkts, started: it.started, finished: it.finished })
            .collect();
        self.outcome
    }
}

/// This share of a time, out of 2^64.
pub(super) fn spread(longest: Duration, share_q64: u64) -> Duration {
    let ns = (longest.as_nanos() * u128::from(share_q64)) >> 64;
    Duration::from_nanos(ns as u64)
}

fn flow_spec(setup: &PointSpec, ways: &Ways, group: &Group, instance: Arc<Instance>) -> FlowSpec {
    let there = || group.path.iter().map(|link| ways.forward[*link]).collect::<Vec<LinkId>>();
    let back = || group.path.iter().rev().filter_map(|link| ways.back.get(link).copied()).collect::<Vec<LinkId>>();
    let (path, ack_path) = if group.reverse { (back(), there()) } else { (there(), back()) };
    let only_delay = group.path.iter().filter(|link| !ways.back.contains_key(link));
    let way_back: Duration = only_delay.map(|link| setup.links[*link].spec.delay).sum();
    FlowSpec {
        path,
        ack_path,
        access_delay: group.access_delay * 2 + way_back,
        access_jitter: group.access_jitter,
        application: group.application,
        tcp: group.tcp,
        ..FlowSpec::bulk(instance, ways.forward[group.path[0]])
    }
}

fn flow_sample(view: &FlowView<'_>) -> FlowSample {
    let counters = view.counters();
    let ssthresh_pkts = view.ssthresh_pkts();
    FlowSample {
        cwnd_pkts: view.cwnd_pkts(),
        ssthresh_pkts: (ssthresh_pkts < TCP_INFINITE_SSTHRESH).then_some(ssthresh_pkts),
        srtt_us: view.srtt().as_micros() as u32,
        in_flight_pkts: view.packets_out(),
        pipe_pkts: view.in_flight_pkts(),
        ca_state: view.ca_state(),
        received_bytes: view.received_bytes(),
        acked_bytes: view.acked_bytes(),
        delivered_pkts: counters.delivered_pkts,
        delivered_ce_pkts: counters.delivered_ce_pkts,
        data_segments_sent_pkts: counters.sent_pkts,
        retransmits_pkts: counters.retransmitted_pkts,
        recoveries: counters.recoveries,
        mark_reductions: counters.mark_reductions,
        timeouts: counters.timeouts,
    }
}

fn link_sample(view: &LinkView<'_>) -> LinkSample {
    let counters = view.counters();
    LinkSample {
        queue_pkts: view.queue_pkts() as u64,
        waited_pkt_us: (counters.waited_pkt_ns / 1000) as u64,
        arrived_pkts: counters.arrived_pkts,
        dropped_pkts: counters.dropped_pkts(),
        lost_pkts: counters.lost_pkts,
        marked_pkts: counters.marked_pkts,
        delivered_pkts: counters.delivered_pkts,
        delivered_bytes: counters.delivered_bytes,
    }
}
