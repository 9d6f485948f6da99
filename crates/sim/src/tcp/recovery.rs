// SPDX-License-Identifier: GPL-2.0-only
//! The states Open, Disorder, CWR, Recovery and Loss: `tcp_fastretrans_alert` and what it calls.

use super::ack::Resend;
use super::ack_state::AckState;
use super::sent::EVER_RESENT;
use super::Sender;
use crate::native::{TCP_CA_Disorder, TCP_CA_Loss, TCP_CA_Open, TCP_CA_Recovery, TCP_CA_CWR};

impl Sender {
    pub(super) fn is_in(&self, ca_state: u32) -> bool {
        u32::from(self.flow.ca_state()) == ca_state
    }

    /// `tcp_fastretrans_alert`
    pub(super) fn alerted(&mut self, state: &mut AckState) -> Resend {
        state.is_duplicate = !(state.advanced || state.data_acked || state.is_dsack);
        if state.marked {
            self.flow.forbid_undo();
        }
        if self.is_in(TCP_CA_Open) {
            self.retrans_stamp_us = None;
        } else if self.una >= self.high_seq && !self.leaves_reduction() {
            return Resend::Nothing;
        }
        match u32::from(self.flow.ca_state()) {
            state_now if state_now == TCP_CA_Recovery => self.alerted_in_recovery(state),
            state_now if state_now == TCP_CA_Loss => self.alerted_in_loss(state),
            _ => self.alerted_before_recovery(state),
        }
    }

    /// All that was outstanding at the reduction has been acknowledged. False: there is nothing more to do.
    fn leaves_reduction(&mut self) -> bool {
        if self.is_in(TCP_CA_CWR) && self.una != self.high_seq {
            self.flow.recovered();
        } else if self.is_in(TCP_CA_Recovery) {
            if !self.spec.sack {
                self.tp_mut().sacked_out = 0;
            }
            if self.try_undo_recovery() {
                return false;
            }
            self.flow.end_reduction(self.undo_marker.is_some());
        }
        true
    }

    fn alerted_in_recovery(&mut self, state: &mut AckState) -> Resend {
        if !state.advanced {
            if !self.spec.sack {
                self.add_reno_sack(state.is_duplicate, state.marked);
            }
        } else if self.try_undo_partial(state.prior_una) {
            return Resend::Nothing;
        }
        if self.try_undo_dsack() {
            self.try_to_open(state.marked);
        }
        self.identify_loss(state);
        if !self.is_in(TCP_CA_Recovery) {
            if self.tp().lost_out == 0 {
                return Resend::Nothing;
            }
            self.enter_recovery(state.marked);
        }
        Resend::Lost
    }

    fn alerted_in_loss(&mut self, state: &mut AckState) -> Resend {
        let resend = self.process_loss(state);
        self.identify_loss(state);
        if self.is_in(TCP_CA_Open) || state.lost_retransmission {
            return self.alerted_before_recovery(state);
        }
        resend
    }

    fn alerted_before_recovery(&mut self, state: &mut AckState) -> Resend {
        if !self.spec.sack {
            if state.advanced {
                self.tp_mut().sacked_out = 0;
            }
            self.add_reno_sack(state.is_duplicate, state.marked);
        }
        if u32::from(self.flow.ca_state()) <= TCP_CA_Disorder {
            self.try_undo_dsack();
        }
        self.identify_loss(state);
        if self.tp().lost_out == 0 {
            self.try_to_open(state.marked);
            return Resend::Nothing;
        }
        self.enter_recovery(state.marked);
        Resend::Lost
    }

    /// `tcp_try_to_open`
    fn try_to_open(&mut self, marked: bool) {
        if !self.any_retransmission_done() {
            self.retrans_stamp_us = None;
        }
        if marked {
            self.enter_cwr();
        }
        if !self.is_in(TCP_CA_CWR) {
            self.try_keep_open();
        }
    }

    /// `tcp_try_keep_open`
    pub(super) fn try_keep_open(&mut self) {
        let left_out = self.tp().sacked_out + self.tp().lost_out > 0;
        let wanted = if left_out || self.any_retransmission_done() { TCP_CA_Disorder } else { TCP_CA_Open };
        if !self.is_in(wanted) {
            self.flow.enter(wanted);
            self.high_seq = self.next;
        }
    }

    /// `tcp_any_retrans_done`
    pub(super) fn any_retransmission_done(&self) -> bool {
        self.tp().retrans_out > 0 || (self.next > self.una && self.sent.get(self.una).has(EVER_RESENT))
    }

    /// `tcp_enter_cwr`
    fn enter_cwr(&mut self) {
        let reduces = u32::from(self.flow.ca_state()) < TCP_CA_CWR;
        if reduces {
            self.undo_marker = None;
            self.start_reduction();
            self.counters.mark_reductions += 1;
        }
        self.flow.marked();
    }

    /// What `tcp_init_cwnd_reduction` keeps beside the socket.
    pub(super) fn start_reduction(&mut self) {
        self.high_seq = self.next;
        self.tlp = None;
        self.prr_delivered = 0;
        self.prr_out = 0;
        self.owes_cwr = self.ecn;
    }

    /// `tcp_enter_recovery`
    pub(super) fn enter_recovery(&mut self, marked: bool) {
        self.counters.recoveries += 1;
        self.init_undo();
        if !self.flow.reducing() {
            self.start_reduction();
        }
        self.flow.enter_recovery(marked);
    }

    /// `tcp_init_undo`
    pub(super) fn init_undo(&mut self) {
        self.undo_marker = Some(self.una);
        let retrans_pkts = self.tp().retrans_out;
        self.undo_retrans = (retrans_pkts > 0).then_some(retrans_pkts);
    }

    /// `tcp_process_loss`
    fn process_loss(&mut self, state: &mut AckState) -> Resend {
        let recovered = self.una >= self.high_seq;
        if state.advanced && self.try_undo_loss(false) {
            return Resend::Nothing;
        }
        if self.frto {
            if state.original_acked && self.try_undo_loss(true) {
                return Resend::Nothing;
            }
            if self.next > self.high_seq {
                self.frto &= !(state.data_sacked || state.is_duplicate);
            } else if state.advanced && !recovered {
                self.high_seq = self.next;
                if self.may_send_new() {
                    return Resend::New;
                }
                self.frto = false;
            }
        }
        if recovered {
            self.try_undo_recovery();
            return Resend::Nothing;
        }
        if !self.spec.sack {
            if self.next > self.high_seq && state.is_duplicate {
                self.add_reno_sack(true, state.marked);
            } else if state.advanced {
                self.tp_mut().sacked_out = 0;
            }
        }
        Resend::Lost
    }

    /// `tcp_cwnd_reduction`: proportional rate reduction (RFC 6937).
    pub(super) fn reduce_window(&mut self, delivered_pkts: u32, lost_pkts: u32, advanced: bool) {
        let in_flight_pkts = self.flow.in_flight_pkts();
        let tp = &mut self.flow.socket;
        if delivered_pkts == 0 || tp.prior_cwnd == 0 {
            return;
        }
        self.prr_delivered += delivered_pkts;
        let out = i64::from(self.prr_out);
        let (ssthresh, prior) = (u64::from(tp.snd_ssthresh), u64::from(tp.prior_cwnd));
        let send = if in_flight_pkts > tp.snd_ssthresh {
            (ssthresh * u64::from(self.prr_delivered)).div_ceil(prior) as i64 - out
        } else {
            let conserved = (i64::from(self.prr_delivered) - out).max(i64::from(delivered_pkts));
            let faster = i64::from(advanced && lost_pkts == 0);
            (conserved + faster).min(i64::from(tp.snd_ssthresh - in_flight_pkts))
        };
        let send = send.max(i64::from(self.prr_out == 0));
        tp.snd_cwnd = (i64::from(in_flight_pkts) + send).max(1) as u32;
    }
}
