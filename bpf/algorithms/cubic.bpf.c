// SPDX-License-Identifier: GPL-2.0-only
/*
 * CUBIC: the window as a cubic function of the time since the last loss.
 *
 * Source   RFC 9438; I. Rhee, L. Xu, PFLDnet 2005 (profile cubic2005); HyStart and HyStart++: see slow_start.h.
 * Law      W(t) = C (t - K)^3 + W_max, K = cbrt((W_max - W_epoch) / C), t since the first ACK after the loss;
 *          never slower than Reno's own average window; loss: W_max = W, W = beta W
 * Why      Growth depends on time, not on the number of round trips, so flows of different RTT grow alike; it is
 *          flat around W_max, where the last loss was, and steep far from it.
 * Differs  From Linux: the window is renewed at each ACK, not once per jiffy; the smoothed RTT stands for the RTT of
 *          the target, not the smallest one; the time offset stops at 256 s instead of wrapping after 5.8 minutes. Time
 *          in which the connection had nothing to send, or did not fill its window, does not count (RFC 9438 section
 *          4.2, 5.8). From the RFC: an ECN mark acts as a loss does; half of the window that was in use is not
 *          consulted (the kernel's snd_cwnd only grows when used). Slow start ends with HyStart by default, as in
 *          Linux. Three more things are Linux's and not the RFC's: W / (target - W) is rounded down, and a packet is
 *          added for so many acked; W_est is reached within a round trip, not at once; while no W_max is known (before
 *          the first loss, after a timeout) growth is at least 5 % a round trip. max_step_pkts acts where the curve is
 *          beyond K, as in Linux 2.6.22.
 * State    104 bytes of 104.
 * Range    windows up to 2^20 packets: 410 * 2^54 < 2^63 for the cubed time, (W_max - W) << 40 < 2^60 for its root.
 */
#include "slow_start.h"

CC_PARAMS(cubic,
	CC_PARAM(beta_q10, 717, 512, 1000, "1/1024", "share of the window kept on loss (717: 0.7)"),
	CC_PARAM(c_q10, 410, 41, 4096, "1/1024", "C: steepness of the cubic (410: 0.4 pkts/s^3)"),
	CC_SWITCH(fast_convergence, 1, "a flow that lost before it reached W_max leaves room for others"),
	CC_SWITCH(reno_friendly, 1, "never slower than Reno would be"),
	CC_PARAM(max_step_pkts, 0, 0, 1000, "pkts/100ms", "largest increase beyond W_max; 0 = no limit (2005: 16)"),
	CC_CHOICE(slow_start_exit, 1, 2, "loss|hystart|hystart++", "what ends the first slow start besides a loss"),
);

#define CUBIC_MAX_OFFSET_Q10 (1U << 18) /* 256 s from W_max; beyond it the curve is a straight line */

struct cubic_state {
	u64 epoch_us; /* start of this growth curve; it moves on while nothing is sent */
	u64 reno_credit_q10; /* packets acked times alpha, towards the next packet of reno_cwnd_pkts */
	u32 w_max_pkts;
	u32 origin_pkts; /* the plateau of this curve */
	u32 k_q10s; /* time from epoch to plateau, 1/1024 s */
	u32 reno_cwnd_pkts; /* W_est: what Reno would have */
	u32 prior_cwnd_pkts; /* window before the last loss */
	u32 last_active_us; /* low 32 bits of the clock at the last ACK that counted as time in use */
	u32 undo_w_max_pkts;
	u32 undo_origin_pkts;
	u32 undo_k_q10s;
	u32 undo_reno_cwnd_pkts;
	u32 undo_prior_cwnd_pkts;
	u32 undo_epoch_age_us; /* 0: there was no epoch */
	struct hystart_state hystart;
	bool in_epoch;
};
CC_STATE_STRUCT(cubic);

void CC_HOOK(cubic_init, struct sock *sk)
{
	struct cubic_state *ca = CC_NEW_STATE(cubic, sk);

	ca->last_active_us = (u32)cc_now_us(sk);
	hystart_init(&ca->hystart, tcp_sk(sk));
}

/* Time that was not used for sending moves the whole curve, by no more than to now. */
CC_INLINE void cubic_skip_idle_time(struct cubic_state *ca, const struct sock *sk)
{
	u64 now_us = cc_now_us(sk);
	u32 idle_us = cc_since_us(sk, ca->last_active_us);

	ca->last_active_us = (u32)now_us;
	if (ca->in_epoch)
		ca->epoch_us = cc_min(ca->epoch_us + idle_us, now_us);
}

CC_INLINE void cubic_start_epoch(struct cubic_state *ca, const struct cubic_params *p, const struct sock *sk)
{
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	ca->in_epoch = true;
	ca->epoch_us = cc_now_us(sk);
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

/* t + RTT */
CC_INLINE u64 cubic_time_q10s(const struct cubic_state *ca, const struct sock *sk)
{
	u64 elapsed_us = cc_min(cc_now_us(sk) - ca->epoch_us, 1ULL << 40);

	return ((elapsed_us + cc_srtt_us(sk)) << 10) / 1000000;
}

/* W(t + RTT), at most half as large again as the window (RFC 9438, section 4.2) */
CC_INLINE u32 cubic_target_pkts(const struct cubic_state *ca, const struct cubic_params *p, const struct sock *sk)
{
	u32 cwnd = tcp_sk(sk)->snd_cwnd;
	u64 t_q10s = cubic_time_q10s(ca, sk);
	u64 offset_q10s = cc_min(cc_distance(t_q10s, ca->k_q10s), CUBIC_MAX_OFFSET_Q10);
	u64 limit = cwnd + (cwnd >> 1);
	u64 delta;

	if (p->c_q10 <= 512)
		delta = (p->c_q10 * (offset_q10s * offset_q10s * offset_q10s)) >> 40;
	else /* 4096 * 2^54 would not fit: give up 10 bits of the cube first */
		delta = (p->c_q10 * ((offset_q10s * offset_q10s * offset_q10s) >> 10)) >> 30;
	if (t_q10s < ca->k_q10s)
		return ca->origin_pkts > delta ? ca->origin_pkts - delta : 0;
	return cc_min(ca->origin_pkts + delta, limit);
}

/* 2005: where the curve is beyond W_max, no more than max_step_pkts in 100 ms; in packets acked for one more */
CC_INLINE u32 cubic_least_divisor(const struct cubic_state *ca, const struct cubic_params *p, const struct sock *sk)
{
	u64 step = (u64)p->max_step_pkts * cc_srtt_us(sk); /* packets in a round trip, times 10^5 */

	if (!step || cubic_time_q10s(ca, sk) < ca->k_q10s)
		return 0;
	return cc_min(cc_div((u64)tcp_sk(sk)->snd_cwnd * 100000, step), 0xffffffffU);
}

/* alpha = 3 (1 - beta) / (1 + beta), rounded; 1 once W_est has reached the window before the loss (RFC 9438, 4.3) */
CC_INLINE u32 cubic_reno_alpha_q10(const struct cubic_state *ca, const struct cubic_params *p)
{
	if (ca->reno_cwnd_pkts >= ca->prior_cwnd_pkts)
		return 1024;
	return (3 * 1024 * (1024 - p->beta_q10) + (1024 + p->beta_q10) / 2) / (1024 + p->beta_q10);
}

/* Packets acked for one more packet, as Reno would grow; 0: Reno is not ahead */
CC_INLINE u32 cubic_reno_divisor(struct cubic_state *ca, const struct cubic_params *p, u32 cwnd, u32 acked_pkts)
{
	u64 cost_q10 = (u64)cwnd << 10;

	ca->reno_credit_q10 += (u64)cubic_reno_alpha_q10(ca, p) * acked_pkts;
	if (ca->reno_credit_q10 >= cost_q10) {
		u64 pkts = cc_div(ca->reno_credit_q10, cost_q10);

		ca->reno_credit_q10 -= pkts * cost_q10;
		ca->reno_cwnd_pkts += pkts;
	}
	if (ca->reno_cwnd_pkts <= cwnd)
		return 0;
	return cc_max(cwnd / (ca->reno_cwnd_pkts - cwnd), 1);
}

/* Packets acked for one more packet of window */
CC_INLINE u32 cubic_divisor(struct cubic_state *ca, const struct cubic_params *p, const struct sock *sk, u32 acked_pkts)
{
	u32 cwnd = tcp_sk(sk)->snd_cwnd;
	u32 target = cubic_target_pkts(ca, p, sk);
	u32 divisor = 100 * cwnd; /* on the plateau: next to nothing */

	if (target > cwnd)
		divisor = cc_max(cwnd / (target - cwnd), cubic_least_divisor(ca, p, sk));
	if (!ca->w_max_pkts)
		divisor = cc_min(divisor, 20); /* no loss yet: at least 5 % in a round trip */
	if (p->reno_friendly) {
		u32 reno = cubic_reno_divisor(ca, p, cwnd, acked_pkts);

		if (reno)
			divisor = cc_min(divisor, reno);
	}
	return cc_max(divisor, 2);
}

void CC_HOOK(cubic_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	const struct cubic_params *p = cubic_params();
	struct cubic_state *ca = CC_STATE(cubic, sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!cc_cwnd_limited(sk)) {
		cubic_skip_idle_time(ca, sk);
		return;
	}
	ca->last_active_us = (u32)cc_now_us(sk);
	if (cc_in_slow_start(tp)) {
		u32 counted = hystart_growth_pkts(&ca->hystart, sk, acked_pkts, p->slow_start_exit);
		u32 left = cc_slow_start(tp, counted);

		if (counted != acked_pkts || !left)
			return;
		acked_pkts = left;
	}
	if (!ca->in_epoch)
		cubic_start_epoch(ca, p, sk);
	cc_additive_increase(tp, cubic_divisor(ca, p, sk, acked_pkts), acked_pkts);
}

u32 CC_HOOK(cubic_ssthresh, struct sock *sk)
{
	const struct cubic_params *p = cubic_params();
	struct cubic_state *ca = CC_STATE(cubic, sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	ca->undo_w_max_pkts = ca->w_max_pkts;
	ca->undo_origin_pkts = ca->origin_pkts;
	ca->undo_k_q10s = ca->k_q10s;
	ca->undo_reno_cwnd_pkts = ca->reno_cwnd_pkts;
	ca->undo_prior_cwnd_pkts = ca->prior_cwnd_pkts;
	ca->undo_epoch_age_us = ca->in_epoch ? cc_clamp(cc_now_us(sk) - ca->epoch_us, 1, 0xffffffffU) : 0;
	ca->in_epoch = false;
	ca->prior_cwnd_pkts = cwnd;
	if (cwnd < ca->w_max_pkts && p->fast_convergence)
		ca->w_max_pkts = (u64)cwnd * (1024 + p->beta_q10) / 2048;
	else
		ca->w_max_pkts = cwnd;
	hystart_congestion(&ca->hystart);
	return cc_ssthresh_floor((u64)cwnd * p->beta_q10 >> 10);
}

/* After a timeout nothing is known of the path; RFC 9438 section 4.8 */
void CC_HOOK(cubic_set_state, struct sock *sk, u8 new_state)
{
	struct cubic_state *ca = CC_STATE(cubic, sk);

	if (new_state != TCP_CA_Loss)
		return;
	ca->w_max_pkts = 0;
	ca->k_q10s = 0;
	ca->in_epoch = false;
	hystart_start_round(&ca->hystart, tcp_sk(sk));
}

/* The loss did not happen: the old curve goes on as if no time had passed since (RFC 9438 section 4.9). */
u32 CC_HOOK(cubic_undo_cwnd, struct sock *sk)
{
	struct cubic_state *ca = CC_STATE(cubic, sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (tp->snd_cwnd <= ca->prior_cwnd_pkts) {
		ca->w_max_pkts = ca->undo_w_max_pkts;
		ca->origin_pkts = ca->undo_origin_pkts;
		ca->k_q10s = ca->undo_k_q10s;
		ca->reno_cwnd_pkts = ca->undo_reno_cwnd_pkts;
		ca->prior_cwnd_pkts = ca->undo_prior_cwnd_pkts;
		ca->in_epoch = ca->undo_epoch_age_us != 0;
		ca->epoch_us = cc_now_us(sk) - cc_min(ca->undo_epoch_age_us, cc_now_us(sk));
		ca->last_active_us = (u32)cc_now_us(sk);
	}
	return cc_undone_cwnd_pkts(tp);
}

void CC_HOOK(cubic_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct cubic_state *ca = CC_STATE(cubic, sk);

	if (sample->rtt_us > 0)
		hystart_sample(&ca->hystart, sk, sample->rtt_us, cubic_params()->slow_start_exit);
}

CC_INLINE void cubic_restart(struct sock *sk)
{
	cubic_skip_idle_time(CC_STATE(cubic, sk), sk);
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
