// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scalable TCP: the same recovery time at every window.
 *
 * For      study: very large windows
 * Use      when you study recovery in the same time at every window.
 * Not      when flows must come to equal shares: increase and decrease are both in proportion to the window, which
 *          keeps the differences.
 * Source   T. Kelly, "Scalable TCP: improving performance in highspeed wide area networks", ACM SIGCOMM CCR 33(2), 2003.
 * Law      each packet acked: W += a (a = 1/100); each loss event: W -= b W (b = 1/8)
 * Why      W grows by (1 + a) a round trip, so a loss is repaired in 13.4 round trips whatever W is.
 * Differs  At and below low_window_pkts all of Reno, as the paper asks; Linux has no such floor and instead never grows
 *          slower than Reno (reno_growth). The growth factor is the paper's 0.01 per packet; Linux up to 3.0 used
 *          0.02 to make up for delayed ACKs, which are counted in packets here.
 * State    none beyond struct tcp_sock.
 * Range    exact for every window: no product is formed.
 */
#include "cc.h"

#define SCALABLE_PARAMS(P)                                                                                             \
	P(CC_PARAM(acks_per_pkt, 100, 10, 1000, "pkts", "1/a: packets acked for one more packet of window"))           \
	P(CC_PARAM(decrease_shift, 3, 1, 6, "", "b = 2^-shift: share of the window given up on loss"))                 \
	P(CC_PARAM(low_window_pkts, 16, 0, 100, "pkts", "at and below this window: Reno"))                             \
	P(CC_VARIANT(CC_SWITCH(reno_growth, 0, "never grow slower than Reno, as Linux does below 1/a packets")))
CC_PARAMS(scalable, SCALABLE_PARAMS);

CC_INLINE bool scalable_low(const struct tcp_sock *tp, const struct scalable_params *p)
{
	return tp->snd_cwnd <= p->low_window_pkts;
}

void CC_HOOK(scalable_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	const struct scalable_params *p = scalable_params();
	struct tcp_sock *tp = tcp_sk(sk);
	u32 divisor = p->acks_per_pkt;

	acked_pkts = cc_begin_growth(sk, acked_pkts);
	if (!acked_pkts)
		return;
	if (scalable_low(tp, p) || (p->reno_growth && tp->snd_cwnd < divisor))
		divisor = tp->snd_cwnd;
	tcp_cong_avoid_ai(tp, divisor, acked_pkts);
}

u32 CC_HOOK(scalable_ssthresh, struct sock *sk)
{
	const struct scalable_params *p = scalable_params();
	const struct tcp_sock *tp = tcp_sk(sk);

	if (scalable_low(tp, p))
		return cc_half_cwnd_pkts(tp);
	return cc_ssthresh_floor(tp->snd_cwnd - (tp->snd_cwnd >> p->decrease_shift));
}

CC_ALGORITHM(scalable,
	.cong_avoid = CC_FN(scalable_cong_avoid),
	.ssthresh = CC_FN(scalable_ssthresh),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
);
