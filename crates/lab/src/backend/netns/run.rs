// SPDX-License-Identifier: GPL-2.0-only
//! A run: flows begin and end at their times, and everything is looked at in between.

use std::thread::sleep;
use std::time::{Duration, Instant};

use ccctl_catalog::Layout;

use super::super::outcome::{Flow, LinkSample, LinkSeries, Outcome, StateField, Transfer};
use super::super::sim::spread;
use super::super::{windows, BackendError, Watch};
use super::application::{self, Work};
use super::endpoints::Load;
use super::flow::{FlowPlan, RunningFlow};
use super::path_backend::{Road, RoadReport};
use super::plan::{path_spec, route, sysctls};
use super::{threshold, KernelAlgorithm, Netns};
use crate::experiment::point_spec::{Group, Schedule};
use crate::experiment::PointSpec;
use crate::seed;
use ccctl_path::{sender_v4, Affinity, Bounds, DirectionSample, PathSpec, PathTime, QueueSample, RECEIVER_V4};
use ccctl_sim::Application;
use ccctl_testbed::{TcpState, TcpStates, TestbedError};

/// Between two looks at a flow.
const LOOK: Duration = Duration::from_millis(10);
/// Between two samples.
const SHORTEST: Duration = Duration::from_millis(1);

impl From<TestbedError> for BackendError {
    fn from(error: TestbedError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Runs a setup that was checked. Other runs may have the router's processor meanwhile: nothing is done there.
pub(super) fn run(
    backend: &Netns<'_>,
    setup: &PointSpec,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<Outcome, BackendError> {
    Affinity::of_this_process()?.beside_endpoints(|| run_there(backend, setup, seed, watch))?
}

fn run_there(backend: &Netns<'_>, setup: &PointSpec, seed: u64, watch: &Watch<'_>) -> Result<Outcome, BackendError> {
    let mut spec = PathSpec { waiting: backend.waiting, ..path_spec(setup, seed) };
    spec.bounds = backend.bounds.unwrap_or_else(|| Bounds::of(&spec));
    let algorithms = provide(backend, setup)?;
    let path = Road::start(backend.path, &spec)?;
    for end in path.endpoints().all() {
        for (key, value) in sysctls(setup) {
            end.set_sysctl(key, value)?;
        }
    }
    for end in path.endpoints().all() {
        path.set_route(end, &route(setup))?;
    }
    threshold::set(&path, setup, &route(setup))?;
    let run = Run::new(setup, seed, &path, &algorithms)?;
    let (outcome, began, impossible) = path.endpoints().affinity().at_endpoints(|| run.carry_out(watch))??;
    let RoadReport { series, faults, timing } = path.stop(began)?;
    drop(algorithms); // only now does no socket use them
    finish(Outcome { path: timing, ..outcome }, &series, faults.into_iter().chain(impossible).collect())
}

/// One for each group.
fn provide(backend: &Netns<'_>, setup: &PointSpec) -> Result<Vec<Box<dyn KernelAlgorithm>>, BackendError> {
    let provide = |group: &Group| backend.algorithms.provide(&group.algorithm, &group.parameters);
    setup.groups.iter().map(provide).collect()
}

/// A flow of the scenario.
struct Planned {
    group: usize,
    schedule: Schedule,
    running: Option<RunningFlow>,
    is_stopped: bool,
}

struct Run<'a> {
    setup: &'a PointSpec,
    seed: u64,
    path: &'a Road,
    time: PathTime,
    bits_per_s: u64,
    algorithms: &'a [Box<dyn KernelAlgorithm>],
    layouts: Vec<Option<Layout>>, // of each group
    states: TcpStates,
    flows: Vec<Planned>,
    outcome: Outcome,
    began: Duration, // by the path's clock
    began_wall: Instant,
}

impl<'a> Run<'a> {
    fn new(
        setup: &'a PointSpec,
        seed: u64,
        path: &'a Road,
        algorithms: &'a [Box<dyn KernelAlgorithm>],
    ) -> Result<Self, BackendError> {
        let layout = |group: &Group| ccctl_catalog::algorithm(&group.algorithm).map(ccctl_catalog::Algorithm::layout);
        let layouts: Vec<_> = setup.groups.iter().map(layout).collect();
        let (mut flows, mut outcome) = (Vec::new(), Outcome::default());
        for (group, spec) in setup.groups.iter().enumerate() {
            for (number, schedule) in spec.schedule.iter().enumerate() {
                let late = spread(spec.start_spread, seed::mix(&[seed, seed::START, group as u64, number as u64]));
                let schedule = Schedule { start: schedule.start + late, stop: schedule.stop };
                flows.push(Planned { group, schedule, running: None, is_stopped: false });
                let fields = layouts[group].as_ref().map_or(&[][..], |layout| &layout.state);
                let state = fields.iter().map(|it| StateField { name: it.name.clone(), values: Vec::new() }).collect();
                let Schedule { start, stop } = schedule;
                outcome.flows.push(Flow { group, number, start, stop, samples: Vec::new(), state });
            }
        }
        let states = TcpStates::load()?;
        let bits_per_s = path_spec(setup, seed).forward.rate.mean().as_bits_per_s();
        let time = path.time();
        let (began, began_wall) = (time.now(), Instant::now());
        Ok(Self { setup, seed, path, time, bits_per_s, algorithms, layouts, states, flows, outcome, began, began_wall })
    }

    /// To the end; also tells when it began, and of windows that no algorithm can mean.
    fn carry_out(mut self, watch: &Watch<'_>) -> Result<(Outcome, Duration, Vec<String>), BackendError> {
        let duration = self.setup.duration;
        self.sample(Duration::ZERO)?;
        let mut next = self.setup.sample_interval.min(duration);
        loop {
            let now = self.now();
            self.begin_and_end(now)?;
            watch.pass((now.as_secs_f64() / duration.as_secs_f64()).min(1.0))?;
            if now >= next {
                self.sample(now)?;
                if next >= duration {
                    break;
                }
                next = (next + self.setup.sample_interval).min(duration);
            } else {
                self.look();
            }
            sleep(self.pause(next));
        }
        self.note_transfers();
        let of_flow =
            |(number, flow): (usize, &Planned)| Some(windows::reason(number, flow.running.as_ref()?.impossible()?));
        let impossible = self.flows.iter().enumerate().filter_map(of_flow).collect();
        Ok((self.outcome, self.began, impossible))
    }

    /// At those flows that send all the time. There may be hundreds of others, and what happens to them is in the samples.
    fn look(&mut self) {
        let groups = &self.setup.groups;
        let steady = self.flows.iter_mut().filter(|flow| application::is_steady(groups[flow.group].application));
        steady.filter_map(|flow| flow.running.as_mut()).for_each(|flow| _ = flow.look());
    }

    /// Since it began.
    fn now(&self) -> Duration {
        self.time.now().saturating_sub(self.began)
    }

    /// Until something is to be done.
    fn pause(&self, next_sample: Duration) -> Duration {
        let starts = self.flows.iter().filter(|flow| flow.running.is_none()).map(|flow| flow.schedule.start);
        let next = starts.fold(next_sample, Duration::min);
        next.saturating_sub(self.now()).min(LOOK)
    }

    fn begin_and_end(&mut self, now: Duration) -> Result<(), BackendError> {
        for number in 0..self.flows.len() {
            let flow = &self.flows[number];
            if flow.running.is_none() && flow.schedule.start <= now && flow.schedule.start < self.setup.duration {
                let running = RunningFlow::start(self.plan(number))?;
                self.flows[number].running = Some(running);
                self.outcome.flows[number].start = now;
            }
            let flow = &mut self.flows[number];
            let Some(running) = &flow.running else { continue };
            if let Some(failure) = running.failure() {
                return Err(BackendError::Failed(format!("flow {number}: {failure}")));
            }
            if !flow.is_stopped && flow.schedule.stop.is_some_and(|stop| stop <= now) {
                running.stop();
                flow.is_stopped = true;
            }
        }
        Ok(())
    }

    fn plan(&self, number: usize) -> FlowPlan<'a> {
        let group = self.flows[number].group;
        let spec = &self.setup.groups[group];
        let (sender, receiver) = (self.path.endpoints().sender(group), self.path.endpoints().receiver());
        let (from, to, address) =
            if spec.reverse { (receiver, sender, sender_v4(group)) } else { (sender, receiver, RECEIVER_V4) };
        let mss_bytes = spec.tcp.mss_bytes;
        FlowPlan {
            from,
            to,
            address,
            kernel_name: self.algorithms[group].kernel_name().to_owned(),
            load: self.load(spec),
            work: Work::new(spec.application, mss_bytes, self.seed, number as u32, &self.time),
            mss_bytes,
            initial_ssthresh_pkts: spec.tcp.initial_ssthresh_pkts,
        }
    }

    fn load(&self, group: &Group) -> Load {
        let bytes = match group.application {
            Application::Bulk => None,
            Application::Transfer { bytes } => Some(bytes),
            other => return Load::of_little(application::rate(other)),
        };
        let with_stop = group.schedule.iter().any(|schedule| schedule.stop.is_some());
        Load::new(bytes, self.bits_per_s, with_stop)
    }

    fn sample(&mut self, now: Duration) -> Result<(), BackendError> {
        // During a stall the path's time goes on for those who ask, and is taken back when the router notices.
        let earliest = self.outcome.times.last().map_or(Duration::ZERO, |last| *last + SHORTEST);
        self.outcome.times.push(now.max(earliest));
        let states = self.read_states()?;
        for (planned, flow) in self.flows.iter_mut().zip(&mut self.outcome.flows) {
            let running = planned.running.as_mut();
            let port = running.as_ref().and_then(|running| running.port());
            flow.samples.push(running.map_or_else(Default::default, RunningFlow::look));
            let found = states[planned.group].iter().find(|state| Some(state.port) == port);
            let fields = self.layouts[planned.group].as_ref().map_or(&[][..], |layout| &layout.state);
            for (series, field) in flow.state.iter_mut().zip(fields) {
                let before = series.values.last().copied().unwrap_or_default();
                let value = |state: &TcpState| field.value(&state.private).map(|value| value as i64);
                series.values.push(found.map_or(before, value)); // of a connection that has ended: the last one
            }
        }
        Ok(())
    }

    /// The connections of each group.
    fn read_states(&self) -> Result<Vec<Vec<TcpState>>, BackendError> {
        let read = |(number, group): (usize, &Group)| {
            let from =
                if group.reverse { self.path.endpoints().receiver() } else { self.path.endpoints().sender(number) };
            let has_state = self.layouts[number].as_ref().is_some_and(|layout| !layout.state.is_empty());
            if has_state {
                Ok(self.states.read(from)?)
            } else {
                Ok(Vec::new())
            }
        };
        self.setup.groups.iter().enumerate().map(read).collect()
    }

    fn note_transfers(&mut self) {
        for (number, planned) in self.flows.iter().enumerate() {
            let mss_bytes = u64::from(self.setup.groups[planned.group].tcp.mss_bytes).max(1);
            let done = planned.running.as_ref().map(RunningFlow::transfers).unwrap_or_default();
            let since = |at: Instant| at.saturating_duration_since(self.began_wall);
            let transfers = done.iter().map(|it| Transfer {
                flow: number,
                pkts: it.bytes.div_ceil(mss_bytes) as u32,
                started: since(it.started),
                finished: since(it.finished),
            });
            self.outcome.transfers.extend(transfers);
        }
        self.outcome.transfers.sort_by_key(|transfer| transfer.finished);
    }
}

/// Adds the link, or refuses the run.
fn finish(mut outcome: Outcome, series: &[QueueSample], reasons: Vec<String>) -> Result<Outcome, BackendError> {
    if !reasons.is_empty() {
        return Err(BackendError::Invalid { reasons });
    }
    let samples = outcome
        .times
        .iter()
        .map(|time| series.get(last_until(series, *time)).map_or_else(LinkSample::default, link_sample));
    outcome.links = vec![LinkSeries { samples: samples.collect() }];
    Ok(outcome)
}

/// The last look at the queue that is not after this time; the first, if all are.
fn last_until(series: &[QueueSample], time: Duration) -> usize {
    series.partition_point(|sample| sample.time <= time).saturating_sub(1)
}

fn link_sample(sample: &QueueSample) -> LinkSample {
    let DirectionSample { queue_pkts, waited_pkt_us, counters, .. } = sample.forward;
    LinkSample {
        queue_pkts,
        waited_pkt_us,
        arrived_pkts: counters.arrived_pkts,
        dropped_pkts: counters.dropped_pkts(),
        lost_pkts: counters.lost_pkts,
        marked_pkts: counters.marked_pkts,
        delivered_pkts: counters.delivered_pkts,
        delivered_bytes: counters.delivered_bytes,
    }
}
