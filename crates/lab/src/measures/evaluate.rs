// SPDX-License-Identifier: GPL-2.0-only
//! Measures of a run: what a [`Reference`] is worth in an [`Outcome`].

use std::collections::BTreeSet;
use std::time::Duration;

use super::fairness;
use super::reference::{Reference, Subject};
use crate::backend::{Flow, FlowSample, LinkSample, Outcome};
use crate::experiment::point_spec::{Link, PointSpec};

/// `convergence_time`: rates within this share of the mean,
const EQUAL_WITHIN: f64 = 0.1;
/// for so many intervals.
const EQUAL_FOR: usize = 10;

/// A run and the experiment that it was.
#[derive(Clone, Copy)]
pub struct Evaluation<'a> {
    /// The experiment.
    pub setup: &'a PointSpec,
    /// The run.
    pub outcome: &'a Outcome,
}

impl Evaluation<'_> {
    /// The value, if there is one. Of a measure that compares with a baseline, its part at this point.
    #[must_use]
    pub fn value(&self, reference: &Reference) -> Option<f64> {
        let reference = reference.at_each_point();
        let (from, to) = reference.window.unwrap_or(self.setup.window);
        let window = Window { setup: self.setup, outcome: self.outcome, from, to };
        match &reference.subject {
            Subject::Flows(groups) => window.of_flows(&reference, &window.flows(groups)),
            Subject::Pair(a, b) => window.of_pair(&reference.name, &window.flows(a), &window.flows(b)),
            Subject::Link(name) => {
                let number = self.setup.links.iter().position(|link| link.name == *name)?;
                window.of_link(&reference.name, number)
            }
        }
        .filter(|value| value.is_finite())
    }

    /// Mean rate of each flow over the window of averages, in Mbit/s.
    #[must_use]
    pub fn goodputs_mbit_per_s(&self) -> Vec<f64> {
        let (from, to) = self.setup.window;
        let window = Window { setup: self.setup, outcome: self.outcome, from, to };
        self.outcome.flows.iter().map(|flow| window.goodput(flow)).collect()
    }
}

fn srtt_ms(sample: &FlowSample) -> Option<f64> {
    (sample.srtt_us > 0).then(|| f64::from(sample.srtt_us) / 1e3)
}

/// A run between two times.
struct Window<'a> {
    setup: &'a PointSpec,
    outcome: &'a Outcome,
    from: Duration,
    to: Duration,
}

impl<'a> Window<'a> {
    /// The flows of these groups; of all without a name.
    fn flows(&self, groups: &[String]) -> Vec<&'a Flow> {
        let is_meant = |flow: &&Flow| groups.is_empty() || groups.contains(&self.setup.groups[flow.group].name);
        self.outcome.flows.iter().filter(is_meant).collect()
    }

    fn of_flows(&self, reference: &Reference, flows: &[&Flow]) -> Option<f64> {
        if flows.is_empty() {
            return None;
        }
        if let Some(field) = reference.state_field() {
            return self.state_mean(field, flows);
        }
        let goodputs = || flows.iter().map(|flow| self.goodput(flow)).collect::<Vec<f64>>();
        let sum =
            |counter: fn(&FlowSample) -> u64| flows.iter().map(|flow| self.difference(flow, counter)).sum::<f64>();
        match reference.name.as_str() {
            "goodput" => Some(goodputs().iter().sum()),
            "goodput_per_flow" => fairness::mean(&goodputs()),
            "goodput_p90" => {
                let together = |rates: &Vec<f64>| rates.iter().sum();
                let sums: Vec<f64> = self.rates(flows, self.from, self.to).iter().map(together).collect();
                fairness::percentile(&sums, 0.9)
            }
            "share" => self.share(flows),
            "slow_over_fast" => fairness::slow_over_fast(&goodputs()),
            "sigma_f" => fairness::sigma_f(&goodputs()),
            "xi_f" => fairness::xi_f(&self.rates(flows, self.from, self.to), fairness::mean(&goodputs())?),
            "xi_f_rms" => fairness::xi_f_rms(&self.rates(flows, self.from, self.to), fairness::mean(&goodputs())?),
            "jain" => fairness::jain(&goodputs()),
            "convergence_time" => self.convergence_time_s(flows),
            "smoothness" => fairness::smoothness(&self.rates(flows, self.from, self.to)),
            "retransmits" => Some(sum(|it| it.retransmits_pkts)),
            "retransmit_rate" => {
                fairness::quotient(100.0 * sum(|it| it.retransmits_pkts), sum(|it| it.data_segments_sent_pkts))
            }
            "rtos" => Some(sum(|it| it.timeouts)),
            "loss_epochs" => Some(sum(FlowSample::loss_epochs)),
            "backoff" => self.backoff(flows),
            "cwnd_mean" => fairness::mean(&self.samples(flows, |it| Some(f64::from(it.cwnd_pkts)))),
            "cwnd_peak" => self.samples(flows, |it| Some(f64::from(it.cwnd_pkts))).into_iter().reduce(f64::max),
            "srtt_mean" => fairness::mean(&self.samples(flows, srtt_ms)),
            "srtt_p95" => fairness::percentile(&self.samples(flows, srtt_ms), 0.95),
            "fct_mean" => fairness::mean(&self.completion_times_s(flows)),
            "fct_p50" => fairness::percentile(&self.completion_times_s(flows), 0.5),
            "fct_p95" => fairness::percentile(&self.completion_times_s(flows), 0.95),
            "fct_p99" => fairness::percentile(&self.completion_times_s(flows), 0.99),
            "transfers" => Some(self.completion_times_s(flows).len() as f64),
            name => unreachable!("{name} is not a measure of flows"),
        }
    }

    fn of_pair(&self, name: &str, a: &[&Flow], b: &[&Flow]) -> Option<f64> {
        let mean = |flows: &[&Flow]| fairness::mean(&flows.iter().map(|flow| self.goodput(flow)).collect::<Vec<f64>>());
        match name {
            "throughput_ratio" => fairness::quotient(mean(a)?, mean(b)?),
            "asymmetry" => fairness::asymmetry(mean(a)?, mean(b)?),
            name => unreachable!("{name} is not a measure of two groups"),
        }
    }

    fn of_link(&self, name: &str, number: usize) -> Option<f64> {
        let (link, samples): (&Link, &[LinkSample]) = (&self.setup.links[number], &self.outcome.links[number].samples);
        let difference = |counter: fn(&LinkSample) -> u64| {
            let at = |time| self.at(time, samples, |it| counter(it) as f64);
            at(self.to) - at(self.from)
        };
        let queues = || {
            let inside = self.outcome.times.iter().zip(samples).filter(|(time, _)| self.contains(**time));
            inside.map(|(_, it)| it.queue_pkts as f64).collect::<Vec<f64>>()
        };
        let queue_mean = || difference(|it| it.waited_pkt_us) / 1e6 / self.length_s();
        match name {
            "utilisation" => {
                let bits = difference(|it| it.delivered_bytes) * 8.0;
                Some(100.0 * bits / (link.bits_per_s() as f64 * self.length_s()))
            }
            "queue_mean" => Some(queue_mean()),
            "queue_p95" => fairness::percentile(&queues(), 0.95),
            "queue_peak" => queues().into_iter().reduce(f64::max),
            "queue_normalised" => fairness::quotient(queue_mean(), link.queue_size_pkts()),
            "loss_rate" => {
                let gone = difference(|it| it.dropped_pkts + it.lost_pkts);
                fairness::quotient(100.0 * gone, difference(|it| it.arrived_pkts))
            }
            "drops" => Some(difference(|it| it.dropped_pkts)),
            "losses" => Some(difference(|it| it.lost_pkts)),
            "marks" => Some(difference(|it| it.marked_pkts)),
            name => unreachable!("{name} is not a measure of a link"),
        }
    }

    fn length_s(&self) -> f64 {
        self.to.saturating_sub(self.from).as_secs_f64()
    }

    /// Samples at the beginning belong to what was before.
    fn contains(&self, time: Duration) -> bool {
        self.from < time && time <= self.to
    }

    /// A counter at a time; between two samples on the line that joins them.
    fn at<T>(&self, time: Duration, samples: &[T], counter: impl Fn(&T) -> f64) -> f64 {
        let times = &self.outcome.times;
        let after = times.partition_point(|known| *known < time).min(times.len().saturating_sub(1));
        let (Some(right), Some(right_time)) = (samples.get(after), times.get(after)) else { return 0.0 };
        if after == 0 || *right_time <= time {
            return counter(right);
        }
        let (left, left_time) = (&samples[after - 1], times[after - 1]);
        let share = time.saturating_sub(left_time).as_secs_f64() / right_time.saturating_sub(left_time).as_secs_f64();
        counter(left) + share * (counter(right) - counter(left))
    }

    fn difference(&self, flow: &Flow, counter: fn(&FlowSample) -> u64) -> f64 {
        let at = |time| self.at(time, &flow.samples, |it| counter(it) as f64);
        at(self.to) - at(self.from)
    }

    fn goodput(&self, flow: &Flow) -> f64 {
        self.difference(flow, |it| it.received_bytes) * 8.0 / 1e6 / self.length_s()
    }

    fn share(&self, flows: &[&Flow]) -> Option<f64> {
        let path = &self.setup.groups[flows.first()?.group].path;
        let slowest = path.iter().map(|link| self.setup.links[*link].bits_per_s()).min()?;
        let sum: f64 = flows.iter().map(|flow| self.goodput(flow)).sum();
        fairness::quotient(100.0 * sum * 1e6, slowest as f64)
    }

    /// Rates of the flows in Mbit/s, interval by interval; what is left of the time at its end is not counted.
    fn rates(&self, flows: &[&Flow], from: Duration, to: Duration) -> Vec<Vec<f64>> {
        let interval = self.setup.rate_interval;
        let count = (to.saturating_sub(from).as_nanos() / interval.as_nanos().max(1)) as u32;
        let received = |flow: &Flow, time| self.at(time, &flow.samples, |it| it.received_bytes as f64);
        let rate = |flow: &Flow, number: u32| {
            let (left, right) = (from + interval * number, from + interval * (number + 1));
            (received(flow, right) - received(flow, left)) * 8.0 / 1e6 / interval.as_secs_f64()
        };
        (0..count).map(|number| flows.iter().map(|flow| rate(flow, number)).collect()).collect()
    }

    /// From the last start; the rest of the run, a lower bound, where they do not converge.
    fn convergence_time_s(&self, flows: &[&Flow]) -> Option<f64> {
        let start = flows.iter().map(|flow| flow.start).max()?;
        let stop =
            flows.iter().filter_map(|flow| flow.stop).min().unwrap_or(self.setup.duration).min(self.setup.duration);
        let interval_s = self.setup.rate_interval.as_secs_f64();
        let rates = self.rates(flows, start, stop);
        let converged_s = fairness::converged_at(&rates, EQUAL_WITHIN, EQUAL_FOR).map(|at| at as f64 * interval_s);
        Some(converged_s.unwrap_or_else(|| stop.saturating_sub(start).as_secs_f64()))
    }

    /// Was the flow there at this sample of the window?
    fn is_present(&self, flow: &Flow, time: Duration) -> bool {
        self.contains(time) && time > flow.start && flow.stop.is_none_or(|stop| time <= stop)
    }

    /// A value of all samples of the window in which the flows were there.
    fn samples(&self, flows: &[&Flow], value: impl Fn(&FlowSample) -> Option<f64>) -> Vec<f64> {
        let mut values = Vec::new();
        for flow in flows {
            let present =
                self.outcome.times.iter().zip(&flow.samples).filter(|(time, _)| self.is_present(flow, **time));
            values.extend(present.filter_map(|(_, it)| value(it)));
        }
        values
    }

    /// The new threshold over the window of the sample before, for intervals with one loss epoch.
    fn backoff(&self, flows: &[&Flow]) -> Option<f64> {
        let times = &self.outcome.times;
        let mut factors = Vec::new();
        for flow in flows {
            let pairs = times.iter().skip(1).zip(flow.samples.windows(2)).filter(|(time, _)| self.contains(**time));
            for (_, pair) in pairs {
                if pair[1].loss_epochs() != pair[0].loss_epochs() + 1 || pair[0].cwnd_pkts == 0 {
                    continue;
                }
                factors.extend(pair[1].ssthresh_pkts.map(|pkts| f64::from(pkts) / f64::from(pair[0].cwnd_pkts)));
            }
        }
        fairness::mean(&factors)
    }

    fn completion_times_s(&self, flows: &[&Flow]) -> Vec<f64> {
        let numbers: BTreeSet<(usize, usize)> = flows.iter().map(|flow| (flow.group, flow.number)).collect();
        let is_meant = |number: usize| {
            let flow = &self.outcome.flows[number];
            numbers.contains(&(flow.group, flow.number))
        };
        let ended = self.outcome.transfers.iter().filter(|it| self.contains(it.finished) && is_meant(it.flow));
        ended.map(|it| it.finished.saturating_sub(it.started).as_secs_f64()).collect()
    }

    fn state_mean(&self, field: &str, flows: &[&Flow]) -> Option<f64> {
        let mut values = Vec::new();
        for flow in flows {
            let Some(series) = flow.state.iter().find(|series| series.name == field) else { continue };
            let inside =
                self.outcome.times.iter().zip(&series.values).filter(|(time, _)| self.is_present(flow, **time));
            values.extend(inside.filter_map(|(_, value)| value.map(|value| value as f64)));
        }
        fairness::mean(&values)
    }
}
