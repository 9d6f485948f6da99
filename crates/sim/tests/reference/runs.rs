// SPDX-License-Identifier: GPL-2.0-only
//! The runs whose calls are recorded: one flow of the algorithm in each kind of weather.

use std::sync::Arc;
use std::time::Duration;

use ccctl_sim::{
    Application, BitRate, Call, FlowSpec, Instance, Limit, LinkRate, LinkSpec, Loss, Probability, Queue, RateTrace,
    Reordering, Simulation,
};

/// One bottleneck, and what is on it.
#[derive(Clone)]
pub struct Run {
    link: LinkSpec,
    rtt: Duration,
    jitter: Duration,
    /// The same algorithm's other flows, and Reno's; they come one by one, five seconds apart.
    others: usize,
    renos: usize,
    application: Application,
    ecn: bool,
    ack_every_pkts: u16,
    length: Duration,
}

impl Run {
    fn of(kbit_per_s: u64, rtt_ms: u64, buffer_pkts: u32) -> Self {
        let rate = LinkRate::Constant(BitRate::bits_per_s(kbit_per_s * 1000));
        let queue = Queue::DropTail(Limit::Packets(buffer_pkts));
        Self {
            link: LinkSpec::new(rate, Duration::ZERO, queue),
            rtt: Duration::from_millis(rtt_ms),
            jitter: Duration::ZERO,
            others: 0,
            renos: 0,
            application: Application::Bulk,
            ecn: false,
            ack_every_pkts: 2,
            length: Duration::from_secs(25),
        }
    }

    fn lossy(mut self, loss: Loss) -> Self {
        self.link.loss = loss;
        self
    }

    fn beside(mut self, others: usize, renos: usize) -> Self {
        (self.others, self.renos) = (others, renos);
        self
    }

    fn sending(mut self, application: Application) -> Self {
        self.application = application;
        self
    }

    fn lasting(mut self, seconds: u64) -> Self {
        self.length = Duration::from_secs(seconds);
        self
    }

    fn jittery(mut self, ms: u64) -> Self {
        self.jitter = Duration::from_millis(ms);
        self
    }

    /// The calls of its first flow's hooks.
    pub fn calls(&self, instance: &Arc<Instance>, seed: u64) -> Vec<Call> {
        let mut simulation = Simulation::new(seed);
        let link = simulation.add_link(&self.link);
        let reno = Arc::new(Instance::with_defaults("reno").unwrap());
        let mut spec = FlowSpec {
            access_delay: self.rtt,
            access_jitter: self.jitter,
            application: self.application,
            ..FlowSpec::bulk(Arc::clone(instance), link)
        };
        spec.tcp.ecn = self.ecn;
        spec.tcp.ack_every_pkts = self.ack_every_pkts;
        let flow = simulation.add_flow(&spec).unwrap();
        simulation.record(flow);
        spec.application = Application::Bulk;
        for index in 0..self.others + self.renos {
            if index >= self.others {
                spec.instance = Arc::clone(&reno);
            }
            spec.start = Duration::from_secs(5 * (index as u64 + 1));
            spec.stop = Some(self.length / 2);
            simulation.add_flow(&spec).unwrap();
        }
        simulation.run_until(self.length).unwrap();
        simulation.take_calls(flow)
    }
}

fn per_million(count: u64) -> Probability {
    Probability::ratio(count, 1_000_000)
}

/// Outages of some 100 packets: windows are lost whole, and timeouts follow.
fn outages() -> Loss {
    Loss::GilbertElliott {
        good_to_bad: per_million(800),
        bad_to_good: per_million(10_000),
        loss_in_good: Probability::NEVER,
        loss_in_bad: Probability::ALWAYS,
    }
}

/// 20 Mbit/s and 10 Mbit/s by turns of 3 s, in packets of 1500 bytes.
fn changing() -> LinkRate {
    let times: Vec<String> = (0..6000_u32)
        .filter(|ms| *ms < 3000 || ms.is_multiple_of(2))
        .flat_map(|ms| (0..if ms < 3000 { 2 } else { 1 }).map(move |_| ms.to_string()))
        .collect();
    LinkRate::Trace(Arc::new(RateTrace::parse(&times.join("\n")).unwrap()))
}

/// So many of a million packets come late by this, and look lost.
fn late(mut run: Run, per_million_late: u64, ms: u64) -> Run {
    run.link.reordering =
        Some(Reordering { probability: per_million(per_million_late), delay: Duration::from_millis(ms) });
    run
}

/// More for an algorithm whose branches need it.
pub fn more_for(algorithm: &str) -> Vec<Run> {
    if algorithm != "bbr3" {
        return Vec::new();
    }
    vec![
        late(Run::of(50_000, 40, 1000), 60_000, 18),
        late(Run::of(20_000, 80, 200), 30_000, 40),
        late(Run::of(10_000, 30, 300), 100_000, 12),
    ]
}

/// All of them.
pub fn weather() -> Vec<Run> {
    let mut marked = Run::of(20_000, 30, 0).beside(1, 0).lasting(20);
    marked.link.queue = Queue::Threshold { mark_above_pkts: 20, limit: Limit::Packets(200) };
    marked.ecn = true;
    let mut reordered = Run::of(20_000, 40, 100).lasting(20);
    reordered.link.reordering = Some(Reordering { probability: per_million(2000), delay: Duration::from_millis(15) });
    let mut trace = Run::of(1000, 50, 120);
    trace.link.rate = changing();
    let on_off =
        Application::OnOff { on: Duration::from_secs(2), off: Duration::from_secs(1), rate: BitRate::mbit_per_s(30) };
    vec![
        Run::of(20_000, 60, 100),                                            // a full buffer, alone
        Run::of(60_000, 120, 600).beside(1, 0),                              // large windows, and one more of its kind
        Run::of(10_000, 80, 60).beside(0, 2),                                // among Reno
        Run::of(100_000, 60, 1000).lossy(Loss::Bernoulli(per_million(400))), // losses without a queue
        Run::of(10_000, 50, 100).lossy(outages()),                           // timeouts
        Run::of(10_000, 30, 100).lossy(Loss::Bernoulli(per_million(60_000))),
        Run::of(10_000, 50, 40).sending(Application::Limited { rate: BitRate::mbit_per_s(4) }).beside(0, 1),
        Run::of(15_000, 40, 80).sending(on_off),
        Run::of(8_000, 100, 300).jittery(5).beside(1, 1),
        marked,
        reordered,
        trace,
        Run::of(2_000, 20, 500).lasting(60),               // a very long queue
        Run::of(100_000, 4, 60).lasting(15).beside(1, 0),  // a short one
        Run::of(40_000, 3, 3000).beside(4, 0).lasting(80), // left alone after a time
        Run::of(200_000, 150, 100).lasting(20),            // a path too large for its buffer
    ]
}
