// SPDX-License-Identifier: GPL-2.0-only
/*
 * CUBIC: the window as a cubic function of the time since the last loss.
 *
 * For      production: Internet traffic of all kinds
 * Use      when you have no reason for another one: it is the default of Linux, Windows and Apple (RFC 9438).
 * Not      when losses are random, as on radio links, or queues must stay short: it fills the queue until a packet is
 *          lost, and takes each loss for a full queue.
 * Source   RFC 9438; I. Rhee, L. Xu, PFLDnet 2005 (profile cubic2005); HyStart, HyStart++, SEARCH: see slow_start.h.
 * Law      W(t) = C (t - K)^3 + W_max, K = cbrt((W_max - W_epoch) / C), t since the first ACK after the loss;
 *          never slower than Reno's own average window; loss: W_max = W, W = beta W
 * Why      Growth depends on time, not on the number of round trips, so flows of different RTT grow alike; it is
 *          flat around W_max, where the last loss was, and steep far from it.
 * Differs  From Linux: the step is renewed at each ACK, not every 1/32 s; the target takes the smoothed RTT, not the
 *          smallest; W_est earns 9/17 a packet acked; time in which the window was not filled does not count; an undo
 *          restores the curve. Profile linux counts as Linux does (linux_counting, tick). From RFC 9438: an ECN mark acts as
 *          a loss; HyStart by default; W / (target - W) is whole, and growth at least 5 % a round trip while no W_max
 *          is known, as in Linux.
 * State    104 bytes of 104; 208 bytes of socket storage where slow_start_exit is search.
 * Range    windows up to 2^20 packets: 410 * 2^54 < 2^63 for the cubed time, (W_max - W) << 40 < 2^60 for its root.
 */
#include "slow_start.h"

#define CUBIC_PARAMS(P)                                                                                                \
	P(CC_PARAM(beta_q10, 717, 512, 1000, "1/1024", "share of the window kept on loss"))                            \
	P(CC_PARAM(c_q10, 410, 41, 4096, "1/1024", "C: steepness of the cubic, pkts/s^3"))                             \
	P(CC_SWITCH(fast_convergence, 1, "a flow that lost before it reached W_max leaves room for others"))           \
	P(CC_SWITCH(reno_friendly, 1, "never slower than Reno would be"))                                              \
	P(CC_VARIANT(CC_PARAM(max_step_pkts, 0, 0, 1000, "pkts/100ms",                                                 \
			      "largest increase beyond W_max; 0 = no limit (2005: 16)")))                              \
	P(CC_CHOICE(slow_start_exit, 1, 3, "loss|hystart|hystart++|search",                                            \
		    "what ends the first slow start besides a loss"))                                                  \
	P(CC_VARIANT(CC_SWITCH(linux_counting, 0,                                                                      \
			       "step, W_est and HyStart as tcp_cubic.c counts them, in all time; off: RFC 9438")))     \
	P(CC_VARIANT(CC_PARAM(tick_us, 1, 1, 10000, "us",                                                              \
			      "step of the clock, and the RTT rounded up to it: a jiffy in Linux; 1: none")))
CC_PARAMS(cubic, CUBIC_PARAMS);

#define CUBIC_MAX_OFFSET_Q10 (1U << 18) /* 256 s from W_max; beyond it the curve is a straight line */

#define CUBIC_LINUX_STEP_US 31250 /* HZ / 32: so long a step stands while the window stays the same */
#define CUBIC_SETTLED_US 1000000 /* Linux: RTTs in the first second of an epoch are of a queue that is being drained */

struct cubic_state {
	/* start of this growth curve; it moves on while nothing is sent */
	u64 epoch_us CC_NONE(0, "no growth curve yet");
	u32 reno_credit_q10; /* packets acked times alpha, towards the next packet of reno_cwnd_pkts */
	u32 w_max_pkts;
	u32 origin_pkts; /* the plateau of this curve */
	u32 k_q10s; /* time from epoch to plateau, 1/1024 s */
	u32 reno_cwnd_pkts; /* W_est: what Reno would have */
	u32 prior_cwnd_pkts; /* window before the last loss */
	u32 last_active_us; /* low 32 bits of the clock at the last ACK that counted as time in use */
	struct {
		u32 w_max_pkts;
		u32 origin_pkts;
		u32 k_q10s;
		u32 reno_cwnd_pkts;
		u32 prior_cwnd_pkts;
		u32 epoch_age_us CC_NONE(0, "no growth curve before that loss");
	} undo; /* the curve before the last loss */
	u32 step_pkts; /* linux_counting: packets acked for one more; ... */
	u32 step_cwnd_pkts; /* ... at this window, ... */
	u32 step_since_us; /* ... since then; low 32 bits */
	struct hystart_state hystart;
};
CC_STATE_STRUCT(cubic);

/* Only where SEARCH is asked for */
struct cubic_store {
	struct search_store search;
};
CC_STORE_STRUCT(cubic);

CC_INLINE u64 cubic_now_us(const struct sock *sk, const struct cubic_params *p)
{
	return cc_tick_now_us(sk, p->tick_us);
}

void CC_HOOK(cubic_init, struct sock *sk)
{
	struct cubic_state *ca = CC_NEW_STATE(cubic, sk);

	ca->last_active_us = (u32)cubic_now_us(sk, cubic_params());
	hystart_init(&ca->hystart, tcp_sk(sk));
}

/* Time that was not used for sending moves the whole curve, by no more than to now. */
CC_INLINE void cubic_skip_idle_time(struct cubic_state *ca, u64 now_us)
{
	u32 idle_us = cc_minus((u32)now_us, ca->last_active_us);

	ca->last_active_us = (u32)now_us;
	if (ca->epoch_us)
		ca->epoch_us = cc_min(ca->epoch_us + idle_us, now_us);
}

CC_INLINE void cubic_start_epoch(struct cubic_state *ca, const struct cubic_params *p, u32 cwnd, u64 now_us)
{
	ca->epoch_us = cc_max(now_us, 1);
	ca->reno_credit_q10 = 0;
	ca->reno_cwnd_pkts = cwnd;
	if (ca->w_max_pkts <= cwnd) {
		ca->k_q10s = 0;
		ca->origin_pkts = cwnd;
		return;
	}
	ca->k_q10s = cc_cbrt(((u64)cc_min(ca->w_max_pkts - cwnd, (1U << 23) - 1) << 40) / p->c_q10);
	ca->origin_pkts = ca->w_max_pkts;
}

/* t + RTT: the smoothed one, or in Linux the smallest */
CC_INLINE u64 cubic_time_q10s(const struct cubic_state *ca, const struct cubic_params *p, const struct sock *sk,
			      u64 now_us)
{
	u64 elapsed_us = cc_min(cc_beyond(now_us, ca->epoch_us), 1ULL << 40);
	u64 ahead_us = p->linux_counting ? cc_ticks_up_us(ca->hystart.base_rtt_us, p->tick_us) : cc_srtt_us(sk);

	return ((elapsed_us + ahead_us) << 10) / 1000000;
}

/* W(t + RTT), at most half as large again as the window (RFC 9438, section 4.2; not in Linux) */
CC_INLINE u32 cubic_target_pkts(const struct cubic_state *ca, const struct cubic_params *p, u32 cwnd, u64 t_q10s)
{
	u64 offset_q10s = cc_min(cc_distance(t_q10s, ca->k_q10s), CUBIC_MAX_OFFSET_Q10);
	u64 limit = cwnd + (cwnd >> 1);
	u64 delta;

	if (p->c_q10 <= 512)
		delta = (p->c_q10 * (offset_q10s * offset_q10s * offset_q10s)) >> 40;
	else /* 4096 * 2^54 would not fit: give up 10 bits of the cube first */
		delta = (p->c_q10 * ((offset_q10s * offset_q10s * offset_q10s) >> 10)) >> 30;
	if (t_q10s < ca->k_q10s)
		return ca->origin_pkts > delta ? ca->origin_pkts - delta : 0;
	return p->linux_counting ? ca->origin_pkts + delta : cc_min(ca->origin_pkts + delta, limit);
}

/* 2005: where the curve is beyond W_max, no more than max_step_pkts in 100 ms; in packets acked for one more */
CC_INLINE u32 cubic_least_divisor(const struct cubic_state *ca, const struct cubic_params *p, const struct sock *sk,
				  u32 cwnd, u64 t_q10s)
{
	u64 step = (u64)p->max_step_pkts * cc_srtt_us(sk); /* packets in a round trip, times 10^5 */

	if (!step || t_q10s < ca->k_q10s)
		return 0;
	return cc_min(cc_div((u64)cwnd * 100000, step), 0xffffffffU);
}

/* alpha = 3 (1 - beta) / (1 + beta), rounded; 1 once W_est has reached the window before the loss (RFC 9438, 4.3) */
CC_INLINE u32 cubic_reno_alpha_q10(const struct cubic_state *ca, const struct cubic_params *p)
{
	if (ca->reno_cwnd_pkts >= ca->prior_cwnd_pkts)
		return 1024;
	return (3 * 1024 * (1024 - p->beta_q10) + (1024 + p->beta_q10) / 2) / (1024 + p->beta_q10);
}

CC_INLINE void cubic_earn_reno(struct cubic_state *ca, u64 earned_q10)
{
	ca->reno_credit_q10 = cc_min(ca->reno_credit_q10 + earned_q10, 0xffffffffU);
}

/* Packets acked for one more packet, as Reno would grow: credit above cost_q10 buys it a packet; 0: it is not ahead */
CC_INLINE u32 cubic_reno_divisor(struct cubic_state *ca, u32 cwnd, u64 credit_q10, u64 cost_q10)
{
	if (credit_q10 >= cost_q10) {
		u64 pkts = cc_div(credit_q10, cost_q10);

		ca->reno_credit_q10 -= pkts * cost_q10;
		ca->reno_cwnd_pkts += pkts;
	}
	if (ca->reno_cwnd_pkts <= cwnd)
		return 0;
	return cc_max(cwnd / (ca->reno_cwnd_pkts - cwnd), 1);
}

/* RFC 9438, section 4.3: alpha for each packet acked, a window of them for a packet */
CC_INLINE u32 cubic_rfc_reno_divisor(struct cubic_state *ca, const struct cubic_params *p, u32 cwnd, u32 acked_pkts)
{
	cubic_earn_reno(ca, (u64)cubic_reno_alpha_q10(ca, p) * acked_pkts);
	return cubic_reno_divisor(ca, cwnd, ca->reno_credit_q10, (u64)cwnd << 10);
}

/* tcp_cubic.c: more than 15/8 windows acked for a packet (beta = 0.7), in whole packets */
CC_INLINE u32 cubic_linux_reno_divisor(struct cubic_state *ca, const struct cubic_params *p, u32 cwnd)
{
	u32 scale_q3 = 8 * (1024 + p->beta_q10) / 3 / (1024 - p->beta_q10);
	u64 cost_q10 = cc_max((u64)cwnd * scale_q3 >> 3, 1) << 10;

	return cubic_reno_divisor(ca, cwnd, ca->reno_credit_q10 ? ca->reno_credit_q10 - 1 : 0, cost_q10);
}

/* Packets acked for one more packet of window, by the curve at t */
CC_INLINE u32 cubic_curve_divisor(const struct cubic_state *ca, const struct cubic_params *p, const struct sock *sk,
				  u32 cwnd, u64 t_q10s)
{
	u32 target = cubic_target_pkts(ca, p, cwnd, t_q10s);
	u32 divisor = 100 * cwnd; /* on the plateau: next to nothing */

	if (target > cwnd)
		divisor = cc_max(cwnd / (target - cwnd), cubic_least_divisor(ca, p, sk, cwnd, t_q10s));
	if (!ca->w_max_pkts)
		divisor = cc_min(divisor, 20); /* no loss yet: at least 5 % in a round trip */
	return divisor;
}

/* ... and not slower than Reno, nor faster than a packet for two */
CC_INLINE u32 cubic_faster_divisor(u32 divisor, u32 reno)
{
	if (reno)
		divisor = cc_min(divisor, reno);
	return cc_max(divisor, 2);
}

/* bictcp_update(): all packets count for Reno, but the step is not looked at while it stands; the curve once a tick. */
CC_INLINE u32 cubic_linux_step(struct cubic_state *ca, const struct cubic_params *p, const struct sock *sk,
			       u32 acked_pkts, u64 now_us)
{
	u32 cwnd = tcp_sk(sk)->snd_cwnd;
	u32 age_us = cc_minus((u32)now_us, ca->step_since_us);
	u32 divisor = ca->step_pkts;
	u32 reno;

	cubic_earn_reno(ca, (u64)acked_pkts << 10);
	if (divisor && ca->step_cwnd_pkts == cwnd && age_us <= CUBIC_LINUX_STEP_US)
		return divisor;
	if (!divisor || !ca->epoch_us || age_us) {
		ca->step_cwnd_pkts = cwnd;
		ca->step_since_us = (u32)now_us;
		if (!ca->epoch_us) {
			cubic_start_epoch(ca, p, cwnd, now_us);
			cubic_earn_reno(ca, (u64)acked_pkts << 10);
		}
		divisor = cubic_curve_divisor(ca, p, sk, cwnd, cubic_time_q10s(ca, p, sk, now_us));
	}
	reno = p->reno_friendly ? cubic_linux_reno_divisor(ca, p, cwnd) : 0;
	ca->step_pkts = cubic_faster_divisor(divisor, reno);
	return ca->step_pkts;
}

CC_INLINE u32 cubic_rfc_step(struct cubic_state *ca, const struct cubic_params *p, const struct sock *sk,
			     u32 acked_pkts, u64 now_us)
{
	u32 cwnd = tcp_sk(sk)->snd_cwnd;
	u32 divisor, reno;

	if (!ca->epoch_us)
		cubic_start_epoch(ca, p, cwnd, now_us);
	divisor = cubic_curve_divisor(ca, p, sk, cwnd, cubic_time_q10s(ca, p, sk, now_us));
	reno = p->reno_friendly ? cubic_rfc_reno_divisor(ca, p, cwnd, acked_pkts) : 0;
	return cubic_faster_divisor(divisor, reno);
}

void CC_HOOK(cubic_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	const struct cubic_params *p = cubic_params();
	struct cubic_state *ca = CC_STATE(cubic, sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u64 now_us = cubic_now_us(sk, p);

	if (!tcp_is_cwnd_limited(sk)) {
		if (p->linux_counting)
			ca->last_active_us = (u32)now_us;
		else
			cubic_skip_idle_time(ca, now_us);
		return;
	}
	ca->last_active_us = (u32)now_us;
	if (tcp_in_slow_start(tp)) {
		u32 counted = hystart_growth_pkts(&ca->hystart, sk, acked_pkts, p->slow_start_exit);
		u32 left = tcp_slow_start(tp, counted);

		if (counted != acked_pkts || !left)
			return;
		acked_pkts = left;
	}
	if (p->linux_counting)
		tcp_cong_avoid_ai(tp, cubic_linux_step(ca, p, sk, acked_pkts, now_us), acked_pkts);
	else
		tcp_cong_avoid_ai(tp, cubic_rfc_step(ca, p, sk, acked_pkts, now_us), acked_pkts);
}

CC_INLINE void cubic_save_curve(struct cubic_state *ca, u64 now_us)
{
	ca->undo.w_max_pkts = ca->w_max_pkts;
	ca->undo.origin_pkts = ca->origin_pkts;
	ca->undo.k_q10s = ca->k_q10s;
	ca->undo.reno_cwnd_pkts = ca->reno_cwnd_pkts;
	ca->undo.prior_cwnd_pkts = ca->prior_cwnd_pkts;
	ca->undo.epoch_age_us = ca->epoch_us ? cc_clamp(cc_beyond(now_us, ca->epoch_us), 1, 0xffffffffU) : 0;
}

/* The old curve goes on as if no time had passed since. */
CC_INLINE void cubic_restore_curve(struct cubic_state *ca, u64 now_us)
{
	ca->w_max_pkts = ca->undo.w_max_pkts;
	ca->origin_pkts = ca->undo.origin_pkts;
	ca->k_q10s = ca->undo.k_q10s;
	ca->reno_cwnd_pkts = ca->undo.reno_cwnd_pkts;
	ca->prior_cwnd_pkts = ca->undo.prior_cwnd_pkts;
	ca->epoch_us = ca->undo.epoch_age_us ? cc_max(now_us - cc_min(ca->undo.epoch_age_us, now_us), 1) : 0;
	ca->last_active_us = (u32)now_us;
}

u32 CC_HOOK(cubic_ssthresh, struct sock *sk)
{
	const struct cubic_params *p = cubic_params();
	struct cubic_state *ca = CC_STATE(cubic, sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	cubic_save_curve(ca, cubic_now_us(sk, p));
	ca->epoch_us = 0;
	ca->prior_cwnd_pkts = cwnd;
	if (cwnd < ca->w_max_pkts && p->fast_convergence)
		ca->w_max_pkts = (u64)cwnd * (1024 + p->beta_q10) / 2048;
	else
		ca->w_max_pkts = cwnd;
	hystart_congestion(&ca->hystart, p->slow_start_exit);
	return cc_ssthresh_floor((u64)cwnd * p->beta_q10 >> 10);
}

CC_INLINE void cubic_search(struct sock *sk, u32 rtt_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cubic_store *store;

	if (!tcp_in_slow_start(tp) || tcp_in_cwnd_reduction(sk))
		return;
	store = CC_STORE(cubic, sk);
	if (store && search_path_is_full(&store->search, sk, rtt_us))
		tp->snd_ssthresh = cc_ssthresh_floor(tp->snd_cwnd);
}

CC_INLINE void cubic_search_timeout(struct sock *sk)
{
	struct cubic_store *store = CC_STORE(cubic, sk);

	if (store)
		store->search.has_begun = false;
}

/* After a timeout nothing is known of the path; RFC 9438 section 4.8 */
void CC_HOOK(cubic_set_state, struct sock *sk, u8 new_state)
{
	struct cubic_state *ca = CC_STATE(cubic, sk);

	if (new_state != TCP_CA_Loss)
		return;
	ca->w_max_pkts = 0;
	ca->k_q10s = 0;
	ca->epoch_us = 0;
	ca->step_pkts = 0;
	hystart_timeout(&ca->hystart, tcp_sk(sk), cubic_params()->slow_start_exit);
	if (cubic_params()->slow_start_exit == CC_EXIT_SEARCH)
		cubic_search_timeout(sk);
}

/* The loss did not happen: RFC 9438 section 4.9; Linux leaves the curve as it is. */
u32 CC_HOOK(cubic_undo_cwnd, struct sock *sk)
{
	struct cubic_state *ca = CC_STATE(cubic, sk);
	const struct cubic_params *p = cubic_params();
	const struct tcp_sock *tp = tcp_sk(sk);

	if (tp->snd_cwnd <= ca->prior_cwnd_pkts && !p->linux_counting)
		cubic_restore_curve(ca, cubic_now_us(sk, p));
	return cc_restored_cwnd_pkts(tp);
}

void CC_HOOK(cubic_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	const struct cubic_params *p = cubic_params();
	enum cc_slow_start_exit exit = p->slow_start_exit;
	struct cubic_state *ca = CC_STATE(cubic, sk);
	u64 now_us = cubic_now_us(sk, p);

	if (sample->rtt_us < 0)
		return;
	if (exit == CC_EXIT_SEARCH)
		cubic_search(sk, cc_max(sample->rtt_us, 1));
	if (exit != CC_EXIT_HYSTARTPP && ca->epoch_us && now_us < ca->epoch_us + CUBIC_SETTLED_US)
		return;
	hystart_sample(&ca->hystart, sk, cc_max(sample->rtt_us, 1), exit, p->linux_counting);
}

CC_INLINE void cubic_restart(struct sock *sk)
{
	cubic_skip_idle_time(CC_STATE(cubic, sk), cubic_now_us(sk, cubic_params()));
}
CC_DEFINE_TX_START(cubic, cubic_restart)

CC_ALGORITHM(cubic,
	.init = CC_FN(cubic_init),
	.cong_avoid = CC_FN(cubic_cong_avoid),
	.ssthresh = CC_FN(cubic_ssthresh),
	.set_state = CC_FN(cubic_set_state),
	.pkts_acked = CC_FN(cubic_pkts_acked),
	.undo_cwnd = CC_FN(cubic_undo_cwnd),
	CC_TX_START_HOOKS(cubic),
);
