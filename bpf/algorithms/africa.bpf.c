// SPDX-License-Identifier: GPL-2.0-only
/*
 * Africa: HighSpeed TCP while the queue is empty, Reno as soon as it is not.
 *
 * For      study: fast paths whose queue stays empty
 * Use      when you compare algorithms that switch between a fast and a slow mode by delay.
 * Not      when results must be the authors' own: one constant was not verified, and no kernel has it to compare with.
 * Source   R. King, R. Baraniuk, R. Riedi, "TCP-Africa: An Adaptive and Fair Rapid Increase Rule for Scalable TCP", IEEE
 *          INFOCOM 2005; the constant 1.641 from memory of it, not verified.
 * Law      queue = W (RTT - RTT_min) / RTT, RTT smoothed with weight 1/8; queue > alpha: W += 1 a round trip (slow),
 *          else W += a(W) of HighSpeed TCP (fast); loss: b(W) W in fast, W / 2 in slow mode
 * Why      Unused bandwidth shows in an empty queue, and only then fast growth takes nothing from anybody.
 * Differs  decrease = half always halves, as Baiocchi et al. (PFLDnet 2007) describe Africa; the module that circulates
 *          keeps b(W). The mode is judged at each ACK that may grow the window, on RTTs outside recovery; what a loss
 *          takes goes by the last of these. b(W) and a(W) are those of RFC 3649's table, so that a is rounded up.
 * State    24 bytes of 104.
 * Range    windows up to 2^20 packets, RTTs up to 10 s.
 */
#include "hstcp.h"
#include "rtt.h"

#define AFRICA_PARAMS(P)                                                                                               \
	P(CC_PARAM(alpha_milli, 1641, 1000, 100000, "1/1000 pkts", "more queued packets than this: slow mode"))        \
	P(CC_VARIANT(CC_CHOICE(decrease, 0, 1, "by_mode|half", "what a loss takes: b(W) in fast mode, or always half")))
CC_PARAMS(africa, AFRICA_PARAMS);

struct africa_state {
	u64 credit_q10;
	u32 min_rtt_us CC_NONE(0, "no RTT yet");
	u32 rtt_q3; /* smoothed, us */
	bool fast;
};
CC_STATE_STRUCT(africa);

void CC_HOOK(africa_init, struct sock *sk)
{
	(void)CC_NEW_STATE(africa, sk);
}

void CC_HOOK(africa_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct africa_state *ca = CC_STATE(africa, sk);
	u32 rtt_us;

	if (sample->rtt_us < 0 || cc_in_reduction_or_loss(sk))
		return;
	rtt_us = cc_clamp(sample->rtt_us, 1, 1U << 28);
	if (!ca->min_rtt_us || rtt_us < ca->min_rtt_us)
		ca->min_rtt_us = rtt_us;
	ca->rtt_q3 = ca->rtt_q3 ? cc_ewma8(ca->rtt_q3, rtt_us) : rtt_us << 3;
}

/* Without a sample there is no sign of an empty queue: slow. */
CC_INLINE bool africa_queue_is_empty(const struct africa_state *ca, u32 cwnd)
{
	u32 rtt_us = ca->rtt_q3 >> 3;
	u64 queue_milli;

	if (!ca->min_rtt_us || rtt_us < ca->min_rtt_us)
		return ca->min_rtt_us != 0;
	queue_milli = cc_div((u64)cwnd * 1000 * (rtt_us - ca->min_rtt_us), rtt_us);
	return queue_milli <= africa_params()->alpha_milli;
}

void CC_HOOK(africa_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	struct africa_state *ca = CC_STATE(africa, sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u64 increase;

	acked_pkts = cc_begin_growth(sk, acked_pkts);
	if (!acked_pkts)
		return;
	ca->fast = africa_queue_is_empty(ca, tp->snd_cwnd);
	increase = ca->fast ? hstcp_row_of(&hstcp_rfc3649, tp->snd_cwnd) + 1ULL : 1;
	cc_additive_increase_q10(tp, &ca->credit_q10, increase << 10, acked_pkts);
}

u32 CC_HOOK(africa_ssthresh, struct sock *sk)
{
	struct africa_state *ca = CC_STATE(africa, sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	ca->credit_q10 = 0;
	if (!ca->fast || africa_params()->decrease)
		return cc_half_cwnd_pkts(tp);
	return cc_ssthresh_floor(hstcp_kept_pkts(&hstcp_rfc3649, tp->snd_cwnd));
}

CC_ALGORITHM(africa,
	.init = CC_FN(africa_init),
	.cong_avoid = CC_FN(africa_cong_avoid),
	.ssthresh = CC_FN(africa_ssthresh),
	.pkts_acked = CC_FN(africa_pkts_acked),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
);
