// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP-LP: only the capacity that other flows leave.
 *
 * For      production: background transfers that yield to other traffic
 * Use      when backups, updates or replication share a path with traffic that must not notice them.
 * Not      when the transfer has a deadline: on a busy path it nearly stops. Delays that vary without congestion, as on
 *          radio links, also make it yield. Not on long paths: it takes its own queue for others', and a lone flow had 30
 *          of 250 Mbit/s at an RTT of 162 ms in the simulator.
 * Source   A. Kuzmanovic, E. Knightly, "TCP-LP: low-priority service via end-point congestion control", IEEE/ACM ToN
 *          14(4), 2006 (INFOCOM 2003); lp.h has the indication.
 * Law      Reno, and at an early indication W = W / 2 and no growth for 3 RTT; at one within these W = 1
 *          indication: smoothed one-way delay > d_min + 0.15 (d_max - d_min)
 * Why      Delay rises before packets are lost. A flow that gives way then leaves the path to flows that only react to
 *          losses. It waits whether that helped, and gives way entirely if the path is still busy.
 * Differs  From the paper: lp.h has repairs (delayed_acks=on, own_queue_pkts=0, min_range=0: as in the paper).
 *          From Linux: also, one reaction per RTT (reaction_rtts), a range of the whole connection (relearn_range), a
 *          lowered ssthresh (lower_ssthresh); 3 smoothed RTTs; nominal ticks; the RTT where time stamps do not serve.
 * State    48 bytes of 104.
 * Range    delays up to 268 s.
 */
#include "lp.h"

#define LP_PARAMS(P) LOWPRIO_PARAMS(P)
CC_PARAMS(lp, LP_PARAMS);

struct lp_state {
	struct lowprio_delay delay;
};
CC_STATE_STRUCT(lp);

void CC_HOOK(lp_init, struct sock *sk)
{
	lowprio_init(&CC_NEW_STATE(lp, sk)->delay, LOWPRIO(lp_params()));
}

void CC_HOOK(lp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	const struct lowprio_params *p = LOWPRIO(lp_params());
	struct lp_state *ca = CC_STATE(lp, sk);

	if (lowprio_indicates(&ca->delay, sk, p, sample))
		lowprio_yield(&ca->delay, sk, p, tcp_sk(sk)->snd_cwnd >> 1);
}

void CC_HOOK(lp_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	if (tcp_is_cwnd_limited(sk) && !lowprio_is_inferring(&CC_STATE(lp, sk)->delay, sk))
		cc_reno_grow(tcp_sk(sk), acked_pkts);
}

CC_ALGORITHM(lp,
	.init = CC_FN(lp_init),
	.pkts_acked = CC_FN(lp_pkts_acked),
	.cong_avoid = CC_FN(lp_cong_avoid),
	.ssthresh = CC_FN(tcp_reno_ssthresh),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
);
