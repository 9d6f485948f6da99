/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What delay-based algorithms know of the path: the base RTT (smallest of the connection), the smallest RTT of the
 * current round, and the queue that these two imply.
 *
 * Samples count in the states Open and Disorder only: those taken in recovery are of a queue that is being drained or of
 * retransmissions. A round with fewer than CC_RTT_SAMPLES is not used: a delayed ACK would look like a queue.
 */
#ifndef CCCTL_RTT_H
#define CCCTL_RTT_H

#include "cc.h"

#define CC_RTT_SAMPLES 3 /* Linux tcp_vegas.c, tcp_yeah.c; tcp_compound.c */

struct cc_rtt {
	u32 base_us CC_NONE(0, "no RTT yet");
	u32 base_since_s; /* when the base was last confirmed; low 32 bits */
	u32 round_min_us CC_NONE(0, "no RTT in this round");
	u32 round_end_seq;
	u16 samples; /* in this round */
};

/* Declares the two parameters that say how long a base RTT is believed */
#define CC_RTT_PARAMS(P, relearn)                                                                                      \
	P(CC_SWITCH(relearn_base, relearn, "learn the base RTT anew when sending resumes after a pause"))              \
	P(CC_PARAM(base_expiry_s, 0, 0, 3600, "s", "believe a base RTT for this long; 0 = for ever"))

CC_INLINE void cc_rtt_restart_round(struct cc_rtt *rtt, const struct tcp_sock *tp)
{
	rtt->round_end_seq = tp->snd_nxt;
	rtt->round_min_us = 0;
	rtt->samples = 0;
}

/* Forgets the base; the round goes with it, or its smallest RTT could be below the new base. */
CC_INLINE void cc_rtt_relearn(struct cc_rtt *rtt, const struct tcp_sock *tp)
{
	rtt->base_us = 0;
	cc_rtt_restart_round(rtt, tp);
}

/*
 * The socket's state changes: after a timeout nothing is known of the path, and a round with a reduction in it tells
 * nothing. Linux keeps the base over a timeout (keep_base), and its round until the state is Open again.
 */
CC_INLINE void cc_rtt_change_state(struct cc_rtt *rtt, const struct tcp_sock *tp, u8 new_state, bool keep_base)
{
	if (new_state == TCP_CA_Loss && !keep_base)
		cc_rtt_relearn(rtt, tp);
	else if (new_state == TCP_CA_Open)
		cc_rtt_restart_round(rtt, tp);
}

/* CWR, Recovery or Loss: the core controls the window, samples say nothing, and the algorithm decides nothing. */
CC_INLINE bool cc_in_reduction_or_loss(const struct sock *sk)
{
	return CC_BITFIELD(inet_csk(sk), icsk_ca_state) > TCP_CA_Disorder;
}

CC_INLINE void cc_rtt_sample(struct cc_rtt *rtt, const struct sock *sk, s32 sample_us, u32 base_expiry_s,
			     bool in_recovery)
{
	u32 now_s = cc_now_us(sk) / 1000000;
	u32 rtt_us;

	if (sample_us < 0 || (cc_in_reduction_or_loss(sk) && !in_recovery))
		return;
	rtt_us = cc_max(sample_us, 1);
	if (base_expiry_s && rtt->base_us && now_s - rtt->base_since_s > base_expiry_s)
		rtt->base_us = rtt->round_min_us = 0;
	if (!rtt->base_us || rtt_us <= rtt->base_us) {
		rtt->base_us = rtt_us;
		rtt->base_since_s = now_s;
	}
	if (!rtt->round_min_us || rtt_us < rtt->round_min_us)
		rtt->round_min_us = rtt_us;
	if (rtt->samples < 0xffff)
		rtt->samples++;
}

/* Enough samples in this round to judge the queue by */
CC_INLINE bool cc_rtt_is_known(const struct cc_rtt *rtt)
{
	return rtt->samples >= CC_RTT_SAMPLES && rtt->base_us && rtt->round_min_us >= rtt->base_us;
}

/* Packets of the window that wait in a queue, W (RTT - base) / RTT, in Q8; rtt >= base > 0. Bound: 2^20 * 10^7 * 2^8. */
CC_INLINE u64 cc_queue_pkts_q8(u32 cwnd, u32 rtt_us, u32 base_us)
{
	return cc_div(((u64)cwnd * (rtt_us - base_us)) << 8, rtt_us);
}

/* Up to where slow start would go after a pause: three quarters of the window (tcp_current_ssthresh in recovery's absence) */
CC_INLINE u32 cc_three_quarters_pkts(u32 cwnd)
{
	return (cwnd >> 1) + (cwnd >> 2);
}

/* Reno, for the states and rounds in which a delay-based law has nothing to go by */
CC_INLINE void cc_reno_grow(struct tcp_sock *tp, u32 acked_pkts)
{
	if (tcp_in_slow_start(tp))
		acked_pkts = tcp_slow_start(tp, acked_pkts);
	if (acked_pkts)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked_pkts);
}

#endif
