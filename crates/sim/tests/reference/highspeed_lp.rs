// SPDX-License-Identifier: GPL-2.0-only
//! HSTCP-LP: Kuzmanovic, Knightly, Cottrell, PFLDnet 2004: HighSpeed TCP's growth under TCP-LP's early indication
//! (Kuzmanovic, Knightly, INFOCOM 2003, section III): the average of one-way delays, which moves by an eighth of the way, is
//! above dmin + delta (dmax - dmin). The first indication halves the window and begins an inference phase of some RTTs
//! without growth; one more in it leaves a window of one packet. Not in the papers, whose receivers acknowledge each packet:
//! the delay is that of the newest packet; of a packet whose ACK may have been held back it is an upper bound, which tells
//! something only below the average; fewer of the flow's own packets in the queue than `own_queue_pkts` (Little's law:
//! delay times rate) indicate nothing, beyond the tick to which stamps are cut down; after a reaction there is none for
//! some RTTs.

use crate::highspeed::Response;
use crate::tcp::{Law, Tcp, Values, TICK_S};

const BY_RTT: u32 = 2;

#[derive(Clone)]
#[allow(clippy::struct_excessive_bools)] // the switches among the parameters
pub struct HighSpeedLp {
    response: Response,
    delta: f64,
    inference_rtts: f64,
    by_rtt: bool,
    least_range_s: f64,
    relearns: bool,
    yields_as_highspeed: bool,
    average_s: Option<f64>,
    smallest_s: f64,
    largest_s: f64,
    inference_end_s: f64,
    reaction_end_s: f64,
    reaction_rtts: f64,
    own_queue: f64,
    tick_s: f64,
    counts_all: bool,
    /// Up to 5: ACKs of several packets, less those of one of several packets in flight.
    held_back: u32,
}

impl HighSpeedLp {
    pub fn new(values: &Values) -> Self {
        Self {
            response: Response::of_rfc(),
            delta: values.get("delta_pct") / 100.0,
            inference_rtts: values.get("inference_rtts"),
            by_rtt: values.raw("delay_source") == BY_RTT,
            least_range_s: values.get("min_range_us") / 1e6,
            relearns: values.is_on("relearn_range"),
            yields_as_highspeed: values.is_on("yield"),
            average_s: None,
            smallest_s: f64::INFINITY,
            largest_s: f64::NEG_INFINITY,
            inference_end_s: f64::NEG_INFINITY,
            reaction_end_s: f64::NEG_INFINITY,
            reaction_rtts: values.get("reaction_rtts"),
            own_queue: values.get("own_queue_pkts"),
            tick_s: values.get("peer_tick_us") / 1e6,
            counts_all: values.is_on("delayed_acks"),
            held_back: 0,
        }
    }

    fn is_indicated(&self, tcp: &mut Tcp) -> bool {
        let range_s = self.largest_s - self.smallest_s;
        let mut margin_s = self.delta * range_s;
        if self.own_queue > 0.0 {
            let tick_s = if self.by_rtt { 0.0 } else { self.tick_s };
            margin_s = margin_s.max(self.own_queue * tcp.srtt_s / tcp.cwnd) + tick_s;
        }
        let limit_s = self.smallest_s + margin_s;
        let Some(average_s) = self.average_s.filter(|_| range_s > self.least_range_s - 0.5e-6) else { return false };
        !tcp.is_below(average_s, limit_s, 1e-6)
    }

    fn may_be_held_back(&mut self, tcp: &Tcp, acked: f64) -> bool {
        if acked > 1.0 {
            self.held_back = (self.held_back + 1).min(5);
        }
        let may = acked == 1.0 && self.held_back > 0;
        if may && tcp.packets_out > 0.0 {
            self.held_back -= 1;
        }
        may
    }

    fn is_inferring(&self, tcp: &mut Tcp) -> bool {
        tcp.is_below(tcp.now_s, self.inference_end_s, 2.0 * TICK_S)
    }

    fn indicated(&mut self, tcp: &mut Tcp) {
        tcp.credit = 0.0;
        if self.is_inferring(tcp) {
            tcp.took("indication in the inference phase");
            tcp.cwnd = 1.0;
        } else {
            tcp.took("first indication");
            let given_up = if self.yields_as_highspeed {
                (tcp.cwnd * self.response.decrease(tcp.cwnd)).floor()
            } else {
                (tcp.cwnd / 2.0).ceil()
            };
            tcp.cwnd = (tcp.cwnd - given_up).max(1.0);
        }
        tcp.threshold = tcp.threshold.min(tcp.cwnd.max(2.0));
        self.inference_end_s = tcp.now_s + self.inference_rtts * tcp.srtt_s;
        self.reaction_end_s = tcp.now_s + self.reaction_rtts * tcp.srtt_s;
        if self.relearns {
            let average_s = self.average_s.unwrap_or(0.0);
            (self.smallest_s, self.largest_s) = (average_s, 2.0 * average_s); // as Linux has it
        }
    }
}

impl Law for HighSpeedLp {
    fn sampled(&mut self, tcp: &mut Tcp, acked: f64, rtt_s: Option<f64>) {
        if tcp.is_recovering() {
            return;
        }
        let is_bound = !self.counts_all && self.may_be_held_back(tcp, acked);
        let Some(rtt_s) = rtt_s else { return };
        let of_echo_s = f64::from(tcp.peer_stamp.wrapping_sub(tcp.echoed_stamp) as i32) / 1e3;
        let of_newest_s = f64::from(tcp.peer_stamp) / 1e3 - (tcp.now_s - rtt_s); // one clock, which starts at zero
        let one_way_s = if self.counts_all { of_echo_s } else { of_newest_s };
        let delay_s = if self.by_rtt { rtt_s } else { one_way_s };
        if is_bound && !self.average_s.is_some_and(|average_s| tcp.is_below(delay_s, average_s, 1e-6)) {
            tcp.took("ACK that may have been held back");
            return;
        }
        self.smallest_s = self.smallest_s.min(delay_s);
        self.largest_s = self.largest_s.max(delay_s);
        self.average_s = Some(self.average_s.map_or(delay_s, |average_s| average_s + (delay_s - average_s) / 8.0));
        if tcp.is_below(tcp.now_s, self.reaction_end_s, 2.0 * TICK_S) {
            tcp.took("so soon after a reaction");
        } else if self.is_indicated(tcp) {
            self.indicated(tcp);
        }
    }

    fn grow(&mut self, tcp: &mut Tcp, acked: f64) {
        if !tcp.is_limited() {
            return;
        }
        if self.is_inferring(tcp) {
            tcp.took("no growth in the inference phase");
            return;
        }
        let left = if tcp.in_slow_start() { tcp.slow_start(acked) } else { acked };
        if left > 0.0 {
            tcp.took("growth");
            tcp.grow_by(self.response.increase(tcp.cwnd), left);
        }
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> f64 {
        (tcp.cwnd * (1.0 - self.response.decrease(tcp.cwnd))).ceil().max(2.0)
    }
}
