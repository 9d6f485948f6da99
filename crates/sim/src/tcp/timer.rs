// SPDX-License-Identifier: GPL-2.0-only
//! Timers of the sending end: retransmission timeout, tail loss probe, reordering, pacing (`tcp_timer.c`, `tcp_output.c`).
//! A timer that is set anew costs an assignment; the queue of events learns of it when it is due.

use super::ack_state::AckState;
use super::sent::{EVER_RESENT, SACKED};
use super::Sender;
use crate::native::{TCP_CA_Disorder, TCP_CA_Loss, TCP_CA_Open, TCP_CA_Recovery, TCP_CA_CWR};
use crate::network::Network;

/// `icsk_pending`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timer {
    None,
    Timeout,
    Probe,
    Reordering,
}

/// A tail loss probe under way: `tlp_high_seq`, `tlp_retrans`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Probe {
    end: u32,
    is_retransmission: bool,
}

/// `TCP_TIMEOUT_MIN_US`: two ticks of 1 ms
const TIMEOUT_MIN_US: u32 = 2000;

impl Sender {
    fn set_timer(&mut self, timer: Timer, after_us: u32) {
        self.timer = timer;
        self.timer_ns = self.tp().tcp_clock_cache + u64::from(after_us) * 1000;
    }

    fn stop_timer(&mut self) {
        self.timer = Timer::None;
        self.timer_ns = u64::MAX;
    }

    /// `tcp_rearm_rto`
    pub(super) fn rearm_timeout(&mut self) {
        if self.una == self.next {
            return self.stop_timer();
        }
        let mut after_us = self.rtt.timeout_us();
        if matches!(self.timer, Timer::Reordering | Timer::Probe) {
            after_us = self.timeout_of_head_us().max(1);
        }
        self.set_timer(Timer::Timeout, after_us);
    }

    pub(super) fn restart_timeout(&mut self) {
        self.set_timer(Timer::Timeout, self.rtt.timeout_us());
    }

    /// `tcp_rto_delta_us`: what is left of the first packet's timeout.
    fn timeout_of_head_us(&self) -> u32 {
        let age_us = self.now_us().wrapping_sub(self.sent.get(self.una).time_us);
        self.rtt.timeout_us().saturating_sub(age_us)
    }

    /// `tcp_set_xmit_timer`
    pub(super) fn set_transmit_timer(&mut self) {
        if !self.schedule_probe(true) {
            self.rearm_timeout();
        }
    }

    /// `tcp_schedule_loss_probe`
    #[inline]
    pub(super) fn schedule_probe(&mut self, advancing: bool) -> bool {
        let state_allows = self.is_in(TCP_CA_Open) || self.is_in(TCP_CA_CWR);
        if !self.spec.tail_loss_probe || !self.spec.sack || self.una == self.next || !state_allows {
            return false;
        }
        let srtt_us = self.tp().srtt_us;
        let mut after_us = 1_000_000;
        if srtt_us > 0 {
            let more_us =
                if self.tp().packets_out == 1 { self.spec.min_timeout.as_micros() as u32 } else { TIMEOUT_MIN_US };
            after_us = (srtt_us >> 2).saturating_add(more_us);
        }
        let timeout_us = if advancing { self.rtt.timeout_us() } else { self.timeout_of_head_us() };
        if timeout_us > 0 {
            after_us = after_us.min(timeout_us);
        }
        self.set_timer(Timer::Probe, after_us);
        true
    }

    pub(super) fn wait_for_reordering(&mut self, after_us: u32) {
        self.set_timer(Timer::Reordering, after_us + TIMEOUT_MIN_US);
    }

    pub(super) fn probe_is_pending(&self) -> bool {
        self.timer == Timer::Probe
    }

    pub(super) fn reordering_is_pending(&self) -> bool {
        self.timer == Timer::Reordering
    }

    /// Its time has come, of whichever timer.
    pub(crate) fn timer_due(&mut self, network: &mut Network) {
        let now_ns = network.ends_ns();
        self.set_clock(now_ns);
        if self.pacing_ns <= now_ns {
            self.pacing_ns = u64::MAX;
            self.resume_paced(network);
        }
        if self.timer_ns > now_ns {
            return;
        }
        let timer = self.timer;
        self.timer_ns = u64::MAX;
        if self.una == self.next {
            return self.stop_timer();
        }
        match timer {
            Timer::None => {}
            Timer::Timeout => self.timed_out(network),
            Timer::Probe => self.probe(network),
            Timer::Reordering => self.reordering_timed_out(network),
        }
    }

    /// `tcp_rack_reo_timeout`
    fn reordering_timed_out(&mut self, network: &mut Network) {
        let (prior_pkts, prior_lost) = (self.flow.in_flight_pkts(), self.tp().lost);
        self.timer = Timer::None;
        let again = self.detect_loss();
        if self.flow.in_flight_pkts() != prior_pkts {
            if !self.is_in(TCP_CA_Recovery) {
                self.enter_recovery(false);
                if !self.flow.controls_cwnd() {
                    let lost_pkts = self.tp().lost.wrapping_sub(prior_lost);
                    self.reduce_window(1, lost_pkts, false);
                }
            }
            self.resend_lost(network);
        }
        if let Some(wait_us) = again {
            self.wait_for_reordering(wait_us);
        } else if self.timer != Timer::Timeout {
            self.timer = Timer::Reordering; // the timeout counts from when the first packet was sent
            self.rearm_timeout();
        }
    }

    /// `tcp_send_loss_probe`
    fn probe(&mut self, network: &mut Network) {
        if self.tlp.is_none() {
            let before = self.next;
            self.push_one(network);
            let is_retransmission = self.next == before;
            if is_retransmission {
                self.retransmit(self.next - 1, network);
            }
            self.counters.probes += 1;
            self.tlp = Some(Probe { end: self.next, is_retransmission });
            self.timer = Timer::None;
        }
        self.rearm_timeout();
    }

    /// `tcp_process_tlp_ack`
    pub(super) fn process_probe_ack(&mut self, ack: u32, state: &AckState) {
        let Some(probe) = self.tlp.filter(|probe| ack >= probe.end) else { return };
        if !probe.is_retransmission || state.is_dsack {
            self.tlp = None;
        } else if ack > probe.end {
            // the probe repaired a loss: a reduction at once
            self.start_reduction();
            self.flow.reduced_by_probe();
            self.try_keep_open();
        } else if !(state.advanced || state.data_acked || state.data_sacked) {
            self.tlp = None;
        }
    }

    /// `tcp_retransmit_timer`
    fn timed_out(&mut self, network: &mut Network) {
        self.counters.timeouts += 1;
        self.enter_loss();
        self.timeouts_in_row += 1;
        self.retransmit(self.una, network);
        self.rtt.back_off();
        self.restart_timeout();
    }

    /// `tcp_enter_loss`
    fn enter_loss(&mut self) {
        let ca_state = u32::from(self.flow.ca_state());
        let is_new = ca_state < TCP_CA_Recovery;
        self.mark_timed_out();
        let is_first = ca_state <= TCP_CA_Disorder
            || self.high_seq <= self.una
            || (ca_state == TCP_CA_Loss && self.timeouts_in_row == 0);
        if is_first {
            self.init_undo();
        }
        if ca_state <= TCP_CA_Disorder && self.tp().sacked_out >= super::rack::DUPLICATES {
            self.reordering = self.reordering.min(super::rack::DUPLICATES);
        }
        self.flow.timed_out_in_window(is_first);
        self.cwnd_stamp_us = self.tp().tcp_mstamp;
        self.high_seq = self.next;
        self.owes_cwr = self.ecn;
        self.frto = is_new || self.timeouts_in_row > 0;
    }

    /// `tcp_timeout_mark_lost`: all but what was sent less than an RTT ago.
    fn mark_timed_out(&mut self) {
        if !self.spec.sack {
            self.tp_mut().sacked_out = 0;
        }
        self.renounce_if_head_is_sacked();
        for number in self.una..self.next {
            let sent = self.sent.get(number);
            let age_us = self.now_us().wrapping_sub(sent.time_us);
            if number == self.una || !self.spec.sack || self.rack.rtt_us() <= age_us {
                self.mark_lost(number);
            }
        }
    }

    /// A receiver that discards what it has reported. Ours does not; a packet that was sacked and not acknowledged is
    /// possible all the same, when ACKs overtake each other.
    fn renounce_if_head_is_sacked(&mut self) {
        if !self.sent.get(self.una).has(SACKED) {
            return;
        }
        for number in self.una..self.next {
            let sent = self.sent.get_mut(number);
            if sent.has(SACKED) {
                sent.flags = sent.flags & !SACKED | EVER_RESENT;
                self.flow.socket.sacked_out -= 1;
            }
        }
        self.sacked.clear();
    }
}
