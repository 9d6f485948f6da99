// SPDX-License-Identifier: GPL-2.0-only
//! An ACK's way through the sender: `tcp_ack`, `tcp_clean_rtx_queue`, `tcp_cong_control`.

use super::ack_state::AckState;
use super::rack::DUPLICATES;
use super::sent::{Sent, EVER_RESENT, LOST, RESENT, SACKED, SAMPLED};
use super::{Echo, Sender};
use crate::network::Network;
use crate::packet::{AckOptions, Packet, Sack, ECHO};

/// The clocks of two hosts have nothing to do with each other: what the peer's time stamps are ahead.
const PEER_CLOCK_MS: u32 = 1_000_000_000;

/// What is to be sent once the window is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resend {
    Nothing,
    Lost,
    New,
}

impl Sender {
    /// `tcp_ack`, then `tcp_data_snd_check`
    pub(crate) fn acked(&mut self, packet: &Packet, options: AckOptions, network: &mut Network) {
        let ack = packet.number;
        if packet.connection() != self.connection() || ack > self.next {
            return;
        }
        if self.next == self.una {
            self.flow.told_of_ack();
            return self.push(network);
        }
        let mut state = self.ack_state(packet);
        state.feedback_bytes_q8 = options.feedback_bytes_q8;
        self.count_marks(options.received_ce_pkts, &mut state);
        if ack < self.una {
            self.old_acked(options.sack, &mut state, network);
            return self.push(network);
        }
        self.advance_una(ack, &mut state);
        if let Some(sack) = options.sack {
            self.sack_received(&sack, &mut state);
        }
        self.clean(state.prior_una, ack, &mut state);
        self.update_reordering_window(&state);
        self.flow.told_of_ack();
        self.process_probe_ack(ack, &state);
        let resend = if self.is_dubious(&state) { self.alerted(&mut state) } else { Resend::Nothing };
        if state.sets_timer {
            self.set_transmit_timer();
        }
        self.control_congestion(&mut state);
        self.resend(resend, network);
        self.push(network);
    }

    fn ack_state(&mut self, packet: &Packet) -> AckState {
        if self.spec.time_stamps {
            self.echoed_us = packet.echo_us;
            let [peer_ms, echoed_ms] = [packet.stamp_us, packet.echo_us].map(|stamp_us| self.in_ms(stamp_us));
            self.flow.set_time_stamps(peer_ms.wrapping_add(PEER_CLOCK_MS), echoed_ms);
        }
        AckState {
            prior_una: self.una,
            marked: packet.has(ECHO),
            prior_fack: self.highest_sacked(),
            prior_delivered_pkts: self.tp().delivered,
            prior_lost_pkts: self.tp().lost,
            echo_us: self.spec.time_stamps.then_some(packet.echo_us),
            prior_in_flight_pkts: self.flow.in_flight_pkts(),
            ..AckState::default()
        }
    }

    /// `tcp_accecn_process`: the receiver has counted.
    fn count_marks(&mut self, received_ce_pkts: Option<u32>, state: &mut AckState) {
        let Some(received) = received_ce_pkts else { return };
        let new_pkts = received.wrapping_sub(self.received_ce_pkts);
        if new_pkts == 0 || new_pkts > u32::MAX / 2 {
            return; // the ACK was overtaken
        }
        self.received_ce_pkts = received;
        state.marked = true;
        self.counters.delivered_ce_pkts += u64::from(new_pkts);
        let tp = &mut self.flow.socket;
        tp.delivered_ce = tp.delivered_ce.wrapping_add(new_pkts);
    }

    /// `tcp_rtt_tsopt_us`: ticks since the time stamp, at least one. Up to a tick less or more than the time itself.
    fn stamped_rtt_us(&self, echo_us: u32) -> u32 {
        let ticks_ms = self.in_ms(self.now_us()) - self.in_ms(echo_us);
        ticks_ms.max(1) * 1000
    }

    /// `tcp_tsopt_ecr_before`: the time stamp is of an earlier tick.
    pub(super) fn is_stamped_before(&self, echo_us: u32, time_us: u32) -> bool {
        self.in_ms(echo_us) < self.in_ms(time_us)
    }

    /// `tcp_skb_spurious_retrans`: the ACK echoes a time stamp from before the retransmission.
    fn was_resent_for_nothing(&self, sent: &Sent, state: &AckState) -> bool {
        sent.has(EVER_RESENT) && state.echo_us.is_some_and(|echo_us| self.is_stamped_before(echo_us, sent.time_us))
    }

    /// A time stamp in the ticks that Linux puts into segments. It is of the past, in us modulo 2^32.
    fn in_ms(&self, stamp_us: u32) -> u32 {
        let now_us = self.tp().tcp_mstamp;
        let age_us = (now_us as u32).wrapping_sub(stamp_us);
        (now_us.saturating_sub(u64::from(age_us)) / 1000) as u32
    }

    fn advance_una(&mut self, ack: u32, state: &mut AckState) {
        if ack == self.una {
            return;
        }
        state.advanced = true;
        self.timeouts_in_row = 0;
        self.counters.acked_pkts += u64::from(ack - self.una);
        let bytes = (ack - self.una).wrapping_mul(self.flow.socket.mss_cache);
        self.flow.socket.snd_una = self.flow.socket.snd_una.wrapping_add(bytes);
        self.una = ack;
    }

    /// An ACK that was overtaken by a later one.
    fn old_acked(&mut self, sack: Option<Sack>, state: &mut AckState, network: &mut Network) {
        let Some(sack) = sack else { return };
        self.sack_received(&sack, state);
        let resend = self.alerted(state);
        self.resend(resend, network);
    }

    /// `tcp_ack_is_dubious`
    fn is_dubious(&self, state: &AckState) -> bool {
        !state.data_acked || state.data_sacked || state.marked || state.is_dsack || self.flow.ca_state() != 0
    }

    /// `tcp_clean_rtx_queue`
    fn clean(&mut self, una: u32, ack: u32, state: &mut AckState) {
        let now_us = self.now_us();
        let prior_sacked_pkts = self.flow.socket.sacked_out;
        let (mut first_us, mut last_us) = (None, 0);
        for number in una..ack {
            let sent = *self.sent.get(number);
            if sent.has(EVER_RESENT) {
                state.resent_acked = true;
            } else if !sent.has(SACKED) {
                first_us.get_or_insert(sent.time_us);
                last_us = sent.time_us;
                self.note_original(number, state);
            }
            self.uncount(sent.flags);
            if !sent.has(SACKED) && self.spec.sack {
                self.count_delivered(1, state.marked);
                if !self.was_resent_for_nothing(&sent, state) {
                    self.rack_advance(&sent, number);
                }
            }
            if !sent.has(SAMPLED) {
                self.sample_rate(&sent, number, state);
            }
        }
        let pkts = ack - una;
        state.pkts_acked = pkts;
        state.data_acked = pkts > 0;
        self.flow.socket.packets_out -= pkts;
        self.forget_below(ack);
        let own_rtt_us = first_us
            .filter(|_| !state.resent_acked)
            .map(|first| (now_us.wrapping_sub(first), now_us.wrapping_sub(last_us)));
        state.maybe_delayed = pkts == 1
            && own_rtt_us.is_some()
            && prior_sacked_pkts == 0
            && state.rate.prior_delivered_pkts.wrapping_add(1) == self.flow.socket.delivered
            && !(state.data_sacked || state.marked || state.is_dsack);
        let rtt_updated = self.update_rtt(own_rtt_us, state);
        self.after_clean(rtt_updated, state);
    }

    fn note_original(&mut self, number: u32, state: &mut AckState) {
        if number < state.prior_fack {
            let from = state.reordered_from.map_or(number, |from| from.min(number));
            state.reordered_from = Some(from);
        }
        if number < self.high_seq {
            state.original_acked = true;
        }
    }

    /// A packet is no longer outstanding: out of the sums that it is part of.
    fn uncount(&mut self, flags: u8) {
        let tp = &mut self.flow.socket;
        if flags & (SACKED | LOST | RESENT) == 0 {
            return;
        }
        tp.retrans_out -= u32::from(flags & RESENT != 0);
        tp.sacked_out -= u32::from(flags & SACKED != 0);
        tp.lost_out -= u32::from(flags & LOST != 0);
    }

    fn forget_below(&mut self, number: u32) {
        if !self.sacked.is_empty() {
            self.sacked.remove_below(number);
        }
        if !self.lost.is_empty() {
            self.lost.remove_below(number);
        }
        self.rack.forget_below(number);
    }

    /// `tcp_ack_update_rtt`: of what was acknowledged in order, of what was sacked, or by the time stamp.
    fn update_rtt(&mut self, own_us: Option<(u32, u32)>, state: &mut AckState) -> bool {
        let now_us = self.now_us();
        let sacked_us =
            state.first_sacked_us.map(|first| (now_us.wrapping_sub(first), now_us.wrapping_sub(state.last_sacked_us)));
        let stamped_us = state.echo_us.filter(|_| state.data_acked).map(|echo| [self.stamped_rtt_us(echo); 2].into());
        let sample = own_us.or(sacked_us).or(stamped_us);
        state.rtt_us = sacked_us.filter(|_| own_us.is_some()).or(sample).map(|(_, last_us)| last_us);
        let (Some((rtt_us, _)), Some(last_us)) = (sample, state.rtt_us) else { return false };
        self.rtt.min_us = self.rtt.min_us.min(last_us.max(1));
        self.flow.seen_rtt(last_us.max(1));
        self.rtt.sample(rtt_us, self.flow.socket.srtt_us, self.una, self.next);
        self.flow.smooth_rtt(rtt_us);
        self.rtt.set_timeout(self.flow.socket.srtt_us);
        true
    }

    fn after_clean(&mut self, rtt_updated: bool, state: &mut AckState) {
        if state.data_acked {
            state.sets_timer = true;
            if !self.spec.sack {
                self.remove_reno_sacks(state.pkts_acked, state.marked);
                if state.resent_acked {
                    state.original_acked = false;
                }
            } else if let Some(from) = state.reordered_from.filter(|from| *from < state.prior_fack) {
                self.note_reordering(from);
            }
        } else if rtt_updated && state.first_sacked_us.is_some() && self.next > self.una {
            let head_us = self.sent.get(self.una).time_us;
            let sack_rtt_us = state.first_sacked_us.map_or(0, |first| self.now_us().wrapping_sub(first));
            state.sets_timer = sack_rtt_us > self.now_us().wrapping_sub(head_us);
        }
        let in_flight_pkts = self.flow.socket.delivered.wrapping_sub(state.rate.prior_delivered_pkts);
        self.flow.told_of_acked(state.pkts_acked, state.rtt_us.map_or(-1, |rtt_us| rtt_us as i32), in_flight_pkts);
    }

    /// `tcp_count_delivered`
    pub(super) fn count_delivered(&mut self, pkts: u32, marked: bool) {
        self.counters.delivered_pkts += u64::from(pkts);
        let tp = &mut self.flow.socket;
        tp.delivered = tp.delivered.wrapping_add(pkts);
        if marked && self.echo != Echo::Count {
            self.counters.delivered_ce_pkts += u64::from(pkts);
            tp.delivered_ce = tp.delivered_ce.wrapping_add(pkts);
        }
    }

    /// `tcp_cong_control`
    fn control_congestion(&mut self, state: &mut AckState) {
        let sample = self.rate_sample(state);
        if self.flow.controls_cwnd() {
            return self.flow.controlled(&sample);
        }
        if self.flow.reducing() {
            self.reduce_window(sample.acked_sacked, sample.losses as u32, state.advanced);
        } else if self.spec.xcp {
            self.apply_feedback(state.feedback_bytes_q8);
        } else if state.data_acked || (self.reordering > DUPLICATES && state.data_sacked) {
            self.flow.grown(sample.acked_sacked);
        }
        self.update_pacing_rate();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::spec::TcpSpec;
    use std::sync::Arc;
    use std::time::Duration;

    fn sender_at(now_us: u64) -> Sender {
        let instance = Arc::new(crate::Instance::with_defaults("reno").expect("the catalogue has it"));
        let mut sender = Sender::new(instance, TcpSpec::default(), 0, 1, Duration::ZERO);
        sender.set_clock(now_us * 1000);
        sender
    }

    /// RFC 7323 section 4.1: what a time stamp tells is as exact as its clock, here one of a millisecond.
    #[test]
    fn an_rtt_by_time_stamp_is_in_whole_ticks() {
        for (sent_us, acked_us, expected_us) in
            [(10_900, 50_100, 40_000), (10_100, 49_900, 39_000), (10_000, 50_000, 40_000), (10_100, 10_900, 1000)]
        {
            assert_eq!(sender_at(acked_us).stamped_rtt_us(sent_us), expected_us, "{sent_us} to {acked_us}");
        }
        let late_us = (1 << 32) + 20_000; // 4294987 ms and 296 us
        assert_eq!(sender_at(late_us).stamped_rtt_us((late_us - 40_300) as u32), 41_000);
    }

    /// RFC 3522 compares time stamps, and those of one tick are equal.
    #[test]
    fn what_was_sent_in_one_tick_is_not_before() {
        let sender = sender_at(60_000);
        assert!(!sender.is_stamped_before(10_100, 10_900));
        assert!(sender.is_stamped_before(10_900, 11_000));
        assert!(!sender.is_stamped_before(11_000, 10_900));
    }
}
