// SPDX-License-Identifier: GPL-2.0-only
/*
 * Illinois: AIMD whose increase falls and whose decrease rises with the queueing delay.
 *
 * For      study: fast and long paths
 * Use      when you study delay as a second signal beside loss.
 * Not      when delays are noisy or routes change: the largest delay that was seen is never aged.
 * Source   S. Liu, T. Basar, R. Srikant, "TCP-Illinois: A Loss and Delay-Based Congestion Control Algorithm for High-Speed
 *          Networks", VALUETOOLS 2006; Linux tcp_illinois.c.
 * Law      d_a = mean queueing delay of the round, d_m = largest seen; each window: W += alpha(d_a); loss: W -= beta(d_a) W
 *          alpha: 10 for d_a <= 0.01 d_m, falling to 0.3 at d_m; beta: 1/8 up to 0.1 d_m, 1/2 from 0.8 d_m, linear between
 * Why      Loss decides when to give way, delay decides how fast to come back: concave growth towards the loss point.
 * Differs  RTTs are not capped at 1.68 s as Linux must for its 32-bit sums. As in Linux, the largest delay is never aged.
 *          RTTs in recovery are not averaged, and an ACK earns what it delivers; Linux (linux_counting) averages them,
 *          and lets the ACK that fills a hole earn all that it covers, though it was known to have arrived.
 * State    40 bytes of 104.
 * Range    RTTs up to 10 s in 64-bit sums; alpha in Q7 from 0.3 to 10, beta in Q6 from 1/8 to 1/2.
 */
#include "rtt.h"

#define ILLINOIS_PARAMS(P)                                                                                             \
	P(CC_PARAM(low_window_pkts, 15, 0, 1000, "pkts", "below this window: Reno"))                                   \
	P(CC_PARAM(theta_rtts, 5, 1, 255, "RTTs", "low delay must last so long before the fastest growth returns"))    \
	P(CC_PARAM(alpha_min_q7, 38, 13, 128, "1/128 pkts/RTT", "slowest growth"))                                     \
	P(CC_PARAM(alpha_max_q7, 1280, 128, 12800, "1/128 pkts/RTT", "fastest growth"))                                \
	P(CC_PARAM(beta_min_q6, 8, 1, 32, "1/64", "smallest share given up on loss"))                                  \
	P(CC_PARAM(beta_max_q6, 32, 8, 48, "1/64", "largest share given up on loss"))                                  \
	P(CC_PARAM(eta1_pct, 1, 1, 10, "%", "of the largest delay: below it growth is fastest"))                       \
	P(CC_PARAM(eta2_pct, 10, 1, 50, "%", "... the decrease is smallest"))                                          \
	P(CC_PARAM(eta3_pct, 80, 51, 100, "%", "... above it the decrease is largest"))                                \
	P(CC_VARIANT(CC_SWITCH(                                                                                        \
		linux_counting, 0,                                                                                     \
		"count RTTs in recovery, and at an ACK what it acknowledged of all sent, as tcp_illinois.c")))
CC_PARAMS(illinois, ILLINOIS_PARAMS);

#define ILLINOIS_RENO_ALPHA_Q7 128
#define ILLINOIS_RENO_BETA_Q6 32

struct illinois_state {
	u64 rtt_sum_us; /* of this round */
	u32 rtt_samples;
	u32 base_rtt_us CC_NONE(0, "no RTT yet");
	u32 max_rtt_us;
	u32 round_end_seq;
	u32 alpha_q7;
	u32 beta_q6;
	u32 acked_pkts; /* linux_counting: what the next ACK adds to the credit */
	u8 low_rounds; /* rounds with low delay since it was high */
	bool was_high; /* delay was above eta1 since growth was fastest */
};
CC_STATE_STRUCT(illinois);

CC_INLINE void illinois_restart_round(struct illinois_state *ca, const struct tcp_sock *tp)
{
	ca->round_end_seq = tp->snd_nxt;
	ca->rtt_sum_us = 0;
	ca->rtt_samples = 0;
}

CC_INLINE void illinois_be_reno(struct illinois_state *ca)
{
	ca->alpha_q7 = ILLINOIS_RENO_ALPHA_Q7;
	ca->beta_q6 = ILLINOIS_RENO_BETA_Q6;
}

void CC_HOOK(illinois_init, struct sock *sk)
{
	struct illinois_state *ca = CC_NEW_STATE(illinois, sk);

	ca->alpha_q7 = illinois_params()->alpha_max_q7;
	ca->beta_q6 = ILLINOIS_RENO_BETA_Q6;
	illinois_restart_round(ca, tcp_sk(sk));
}

void CC_HOOK(illinois_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct illinois_state *ca = CC_STATE(illinois, sk);
	u32 rtt_us;

	ca->acked_pkts = sample->pkts_acked;
	if (sample->rtt_us < 0)
		return;
	rtt_us = cc_clamp(sample->rtt_us, 1, 1U << 28);
	if (!ca->base_rtt_us || rtt_us < ca->base_rtt_us)
		ca->base_rtt_us = rtt_us;
	ca->max_rtt_us = cc_max(ca->max_rtt_us, rtt_us);
	if (cc_in_reduction_or_loss(sk) && !illinois_params()->linux_counting)
		return;
	ca->rtt_sum_us += rtt_us;
	ca->rtt_samples++;
}

/* kappa1 / (kappa2 + d_a), through (eta1 d_m, alpha_max) and (d_m, alpha_min) */
CC_INLINE u32 illinois_alpha_q7(struct illinois_state *ca, const struct illinois_params *p, u64 average, u64 largest)
{
	u64 low = largest * p->eta1_pct / 100;
	u64 above_low, range;

	if (average <= low) {
		if (ca->was_high && ++ca->low_rounds < p->theta_rtts)
			return ca->alpha_q7;
		ca->low_rounds = 0;
		ca->was_high = false;
		return p->alpha_max_q7;
	}
	ca->was_high = true;
	range = largest - low;
	above_low = average - low;
	return cc_max(cc_div(range * p->alpha_max_q7,
			     range + above_low * (p->alpha_max_q7 - p->alpha_min_q7) / p->alpha_min_q7),
		      1);
}

/* linear from (eta2 d_m, beta_min) to (eta3 d_m, beta_max) */
CC_INLINE u32 illinois_beta_q6(const struct illinois_params *p, u64 average, u64 largest)
{
	u64 low = largest * p->eta2_pct / 100;
	u64 high = largest * p->eta3_pct / 100;
	u64 beta_max_q6 = cc_max(p->beta_max_q6, p->beta_min_q6);

	if (average <= low)
		return p->beta_min_q6;
	if (average >= high || high <= low)
		return beta_max_q6;
	return (p->beta_min_q6 * (high - average) + beta_max_q6 * (average - low)) / (high - low);
}

CC_INLINE void illinois_end_round(struct illinois_state *ca, const struct illinois_params *p, const struct tcp_sock *tp)
{
	u64 average, largest;

	if (tp->snd_cwnd < p->low_window_pkts) {
		illinois_be_reno(ca);
	} else if (ca->rtt_samples) {
		largest = ca->max_rtt_us - ca->base_rtt_us;
		average = ca->rtt_sum_us / ca->rtt_samples;
		average = cc_min(average > ca->base_rtt_us ? average - ca->base_rtt_us : 0, largest);
		ca->alpha_q7 = illinois_alpha_q7(ca, p, average, largest);
		ca->beta_q6 = illinois_beta_q6(p, average, largest);
	}
	illinois_restart_round(ca, tp);
}

CC_INLINE void illinois_grow(const struct illinois_state *ca, struct tcp_sock *tp, u32 acked_pkts)
{
	u32 credit = tp->snd_cwnd_cnt + acked_pkts;
	u64 earned = ((u64)credit * ca->alpha_q7) >> 7;

	if (earned >= tp->snd_cwnd) {
		cc_set_cwnd(tp, tp->snd_cwnd + cc_div(earned, tp->snd_cwnd));
		credit = 0;
	}
	tp->snd_cwnd_cnt = credit;
}

void CC_HOOK(illinois_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	struct illinois_state *ca = CC_STATE(illinois, sk);
	struct tcp_sock *tp = tcp_sk(sk);
	bool in_slow_start = tcp_in_slow_start(tp);

	if (after(tp->snd_una, ca->round_end_seq))
		illinois_end_round(ca, illinois_params(), tp);
	acked_pkts = cc_begin_growth(sk, acked_pkts);
	if (!acked_pkts)
		return;
	if (!illinois_params()->linux_counting) {
		illinois_grow(ca, tp, acked_pkts);
	} else if (!in_slow_start) {
		illinois_grow(ca, tp, ca->acked_pkts);
		ca->acked_pkts = 1;
	}
}

u32 CC_HOOK(illinois_ssthresh, struct sock *sk)
{
	const struct illinois_state *ca = CC_STATE(illinois, sk);
	u64 cwnd = tcp_sk(sk)->snd_cwnd;

	return cc_ssthresh_floor(cwnd - (cwnd * ca->beta_q6 >> 6));
}

void CC_HOOK(illinois_set_state, struct sock *sk, u8 new_state)
{
	struct illinois_state *ca = CC_STATE(illinois, sk);

	if (new_state != TCP_CA_Loss)
		return;
	illinois_be_reno(ca);
	ca->low_rounds = 0;
	ca->was_high = false;
	illinois_restart_round(ca, tcp_sk(sk));
}

CC_ALGORITHM(illinois,
	.init = CC_FN(illinois_init),
	.cong_avoid = CC_FN(illinois_cong_avoid),
	.ssthresh = CC_FN(illinois_ssthresh),
	.set_state = CC_FN(illinois_set_state),
	.pkts_acked = CC_FN(illinois_pkts_acked),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
);
