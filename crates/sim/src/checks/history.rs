// SPDX-License-Identifier: GPL-2.0-only
//! Random histories: what may happen to a connection, in any order, with any parameters.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ccctl_catalog::kernel::{CC_CWND_MAX_PKTS, TCP_INFINITE_SSTHRESH};
use ccctl_catalog::{Algorithm, Parameter, ParameterSet};
use proptest::prelude::*;

use crate::{Ack, Flow, Instance};

const DISORDER: u8 = 1;
const CWR: u8 = 2;
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;

/// One event; the flow's state decides whether it can happen.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// An ACK of new data.
    Ack {
        /// Packets acknowledged.
        pkts: u32,
        /// RTT beyond that of the path.
        delay_us: u64,
        /// It has an RTT sample.
        sampled: bool,
        /// The last window was filled.
        cwnd_limited: bool,
        /// It is the first ACK of a round.
        ends_round: bool,
    },
    /// Duplicate ACKs, not yet a loss.
    Reordered,
    /// A loss was found.
    Lost,
    /// A congestion mark was echoed.
    Marked,
    /// The core reduces the window.
    Reducing {
        /// Down to this.
        pkts: u32,
    },
    /// Recovery, or what else was not Open, is over.
    Ended,
    /// Retransmission timeout.
    TimedOut,
    /// The last reduction was for nothing.
    Undone,
    /// A pause, and then something is sent.
    Idle {
        /// Its length.
        time_us: u64,
    },
    /// A pause after which the core has halved the window.
    Restarted {
        /// Length of the pause in timeouts.
        idle_rtos: u32,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ack { pkts, delay_us, sampled, cwnd_limited, ends_round } => {
                write!(f, "ACK of {pkts}")?;
                if *sampled {
                    write!(f, " (RTT + {delay_us} us)")?;
                }
                f.write_str(if *cwnd_limited { "" } else { ", window not filled" })?;
                f.write_str(if *ends_round { ", new round" } else { "" })
            }
            Self::Reordered => f.write_str("reordering"),
            Self::Lost => f.write_str("loss"),
            Self::Marked => f.write_str("congestion mark"),
            Self::Reducing { pkts } => write!(f, "window reduced to {pkts}"),
            Self::Ended => f.write_str("recovered"),
            Self::TimedOut => f.write_str("timeout"),
            Self::Undone => f.write_str("undo"),
            Self::Idle { time_us } => write!(f, "pause of {time_us} us"),
            Self::Restarted { idle_rtos } => write!(f, "restart after {idle_rtos} timeouts"),
        }
    }
}

/// A connection and what happens to it.
#[derive(Debug, Clone)]
pub struct History {
    /// Name of the algorithm.
    pub algorithm: &'static str,
    /// What its parameters are, which takes longer to find out than many a history.
    pub declared: Arc<[Parameter]>,
    /// Values of its parameters, in the order of declaration.
    pub parameters: Vec<u32>,
    /// Window at the start.
    pub cwnd_pkts: u32,
    /// Slow start threshold at the start.
    pub ssthresh_pkts: u32,
    /// Of the path, without a queue.
    pub rtt_us: u64,
    /// The clock at the start.
    pub start_us: u64,
    /// One after the other.
    pub events: Vec<Event>,
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (parameter, value) in self.parameter_set().iter() {
            write!(f, "{} {value}, ", parameter.name)?;
        }
        write!(f, "cwnd {}, ssthresh {}, RTT {} us:", self.cwnd_pkts, self.ssthresh_pkts, self.rtt_us)?;
        let mut events = self.events.iter();
        events.try_for_each(|event| write!(f, " {event};"))
    }
}

impl History {
    /// The algorithm with these parameters.
    ///
    /// # Panics
    /// Where the program of the algorithm was not added.
    #[must_use]
    pub fn instance(&self) -> Arc<Instance> {
        Arc::new(Instance::new(self.algorithm, &self.parameter_set()).expect("it exists"))
    }

    /// Its parameters.
    ///
    /// # Panics
    /// Where the values are not as many as the parameters.
    #[must_use]
    pub fn parameter_set(&self) -> ParameterSet {
        let bytes: Vec<u8> = self.parameters.iter().flat_map(|value| value.to_le_bytes()).collect();
        ParameterSet::of_bytes(self.algorithm, &self.declared, &bytes).expect("one value each")
    }

    /// The connection before the first event.
    #[must_use]
    pub fn flow(&self, instance: Arc<Instance>) -> Flow {
        let start = Duration::from_micros(self.start_us);
        let mut flow = Flow::new(instance, self.cwnd_pkts, self.ssthresh_pkts, start);
        flow.set_cwnd_clamp(CC_CWND_MAX_PKTS);
        flow
    }

    /// Lets one event happen to `flow`, if in its state it can.
    pub fn apply(&self, flow: &mut Flow, event: Event) {
        let reducing = [CWR, RECOVERY].contains(&flow.ca_state());
        match event {
            Event::Ack { .. } => self.ack(flow, event),
            Event::Reordered => flow.reordered(),
            Event::Lost if flow.ca_state() != LOSS => flow.lost(),
            Event::Marked => flow.marked(),
            Event::Reducing { pkts } if reducing => flow.set_cwnd(flow.cwnd_pkts().min(pkts)),
            Event::Ended if reducing => flow.recovered(),
            Event::Ended if [LOSS, DISORDER].contains(&flow.ca_state()) => flow.opened(),
            Event::TimedOut => flow.timed_out(),
            Event::Undone => flow.undone(),
            Event::Idle { time_us } => {
                flow.advance(Duration::from_micros(time_us));
                flow.tx_started();
            }
            Event::Restarted { idle_rtos } if !reducing => flow.restarted(idle_rtos),
            _ => {}
        }
    }

    fn ack(&self, flow: &mut Flow, event: Event) {
        let Event::Ack { pkts, delay_us, sampled, cwnd_limited, ends_round } = event else { return };
        let rtt = Duration::from_micros(self.rtt_us + delay_us);
        flow.advance(rtt * pkts.min(flow.cwnd_pkts()) / flow.cwnd_pkts());
        if ends_round {
            flow.end_round();
        }
        flow.acked(&Ack { cwnd_limited, ..Ack::of(pkts, sampled.then_some(rtt)) });
    }
}

/// Any connection of the algorithm, with any parameters, and anything that may happen to it.
pub fn any_history(algorithm: &'static Algorithm) -> impl Strategy<Value = History> {
    let declared: Arc<[Parameter]> = algorithm.layout().parameters.into();
    let parameters: Vec<_> = declared.iter().map(any_value).collect();
    let ssthresh = prop_oneof![Just(TCP_INFINITE_SSTHRESH), (2_u32..=CC_CWND_MAX_PKTS)];
    let events = prop::collection::vec(any_event(), 1..150);
    (parameters, any_window(), ssthresh, any_rtt_us(), any_start_us(), events).prop_map(
        move |(parameters, cwnd_pkts, ssthresh_pkts, rtt_us, start_us, events)| History {
            algorithm: algorithm.name(),
            declared: Arc::clone(&declared),
            parameters,
            cwnd_pkts,
            ssthresh_pkts,
            rtt_us,
            start_us,
            events,
        },
    )
}

/// The default, the ends of the range, and anything between.
fn any_value(parameter: &Parameter) -> impl Strategy<Value = u32> {
    let range = parameter.minimum..=parameter.maximum;
    prop_oneof![4 => Just(parameter.default), 1 => Just(parameter.minimum), 1 => Just(parameter.maximum), 4 => range]
}

/// 1 to 2^20, each magnitude as likely as another.
pub fn any_window() -> impl Strategy<Value = u32> {
    (0_u32..=20).prop_flat_map(|power| (1 << power)..=(1_u32 << power).saturating_mul(2).min(CC_CWND_MAX_PKTS))
}

/// 10 us to 10 s, each magnitude as likely as another.
fn any_rtt_us() -> impl Strategy<Value = u64> {
    (1_u32..7).prop_flat_map(|power| 10_u64.pow(power)..=10_u64.pow(power + 1))
}

/// Also just before the low 32 bits of the clock wrap.
fn any_start_us() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), (1_u64 << 32) - 1_000_000..1 << 32, 0_u64..1 << 40]
}

fn any_event() -> impl Strategy<Value = Event> {
    let delay_us = prop_oneof![3 => Just(0), 2 => 0_u64..30_000, 1 => 0_u64..2_000_000];
    let pkts = prop_oneof![Just(1), Just(2), 1_u32..=1000];
    let ack = (pkts, delay_us, prop::bool::weighted(0.9), prop::bool::weighted(0.8), prop::bool::weighted(0.1));
    let ack = ack.prop_map(|(pkts, delay_us, sampled, cwnd_limited, ends_round)| Event::Ack {
        pkts,
        delay_us,
        sampled,
        cwnd_limited,
        ends_round,
    });
    let time_us = prop_oneof![0_u64..1_000_000, 0_u64..10_000_000_000];
    prop_oneof![
        30 => ack,
        1 => Just(Event::Reordered),
        2 => Just(Event::Lost),
        1 => Just(Event::Marked),
        2 => any_window().prop_map(|pkts| Event::Reducing { pkts }),
        5 => Just(Event::Ended),
        1 => Just(Event::TimedOut),
        1 => Just(Event::Undone),
        1 => time_us.prop_map(|time_us| Event::Idle { time_us }),
        1 => (1_u32..20).prop_map(|idle_rtos| Event::Restarted { idle_rtos }),
    ]
}
