// SPDX-License-Identifier: GPL-2.0-only
/*
 * H-TCP: growth by the time since the last congestion, and a decrease that empties the queue but no more.
 *
 * For      study: fast and long paths, for flows of the same RTT
 * Use      when you study growth by the time since the last loss.
 * Not      when flows of different RTTs share the path: RTT scaling is off by default, and then the longer one gets
 *          much less (docs/results/reproduction-findings.md).
 * Source   D. Leith, R. Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004;
 *          draft-leith-tcp-htcp-06; constants of Even, Li, Leith, PFLDnet 2006, Table II.
 * Law      each window acked: W += alpha; loss: W = beta W; D = time since the last congestion, in seconds
 *          alpha = 1 for D <= D_L, else 1 + 10 (D - D_L) + ((D - D_L) / 2)^2, then alpha = 2 (1 - beta) alpha
 *          beta = RTT_min / RTT_max within [0.5, 0.8], and 0.5 when throughput changed by more than D_B since the last
 * Why      Long times between losses mean a large share of a fast path: grow faster the longer nothing was lost.
 * Differs  From Linux: alpha is Q10 and follows the clock at each ACK, RTT scaling is off, the clock stops while there
 *          is nothing to send, and RTT_max follows a larger sample by 20 ms at most. Profile linux counts as Linux
 *          (linux_counting, tick). alpha does not wrap after 131 s. Throughput is measured over an RTT_min or more,
 *          the first three times unsmoothed. From FreeBSD: its decay of RTT_max divides the whole sum by 100.
 * State    80 bytes of 104.
 * Range    alpha < 2^42 for any time (the excess over D_L is held at 2^20 ms); rates below 2^32 packets/s.
 */
#include "cc.h"

#define HTCP_PARAMS(P)                                                                                                 \
	P(CC_PARAM(delta_l_us, 1000000, 100000, 10000000, "us", "D_L: grow as Reno for this long after congestion"))   \
	P(CC_PARAM(delta_b_pct, 20, 0, 100, "%", "D_B: change of throughput at which the decrease falls back to 0.5")) \
	P(CC_SWITCH(adaptive_backoff, 1, "beta from the RTT ratio; off: always 0.5"))                                  \
	P(CC_SWITCH(rtt_scaling, 0, "multiply alpha by RTT_min / rtt_ref within [0.1, 2]"))                            \
	P(CC_PARAM(rtt_ref_us, 100000, 1000, 10000000, "us", "RTT at which scaling changes nothing"))                  \
	P(CC_VARIANT(CC_SWITCH(linux_counting, 0, "alpha, credit and RTT_max as tcp_htcp.c rounds and counts them")))  \
	P(CC_VARIANT(CC_PARAM(tick_us, 1, 1, 10000, "us",                                                              \
			      "clock and RTTs in steps of this (Linux: a jiffy, 4ms where HZ is 250)")))
CC_PARAMS(htcp, HTCP_PARAMS);

#define HTCP_BETA_MIN_Q7 64 /* 0.5 */
#define HTCP_BETA_MAX_Q7 102 /* 0.8 */
#define HTCP_BACKOFF_MIN_RTT_US 10000 /* Linux: below this the RTT ratio says little */
#define HTCP_RTT_GROWTH_US 20000 /* Linux: samples this far above RTT_max count; here a larger one counts as this */

struct htcp_undo {
	u32 congestion_age_us;
	u32 max_rtt_us;
	u32 old_max_rate_pps;
	u8 beta_q7;
	bool rate_was_steady;
	bool valid;
};

struct htcp_state {
	u64 last_congestion_us;
	u64 window_start_us; /* of the throughput measurement */
	u64 credit_q10;
	u32 alpha_q10;
	u32 acked_pkts; /* linux_counting: what the next ACK adds to the credit */
	u32 min_rtt_us CC_NONE(0, "no RTT yet");
	u32 max_rtt_us;
	u32 window_pkts; /* acked since window_start_us */
	u32 rate_pps; /* B: smoothed packets per second */
	u32 max_rate_pps; /* largest B since the last congestion */
	u32 old_max_rate_pps; /* largest B of the epoch before */
	u32 last_active_us; /* low 32 bits of the clock at the last ACK */
	struct htcp_undo undo;
	u8 beta_q7;
	bool rate_was_steady; /* the adaptive decrease may be used at the next loss */
};
CC_STATE_STRUCT(htcp);

/* alpha before RTT scaling, Q10 */
CC_INLINE u64 htcp_increase_q10(u64 now_us, u64 last_congestion_us, u32 delta_l_us)
{
	u64 reno_until_us = last_congestion_us + delta_l_us, excess_ms;

	if (now_us <= reno_until_us)
		return 1024;
	excess_ms = cc_min((now_us - reno_until_us) / 1000, 1U << 20);
	return 1024 + 10240 * excess_ms / 1000 + 1024 * excess_ms * excess_ms / 4000000;
}

/* RTT scaling: of any fraction, or by Linux in eighths, of a whole number to a whole number */
CC_INLINE u64 htcp_scaled_q10(const struct htcp_state *ca, const struct htcp_params *p, u64 increase_q10)
{
	u64 scale_q10, divisor_q3;

	if (!p->linux_counting) {
		scale_q10 = cc_clamp(cc_div((u64)ca->min_rtt_us << 10, p->rtt_ref_us), 102, 2048);
		return cc_max(increase_q10 * scale_q10 >> 10, 1024);
	}
	divisor_q3 = cc_clamp(cc_div((u64)p->rtt_ref_us << 3, ca->min_rtt_us), 4, 80);
	return cc_max(((increase_q10 >> 10) << 3) / divisor_q3, 1) << 10;
}

CC_INLINE void htcp_update_alpha(struct htcp_state *ca, const struct htcp_params *p, const struct sock *sk)
{
	u64 increase_q10 = htcp_increase_q10(cc_tick_now_us(sk, p->tick_us), ca->last_congestion_us, p->delta_l_us);

	if (p->linux_counting)
		increase_q10 &= ~1023ULL;
	if (p->rtt_scaling && ca->min_rtt_us)
		increase_q10 = htcp_scaled_q10(ca, p, increase_q10);
	ca->alpha_q10 = cc_clamp(2 * (128 - ca->beta_q7) * increase_q10 >> 7, 1, 0xffffffffU);
}

void CC_HOOK(htcp_init, struct sock *sk)
{
	struct htcp_state *ca = CC_NEW_STATE(htcp, sk);

	ca->alpha_q10 = 1024;
	ca->beta_q7 = HTCP_BETA_MIN_Q7;
	ca->acked_pkts = 1;
	ca->last_congestion_us = ca->window_start_us = cc_tick_now_us(sk, htcp_params()->tick_us);
	ca->last_active_us = (u32)cc_now_us(sk);
}

CC_INLINE void htcp_sample_rtt(struct htcp_state *ca, const struct htcp_params *p, u32 rtt_us, u8 state)
{
	if (!ca->min_rtt_us || rtt_us < ca->min_rtt_us)
		ca->min_rtt_us = rtt_us;
	if (state != TCP_CA_Open && (p->linux_counting || state != TCP_CA_Disorder))
		return;
	if (ca->max_rtt_us < ca->min_rtt_us)
		ca->max_rtt_us = ca->min_rtt_us;
	if (p->linux_counting && rtt_us > (u64)ca->max_rtt_us + HTCP_RTT_GROWTH_US)
		return;
	/* A step is added: of the new value as a sum to compare with, the verifier of 6.18 says that its bounds contradict. */
	if (rtt_us > ca->max_rtt_us)
		ca->max_rtt_us += cc_min(rtt_us - ca->max_rtt_us, HTCP_RTT_GROWTH_US);
}

/* The first three RTTs after congestion (Linux: and the fourth) are taken as they are, later ones averaged with weight 1/4. */
CC_INLINE void htcp_end_rate_window(struct htcp_state *ca, u64 now_us, bool linux_counting)
{
	u64 rate_pps = (u64)ca->window_pkts * 1000000 / cc_max(now_us - ca->window_start_us, 1);
	u64 since_us = cc_beyond(now_us, ca->last_congestion_us);

	rate_pps = cc_min(rate_pps, 1U << 30);
	if (since_us <= 3ULL * ca->min_rtt_us || (linux_counting && since_us < 4ULL * ca->min_rtt_us)) {
		ca->rate_pps = ca->max_rate_pps = rate_pps;
	} else {
		ca->rate_pps = (3ULL * ca->rate_pps + rate_pps) / 4;
		ca->max_rate_pps = cc_max(ca->max_rate_pps, ca->rate_pps);
	}
	ca->window_pkts = 0;
	ca->window_start_us = now_us;
}

/* Throughput is measured over an RTT_min; by Linux over a window, or nearly, too. */
CC_INLINE bool htcp_window_is_over(const struct htcp_state *ca, u32 cwnd, u64 now_us, bool linux_counting)
{
	if (linux_counting && (u64)ca->window_pkts + cc_max(ca->alpha_q10 >> 10, 1) < cwnd)
		return false;
	return ca->min_rtt_us && now_us >= ca->window_start_us + ca->min_rtt_us;
}

void CC_HOOK(htcp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	const struct htcp_params *p = htcp_params();
	struct htcp_state *ca = CC_STATE(htcp, sk);
	u8 state = CC_BITFIELD(inet_csk(sk), icsk_ca_state);
	u64 now_us = cc_tick_now_us(sk, p->tick_us);

	ca->last_active_us = (u32)cc_now_us(sk);
	if (state == TCP_CA_Open)
		ca->acked_pkts = sample->pkts_acked;
	if (sample->rtt_us > 0)
		htcp_sample_rtt(ca, p, cc_ticks_up_us(sample->rtt_us, p->tick_us), state);
	if (state > TCP_CA_Disorder) {
		ca->window_pkts = 0;
		ca->window_start_us = now_us;
		return;
	}
	ca->window_pkts += sample->pkts_acked;
	if (htcp_window_is_over(ca, tcp_sk(sk)->snd_cwnd, now_us, p->linux_counting))
		htcp_end_rate_window(ca, now_us, p->linux_counting);
}

/*
 * tcp_htcp.c: the ACK that finds the credit earned pays with all of it, and is not counted itself. In the socket's own
 * credit, which the core zeroes with each reduction.
 */
CC_INLINE void htcp_linux_grow(struct htcp_state *ca, const struct htcp_params *p, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if ((u64)tp->snd_cwnd_cnt * ca->alpha_q10 >> 10 >= tp->snd_cwnd) {
		cc_set_cwnd(tp, tp->snd_cwnd + 1ULL);
		tp->snd_cwnd_cnt = 0;
		htcp_update_alpha(ca, p, sk);
	} else {
		tp->snd_cwnd_cnt += ca->acked_pkts;
	}
	ca->acked_pkts = 1;
}

void CC_HOOK(htcp_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	const struct htcp_params *p = htcp_params();
	struct htcp_state *ca = CC_STATE(htcp, sk);
	struct tcp_sock *tp = tcp_sk(sk);
	bool in_slow_start = tcp_in_slow_start(tp);

	acked_pkts = cc_begin_growth(sk, acked_pkts);
	if (!acked_pkts)
		return;
	if (p->linux_counting) {
		if (!in_slow_start)
			htcp_linux_grow(ca, p, sk);
		return;
	}
	htcp_update_alpha(ca, p, sk);
	cc_additive_increase_q10(tp, &ca->credit_q10, ca->alpha_q10, acked_pkts);
}

CC_INLINE bool htcp_rate_changed(const struct htcp_state *ca, const struct htcp_params *p)
{
	return cc_distance(ca->max_rate_pps, ca->old_max_rate_pps) * 100 > (u64)p->delta_b_pct * ca->old_max_rate_pps;
}

CC_INLINE void htcp_update_beta(struct htcp_state *ca, const struct htcp_params *p)
{
	bool changed = htcp_rate_changed(ca, p);
	bool adapt = p->adaptive_backoff && !changed && ca->rate_was_steady && ca->min_rtt_us > HTCP_BACKOFF_MIN_RTT_US;

	ca->rate_was_steady = !changed;
	ca->beta_q7 = HTCP_BETA_MIN_Q7;
	if (adapt)
		ca->beta_q7 =
			cc_clamp(cc_div((u64)ca->min_rtt_us << 7, ca->max_rtt_us), HTCP_BETA_MIN_Q7, HTCP_BETA_MAX_Q7);
}

CC_INLINE void htcp_save_undo(struct htcp_state *ca, const struct sock *sk)
{
	ca->undo.congestion_age_us = cc_min(cc_now_us(sk) - cc_min(ca->last_congestion_us, cc_now_us(sk)), 0xffffffffU);
	ca->undo.max_rtt_us = ca->max_rtt_us;
	ca->undo.old_max_rate_pps = ca->old_max_rate_pps;
	ca->undo.beta_q7 = ca->beta_q7;
	ca->undo.rate_was_steady = ca->rate_was_steady;
	ca->undo.valid = true;
}

u32 CC_HOOK(htcp_ssthresh, struct sock *sk)
{
	const struct htcp_params *p = htcp_params();
	struct htcp_state *ca = CC_STATE(htcp, sk);

	htcp_save_undo(ca, sk);
	htcp_update_beta(ca, p);
	ca->old_max_rate_pps = ca->max_rate_pps;
	if (ca->max_rtt_us > ca->min_rtt_us) /* forget 5 % of the largest queue seen */
		ca->max_rtt_us = ca->min_rtt_us + (u64)(ca->max_rtt_us - ca->min_rtt_us) * 95 / 100;
	ca->credit_q10 = 0;
	htcp_update_alpha(ca, p, sk);
	return cc_ssthresh_floor((u64)tcp_sk(sk)->snd_cwnd * ca->beta_q7 >> 7);
}

/* The clock starts with the congestion and again when recovery is over: only time in congestion avoidance counts. */
void CC_HOOK(htcp_set_state, struct sock *sk, u8 new_state)
{
	struct htcp_state *ca = CC_STATE(htcp, sk);

	if (new_state == TCP_CA_Disorder)
		return;
	if (new_state == TCP_CA_Open) {
		if (!ca->undo.valid)
			return;
		ca->undo.valid = false;
	}
	ca->last_congestion_us = cc_tick_now_us(sk, htcp_params()->tick_us);
	if (!htcp_params()->linux_counting)
		htcp_update_alpha(ca, htcp_params(), sk);
}

u32 CC_HOOK(htcp_undo_cwnd, struct sock *sk)
{
	struct htcp_state *ca = CC_STATE(htcp, sk);

	if (ca->undo.valid) {
		ca->undo.valid = false;
		ca->last_congestion_us = cc_now_us(sk) - cc_min(ca->undo.congestion_age_us, cc_now_us(sk));
		ca->max_rtt_us = ca->undo.max_rtt_us;
		ca->old_max_rate_pps = ca->undo.old_max_rate_pps;
		if (htcp_params()->linux_counting)
			return cc_restored_cwnd_pkts(tcp_sk(sk));
		ca->beta_q7 = ca->undo.beta_q7;
		ca->rate_was_steady = ca->undo.rate_was_steady;
		htcp_update_alpha(ca, htcp_params(), sk);
	}
	return cc_restored_cwnd_pkts(tcp_sk(sk));
}

/* A pause is not time without congestion: the clock stands still in it, and no throughput is measured over it. */
CC_INLINE void htcp_restart(struct sock *sk)
{
	struct htcp_state *ca = CC_STATE(htcp, sk);
	u64 now_us = cc_now_us(sk);
	u32 idle_us = cc_since_us(sk, ca->last_active_us);

	ca->last_active_us = (u32)now_us;
	if (htcp_params()->linux_counting)
		return;
	ca->last_congestion_us = cc_min(ca->last_congestion_us + idle_us, now_us);
	ca->window_pkts = 0;
	ca->window_start_us = now_us;
}
CC_DEFINE_TX_START(htcp, htcp_restart)

CC_ALGORITHM(htcp,
	.init = CC_FN(htcp_init),
	.cong_avoid = CC_FN(htcp_cong_avoid),
	.ssthresh = CC_FN(htcp_ssthresh),
	.set_state = CC_FN(htcp_set_state),
	.pkts_acked = CC_FN(htcp_pkts_acked),
	.undo_cwnd = CC_FN(htcp_undo_cwnd),
	CC_TX_START_HOOKS(htcp),
);
