// SPDX-License-Identifier: GPL-2.0-only
//! Bytes become an algorithm, its parameters and what happens to a connection.
//!
//! Every algorithm of the catalogue is reached, and every parameter at its limits and between. What holds of all of them is
//! asserted here; everything else is the sanitizers' to find.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use ccctl_catalog::kernel::CC_CWND_MAX_PKTS;
use ccctl_catalog::{algorithms, Algorithm, Parameter, ParameterSet};
use ccctl_sim::{Ack, Flow, Instance, TCP_INFINITE_SSTHRESH};

const CWR: u8 = 2;
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;

/// The input, read from the front; at its end everything is zero.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn word(&mut self) -> u32 {
        u32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    /// Within the range; the two ends are as likely as all that lies between.
    fn within(&mut self, minimum: u32, maximum: u32) -> u32 {
        match self.byte() % 4 {
            0 => minimum,
            1 => maximum,
            _ => minimum + (u64::from(self.word()) % (u64::from(maximum - minimum) + 1)) as u32,
        }
    }

    /// Up to 2^power, each magnitude as likely as another.
    fn magnitude(&mut self, power: u32) -> u32 {
        let bits = u32::from(self.byte()) % (power + 1);
        (1 << bits) + (self.word() & ((1 << bits) - 1))
    }
}

static ALGORITHMS: LazyLock<Vec<(&'static Algorithm, Vec<Parameter>)>> =
    LazyLock::new(|| algorithms().iter().map(|algorithm| (algorithm, algorithm.layout().parameters)).collect());

fn parameters(algorithm: &Algorithm, declared: &[Parameter], input: &mut Input<'_>) -> ParameterSet {
    let mut bytes = Vec::new();
    for parameter in declared {
        let value = match input.byte() % 2 {
            0 => parameter.default,
            _ => input.within(parameter.minimum, parameter.maximum),
        };
        bytes.extend(value.to_le_bytes());
    }
    ParameterSet::of_bytes(algorithm.name(), declared, &bytes).expect("one value each")
}

/// A connection, and the RTT of its path.
struct Connection {
    flow: Flow,
    rtt_us: u32,
    grows_unused: bool,
}

/// Linux's Vegas grows in slow start whether the window was filled or not (`tcp_vegas.c` asks nowhere), and so does ours
/// with `linux_counting`. No other algorithm does.
fn grows_unused(algorithm: &Algorithm, set: &ParameterSet) -> bool {
    algorithm.name() == "vegas" && set.get("linux_counting").expect("vegas has it") != 0
}

impl Connection {
    fn open(input: &mut Input<'_>) -> Self {
        let (algorithm, declared) = &ALGORITHMS[usize::from(input.byte()) % ALGORITHMS.len()];
        let set = parameters(algorithm, declared, input);
        let instance = Arc::new(Instance::new(algorithm.name(), &set).expect("it exists"));
        let start = Duration::from_micros(u64::from(input.word()) << (input.byte() % 9));
        let cwnd_pkts = input.magnitude(20).min(CC_CWND_MAX_PKTS);
        let ssthresh_pkts =
            if input.byte().is_multiple_of(2) { TCP_INFINITE_SSTHRESH } else { input.magnitude(20).max(2) };
        let mut flow = Flow::new(instance, cwnd_pkts, ssthresh_pkts, start);
        flow.set_cwnd_clamp(CC_CWND_MAX_PKTS);
        flow.seed(input.word().into());
        if input.byte().is_multiple_of(8) {
            flow.restart_without_ecn();
        }
        Self { flow, rtt_us: input.magnitude(23).max(10), grows_unused: grows_unused(algorithm, &set) }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        let flow = &mut self.flow;
        let reducing = [CWR, RECOVERY].contains(&flow.ca_state());
        match input.byte() % 24 {
            0 => flow.reordered(),
            1 if flow.ca_state() != LOSS => flow.lost(),
            2 => flow.marked(),
            3 if reducing => flow.set_cwnd(flow.cwnd_pkts().min(input.magnitude(20))),
            4 if reducing => flow.recovered(),
            4 => flow.opened(),
            5 => flow.timed_out(),
            6 => flow.undone(),
            7 => {
                flow.advance(Duration::from_micros(u64::from(input.word()) << (input.byte() % 4)));
                flow.tx_started();
            }
            8 if !reducing => flow.restarted(input.byte().into()),
            9 => flow.restart_announced(),
            10 => flow.set_time_stamps(input.word(), input.word()),
            11 => self.rtt_us = input.magnitude(23).max(10),
            _ => self.ack(input),
        }
    }

    fn ack(&mut self, input: &mut Input<'_>) {
        let kind = input.byte();
        let bit = |number: u8| (kind >> number) & 1 == 1;
        let pkts = if bit(0) { input.magnitude(10) } else { 1 };
        let delay_us = if bit(1) { input.magnitude(20) } else { 0 };
        let rtt = Duration::from_micros(u64::from(self.rtt_us) + u64::from(delay_us));
        let flow = &mut self.flow;
        let (cwnd_pkts, cwnd_limited) = (flow.cwnd_pkts(), !(bit(2) && bit(3)));
        flow.advance(rtt * pkts.min(cwnd_pkts) / cwnd_pkts);
        if bit(4) && bit(5) {
            flow.end_round();
        }
        flow.acked(&Ack {
            pkts,
            marked_pkts: if bit(6) { pkts } else { 0 },
            rtt: (!bit(7)).then_some(rtt),
            in_flight_pkts: cwnd_pkts,
            cwnd_limited,
        });
        let used = cwnd_limited || flow.controls_cwnd() || self.grows_unused;
        assert!(used || flow.cwnd_pkts() <= cwnd_pkts, "{cwnd_pkts} grew to {}, unused", flow.cwnd_pkts());
    }
}

/// Gives a connection what the bytes say.
///
/// # Panics
/// Where a window leaves its bounds.
pub(crate) fn run(bytes: &[u8]) {
    let mut input = Input(bytes);
    let mut connection = Connection::open(&mut input);
    while !input.0.is_empty() {
        connection.step(&mut input);
        let (cwnd_pkts, ssthresh_pkts) = (connection.flow.cwnd_pkts(), connection.flow.ssthresh_pkts());
        assert!((1..=CC_CWND_MAX_PKTS).contains(&cwnd_pkts), "cwnd {cwnd_pkts}");
        assert!(ssthresh_pkts >= 2, "ssthresh {ssthresh_pkts}");
    }
}
