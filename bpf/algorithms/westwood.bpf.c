// SPDX-License-Identifier: GPL-2.0-only
/*
 * Westwood+: Reno, but after a loss the window that the measured bandwidth needs.
 *
 * For      study: radio links with random losses
 * Use      when you study a window that is set by the measured bandwidth after a loss.
 * Not      when the path is fast and long: it grows as Reno. A base RTT that is too large or small sets a wrong window.
 * Source   L. A. Grieco, S. Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP congestion
 *          control", ACM SIGCOMM CCR 34(2), 2004; Linux tcp_westwood.c.
 * Law      growth: Reno; b = packets acked / time, once per max(RTT, 50 ms), BWE = 7/8 BWE + 1/8 b;
 *          loss: ssthresh = BWE RTT_min; W = ssthresh, after a timeout 1
 * Why      A random loss does not change the bandwidth, so it costs nothing; a full queue is drained and no more.
 * Differs  The filter is applied twice, as in Linux (filter = one_pole: once, as in the paper). Packets are counted by the
 *          kernel's pkts_acked, not guessed from duplicate ACKs. Before the first estimate half the window is kept
 *          (half_without_estimate = off: ssthresh 2, as in Linux). Time in which nothing is in flight is no time of a
 *          measurement. Linux rounds RTT_min up to a jiffy, and keeps a window of 4 ms or more (tick, profile linux).
 * State    40 bytes of 104.
 * Range    bandwidth in packets/us Q24: 2^33 packets in a window; RTTs up to 10 s.
 */
#include "cc.h"

#define WESTWOOD_PARAMS(P)                                                                                             \
	P(CC_PARAM(min_window_us, 50000, 1000, 1000000, "us", "shortest time that bandwidth is measured over"))        \
	P(CC_VARIANT(CC_CHOICE(filter, 0, 1, "two_pole|one_pole",                                                      \
			       "smoothing of the bandwidth: twice (Linux) or once (paper)")))                          \
	P(CC_VARIANT(CC_SWITCH(half_without_estimate, 1,                                                               \
			       "a loss before the first estimate halves the window; off: ssthresh 2")))                \
	P(CC_VARIANT(CC_PARAM(tick_us, 1, 1, 10000, "us",                                                              \
			      "clock and RTTs in steps of this (Linux: a jiffy, 4ms where HZ is 250)")))
CC_PARAMS(westwood, WESTWOOD_PARAMS);

struct westwood_state {
	u64 window_start_us;
	u64 last_ack_us; /* or the start of the connection */
	u32 window_pkts; /* acked since window_start_us */
	u32 first_pole_q24; /* bandwidth after the first filter, packets/us */
	u32 bandwidth_q24 CC_NONE(0, "no estimate yet"); /* after the second */
	u32 rtt_us CC_NONE(0, "no RTT yet"); /* last sample */
	u32 min_rtt_us;
	bool relearn_min_rtt;
};
CC_STATE_STRUCT(westwood);

CC_INLINE void westwood_start_window(struct westwood_state *ca, const struct sock *sk)
{
	ca->window_start_us = cc_tick_now_us(sk, westwood_params()->tick_us);
	ca->window_pkts = 0;
}

void CC_HOOK(westwood_init, struct sock *sk)
{
	struct westwood_state *ca = CC_NEW_STATE(westwood, sk);

	westwood_start_window(ca, sk);
	ca->last_ack_us = ca->window_start_us;
}

CC_INLINE u32 westwood_filter(u32 average, u32 sample)
{
	return (7ULL * average + sample) >> 3;
}

CC_INLINE void westwood_end_window(struct westwood_state *ca, u64 elapsed_us)
{
	u32 sample_q24 = cc_min(cc_div((u64)ca->window_pkts << 24, elapsed_us), 0xffffffff);

	if (!ca->first_pole_q24 && !ca->bandwidth_q24) {
		ca->first_pole_q24 = ca->bandwidth_q24 = sample_q24;
		return;
	}
	ca->first_pole_q24 = westwood_filter(ca->first_pole_q24, sample_q24);
	if (westwood_params()->filter == 0)
		ca->bandwidth_q24 = westwood_filter(ca->bandwidth_q24, ca->first_pole_q24);
	else
		ca->bandwidth_q24 = ca->first_pole_q24;
}

CC_INLINE void westwood_sample_rtt(struct westwood_state *ca, u32 rtt_us)
{
	ca->rtt_us = rtt_us;
	if (!ca->min_rtt_us || rtt_us < ca->min_rtt_us || ca->relearn_min_rtt)
		ca->min_rtt_us = rtt_us;
	ca->relearn_min_rtt = false;
}

/* The packets of this ACK belong to the window after the one that it may end. */
void CC_HOOK(westwood_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct westwood_state *ca = CC_STATE(westwood, sk);
	u32 tick_us = westwood_params()->tick_us;
	u64 now_us = cc_tick_now_us(sk, tick_us);
	u64 elapsed_us = now_us - cc_min(ca->window_start_us, now_us);

	if (sample->rtt_us >= 0)
		westwood_sample_rtt(ca, cc_ticks_up_us(cc_max(sample->rtt_us, 1), tick_us));
	if (ca->rtt_us && elapsed_us > cc_max(ca->rtt_us, westwood_params()->min_window_us)) {
		westwood_end_window(ca, elapsed_us);
		westwood_start_window(ca, sk);
	}
	ca->window_pkts += sample->pkts_acked;
	ca->last_ack_us = now_us;
}

/*
 * The first packet sent while nothing is in flight: the path has carried nothing since the last ACK. Where each ACK covers the
 * whole window that is no time at all, and the measurement goes on.
 */
CC_INLINE void westwood_leave_out_pause(struct westwood_state *ca, const struct sock *sk)
{
	u64 now_us = cc_tick_now_us(sk, westwood_params()->tick_us);

	ca->window_start_us += now_us - cc_min(ca->last_ack_us, now_us);
	ca->last_ack_us = now_us;
}

void CC_HOOK(westwood_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	struct tcp_sock *tp = tcp_sk(sk);

	acked_pkts = cc_begin_growth(sk, acked_pkts);
	if (acked_pkts)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked_pkts);
}

/* BWE RTT_min: what the path holds without a queue */
CC_INLINE u32 westwood_pipe_pkts(const struct westwood_state *ca, const struct tcp_sock *tp)
{
	if (!ca->bandwidth_q24 && westwood_params()->half_without_estimate)
		return cc_ssthresh_floor(tp->snd_ssthresh);
	return cc_ssthresh_of_path(((u64)ca->bandwidth_q24 * ca->min_rtt_us) >> 24);
}

CC_INLINE void westwood_handle(struct sock *sk, enum tcp_ca_event event)
{
	struct westwood_state *ca = CC_STATE(westwood, sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (event == CA_EVENT_COMPLETE_CWR) {
		tp->snd_ssthresh = westwood_pipe_pkts(ca, tp);
		cc_set_cwnd(tp, tp->snd_ssthresh);
	} else if (event == CA_EVENT_LOSS) {
		tp->snd_ssthresh = westwood_pipe_pkts(ca, tp);
		ca->relearn_min_rtt = true;
	} else if (event == CA_EVENT_TX_START) {
		westwood_leave_out_pause(ca, sk);
	}
}

void CC_HOOK(westwood_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	westwood_handle(sk, event);
}

void CC_HOOK(westwood_cwnd_event_tx_start, struct sock *sk)
{
	westwood_handle(sk, CA_EVENT_TX_START);
}

CC_ALGORITHM(westwood,
	.init = CC_FN(westwood_init),
	.cong_avoid = CC_FN(westwood_cong_avoid),
	.ssthresh = CC_FN(tcp_reno_ssthresh), /* for the core's rate reduction during recovery only */
	.pkts_acked = CC_FN(westwood_pkts_acked),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
	CC_TX_START_HOOKS(westwood),
);
