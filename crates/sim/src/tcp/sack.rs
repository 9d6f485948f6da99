// SPDX-License-Identifier: GPL-2.0-only
//! Selective acknowledgements: `tcp_sacktag_write_queue`, `tcp_sacktag_one`, `tcp_check_dsack`.

use super::ack_state::AckState;
use super::sent::{EVER_RESENT, LOST, RESENT, SACKED, SAMPLED};
use super::Sender;
use crate::packet::Sack;
use crate::ranges::Range;

impl Sender {
    /// `tcp_highest_sack_seq`
    pub(super) fn highest_sacked(&self) -> u32 {
        self.sacked.end().map_or(self.una, |end| end - 1)
    }

    /// Only what a block tells for the first time costs anything.
    pub(super) fn sack_received(&mut self, sack: &Sack, state: &mut AckState) {
        let mut blocks = &sack.blocks[..];
        if sack.is_duplicate {
            self.duplicate_reported(blocks[0], state);
            blocks = &blocks[1..];
        }
        for block in blocks {
            let block = Range::new(block.first.max(self.una), block.end.min(self.next));
            while let Some(gap) = if block.is_empty() { None } else { self.sacked.first_gap(block) } {
                let highest = self.highest_sacked();
                (gap.first..gap.end).for_each(|number| self.sack_one(number, highest, state));
                self.sacked.insert_gap(gap);
            }
        }
        if let Some(from) = state.reordered_from.filter(|_| state.newly_sacked_pkts > 0) {
            self.note_reordering(from);
            state.reordered_from = None;
        }
        self.count_delivered(state.newly_sacked_pkts, state.marked);
    }

    fn duplicate_reported(&mut self, block: Range, state: &mut AckState) {
        state.is_dsack = true;
        self.rack.saw_dsack();
        let in_undo = self.undo_marker.is_some_and(|marker| block.end > marker);
        if let Some(count) = self.undo_retrans.filter(|_| in_undo) {
            self.undo_retrans = Some(count.saturating_sub(block.end - block.first));
        }
        for number in block.first.max(self.una)..block.end.min(self.next) {
            let sent = self.sent.get_mut(number);
            if sent.has(RESENT) && sent.has(SACKED) {
                sent.flags &= !RESENT;
                self.flow.socket.retrans_out -= 1;
            }
        }
    }

    fn sack_one(&mut self, number: u32, highest: u32, state: &mut AckState) {
        let sent = *self.sent.get(number);
        if sent.has(SACKED) {
            return;
        }
        self.rack_advance(&sent, number);
        let tp = &mut self.flow.socket;
        let mut flags = sent.flags | SACKED | SAMPLED;
        if sent.has(RESENT) {
            if sent.has(LOST) {
                flags &= !(LOST | RESENT);
                tp.lost_out -= 1;
                tp.retrans_out -= 1;
            }
        } else {
            if !sent.has(EVER_RESENT) {
                if number < highest {
                    let from = state.reordered_from.map_or(number, |from| from.min(number));
                    state.reordered_from = Some(from);
                }
                state.original_acked |= number < self.high_seq;
                state.first_sacked_us.get_or_insert(sent.time_us);
                state.last_sacked_us = sent.time_us;
            }
            if sent.has(LOST) {
                flags &= !LOST;
                tp.lost_out -= 1;
            }
        }
        tp.sacked_out += 1;
        state.data_sacked = true;
        state.newly_sacked_pkts += 1;
        self.sent.get_mut(number).flags = flags;
        self.sample_rate(&sent, number, state);
    }
}
