// SPDX-License-Identifier: GPL-2.0-only
//! What is sent and when: `tcp_write_xmit`, `tcp_xmit_retransmit_queue`, use of the window.

use super::ack::Resend;
use super::ecn::Echo;
use super::sent::{Sent, EVER_RESENT, LIMITED, LOST, RESENT, SACKED};
use super::Sender;
use crate::native::TCP_CA_Open;
use crate::network::Network;
use crate::packet::{Packet, ECT_1, MARKABLE, REDUCED, RETRANSMITTED};

impl Sender {
    /// The application writes (`tcp_sendmsg`).
    pub(crate) fn write(&mut self, pkts: u32, network: &mut Network) {
        self.set_clock(network.ends_ns());
        self.check_app_limited();
        self.restart_after_idle();
        self.limit = self.limit.saturating_add(pkts).min(u32::MAX - 1);
        self.push(network);
    }

    /// The application has no more; what was not sent yet is forgotten.
    pub(crate) fn close(&mut self) {
        self.limit = self.next;
        self.is_closed = true;
        self.leave_when_over();
    }

    /// The kernel destroys a socket that is closed once all is acknowledged.
    pub(crate) fn leave_when_over(&mut self) {
        if self.is_closed && self.is_idle() {
            self.flow.release();
        }
    }

    /// `tcp_slow_start_after_idle_check`
    fn restart_after_idle(&mut self) {
        let never_sent = self.next == 0;
        if !self.spec.slow_start_after_idle || self.next > self.una || never_sent || self.flow.controls_cwnd() {
            return;
        }
        let idle_us = self.tp().tcp_mstamp - self.last_sent_us;
        let timeout_us = u64::from(self.rtt.timeout_us());
        if idle_us > timeout_us {
            let rtos = ((idle_us - 1) / timeout_us).min(31) as u32;
            self.flow.restarted_from(rtos, self.spec.initial_window_pkts);
            self.cwnd_stamp_us = self.tp().tcp_mstamp;
            self.cwnd_used_pkts = 0;
        }
    }

    pub(super) fn may_send_new(&self) -> bool {
        self.next < self.limit && self.next - self.una < self.spec.max_window_pkts
    }

    /// `tcp_write_xmit`
    pub(super) fn push(&mut self, network: &mut Network) {
        let mut sent_pkts = 0;
        let mut is_limited = false;
        let mut in_flight_pkts = self.flow.in_flight_pkts();
        while self.may_send_new() {
            if in_flight_pkts >= self.tp().snd_cwnd {
                is_limited = true;
                break;
            }
            if self.waits_for_pace() {
                break;
            }
            self.send_new(network);
            sent_pkts += 1;
            in_flight_pkts += 1;
        }
        is_limited |= in_flight_pkts >= self.tp().snd_cwnd;
        if sent_pkts > 0 || is_limited {
            self.validate_window(is_limited);
        }
        if sent_pkts > 0 {
            if self.flow.reducing() {
                self.prr_out += sent_pkts;
            }
            self.schedule_probe(false);
        }
    }

    /// A probe sends one packet whatever the window is.
    pub(super) fn push_one(&mut self, network: &mut Network) {
        if self.may_send_new() {
            self.send_new(network);
        }
    }

    #[inline]
    fn send_new(&mut self, network: &mut Network) {
        let number = self.next;
        if self.una == number {
            // `tcp_rate_skb_sent`: a rate begins with the first packet after a pause
            self.first_tx_us = self.now_us();
            self.flow.socket.delivered_mstamp = self.flow.socket.tcp_mstamp;
        }
        self.sent.reserve(self.una, number + 1);
        *self.sent.get_mut(number) = self.sent_now(0);
        self.transmit(number, 0, network);
        let had_none = self.una == number;
        let bytes = self.flow.socket.mss_cache;
        self.next = number + 1;
        self.flow.socket.snd_nxt = self.flow.socket.snd_nxt.wrapping_add(bytes);
        self.flow.socket.packets_out += 1;
        if had_none || self.probe_is_pending() {
            self.rearm_timeout();
        }
    }

    /// `tcp_rate_skb_sent`
    fn sent_now(&self, flags: u8) -> Sent {
        let tp = self.tp();
        Sent {
            time_us: tp.tcp_mstamp as u32,
            first_sent_us: self.first_tx_us,
            delivered_us: tp.delivered_mstamp as u32,
            delivered_pkts: tp.delivered,
            flags: flags | if tp.app_limited == 0 { 0 } else { LIMITED },
        }
    }

    /// `__tcp_transmit_skb`
    #[inline]
    fn transmit(&mut self, number: u32, flags: u8, network: &mut Network) {
        if self.flow.in_flight_pkts() == 0 {
            self.flow.tx_started();
        }
        self.last_sent_us = self.tp().tcp_mstamp;
        self.pace(network.ends_ns());
        let mut packet = Packet {
            time_ns: 0,
            flow: self.index,
            number,
            stamp_us: self.now_us(),
            echo_us: 0,
            options: if self.spec.xcp { network.headers.put(self.congestion_header()) } else { 0 },
            size_bytes: self.spec.mss_bytes + self.spec.header_bytes,
            hop: 0,
            flags: flags | self.ecn_flags(flags),
        };
        packet.set_connection(self.connection);
        self.counters.sent_pkts += 1;
        network.send(packet);
    }

    /// `tcp_ecn_send`: retransmissions cannot be marked, except where the algorithm needs every mark.
    fn ecn_flags(&mut self, flags: u8) -> u8 {
        if !self.ecn {
            return 0;
        }
        if flags & RETRANSMITTED != 0 {
            return if self.echo == Echo::UntilReduced { 0 } else { self.ect() };
        }
        let cwr = if std::mem::take(&mut self.owes_cwr) { REDUCED } else { 0 };
        self.ect() | cwr
    }

    fn ect(&self) -> u8 {
        if self.ect_1 {
            MARKABLE | ECT_1
        } else {
            MARKABLE
        }
    }

    /// `tcp_retransmit_skb`
    pub(super) fn retransmit(&mut self, number: u32, network: &mut Network) {
        let before = self.sent.get(number).flags;
        let kept = before & (LOST | SACKED);
        self.transmit(number, RETRANSMITTED, network);
        *self.sent.get_mut(number) = self.sent_now(kept | RESENT | EVER_RESENT);
        if before & RESENT == 0 {
            self.flow.socket.retrans_out += 1;
        }
        self.counters.retransmitted_pkts += 1;
        self.retrans_stamp_us.get_or_insert(self.flow.socket.tcp_mstamp as u32);
        self.undo_retrans = Some(self.undo_retrans.unwrap_or(0) + 1);
        if self.spec.sack {
            self.rack.resent(number, self.flow.socket.tcp_mstamp as u32);
        }
    }

    /// `tcp_xmit_recovery`
    pub(super) fn resend(&mut self, what: Resend, network: &mut Network) {
        match what {
            Resend::Nothing => return,
            Resend::New => {
                self.push(network);
                if self.next > self.high_seq {
                    return;
                }
                self.frto = false;
            }
            Resend::Lost => {}
        }
        self.resend_lost(network);
    }

    /// `tcp_xmit_retransmit_queue`
    pub(super) fn resend_lost(&mut self, network: &mut Network) {
        while let Some(run) = self.lost.first() {
            let number = run.first;
            let sent = self.sent.get(number);
            let is_to_be_sent = number >= self.una && sent.has(LOST) && !sent.has(SACKED | RESENT);
            if is_to_be_sent {
                if self.flow.in_flight_pkts() >= self.tp().snd_cwnd || self.waits_for_pace() {
                    break;
                }
                self.retransmit(number, network);
                if self.flow.reducing() {
                    self.prr_out += 1;
                }
                if number == self.una && !self.reordering_is_pending() {
                    self.restart_timeout();
                }
            }
            self.lost.pop_first();
        }
    }

    /// `tcp_cwnd_validate`
    fn validate_window(&mut self, is_limited: bool) {
        let (una, next) = (self.una, self.next);
        let tp = &mut self.flow.socket;
        if una >= self.cwnd_usage_end
            || is_limited
            || (tp.is_cwnd_limited() == 0 && tp.packets_out > tp.max_packets_out)
        {
            tp.set_is_cwnd_limited(u32::from(is_limited));
            tp.max_packets_out = tp.packets_out;
            self.cwnd_usage_end = next;
        }
        let in_slow_start = tp.snd_cwnd < tp.snd_ssthresh;
        let is_used = if in_slow_start { tp.snd_cwnd < 2 * tp.max_packets_out } else { tp.is_cwnd_limited() != 0 };
        if is_used {
            self.cwnd_used_pkts = 0;
            self.cwnd_stamp_us = tp.tcp_mstamp;
            return;
        }
        self.cwnd_used_pkts = self.cwnd_used_pkts.max(tp.packets_out);
        let unused_us = tp.tcp_mstamp - self.cwnd_stamp_us;
        if self.spec.slow_start_after_idle
            && unused_us >= u64::from(self.rtt.timeout_us())
            && !self.flow.controls_cwnd()
        {
            self.shrink_unused_window();
        }
    }

    /// `tcp_cwnd_application_limited`
    fn shrink_unused_window(&mut self) {
        if self.is_in(TCP_CA_Open) {
            let used_pkts = self.cwnd_used_pkts.max(self.spec.initial_window_pkts);
            let ssthresh_pkts = self.flow.current_ssthresh_pkts();
            let tp = &mut self.flow.socket;
            if used_pkts < tp.snd_cwnd {
                tp.snd_ssthresh = ssthresh_pkts;
                tp.snd_cwnd = (tp.snd_cwnd + used_pkts) >> 1;
            }
            self.cwnd_used_pkts = 0;
        }
        self.cwnd_stamp_us = self.tp().tcp_mstamp;
    }
}
