// SPDX-License-Identifier: GPL-2.0-only
//! BBRv3: the pseudo-code of draft-ietf-ccwg-bbr-06, function by function, with its names. In whole packets and microseconds,
//! rates in packets per 2^24 us: exact, so that a decision is never too close to call.
//!
//! Where the draft asks for what Linux does not tell, the interpretation is that of `docs/internals/second-implementations.md`.

mod control;
mod losses;
mod path;
mod phases;
mod probe_rtt;
mod sent;

use std::cmp::{max, min};

use ccctl_sim::splitmix64;

use crate::tcp::{Law, Rates, Tcp, Values, LOSS, RECOVERY};
use sent::{Sent, SentThen};

const INFINITY: u64 = u64::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// The draft's RS.
#[derive(Debug, Clone, Copy, Default)]
struct RateSample {
    delivery_rate_q24: u64,
    delivered: u64,
    prior_delivered: u32,
    rtt_us: Option<u64>,
    newly_acked: u64,
    newly_lost: u64,
    prior_in_flight: u64, // before this ACK: the window was used up to there
    sent: SentThen,
    is_app_limited: bool,
}

#[derive(Debug, Clone)]
struct Constants {
    startup_pacing_gain: u64,
    drain_pacing_gain: u64,
    down_pacing_gain: u64,
    up_pacing_gain: u64,
    default_cwnd_gain: u64,
    up_cwnd_gain: u64,
    probe_rtt_cwnd_gain: u64,
    pacing_margin: u64,
    loss_thresh: u64,
    mark_thresh: u64,
    beta: u64,
    headroom: u64,
    full_bw_growth: u64,
    full_bw_rounds: u64,
    startup_full_loss_cnt: u64,
    min_pipe_cwnd: u64,
    min_rtt_filter_us: u64,
    probe_rtt_interval_us: u64,
    probe_rtt_us: u64,
    probe_wait_us: u64,
    probe_wait_random_us: u64,
    probe_rounds: u64,
    extra_acked_rounds: u64,
}

#[derive(Clone)]
#[allow(clippy::struct_excessive_bools)] // the draft's variables
pub struct Bbr3 {
    constants: Constants,
    rs: RateSample,
    sent: Sent,
    state: State,
    round_count: u64,
    round_start: bool,
    next_round_delivered: u32,
    idle_restart: bool,
    drain_start_round: u64,
    max_bw_filter: Vec<(u64, u64)>, // cycle, rate
    cycle_count: u64,
    bw_shortterm: u64,
    min_rtt_us: u64,
    min_rtt_stamp_us: u64,
    inflight_longterm: u64,
    inflight_shortterm: u64,
    bw_latest: u64,
    inflight_latest: u64,
    loss_round_delivered: u32,
    loss_round_start: bool,
    is_loss_in_round: bool,
    loss_acks_in_round: u64,
    extra_acked_interval_start_us: u64,
    extra_acked_delivered: u64,
    extra_acked: [u64; 2], // of this window of rounds, and of the one before
    extra_acked_age_rounds: u64,
    full_bw_reached: bool,
    full_bw_now: bool,
    full_bw: u64,
    full_bw_count: u64,
    ack_phase: AckPhase,
    is_bw_probe_sample: bool,
    bw_probe_up_acked: u64,
    probe_up_acked_per_inc: u64,
    bw_probe_up_rounds: u64,
    rounds_since_probe_up: u64,
    bw_probe_wait_us: u64,
    cycle_stamp_us: u64,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    undo_state: Option<State>,
    undo_bw_shortterm: u64,
    undo_inflight_shortterm: u64,
    undo_inflight_longterm: u64,
    probe_rtt_min_delay_us: u64,
    probe_rtt_min_stamp_us: u64,
    probe_rtt_expired: bool,
    probe_rtt_done_stamp_us: u64,
    probe_rtt_round_done: bool,
    prior_cwnd: u64,
    was_in_loss_recovery: bool,
    has_seen_rtt: bool,
    random: u64,
}

/// A not before B, of counters modulo 2^32.
fn has_reached(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) >= 0
}

fn cwnd_of(tcp: &Tcp) -> u64 {
    tcp.cwnd as u64
}

fn percent(value: u64, percent: u64) -> u64 {
    if value == INFINITY {
        return INFINITY;
    }
    value * percent / 100
}

impl Bbr3 {
    pub fn new(values: &Values) -> Self {
        let of = |name: &str| u64::from(values.raw(name));
        let constants = Constants {
            startup_pacing_gain: of("startup_gain_pct"),
            drain_pacing_gain: of("drain_gain_pct"),
            down_pacing_gain: of("probe_down_gain_pct"),
            up_pacing_gain: of("probe_up_gain_pct"),
            default_cwnd_gain: of("cwnd_gain_pct"),
            up_cwnd_gain: of("probe_up_cwnd_gain_pct"),
            probe_rtt_cwnd_gain: of("probe_rtt_cwnd_gain_pct"),
            pacing_margin: of("pacing_margin_pct"),
            loss_thresh: of("loss_thresh_pct"),
            mark_thresh: of("ecn_thresh_pct"),
            beta: of("beta_pct"),
            headroom: of("headroom_pct"),
            full_bw_growth: of("full_bw_growth_pct"),
            full_bw_rounds: of("full_bw_rounds"),
            startup_full_loss_cnt: of("startup_loss_acks"),
            min_pipe_cwnd: of("min_cwnd_pkts"),
            min_rtt_filter_us: of("min_rtt_window_s") * 1_000_000,
            probe_rtt_interval_us: of("probe_rtt_interval_ms") * 1000,
            probe_rtt_us: of("probe_rtt_ms") * 1000,
            probe_wait_us: of("probe_wait_ms") * 1000,
            probe_wait_random_us: of("probe_wait_random_ms") * 1000,
            probe_rounds: of("probe_rounds"),
            extra_acked_rounds: of("aggregation_rounds"),
        };
        Self {
            constants,
            rs: RateSample::default(),
            sent: Sent::default(),
            state: State::Startup,
            round_count: 0,
            round_start: false,
            next_round_delivered: 0,
            idle_restart: false,
            drain_start_round: 0,
            max_bw_filter: Vec::new(),
            cycle_count: 0,
            bw_shortterm: INFINITY,
            min_rtt_us: INFINITY,
            min_rtt_stamp_us: 0,
            inflight_longterm: INFINITY,
            inflight_shortterm: INFINITY,
            bw_latest: 0,
            inflight_latest: 0,
            loss_round_delivered: 0,
            loss_round_start: false,
            is_loss_in_round: false,
            loss_acks_in_round: 0,
            extra_acked_interval_start_us: 0,
            extra_acked_delivered: 0,
            extra_acked: [0; 2],
            extra_acked_age_rounds: 0,
            full_bw_reached: false,
            full_bw_now: false,
            full_bw: 0,
            full_bw_count: 0,
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            bw_probe_up_acked: 0,
            probe_up_acked_per_inc: INFINITY,
            bw_probe_up_rounds: 0,
            rounds_since_probe_up: 0,
            bw_probe_wait_us: 0,
            cycle_stamp_us: 0,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            undo_state: None,
            undo_bw_shortterm: 0,
            undo_inflight_shortterm: 0,
            undo_inflight_longterm: 0,
            probe_rtt_min_delay_us: INFINITY,
            probe_rtt_min_stamp_us: 0,
            probe_rtt_expired: false,
            probe_rtt_done_stamp_us: 0,
            probe_rtt_round_done: false,
            prior_cwnd: 0,
            was_in_loss_recovery: false,
            has_seen_rtt: false,
            random: 0,
        }
    }

    fn random_below(&mut self, bound: u64) -> u64 {
        (splitmix64(&mut self.random) >> 32) % bound
    }

    fn sample(&mut self, tcp: &Tcp, rates: &Rates) -> bool {
        let is_sample = rates.delivered >= 0 && rates.interval_us > 0;
        self.sent.flew(rates.prior_in_flight);
        self.rs = RateSample {
            rtt_us: u64::try_from(rates.rtt_us).ok().map(|us| us.clamp(1, 1 << 30)),
            newly_acked: rates.acked_sacked.into(),
            newly_lost: rates.losses.max(0) as u64,
            prior_in_flight: rates.prior_in_flight.into(),
            is_app_limited: rates.is_app_limited,
            ..RateSample::default()
        };
        if is_sample {
            self.rs.delivered = rates.delivered as u64;
            self.rs.delivery_rate_q24 = (self.rs.delivered << 24) / rates.interval_us as u64;
            self.rs.prior_delivered = rates.prior_delivered;
        }
        let key = if is_sample { rates.prior_delivered } else { tcp.delivered };
        self.rs.sent = self.sent.then(key, tcp);
        is_sample
    }

    fn update_model_and_state(&mut self, tcp: &mut Tcp, is_sample: bool) {
        self.loss_round_start = false;
        self.round_start = false;
        if is_sample {
            self.update_latest_delivery_signals(tcp);
            self.update_congestion_signals(tcp);
            self.update_ack_aggregation(tcp);
            self.check_full_bw_reached();
        }
        self.check_startup_done(tcp);
        self.check_drain_done(tcp);
        if is_sample {
            self.update_probe_bw_cycle_phase(tcp);
        }
        self.update_min_rtt(tcp);
        self.check_probe_rtt(tcp);
        self.advance_latest_delivery_signals();
        if self.loss_round_start {
            self.loss_acks_in_round = 0;
        }
    }
}

impl Law for Bbr3 {
    fn init(&mut self, tcp: &mut Tcp) {
        self.random = tcp.random_state;
        self.min_rtt_us = tcp.min_rtt_us.unwrap_or(INFINITY);
        self.probe_rtt_min_delay_us = self.min_rtt_us;
        self.min_rtt_stamp_us = tcp.now_us;
        self.probe_rtt_min_stamp_us = tcp.now_us;
        self.extra_acked_interval_start_us = tcp.now_us;
        self.next_round_delivered = tcp.delivered;
        self.loss_round_delivered = tcp.delivered;
        self.was_in_loss_recovery = tcp.state >= RECOVERY;
        tcp.threshold = f64::from(ccctl_sim::TCP_INFINITE_SSTHRESH);
        self.sent.begin(tcp);
        self.init_pacing_rate(tcp);
    }

    fn controlled(&mut self, tcp: &mut Tcp, rates: &Rates) {
        self.random = tcp.random_state;
        let is_sample = self.sample(tcp, rates);
        let marked = self.sent.marks_came(tcp);
        if rates.losses > 0 || marked {
            self.note_loss(tcp);
            self.loss_acks_in_round = min(self.loss_acks_in_round + 1, 255);
            self.handle_lost_packets(tcp);
        }
        self.sent.acked(tcp);
        self.update_model_and_state(tcp, is_sample);
        let recovers = tcp.state >= RECOVERY;
        if self.was_in_loss_recovery && !recovers {
            self.restore_cwnd(tcp);
        }
        self.was_in_loss_recovery = recovers;
        self.set_pacing_rate_with_gain(tcp, self.pacing_gain());
        self.set_cwnd(tcp);
    }

    fn grow(&mut self, _tcp: &mut Tcp, _acked: f64) {
        panic!("the window is set by cong_control");
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> f64 {
        self.save_state_upon_loss(tcp);
        tcp.threshold.max(2.0)
    }

    fn undo(&mut self, tcp: &mut Tcp) -> f64 {
        self.random = tcp.random_state;
        self.is_loss_in_round = false;
        self.reset_full_bw();
        self.bw_shortterm = max(self.bw_shortterm, self.undo_bw_shortterm);
        self.inflight_shortterm = max(self.inflight_shortterm, self.undo_inflight_shortterm);
        self.inflight_longterm = max(self.inflight_longterm, self.undo_inflight_longterm);
        let is_probing_rtt = self.state == State::ProbeRtt;
        if self.undo_state == Some(State::Startup) && self.state != State::Startup {
            self.full_bw_reached = false;
            if !is_probing_rtt {
                self.enter_startup();
            }
        } else if self.undo_state == Some(State::Up) && self.state != State::Up && !is_probing_rtt {
            self.start_probe_bw_refill(tcp);
        }
        self.undo_state = None;
        tcp.cwnd.max(tcp.prior_cwnd)
    }

    fn entered(&mut self, tcp: &mut Tcp, state: u8) {
        if state != LOSS {
            return;
        }
        self.random = tcp.random_state;
        self.was_in_loss_recovery = true;
        if !self.is_loss_in_round {
            self.loss_round_delivered = tcp.delivered;
        }
        self.is_loss_in_round = true;
        if !self.is_probing_bw() && self.inflight_shortterm == INFINITY {
            self.inflight_shortterm = max(cwnd_of(tcp), self.prior_cwnd); // Linux: the window is that after the timeout
        }
        self.rs.sent = self.sent.timed_out(tcp);
        self.rs.newly_lost = self.rs.sent.lost;
        self.rs.delivered = 0;
        self.rs.is_app_limited = tcp.app_limited;
        self.handle_lost_packets(tcp);
    }

    fn tx_started(&mut self, tcp: &mut Tcp) {
        self.random = tcp.random_state;
        if !tcp.app_limited {
            return;
        }
        tcp.took("idle");
        self.idle_restart = true;
        self.extra_acked_interval_start_us = tcp.now_us;
        if self.is_in_a_probe_bw_state() {
            self.set_pacing_rate_with_gain(tcp, 100);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(tcp);
        }
    }
}
