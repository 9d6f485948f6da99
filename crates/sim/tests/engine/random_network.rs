// SPDX-License-Identifier: GPL-2.0-only
//! Bytes become a simulation: links, flows, and how long it runs. The fuzz target `simulation` uses it, too.

use std::sync::Arc;
use std::time::Duration;

use ccctl_sim::{
    Application, BitRate, Codel, DualPi2, FlowSpec, Instance, Limit, LinkId, LinkRate, LinkSpec, Loss, Probability,
    Queue, RateTrace, Red, Reordering, Simulation, SimulationError, TcpSpec, WebUser,
};

const EVENTS_MAX: u64 = 100_000;

/// The input, read from the front; at its end everything is zero.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn below(&mut self, limit: u64) -> u64 {
        (u64::from(self.byte()) << 8 | u64::from(self.byte())) % limit
    }

    /// Up to 2^power, each magnitude as likely as another.
    fn magnitude(&mut self, power: u64) -> u64 {
        let bits = self.below(power + 1);
        (1 << bits) + self.below(1 << bits.min(16))
    }

    fn is(&mut self, one_in: u8) -> bool {
        self.byte() % one_in == 1
    }

    fn time(&mut self, power_ns: u64) -> Duration {
        if self.is(4) {
            Duration::ZERO
        } else {
            Duration::from_nanos(self.magnitude(power_ns))
        }
    }

    fn probability(&mut self) -> Probability {
        match self.byte() % 8 {
            0 => Probability::ALWAYS,
            1..5 => Probability::NEVER,
            _ => Probability::ratio(1, self.magnitude(14)),
        }
    }

    fn loss(&mut self) -> Loss {
        match self.byte() % 4 {
            0 => Loss::Bernoulli(self.probability()),
            1 => Loss::GilbertElliott {
                good_to_bad: self.probability(),
                bad_to_good: self.probability(),
                loss_in_good: self.probability(),
                loss_in_bad: self.probability(),
            },
            _ => Loss::None,
        }
    }

    fn limit(&mut self) -> Limit {
        if self.is(3) {
            Limit::Bytes(self.magnitude(24))
        } else {
            Limit::Packets(self.magnitude(14) as u32 - 1)
        }
    }

    fn queue(&mut self) -> Queue {
        match self.byte() % 8 {
            0 => Queue::Threshold { mark_above_pkts: self.magnitude(10) as u32 - 1, limit: self.limit() },
            1 => Queue::Codel(Codel {
                target: self.time(26),
                interval: self.time(30),
                ecn: self.is(2),
                limit_pkts: self.magnitude(10) as u32 - 1,
            }),
            2 => Queue::Red(Red {
                min_threshold_pkts: self.below(50) as u32,
                max_threshold_pkts: 50 + self.below(100) as u32,
                max_probability: self.probability(),
                weight_shift: self.below(40) as u32,
                gentle: self.is(2),
                ecn: self.is(2),
                limit_pkts: self.below(300) as u32,
            }),
            3 => Queue::Step { mark_above: self.time(26), limit: self.limit() },
            4 => Queue::DualPi2(DualPi2 {
                target: self.time(26),
                interval: self.time(26),
                coupling: self.below(5) as u32,
                step: self.time(22),
                limit_pkts: self.below(300) as u32,
                ..DualPi2::default()
            }),
            5 => Queue::Xcp(self.limit()),
            _ => Queue::DropTail(self.limit()),
        }
    }

    fn rate(&mut self) -> LinkRate {
        if self.is(6) {
            let mut time_ms = 0;
            let times: Vec<String> = (0..=self.below(20))
                .map(|_| {
                    time_ms += self.below(50);
                    time_ms.to_string()
                })
                .collect();
            if let Ok(trace) = RateTrace::parse(&times.join("\n")) {
                return LinkRate::Trace(Arc::new(trace));
            }
        }
        LinkRate::Constant(BitRate::bits_per_s(self.magnitude(36)))
    }

    fn link(&mut self) -> LinkSpec {
        let held = self.probability();
        LinkSpec {
            rate: self.rate(),
            delay: self.time(28),
            jitter: self.time(26),
            queue: self.queue(),
            loss: self.loss(),
            reordering: self.is(4).then(|| Reordering { probability: held, delay: self.time(28) }),
            tick: if self.is(4) { self.time(24) } else { Duration::ZERO },
        }
    }

    fn tcp(&mut self) -> TcpSpec {
        if self.is(2) {
            return TcpSpec::default();
        }
        let spec = TcpSpec {
            mss_bytes: self.magnitude(15) as u16 & 0x7fff | 1,
            header_bytes: self.below(100) as u16,
            initial_window_pkts: self.magnitude(8) as u32,
            initial_ssthresh_pkts: self.is(2).then(|| self.magnitude(12) as u32 + 1),
            max_window_pkts: self.magnitude(19) as u32,
            sack: self.is(2),
            ecn: self.is(2),
            accurate_ecn: self.is(2).then(|| self.is(2)),
            ect_1: self.is(2),
            time_stamps: self.is(2),
            tail_loss_probe: self.is(2),
            slow_start_after_idle: self.is(2),
            min_timeout: Duration::from_micros(self.magnitude(24)),
            ack_every_pkts: self.magnitude(6) as u16,
            ack_delay: self.time(30),
            quick_acks: self.below(40) as u16,
            pacing: self.is(2),
            xcp: self.is(4),
            growing_window_pkts: self.below(100) as u32,
            fast_retransmit: true,
        };
        TcpSpec { fast_retransmit: spec.sack || self.is(2), ..spec }
    }

    fn application(&mut self) -> Application {
        match self.byte() % 7 {
            0 => Application::Transfer { bytes: self.magnitude(24) },
            1 => Application::Limited { rate: BitRate::bits_per_s(self.magnitude(32)) },
            2 => Application::OnOff {
                on: self.time(31),
                off: self.time(31),
                rate: BitRate::bits_per_s(self.magnitude(32)),
            },
            3 => Application::Web(WebUser::default()),
            4 => Application::Short { mean_bytes: self.magnitude(20), off: self.time(31) },
            _ => Application::Bulk,
        }
    }

    fn path(&mut self, links: &[LinkId], least: u64) -> Vec<LinkId> {
        (0..least + self.below(3)).map(|_| links[self.below(links.len() as u64) as usize]).collect()
    }

    fn flow(&mut self, links: &[LinkId], instances: &[Arc<Instance>]) -> FlowSpec {
        FlowSpec {
            instance: Arc::clone(&instances[self.below(instances.len() as u64) as usize]),
            path: self.path(links, 1),
            ack_path: self.path(links, 0),
            access_delay: self.time(28),
            access_jitter: self.time(26),
            start: self.time(30),
            stop: self.is(3).then(|| self.time(34)),
            application: self.application(),
            tcp: self.tcp(),
        }
    }
}

/// Runs what the bytes say, in steps.
///
/// # Panics
/// Where packets are not conserved, a sender's sums do not agree, or a number leaves its bounds.
pub fn run(bytes: &[u8], instances: &[Arc<Instance>]) {
    let mut input = Input(bytes);
    let mut simulation = Simulation::new(u64::from(input.byte()));
    simulation.limit_events(EVENTS_MAX);
    let links: Vec<LinkId> = (0..=input.below(3)).map(|_| simulation.add_link(&input.link())).collect();
    for _ in 0..=input.below(6) {
        let mut flow = input.flow(&links, instances);
        if let Err(SimulationError::Tcp { .. }) = simulation.add_flow(&flow) {
            flow.tcp.xcp = false; // no router for it, or an algorithm that sets its window itself
            simulation.add_flow(&flow).expect("it is valid");
        }
    }
    let step = Duration::from_nanos(input.magnitude(34));
    for index in 1..=20 {
        match simulation.run_until(step * index) {
            Ok(()) => {}
            Err(SimulationError::TooManyEvents(_)) => return,
            Err(error) => panic!("{error}"),
        }
        for flow in simulation.flows() {
            let flow = simulation.flow(flow);
            let counters = flow.counters();
            assert!(flow.received_pkts() + flow.duplicate_pkts() <= counters.sent_pkts, "{counters:?}");
            assert!(counters.retransmitted_pkts <= counters.sent_pkts && flow.cwnd_pkts() > 0, "{counters:?}");
        }
    }
}
