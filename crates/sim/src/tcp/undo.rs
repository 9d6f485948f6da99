// SPDX-License-Identifier: GPL-2.0-only
//! Reductions that turn out to have been for nothing: by time stamps (Eifel), by D-SACK, by F-RTO.

use super::sent::LOST;
use super::Sender;
use crate::native::TCP_CA_Open;

impl Sender {
    /// `tcp_packet_delayed`: the ACK was on its way before the retransmission.
    pub(super) fn packet_delayed(&self) -> bool {
        let Some(stamp_us) = self.retrans_stamp_us else { return false };
        self.spec.time_stamps && self.is_stamped_before(self.echoed_us, stamp_us)
    }

    /// `tcp_may_undo`
    pub(super) fn may_undo(&self) -> bool {
        self.undo_marker.is_some() && (self.undo_retrans == Some(0) || self.packet_delayed())
    }

    /// `tcp_undo_cwnd_reduction`
    pub(super) fn undo(&mut self, unmark_lost: bool) {
        if unmark_lost {
            for number in self.una..self.next {
                self.sent.get_mut(number).flags &= !LOST;
            }
            self.tp_mut().lost_out = 0;
            self.lost.clear();
        }
        self.counters.undone += 1;
        let ssthresh_pkts = self.tp().snd_ssthresh;
        self.flow.undo_reduction();
        if self.tp().snd_ssthresh > ssthresh_pkts {
            self.owes_cwr = false;
        }
        self.cwnd_stamp_us = self.tp().tcp_mstamp;
        self.undo_marker = None;
        self.rack.advanced = true;
    }

    /// `tcp_try_undo_recovery`. True: stays in its state until something above `high_seq` is acknowledged.
    pub(super) fn try_undo_recovery(&mut self) -> bool {
        if self.may_undo() {
            self.undo(false);
        } else if self.rack.wide_recoveries > 0 {
            self.rack.wide_recoveries -= 1;
        }
        if self.reno_must_not_open() {
            return true;
        }
        self.flow.enter(TCP_CA_Open);
        false
    }

    /// `tcp_is_non_sack_preventing_reopen` (RFC 6582 section 4.1)
    pub(super) fn reno_must_not_open(&mut self) -> bool {
        if self.spec.sack || self.una != self.high_seq {
            return false;
        }
        if !self.any_retransmission_done() {
            self.retrans_stamp_us = None;
        }
        true
    }

    /// `tcp_try_undo_loss`
    pub(super) fn try_undo_loss(&mut self, by_frto: bool) -> bool {
        if !by_frto && !self.may_undo() {
            return false;
        }
        self.undo(true);
        self.timeouts_in_row = 0;
        if !self.reno_must_not_open() && (by_frto || self.spec.sack) {
            self.flow.enter(TCP_CA_Open);
        }
        true
    }

    /// `tcp_try_undo_partial`. True: what was thought lost is late; no more is to be sent again for now.
    pub(super) fn try_undo_partial(&mut self, prior_una: u32) -> bool {
        if self.undo_marker.is_none() || !self.packet_delayed() {
            return false;
        }
        self.note_reordering(prior_una);
        if self.tp().retrans_out > 0 {
            return true;
        }
        if !self.any_retransmission_done() {
            self.retrans_stamp_us = None;
        }
        self.undo(true);
        self.try_keep_open();
        false
    }

    /// `tcp_try_undo_dsack`
    pub(super) fn try_undo_dsack(&mut self) -> bool {
        let all_were_duplicates = self.undo_marker.is_some() && self.undo_retrans == Some(0);
        if all_were_duplicates {
            self.rack.wide_recoveries = self.rack.wide_recoveries.saturating_add(1).min(16);
            self.undo(false);
        }
        all_were_duplicates
    }
}
