// SPDX-License-Identifier: GPL-2.0-only
//! One flow: an algorithm, its socket, and the events that the kernel would bring to it.

use std::sync::Arc;
use std::time::Duration;

use ccctl_catalog::kernel::TCP_INFINITE_SSTHRESH;

use crate::native::{
    ack_sample, rate_sample, tcp_ca_event, tcp_sock, Instance, TCP_CA_Disorder, TCP_CA_Loss, TCP_CA_Open,
    TCP_CA_Recovery, CA_EVENT_COMPLETE_CWR, CA_EVENT_CWND_RESTART, CA_EVENT_LOSS, CA_EVENT_TX_START, SK_PACING_NONE,
    STATE_BYTES, TCP_CA_CWR, TCP_ECN_MODE_ACCECN, TCP_ECN_OK,
};
use crate::record::{recorded, Call, Hook};

/// `TCP_INIT_CWND` (RFC 6928).
const INITIAL_CWND_PKTS: u32 = 10;

/// Bytes a packet, of which the core's `ack_sample` counts some things: Ethernet with IPv4 and time stamps.
const MSS_BYTES: u32 = 1448;

/// What one ACK tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// Packets newly acknowledged.
    pub pkts: u32,
    /// Of those, with a congestion mark.
    pub marked_pkts: u32,
    /// RTT sample; none where retransmitted data was acknowledged.
    pub rtt: Option<Duration>,
    /// Packets in flight before this ACK, which in the simulator are those delivered since the newest of them was sent.
    pub in_flight_pkts: u32,
    /// The last window was filled: only then may it grow.
    pub cwnd_limited: bool,
}

impl Ack {
    /// An ACK of `pkts` packets in a filled window.
    #[must_use]
    pub fn of(pkts: u32, rtt: Option<Duration>) -> Self {
        Self { pkts, marked_pkts: 0, rtt, in_flight_pkts: pkts, cwnd_limited: true }
    }
}

/// An algorithm at work on a socket. Each verb is one event of the kernel's contract with its congestion control
/// (`tcp_input.c`, `tcp_output.c`): it calls the same hooks in the same order and keeps what the core keeps.
///
/// [`Simulation`](crate::Simulation)'s TCP keeps most of the socket itself and uses the same verbs, or their parts.
pub struct Flow {
    instance: Arc<Instance>,
    pub(crate) socket: tcp_sock,
    prior_ssthresh_pkts: u32, // at the last reduction; 0: not to be undone
    calls: Option<Vec<Call>>,
}

impl Flow {
    /// A new connection: `init` is called with these windows at this time.
    #[must_use]
    pub fn new(instance: Arc<Instance>, cwnd_pkts: u32, ssthresh_pkts: u32, now: Duration) -> Self {
        let mut socket = tcp_sock {
            tcp_mstamp: us(now),
            snd_una: 1,
            snd_nxt: 1,
            snd_cwnd: cwnd_pkts,
            snd_cwnd_clamp: u32::MAX,
            snd_ssthresh: ssthresh_pkts,
            mss_cache: MSS_BYTES,
            ecn_flags: TCP_ECN_OK as u8,
            ..tcp_sock::default()
        };
        socket.inet_conn.sk.sk_pacing_rate = u64::MAX;
        socket.inet_conn.sk.sk_max_pacing_rate = u64::MAX;
        socket.inet_conn.sk.sk_gso_max_size = 65536;
        socket.inet_conn.sk.sk_pacing_status = SK_PACING_NONE;
        socket.rtt_min.s[0].v = u32::MAX;
        instance.init(&mut socket);
        Self { instance, socket, prior_ssthresh_pkts: 0, calls: None }
    }

    /// A new connection with the kernel's first windows.
    #[must_use]
    pub fn open_connection(instance: Arc<Instance>) -> Self {
        Self::new(instance, INITIAL_CWND_PKTS, TCP_INFINITE_SSTHRESH, Duration::ZERO)
    }

    /// From now on each call of a hook is recorded. The algorithm begins anew, as on a socket that changes to it, so that the
    /// record is whole.
    pub fn record(&mut self) {
        self.calls = Some(Vec::new());
        self.restart();
    }

    /// The calls since then, or since they were last taken.
    pub fn take_calls(&mut self) -> Vec<Call> {
        self.calls.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Calls a hook; what it returns, or 0.
    #[inline]
    fn call(&mut self, hook: Hook, run: impl FnOnce(&Instance, &mut tcp_sock) -> u32) -> u32 {
        match &mut self.calls {
            None => run(&self.instance, &mut self.socket),
            Some(calls) => recorded(calls, hook, (&self.instance, &mut self.socket), run),
        }
    }

    /// Calls one that returns nothing.
    #[inline]
    fn tell(&mut self, hook: Hook, run: impl FnOnce(&Instance, &mut tcp_sock)) {
        self.call(hook, |instance, tp| {
            run(instance, tp);
            0
        });
    }

    pub(crate) fn instance(&self) -> Arc<Instance> {
        Arc::clone(&self.instance)
    }

    /// Congestion window.
    #[must_use]
    pub fn cwnd_pkts(&self) -> u32 {
        self.socket.snd_cwnd
    }

    /// Slow start threshold.
    #[must_use]
    pub fn ssthresh_pkts(&self) -> u32 {
        self.socket.snd_ssthresh
    }

    /// Credit of additive increase.
    #[must_use]
    pub fn cwnd_cnt_pkts(&self) -> u32 {
        self.socket.snd_cwnd_cnt
    }

    /// Rate of pacing in bytes/s; `u64::MAX`: none.
    #[must_use]
    pub fn pacing_rate(&self) -> u64 {
        self.socket.inet_conn.sk.sk_pacing_rate
    }

    /// The algorithm sets its window by itself at each ACK, used or not: it limits what it sends by a rate.
    #[must_use]
    pub fn controls_cwnd(&self) -> bool {
        self.instance.controls_cwnd()
    }

    /// Time of the last event.
    #[must_use]
    pub fn now(&self) -> Duration {
        Duration::from_micros(self.socket.tcp_mstamp)
    }

    /// Open, Disorder, CWR, Recovery or Loss, as `enum tcp_ca_state` numbers them.
    #[must_use]
    pub fn ca_state(&self) -> u8 {
        self.socket.inet_conn.icsk_ca_state()
    }

    /// A field of the algorithm's state.
    #[must_use]
    pub fn state(&self, field: &str) -> Option<i128> {
        self.instance.layout().field(field)?.read(&self.state_bytes())
    }

    /// Writes a field of the algorithm's state; false where there is none of this name.
    pub fn set_state(&mut self, field: &str, value: i128) -> bool {
        let mut bytes = self.state_bytes();
        let Some(field) = self.instance.layout().field(field) else { return false };
        if !field.write(&mut bytes, value) {
            return false;
        }
        for (word, chunk) in self.socket.inet_conn.icsk_ca_priv.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_ne_bytes(*chunk);
        }
        true
    }

    /// `icsk_ca_priv`, as the tracer would read it.
    #[must_use]
    pub fn state_bytes(&self) -> [u8; STATE_BYTES] {
        let mut bytes = [0; STATE_BYTES];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(self.socket.inet_conn.icsk_ca_priv) {
            chunk.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// Time passes.
    pub fn advance(&mut self, time: Duration) {
        self.socket.tcp_mstamp += us(time);
    }

    /// It is now this time.
    pub fn set_clock(&mut self, now: Duration) {
        self.socket.tcp_mstamp = us(now);
    }

    /// The core's window, as rate reduction in recovery leaves it (PRR), or the application's limit.
    pub fn set_cwnd(&mut self, pkts: u32) {
        self.socket.snd_cwnd = pkts;
    }

    /// The largest window that the core allows.
    pub fn set_cwnd_clamp(&mut self, pkts: u32) {
        self.socket.snd_cwnd_clamp = pkts;
    }

    /// The core's smoothed RTT.
    pub fn set_srtt(&mut self, srtt: Duration) {
        self.socket.srtt_us = (us(srtt) << 3) as u32;
    }

    /// First byte not acknowledged, and next byte to be sent.
    pub fn set_sequence(&mut self, snd_una: u32, snd_nxt: u32) {
        self.socket.snd_una = snd_una;
        self.socket.snd_nxt = snd_nxt;
    }

    /// Seeds the random numbers of the algorithm.
    pub fn seed(&mut self, seed: u64) {
        self.socket.random_state = seed;
    }

    /// ECN was not negotiated. Algorithms ask when the connection begins.
    pub fn restart_without_ecn(&mut self) {
        self.restart_with_ecn_flags(0);
    }

    /// Accurate ECN (RFC 9768) was negotiated instead of RFC 3168's. Algorithms ask when the connection begins.
    pub fn restart_with_accurate_ecn(&mut self) {
        self.restart_with_ecn_flags(TCP_ECN_MODE_ACCECN as u8);
    }

    /// What the handshake left in `tcp_sock.ecn_flags`.
    pub(crate) fn restart_with_ecn_flags(&mut self, ecn_flags: u8) {
        self.socket.ecn_flags = ecn_flags;
        self.restart();
    }

    /// The algorithm begins anew, as on a socket that changes to it.
    pub fn restart(&mut self) {
        self.release();
        self.socket.inet_conn.icsk_ca_priv = Default::default();
        self.established();
    }

    /// `init` at the end of a handshake: whatever the ACK of the SYN has told the algorithm is still in its state.
    pub fn established(&mut self) {
        self.socket.changes_to_reno = false;
        self.tell(Hook::Init, Instance::init);
        if self.socket.changes_to_reno {
            self.change_to_reno();
        }
    }

    /// `tcp_reinit_congestion_control`: the algorithm leaves a connection that is not for it (`CC_CHANGE_TO`).
    fn change_to_reno(&mut self) {
        self.instance = Arc::new(Instance::with_defaults("reno").expect("the catalogue has it"));
        self.restart();
    }

    /// The connection is over, or has not begun: what its instance's flows share is without it until its next ACK.
    pub(crate) fn release(&mut self) {
        self.instance.release(&mut self.socket);
    }

    /// Time stamps of the last segment: the peer's, and our own that it echoes, both in ms, as Linux has them.
    pub fn set_time_stamps(&mut self, peer_ms: u32, echoed_ms: u32) {
        self.set_ticks(peer_ms, echoed_ms, 0);
    }

    /// The same in us: a route may ask for them (`RTAX_FEATURE_TCP_USEC_TS`).
    pub fn set_fine_time_stamps(&mut self, peer_us: u32, echoed_us: u32) {
        self.set_ticks(peer_us, echoed_us, 1);
    }

    fn set_ticks(&mut self, peer: u32, echoed: u32, in_us: u8) {
        self.socket.rx_opt.rcv_tsval = peer;
        self.socket.rx_opt.rcv_tsecr = echoed;
        self.socket.rx_opt.set_saw_tstamp(1);
        self.socket.set_tcp_usec_ts(in_us);
    }

    /// The next ACK is the first beyond what was sent when this round began.
    pub fn end_round(&mut self) {
        let snd_una = self.socket.snd_nxt.wrapping_add(1);
        self.set_sequence(snd_una, snd_una.wrapping_add(1));
    }

    /// An ACK of new data: its sample, then growth unless the core is reducing the window.
    pub fn acked(&mut self, ack: &Ack) {
        self.sampled(ack);
        if self.instance.controls_cwnd() {
            let sample = self.rate_sample(ack);
            self.controlled(&sample);
        } else if !self.reducing() {
            self.grown(ack.pkts);
        }
    }

    /// The first half of an ACK: what the algorithm learns before the window may grow.
    pub fn sampled(&mut self, ack: &Ack) {
        self.limit(ack.cwnd_limited);
        self.socket.delivered = self.socket.delivered.wrapping_add(ack.pkts);
        self.socket.delivered_ce = self.socket.delivered_ce.wrapping_add(ack.marked_pkts);
        self.socket.delivered_mstamp = self.socket.tcp_mstamp;
        let rtt_us = ack.rtt.map(|rtt| us(rtt) as u32);
        if let Some(rtt_us) = rtt_us {
            self.smooth_rtt(rtt_us);
            self.seen_rtt(rtt_us);
        }
        self.told_of_acked(ack.pkts, rtt_us.map_or(-1, |rtt_us| rtt_us as i32), ack.in_flight_pkts);
        self.told_of_ack();
    }

    /// `pkts_acked`, at the end of `tcp_clean_rtx_queue`
    pub(crate) fn told_of_acked(&mut self, pkts: u32, rtt_us: i32, in_flight_pkts: u32) {
        let in_flight = in_flight_pkts.saturating_mul(self.socket.mss_cache);
        let sample = ack_sample { pkts_acked: pkts, rtt_us, in_flight };
        self.tell(Hook::pkts_acked(&sample), |instance, tp| instance.pkts_acked(tp, &sample));
    }

    /// `tcp_in_ack_event`
    pub(crate) fn told_of_ack(&mut self) {
        self.tell(Hook::InAckEvent, Instance::in_ack_event);
    }

    /// `tcp_cong_control` of an algorithm that controls its window
    pub(crate) fn controlled(&mut self, sample: &rate_sample) {
        self.tell(Hook::cong_control(sample), |instance, tp| instance.cong_control(tp, sample));
    }

    /// `tcp_cong_avoid`
    pub(crate) fn grown(&mut self, pkts: u32) {
        self.tell(Hook::CongAvoid { acked: pkts }, |instance, tp| instance.cong_avoid(tp, pkts));
    }

    /// What the core would have measured if the packets in flight were delivered evenly over the last RTT.
    fn rate_sample(&self, ack: &Ack) -> rate_sample {
        let rtt_us = ack.rtt.map_or(-1, |rtt| us(rtt) as i64);
        let window_pkts = ack.in_flight_pkts.max(ack.pkts);
        rate_sample {
            prior_delivered: self.socket.delivered.wrapping_sub(window_pkts),
            prior_mstamp: self.socket.tcp_mstamp.saturating_sub(rtt_us.max(0) as u64).max(1),
            delivered: if rtt_us < 0 { -1 } else { window_pkts as i32 },
            interval_us: rtt_us,
            rtt_us,
            losses: 0,
            acked_sacked: ack.pkts,
            prior_in_flight: ack.in_flight_pkts,
            is_app_limited: !ack.cwnd_limited,
            is_ack_delayed: false,
        }
    }

    /// Duplicate ACKs, not yet a loss (`tcp_try_keep_open`).
    pub fn reordered(&mut self) {
        if self.ca_state() == TCP_CA_Open as u8 {
            self.enter(TCP_CA_Disorder);
        }
    }

    /// Loss found by duplicate ACKs, SACK or RACK (`tcp_enter_recovery`).
    pub fn lost(&mut self) {
        self.enter_recovery(false);
    }

    pub(crate) fn enter_recovery(&mut self, marked: bool) {
        if !self.reducing() {
            if !marked {
                self.prior_ssthresh_pkts = self.current_ssthresh_pkts();
            }
            self.start_reduction();
        }
        self.enter(TCP_CA_Recovery);
    }

    /// The receiver echoes a congestion mark (`tcp_enter_cwr`). Never undone.
    pub fn marked(&mut self) {
        self.prior_ssthresh_pkts = 0;
        if self.ca_state() < TCP_CA_CWR as u8 {
            self.start_reduction();
            self.enter(TCP_CA_CWR);
        }
    }

    /// A probe has repaired a loss (`tcp_process_tlp_ack`): a reduction that is over at once.
    pub(crate) fn reduced_by_probe(&mut self) {
        self.start_reduction();
        self.enter(TCP_CA_CWR);
        self.end_reduction(true);
    }

    /// All that was outstanding at the reduction is acknowledged (`tcp_end_cwnd_reduction`, which leaves the window to an
    /// algorithm that controls it).
    pub fn recovered(&mut self) {
        let in_cwr = self.ca_state() == TCP_CA_CWR as u8;
        if !in_cwr {
            self.enter(TCP_CA_Open);
        }
        self.end_reduction(true);
        if in_cwr {
            self.enter(TCP_CA_Open);
        }
    }

    /// `tcp_end_cwnd_reduction`; the window stays where the reduction was undone.
    pub(crate) fn end_reduction(&mut self, to_ssthresh: bool) {
        if self.instance.controls_cwnd() {
            return;
        }
        if to_ssthresh && self.socket.snd_ssthresh < TCP_INFINITE_SSTHRESH {
            self.socket.snd_cwnd = self.socket.snd_ssthresh;
        }
        self.event(CA_EVENT_COMPLETE_CWR);
    }

    /// Retransmission timeout (`tcp_enter_loss`). Only the first of a window changes ssthresh.
    pub fn timed_out(&mut self) {
        self.timed_out_in_window(self.ca_state() <= TCP_CA_Disorder as u8);
    }

    /// The same, with the core's own knowledge of whether it is the first.
    pub(crate) fn timed_out_in_window(&mut self, is_first: bool) {
        if is_first {
            self.prior_ssthresh_pkts = self.current_ssthresh_pkts();
            self.socket.prior_cwnd = self.socket.snd_cwnd;
            self.socket.snd_ssthresh = self.call(Hook::Ssthresh, Instance::ssthresh);
            self.event(CA_EVENT_LOSS);
        }
        self.socket.snd_cwnd = self.in_flight_pkts() + 1;
        self.socket.snd_cwnd_cnt = 0;
        self.enter(TCP_CA_Loss);
    }

    /// `tcp_packets_in_flight`
    pub(crate) fn in_flight_pkts(&self) -> u32 {
        self.socket.in_flight_pkts()
    }

    /// Back to Open: recovery from a timeout, or from reordering, is over.
    pub fn opened(&mut self) {
        self.enter(TCP_CA_Open);
    }

    /// The reduction was for nothing (`tcp_undo_cwnd_reduction`).
    pub fn undone(&mut self) {
        self.undo_reduction();
        self.enter(TCP_CA_Open);
    }

    pub(crate) fn undo_reduction(&mut self) {
        if self.prior_ssthresh_pkts != 0 {
            self.socket.snd_cwnd = self.call(Hook::UndoCwnd, Instance::undo_cwnd);
            self.socket.snd_ssthresh = self.socket.snd_ssthresh.max(self.prior_ssthresh_pkts);
        }
    }

    /// What follows of this window cannot be undone: there was a congestion mark.
    pub(crate) fn forbid_undo(&mut self) {
        self.prior_ssthresh_pkts = 0;
    }

    /// First send with nothing in flight. From 7.1 on this is a hook of its own, which is preferred here.
    pub fn tx_started(&mut self) {
        self.tell(Hook::TxStart, Instance::tx_start);
    }

    /// The same on kernels up to 7.0, where it is an event.
    pub fn tx_started_event(&mut self) {
        self.event(CA_EVENT_TX_START);
    }

    /// Sending again after an idle time of at least one RTO (`tcp_cwnd_restart`): the window is halved for each RTO, unless
    /// the algorithm controls it.
    pub fn restarted(&mut self, idle_rtos: u32) {
        self.restarted_from(idle_rtos, INITIAL_CWND_PKTS);
    }

    /// The same with an initial window of another size.
    pub(crate) fn restarted_from(&mut self, idle_rtos: u32, initial_pkts: u32) {
        if self.instance.controls_cwnd() {
            return;
        }
        let cwnd = self.socket.snd_cwnd;
        self.restart_announced();
        self.socket.snd_ssthresh = self.current_ssthresh_pkts();
        let halved = cwnd.checked_shr(idle_rtos).unwrap_or(0);
        self.socket.snd_cwnd = halved.max(cwnd.min(initial_pkts));
    }

    /// The event alone that `restarted` begins with.
    pub fn restart_announced(&mut self) {
        self.event(CA_EVENT_CWND_RESTART);
    }

    pub(crate) fn start_reduction(&mut self) {
        self.socket.snd_cwnd_cnt = 0;
        self.socket.prior_cwnd = self.socket.snd_cwnd;
        self.socket.snd_ssthresh = self.call(Hook::Ssthresh, Instance::ssthresh);
    }

    fn event(&mut self, event: tcp_ca_event) {
        self.tell(Hook::event(event), |instance, tp| instance.cwnd_event(tp, event));
    }

    /// The hook sees the old state still in the socket.
    pub(crate) fn enter(&mut self, state: u32) {
        let new_state = state as u8;
        self.tell(Hook::SetState { new_state }, |instance, tp| instance.set_state(tp, new_state));
        self.socket.inet_conn.set_icsk_ca_state(state as u8);
    }

    /// `tcp_in_cwnd_reduction`
    pub(crate) fn reducing(&self) -> bool {
        [TCP_CA_CWR, TCP_CA_Recovery].contains(&u32::from(self.ca_state()))
    }

    /// `tcp_current_ssthresh`
    pub(crate) fn current_ssthresh_pkts(&self) -> u32 {
        let cwnd = self.socket.snd_cwnd;
        let ssthresh = self.socket.snd_ssthresh;
        if self.reducing() {
            ssthresh
        } else {
            ssthresh.max((cwnd >> 1) + (cwnd >> 2))
        }
    }

    fn limit(&mut self, cwnd_limited: bool) {
        let cwnd = self.socket.snd_cwnd;
        self.socket.max_packets_out = if cwnd_limited { cwnd } else { cwnd / 2 };
        self.socket.set_is_cwnd_limited(u32::from(cwnd_limited));
    }

    /// `tcp_update_rtt_min`; Linux forgets after 300 s.
    pub(crate) fn seen_rtt(&mut self, rtt_us: u32) {
        let smallest = &mut self.socket.rtt_min.s[0].v;
        *smallest = (*smallest).min(rtt_us);
    }

    /// `tcp_rtt_estimator`: the average moves by an eighth of the distance.
    pub(crate) fn smooth_rtt(&mut self, rtt_us: u32) {
        let srtt_us = self.socket.srtt_us;
        self.socket.srtt_us = if srtt_us == 0 { rtt_us << 3 } else { srtt_us - (srtt_us >> 3) + rtt_us }.max(1);
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.release();
    }
}

fn us(time: Duration) -> u64 {
    time.as_micros() as u64
}
