// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reno with appropriate byte counting: the standard that the others are measured against.
 *
 * For      production: short paths and small windows; the standard to compare with
 * Use      when a comparison or a rule asks for the standard (RFC 5681), or as the fallback of the guard.
 * Not      when rate times RTT is large: after a loss a window of W packets takes W / 2 round trips to come back.
 * Source   RFC 5681 (congestion control), RFC 3465 (appropriate byte counting), RFC 6582 (NewReno recovery).
 * Law      slow start: W += min(N, L) per ACK of N packets; congestion avoidance: W += 1 per window; loss: W = W/2
 * Why      One packet per round trip and half on loss is what every other flow on the path expects.
 * Differs  Packets are counted, not bytes: the kernel keeps its window in packets. Half of snd_cwnd is given up, not
 *          half of FlightSize (RFC 5681, equation 4); as in Linux this is safe because an unused window does not grow.
 *          Loss recovery (NewReno, SACK, RACK, PRR) is the kernel's.
 * State    1 byte of 104: whether slow start follows a timeout.
 * Range    exact for every window.
 */
#include "cc.h"

#define RENO_PARAMS(P)                                                                                                 \
	P(CC_PARAM(abc_limit_pkts, 0, 0, 2, "pkts",                                                                    \
		   "L: most packets that one ACK may add in slow start; 0 = no limit (Linux)"))
CC_PARAMS(reno, RENO_PARAMS);

struct reno_state {
	bool slow_start_after_rto;
};
CC_STATE_STRUCT(reno);

/* RFC 3465 section 2.3: L is 1 in a slow start that follows a timeout, whatever it was set to. */
CC_INLINE u32 reno_slow_start_pkts(struct reno_state *ca, u32 acked_pkts)
{
	u32 limit = reno_params()->abc_limit_pkts;

	if (!limit)
		return acked_pkts;
	return cc_min(acked_pkts, ca->slow_start_after_rto ? 1 : limit);
}

void CC_HOOK(reno_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	struct reno_state *ca = CC_STATE(reno, sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		u32 counted = reno_slow_start_pkts(ca, acked_pkts);
		u32 left = tcp_slow_start(tp, counted);

		acked_pkts = counted == acked_pkts ? left : 0;
		if (!acked_pkts)
			return;
	}
	ca->slow_start_after_rto = false;
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked_pkts);
}

void CC_HOOK(reno_set_state, struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		CC_STATE(reno, sk)->slow_start_after_rto = true;
}

CC_ALGORITHM(reno,
	.cong_avoid = CC_FN(reno_cong_avoid),
	.ssthresh = CC_FN(tcp_reno_ssthresh),
	.set_state = CC_FN(reno_set_state),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
);
