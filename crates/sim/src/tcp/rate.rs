// SPDX-License-Identifier: GPL-2.0-only
//! Delivery rate samples: `tcp_rate.c`.

use super::ack_state::{AckState, RateState};
use super::sent::{is_before, sent_after, Sent, LIMITED};
use super::Sender;
use crate::native::rate_sample;

impl Sender {
    /// `tcp_rate_skb_delivered`: the newest packet that an ACK acknowledges is what is measured.
    pub(super) fn sample_rate(&mut self, sent: &Sent, number: u32, state: &mut AckState) {
        let rate = &mut state.rate;
        if rate.has_sample && !sent_after(sent.time_us, number, self.first_tx_us, rate.last_number) {
            return;
        }
        *rate = RateState {
            has_sample: true,
            prior_delivered_pkts: sent.delivered_pkts,
            prior_us: sent.delivered_us,
            is_limited: sent.has(LIMITED),
            last_number: number,
            interval_us: sent.time_us.wrapping_sub(sent.first_sent_us),
        };
        self.first_tx_us = sent.time_us;
    }

    /// `tcp_rate_gen`
    pub(super) fn rate_sample(&mut self, state: &mut AckState) -> rate_sample {
        let tp = &mut self.flow.socket;
        if tp.app_limited != 0 && is_before(tp.app_limited, tp.delivered) {
            tp.app_limited = 0;
        }
        let newly_delivered = tp.delivered.wrapping_sub(state.prior_delivered_pkts);
        if newly_delivered > 0 {
            tp.delivered_mstamp = tp.tcp_mstamp;
        }
        let rate = &state.rate;
        let mut sample = rate_sample {
            prior_delivered: rate.prior_delivered_pkts,
            prior_mstamp: 0,
            delivered: -1,
            interval_us: -1,
            rtt_us: state.rtt_us.map_or(-1, i64::from),
            losses: tp.lost.wrapping_sub(state.prior_lost_pkts) as i32,
            acked_sacked: newly_delivered,
            prior_in_flight: state.prior_in_flight_pkts,
            is_app_limited: rate.is_limited,
            is_ack_delayed: state.maybe_delayed,
        };
        if rate.has_sample {
            let ack_us = (tp.tcp_mstamp as u32).wrapping_sub(rate.prior_us);
            let interval_us = ack_us.max(rate.interval_us);
            sample.prior_mstamp = tp.tcp_mstamp - u64::from(ack_us);
            sample.delivered = tp.delivered.wrapping_sub(rate.prior_delivered_pkts) as i32;
            sample.interval_us = if interval_us < self.rtt.min_us { -1 } else { i64::from(interval_us) };
        }
        sample
    }

    /// `tcp_rate_check_app_limited`, before the application writes
    pub(super) fn check_app_limited(&mut self) {
        let in_flight = self.flow.in_flight_pkts();
        let tp = &mut self.flow.socket;
        if self.next == self.limit && in_flight < tp.snd_cwnd && tp.lost_out <= tp.retrans_out {
            tp.app_limited = tp.delivered.wrapping_add(in_flight).max(1);
        }
    }
}
