// SPDX-License-Identifier: GPL-2.0-only
/*
 * Vegas: keep a few packets in the queue, no more and no fewer.
 *
 * For      study: short queues where all flows are like it
 * Use      when every flow of the path runs it.
 * Not      when Reno or CUBIC flows share the path: it gives way to the queue that they build.
 * Source   L. Brakmo, L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8),
 *          1995; Linux tcp_vegas.c.
 * Law      once a round trip, with diff = W (RTT - base) / base: diff > beta: W -= 1; diff < alpha: W += 1;
 *          slow start ends when diff > gamma, at W = W base / RTT + 1; loss: Reno
 * Why      The queue shows in the RTT before it shows as loss; holding it at alpha to beta packets avoids the loss.
 * Differs  The paper divides by the RTT (linux_diff = off), Linux by the base RTT, which reacts sooner in long queues and
 *          is the default here. Slow start doubles as Reno's, not every other round trip. No decision is made in a
 *          round in which the window was not filled. 64-bit products: Linux's overflow at W (RTT - base) = 2^32. After a
 *          timeout the base RTT is learned anew, and samples in recovery do not count. None of these three in Linux, nor
 *          with linux_counting (profile linux), which is Reno from the first duplicate ACK on, too.
 * State    20 bytes of 104.
 * Range    exact for windows up to 2^20 packets and RTTs up to 2^32 us.
 */
#include "rtt.h"

#define VEGAS_PARAMS(P)                                                                                                \
	P(CC_PARAM(alpha_pkts, 2, 1, 1000, "pkts", "fewer queued packets than this: grow"))                            \
	P(CC_PARAM(beta_pkts, 4, 1, 1000, "pkts", "more queued packets than this: shrink"))                            \
	P(CC_PARAM(gamma_pkts, 1, 1, 1000, "pkts", "more queued packets than this end slow start"))                    \
	P(CC_VARIANT(                                                                                                  \
		CC_SWITCH(linux_diff, 1, "queue estimate over the base RTT (Linux) instead of over the RTT (paper)"))) \
	CC_RTT_PARAMS(P, 1)                                                                                            \
	P(CC_VARIANT(CC_SWITCH(                                                                                        \
		linux_counting, 0,                                                                                     \
		"RTTs and rounds as tcp_vegas.c: base kept over timeouts, samples in recovery, Reno in Disorder")))
CC_PARAMS(vegas, VEGAS_PARAMS);

struct vegas_state {
	struct cc_rtt rtt;
};
CC_STATE_STRUCT(vegas);

void CC_HOOK(vegas_init, struct sock *sk)
{
	cc_rtt_relearn(&CC_NEW_STATE(vegas, sk)->rtt, tcp_sk(sk));
}

CC_INLINE u64 vegas_diff_pkts(const struct vegas_params *p, const struct cc_rtt *rtt, u32 cwnd)
{
	u32 over_us = p->linux_diff ? rtt->base_us : rtt->round_min_us;

	return cc_div((u64)cwnd * (rtt->round_min_us - rtt->base_us), over_us);
}

CC_INLINE void vegas_decide(const struct vegas_params *p, const struct cc_rtt *rtt, struct tcp_sock *tp, u32 acked_pkts)
{
	u64 diff = vegas_diff_pkts(p, rtt, tp->snd_cwnd);
	u64 target = cc_div((u64)tp->snd_cwnd * rtt->base_us, rtt->round_min_us);

	if (tcp_in_slow_start(tp)) {
		if (diff > p->gamma_pkts) {
			cc_set_cwnd(tp, cc_min(tp->snd_cwnd, target + 1));
			tp->snd_ssthresh = cc_min(tp->snd_ssthresh, tp->snd_cwnd);
		} else {
			tcp_slow_start(tp, acked_pkts);
		}
	} else if (diff > p->beta_pkts) {
		cc_set_cwnd(tp, tp->snd_cwnd - 1);
		tp->snd_ssthresh = cc_min(tp->snd_ssthresh, tp->snd_cwnd);
	} else if (diff < p->alpha_pkts) {
		cc_set_cwnd(tp, tp->snd_cwnd + 1ULL);
	}
	cc_set_cwnd(tp, cc_max(tp->snd_cwnd, 2));
	tp->snd_ssthresh = cc_ssthresh_floor(cc_max(tp->snd_ssthresh, cc_three_quarters_pkts(tp->snd_cwnd)));
}

/* Is it Reno for now? Linux: from the first duplicate ACK on */
CC_INLINE bool vegas_is_off(const struct vegas_params *p, const struct sock *sk)
{
	return CC_BITFIELD(inet_csk(sk), icsk_ca_state) > (p->linux_counting ? TCP_CA_Open : TCP_CA_Disorder);
}

void CC_HOOK(vegas_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	const struct vegas_params *p = vegas_params();
	struct cc_rtt *rtt = &CC_STATE(vegas, sk)->rtt;
	struct tcp_sock *tp = tcp_sk(sk);
	bool limited = tcp_is_cwnd_limited(sk);
	bool decides = limited || p->linux_counting;

	if (vegas_is_off(p, sk)) {
		if (limited)
			cc_reno_grow(tp, acked_pkts);
		return;
	}
	if (!after(tp->snd_una, rtt->round_end_seq)) {
		if (decides && tcp_in_slow_start(tp))
			tcp_slow_start(tp, acked_pkts);
		return;
	}
	if (decides && cc_rtt_is_known(rtt))
		vegas_decide(p, rtt, tp, acked_pkts);
	else if (limited)
		cc_reno_grow(tp, acked_pkts);
	cc_rtt_restart_round(rtt, tp);
}

void CC_HOOK(vegas_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	const struct vegas_params *p = vegas_params();

	cc_rtt_sample(&CC_STATE(vegas, sk)->rtt, sk, sample->rtt_us, p->base_expiry_s, p->linux_counting);
}

void CC_HOOK(vegas_set_state, struct sock *sk, u8 new_state)
{
	cc_rtt_change_state(&CC_STATE(vegas, sk)->rtt, tcp_sk(sk), new_state, vegas_params()->linux_counting);
}

CC_INLINE void vegas_restart(struct sock *sk)
{
	struct cc_rtt *rtt = &CC_STATE(vegas, sk)->rtt;

	if (vegas_params()->relearn_base)
		rtt->base_us = 0;
	cc_rtt_restart_round(rtt, tcp_sk(sk));
}
CC_DEFINE_RESTART(vegas, vegas_restart)

CC_ALGORITHM(vegas,
	.init = CC_FN(vegas_init),
	.cong_avoid = CC_FN(vegas_cong_avoid),
	.ssthresh = CC_FN(tcp_reno_ssthresh),
	.set_state = CC_FN(vegas_set_state),
	.pkts_acked = CC_FN(vegas_pkts_acked),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
	CC_TX_START_HOOKS(vegas),
);
