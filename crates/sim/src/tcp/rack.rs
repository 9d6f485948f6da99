// SPDX-License-Identifier: GPL-2.0-only
//! Which packets are lost: RACK (RFC 8985) as in `tcp_recovery.c`, and `NewReno` without selective acknowledgements.
//!
//! The kernel keeps the packets in the order in which they were last sent. Here those sent once are in order anyway: a cursor
//! goes over them. Those sent again have a queue. Neither is ever walked twice.

use std::collections::VecDeque;

use super::ack_state::AckState;
use super::sent::{sent_after, Sent, EVER_RESENT, LOST, RESENT, SACKED};
use super::Sender;
use crate::native::TCP_CA_Recovery;

/// `sysctl_tcp_reordering`: so many later packets say that one is lost.
pub(crate) const DUPLICATES: u32 = 3;
const REORDERING_MAX: u32 = 300;
/// `TCP_RACK_RECOVERY_THRESH`
const WIDE_RECOVERIES: u8 = 16;

/// `tcp_sock.rack`
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // the kernel's
pub(crate) struct Rack {
    time_us: u32, // of the packet that was sent last of those delivered
    number: u32,
    has_sample: bool,
    rtt_us: u32,
    pub(super) advanced: bool,
    reordering_seen: bool,
    steps: u8, // reordering window in quarters of the smallest RTT
    pub(super) wide_recoveries: u8,
    dsack_seen: bool,
    last_delivered_pkts: u32,
    pub(super) cursor: u32,       // first packet sent once on which is not decided yet
    resent: VecDeque<(u32, u32)>, // number, time
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            time_us: 0,
            number: 0,
            has_sample: false,
            rtt_us: 0,
            advanced: false,
            reordering_seen: false,
            steps: 1,
            wide_recoveries: 0,
            dsack_seen: false,
            last_delivered_pkts: 0,
            cursor: 0,
            resent: VecDeque::new(),
        }
    }
}

impl Rack {
    pub(super) fn forget_below(&mut self, number: u32) {
        self.cursor = self.cursor.max(number);
        if self.cursor == number && self.resent.front().is_some_and(|(first, _)| *first < number) {
            self.resent.pop_front();
        }
    }

    pub(super) fn resent(&mut self, number: u32, time_us: u32) {
        self.resent.push_back((number, time_us));
    }

    pub(super) fn saw_dsack(&mut self) {
        self.dsack_seen = true;
    }

    pub(super) fn rtt_us(&self) -> u32 {
        self.rtt_us
    }
}

impl Sender {
    /// `tcp_rack_advance`
    pub(super) fn rack_advance(&mut self, sent: &Sent, number: u32) {
        let rtt_us = self.now_us().wrapping_sub(sent.time_us);
        if rtt_us < self.rtt.min_us && sent.has(EVER_RESENT) {
            return; // it may be the original that was delivered
        }
        let rack = &mut self.rack;
        rack.advanced = true;
        rack.rtt_us = rtt_us;
        if !rack.has_sample || sent_after(sent.time_us, number, rack.time_us, rack.number) {
            (rack.time_us, rack.number, rack.has_sample) = (sent.time_us, number, true);
        }
    }

    /// `tcp_rack_reo_wnd`
    fn reordering_window_us(&self) -> u32 {
        if !self.rack.reordering_seen
            && (u32::from(self.flow.ca_state()) >= TCP_CA_Recovery || self.tp().sacked_out >= self.reordering)
        {
            return 0;
        }
        (self.rtt.min_us >> 2).saturating_mul(u32::from(self.rack.steps)).min(self.tp().srtt_us >> 3)
    }

    /// `tcp_rack_detect_loss`: marks what is lost; when to look again, where something may turn out to be.
    pub(super) fn detect_loss(&mut self) -> Option<u32> {
        let limit_us = self.rack.rtt_us.saturating_add(self.reordering_window_us());
        let first = self.detect_among_resent(limit_us);
        let second = self.detect_among_originals(limit_us);
        first.max(second)
    }

    fn detect_among_originals(&mut self, limit_us: u32) -> Option<u32> {
        while self.rack.cursor < self.next {
            let number = self.rack.cursor;
            let sent = *self.sent.get(number);
            if !sent.has(SACKED | LOST | EVER_RESENT) {
                match self.judge(sent.time_us, number, limit_us) {
                    Verdict::Lost => self.mark_lost(number),
                    Verdict::Later(wait_us) => return wait_us,
                }
            }
            self.rack.cursor += 1;
        }
        None
    }

    fn detect_among_resent(&mut self, limit_us: u32) -> Option<u32> {
        while let Some((number, time_us)) = self.rack.resent.front().copied() {
            let is_current = number >= self.una && {
                let sent = self.sent.get(number);
                sent.time_us == time_us && sent.has(RESENT) && !sent.has(SACKED)
            };
            if is_current {
                match self.judge(time_us, number, limit_us) {
                    Verdict::Lost => self.mark_lost(number),
                    Verdict::Later(wait_us) => return wait_us,
                }
            }
            self.rack.resent.pop_front();
        }
        None
    }

    /// Lost is what was sent before a packet that was delivered, and longer ago than that one's RTT.
    fn judge(&self, time_us: u32, number: u32, limit_us: u32) -> Verdict {
        let rack = &self.rack;
        if !rack.has_sample || !sent_after(rack.time_us, rack.number, time_us, number) {
            return Verdict::Later(None);
        }
        let age_us = self.now_us().wrapping_sub(time_us);
        if age_us >= limit_us {
            return Verdict::Lost;
        }
        // the last one sent before rack.time_us has to wait longest
        Verdict::Later(Some(limit_us - self.now_us().wrapping_sub(rack.time_us).min(age_us)))
    }

    /// `tcp_mark_skb_lost`
    pub(super) fn mark_lost(&mut self, number: u32) {
        let sent = self.sent.get_mut(number);
        if sent.has(SACKED) {
            return;
        }
        let tp = &mut self.flow.socket;
        if !sent.has(LOST) {
            sent.flags |= LOST;
            tp.lost_out += 1;
        } else if sent.has(RESENT) {
            sent.flags &= !RESENT;
            tp.retrans_out -= 1;
        } else {
            return;
        }
        tp.lost = tp.lost.wrapping_add(1);
        self.lost.insert(number);
    }

    /// `tcp_identify_packet_loss`
    pub(super) fn identify_loss(&mut self, state: &mut AckState) {
        if self.una == self.next {
            return;
        }
        if !self.spec.sack {
            return self.newreno_mark_lost(state.advanced);
        }
        if !self.rack.advanced {
            return;
        }
        self.rack.advanced = false;
        let prior_retrans_pkts = self.tp().retrans_out;
        if let Some(wait_us) = self.detect_loss() {
            self.wait_for_reordering(wait_us);
            state.sets_timer = false;
        }
        state.lost_retransmission |= self.tp().retrans_out < prior_retrans_pkts;
    }

    /// `tcp_newreno_mark_lost` (RFC 6582): the first packet, at the third duplicate and at each partial ACK.
    fn newreno_mark_lost(&mut self, advanced: bool) {
        let ca_state = u32::from(self.flow.ca_state());
        let third = ca_state < TCP_CA_Recovery && self.tp().sacked_out >= self.reordering;
        if (third || (ca_state == TCP_CA_Recovery && advanced)) && !self.sent.get(self.una).has(LOST) {
            self.mark_lost(self.una);
        }
    }

    /// `tcp_add_reno_sack`: a duplicate ACK means that some packet has left the network.
    pub(super) fn add_reno_sack(&mut self, is_duplicate: bool, marked: bool) {
        if !is_duplicate || !self.spec.fast_retransmit {
            return;
        }
        let prior_pkts = self.tp().sacked_out;
        self.tp_mut().sacked_out += 1;
        self.limit_reno_sacked(0);
        let delivered = self.tp().sacked_out.saturating_sub(prior_pkts);
        self.count_delivered(delivered, marked);
    }

    /// `tcp_limit_reno_sacked`, `tcp_check_reno_reordering`
    fn limit_reno_sacked(&mut self, addend_pkts: u32) {
        let tp = &mut self.flow.socket;
        let holes = tp.lost_out.max(1).min(tp.packets_out);
        if tp.sacked_out + holes > tp.packets_out {
            tp.sacked_out = tp.packets_out - holes;
            self.reordering = (tp.packets_out + addend_pkts).clamp(DUPLICATES, REORDERING_MAX);
        }
    }

    /// `tcp_remove_reno_sacks`: one of the packets acknowledged was the hole; the duplicates were of the others.
    pub(super) fn remove_reno_sacks(&mut self, acked_pkts: u32, marked: bool) {
        let sacked_pkts = self.tp().sacked_out;
        self.count_delivered(acked_pkts.saturating_sub(sacked_pkts).max(1), marked);
        self.tp_mut().sacked_out = sacked_pkts.saturating_sub(acked_pkts - 1);
        self.limit_reno_sacked(acked_pkts);
    }

    /// `tcp_check_sack_reordering`
    pub(super) fn note_reordering(&mut self, from: u32) {
        let highest = self.highest_sacked();
        if from >= highest {
            return;
        }
        self.reordering = self.reordering.max((highest - from).min(REORDERING_MAX));
        self.rack.reordering_seen = true;
    }

    /// `tcp_rack_update_reo_wnd`: wider by a quarter of the smallest RTT for each round with a D-SACK.
    pub(super) fn update_reordering_window(&mut self, state: &AckState) {
        let delivered_pkts = self.tp().delivered;
        let rack = &mut self.rack;
        if !state.rate.has_sample {
            return;
        }
        if super::sent::is_before(state.rate.prior_delivered_pkts, rack.last_delivered_pkts) {
            rack.dsack_seen = false;
        }
        if rack.dsack_seen {
            rack.steps = rack.steps.saturating_add(1);
            rack.dsack_seen = false;
            rack.last_delivered_pkts = delivered_pkts;
            rack.wide_recoveries = WIDE_RECOVERIES;
        } else if rack.wide_recoveries == 0 {
            rack.steps = 1;
        }
    }
}

enum Verdict {
    Lost,
    Later(Option<u32>),
}
