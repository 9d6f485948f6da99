// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP-Libra: the same throughput whatever the round-trip time.
 *
 * For      study: equal shares for flows of different RTT
 * Use      when you study RTT fairness at one bottleneck whose capacity you know: it is a parameter.
 * Not      when results must be the authors' own: the formulas and constants are at second hand.
 * Source   G. Marfia, C. Palazzi, G. Pau, M. Gerla, M. Sanadidi, M. Roccetti, "TCP Libra: Exploring RTT-Fairness for
 *          TCP", UCLA CSD TR-050037, 2005. The formulas and constants were not compared with the paper's text.
 * Law      each window acked: W += alpha T^2 / (T + T0), T = average RTT; loss: W -= W T1 / (2 (T + T0))
 *          alpha = k1 C P, C = capacity of the bottleneck in Mbit/s
 *          P = exp(-k2 (T - T_min) / (T_max - T_min))
 * Why      The increase in a round trip grows with T^2 and the decrease falls with T, so that neither the throughput nor
 *          its growth depends on T; P slows down as the queue fills up.
 * Differs  Not compared with the paper: T0 = T1 = 1 s, k1 = 2 for C in Mbit/s, k2 = 2, and T as an average are readings
 *          at second hand. From the paper: C is a parameter, where the paper measures it with packet pairs; the average
 *          RTT has weight 1/8 and leaves out what is measured in recovery. Not in Linux.
 * State    24 bytes of 104.
 * Range    capacity up to 10^5 Mbit/s and RTT up to 10 s: alpha T < 2^57 in us, divided by 1000 before T / (T + T0)
 *          multiplies it. P is a line between points an eighth apart: 0.002 above the curve at most.
 */
#include "rtt.h"

#define LIBRA_PARAMS(P)                                                                                                \
	P(CC_PARAM(t0_us, 1000000, 1000, 10000000, "us",                                                               \
		   "T0: RTT from which on the law no longer favours long paths"))                                      \
	P(CC_PARAM(t1_us, 1000000, 1000, 10000000, "us",                                                               \
		   "T1: the decrease is T1 / 2(T + T0); no more than a half is given up"))                             \
	P(CC_PARAM(k1_q10, 2048, 1, 102400, "1/1024", "k1: packets per second gained in a second, per Mbit/s"))        \
	P(CC_PARAM(k2_q8, 512, 0, 2560, "1/256", "k2: how much a full queue slows the growth down: by e^-k2"))         \
	P(CC_PARAM(capacity_mbps, 100, 1, 100000, "Mbit/s", "C: capacity of the bottleneck"))
CC_PARAMS(libra, LIBRA_PARAMS);

struct libra_state {
	u64 credit_q10;
	u32 rtt_q3us CC_NONE(0, "no RTT yet"); /* smoothed with weight 1/8 */
	u32 min_rtt_us CC_NONE(0, "no RTT yet");
	u32 max_rtt_us;
};
CC_STATE_STRUCT(libra);

void CC_HOOK(libra_init, struct sock *sk)
{
	(void)CC_NEW_STATE(libra, sk);
}

void CC_HOOK(libra_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct libra_state *ca = CC_STATE(libra, sk);
	u32 rtt_us;

	if (sample->rtt_us < 0 || cc_in_reduction_or_loss(sk))
		return;
	rtt_us = cc_clamp(sample->rtt_us, 1, 1U << 28);
	if (!ca->min_rtt_us || rtt_us < ca->min_rtt_us)
		ca->min_rtt_us = rtt_us;
	ca->max_rtt_us = cc_max(ca->max_rtt_us, rtt_us);
	ca->rtt_q3us = ca->rtt_q3us ? cc_ewma8(ca->rtt_q3us, rtt_us) : rtt_us << 3;
}

/* P: 1 at the smallest RTT, e^-k2 at the largest */
CC_INLINE u64 libra_penalty_q16(const struct libra_state *ca, const struct libra_params *p)
{
	u32 rtt_us = ca->rtt_q3us >> 3;
	u64 exponent_q8;

	if (rtt_us <= ca->min_rtt_us || ca->max_rtt_us <= ca->min_rtt_us)
		return 1 << 16;
	exponent_q8 = (u64)p->k2_q8 * (rtt_us - ca->min_rtt_us) / (ca->max_rtt_us - ca->min_rtt_us);
	return cc_exp_neg_q16(exponent_q8 << 8);
}

/* alpha T^2 / (T + T0), Q10; alpha in packets per second squared */
CC_INLINE u64 libra_increase_q10(const struct libra_state *ca, const struct libra_params *p)
{
	u64 rtt_us = ca->rtt_q3us >> 3;
	u64 alpha_q10 = (u64)p->k1_q10 * p->capacity_mbps * libra_penalty_q16(ca, p) >> 16;
	u64 share_q16 = (rtt_us << 16) / (rtt_us + cc_max(p->t0_us, 1));
	u64 gain_q10 = cc_min(alpha_q10 * rtt_us / 1000, 1ULL << 47);

	return cc_max((gain_q10 * share_q16 >> 16) / 1000, 1);
}

void CC_HOOK(libra_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	struct libra_state *ca = CC_STATE(libra, sk);
	struct tcp_sock *tp = tcp_sk(sk);

	acked_pkts = cc_begin_growth(sk, acked_pkts);
	if (!acked_pkts)
		return;
	if (ca->rtt_q3us)
		cc_additive_increase_q10(tp, &ca->credit_q10, libra_increase_q10(ca, libra_params()), acked_pkts);
	else
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked_pkts);
}

u32 CC_HOOK(libra_ssthresh, struct sock *sk)
{
	const struct libra_params *p = libra_params();
	struct libra_state *ca = CC_STATE(libra, sk);
	u64 cwnd = tcp_sk(sk)->snd_cwnd;
	u64 spread_us = 2ULL * ((ca->rtt_q3us >> 3) + cc_max(p->t0_us, 1));

	ca->credit_q10 = 0;
	return cc_ssthresh_floor(cwnd - cc_min(cwnd * p->t1_us / spread_us, cwnd / 2));
}

CC_ALGORITHM(libra,
	.init = CC_FN(libra_init),
	.pkts_acked = CC_FN(libra_pkts_acked),
	.cong_avoid = CC_FN(libra_cong_avoid),
	.ssthresh = CC_FN(libra_ssthresh),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
);
