// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP LoLa: a full path and a short queue, in equal shares.
 *
 * For      study: high utilisation with a queueing delay that does not grow with the number of flows
 * Use      when all flows of a path use it.
 * Not      when flows that react to loss alone share the path: it gives way to the queue that they build.
 * Source   M. Hock, F. Neumeister, M. Zitterbart, R. Bless, "TCP LoLa: Congestion Control for Low Latencies and High
 *          Throughput", IEEE LCN 2017. Constants are those of the authors' kernel module, version 1.5; phi is from memory
 *          of the paper, and not verified.
 * Law      queueing delay d = RTT_now - RTT_min, Q = W d / RTT_now;
 *          cubic increase up to d > Q_low: W(t) = C (t - K)^3 + W_max;
 *          fair flow balancing up to d > Q_target: once a round trip W += X(t) - Q, X(t) = (t / phi)^3 bytes;
 *          hold: W stays for 250 ms; then tailored decrease: W_max = W, W = gamma W RTT_min / RTT_now;
 *          slow start ends with d > 1 ms and a tailored decrease; loss: W = 0.7 W
 * Why      X(t) is the same for all flows of a path, whatever their RTT and share: each brings as many packets into the
 *          queue. The hold lets all of them see the full queue before the first one empties it.
 * Differs  From the paper: no fast convergence and no Reno-friendly region; W grows in a round trip by no
 *          more than four times what X did, as in the authors' module; RTT_now is the smallest RTT of a round trip.
 * State    56 bytes of 104.
 * Range    windows up to 2^20 packets: 512 * 2^54 = 2^63 for the cubed time, 2^20 << 40 for the root.
 */
#include "rtt.h"

#define LOLA_PARAMS(P)                                                                                                 \
	P(CC_PARAM(low_us, 500, 100, 100000, "us", "Q_low: queueing delay with which fair flow balancing begins"))     \
	P(CC_PARAM(target_us, 5000, 200, 1000000, "us", "Q_target: queueing delay with which the hold begins"))        \
	P(CC_PARAM(phi_ms, 35, 5, 1000, "ms", "phi: time after which each flow is to have a byte in the queue"))       \
	P(CC_PARAM(hold_ms, 250, 0, 10000, "ms", "how long the window is held"))                                       \
	P(CC_PARAM(gamma_q10, 949, 512, 1024, "1/1024", "share of the path that is left full by the decrease"))        \
	P(CC_PARAM(slow_start_exit_us, 1000, 100, 100000, "us", "queueing delay with which slow start ends"))          \
	P(CC_PARAM(c_q10, 410, 41, 512, "1/1024", "C: steepness of the cubic, pkts/s^3"))                              \
	P(CC_PARAM(beta_q10, 717, 512, 1000, "1/1024", "share of the window kept on loss"))
CC_PARAMS(lola, LOLA_PARAMS);

#define LOLA_MAX_OFFSET_Q10 ((1U << 18) - 1) /* 256 s from W_max */
#define LOLA_MAX_CURVE_Q10 ((1U << 21) - 1) /* t / phi of 2048: 2^33 bytes */
#define LOLA_LEAST_PKTS 5 /* no decrease below this */
#define LOLA_SETTLE_ROUNDS 2 /* after a decrease, before delays say anything of it */
#define LOLA_NEAR_BASE_US 100 /* an RTT as near as this confirms the base */
#define LOLA_UNSEEN_DECREASES 10 /* without such an RTT: the path is another one */

enum lola_mode { LOLA_CUBIC, LOLA_BALANCE, LOLA_HOLD };

struct lola_state {
	u64 since_us CC_NONE(0, "no growth curve yet"); /* when the curve, the balancing or the hold began */
	u64 credit_q10; /* packets times 1/1024, towards the next packet of window */
	struct cc_rtt rtt; /* RTT_min, and the smallest RTT of this round */
	u32 increase_q10; /* fair flow balancing: growth of this round */
	u32 w_max_pkts; /* window before the last decrease */
	u32 origin_pkts; /* plateau of this curve */
	u32 k_q10s; /* time to the plateau, 1/1024 s */
	u8 mode; /* enum lola_mode */
	u8 settle_rounds; /* rounds until delays are looked at again */
	u8 unseen; /* decreases since an RTT was near the base */
};
CC_STATE_STRUCT(lola);

void CC_HOOK(lola_init, struct sock *sk)
{
	cc_rtt_relearn(&CC_NEW_STATE(lola, sk)->rtt, tcp_sk(sk));
}

CC_INLINE void lola_enter(struct lola_state *ca, enum lola_mode mode, u64 since_us)
{
	ca->mode = mode;
	ca->since_us = since_us;
	ca->increase_q10 = 0;
	ca->credit_q10 = 0;
}

CC_INLINE void lola_start_curve(struct lola_state *ca, u32 cwnd, u64 now_us)
{
	u64 below = cc_min(cc_beyond(ca->w_max_pkts, cwnd), (1U << 23) - 1);

	ca->since_us = cc_max(now_us, 1);
	ca->origin_pkts = cc_max(ca->w_max_pkts, cwnd);
	ca->k_q10s = cc_cbrt((below << 40) / lola_params()->c_q10);
}

/* W(t + RTT_min), at most half as large again as the window */
CC_INLINE u64 lola_target_pkts(const struct lola_state *ca, const struct sock *sk)
{
	u32 cwnd = tcp_sk(sk)->snd_cwnd;
	u64 t_us = cc_min(cc_beyond(cc_now_us(sk), ca->since_us), 1ULL << 40) + ca->rtt.base_us;
	u64 t_q10s = (t_us << 10) / 1000000;
	u64 offset_q10s = cc_min(cc_distance(t_q10s, ca->k_q10s), LOLA_MAX_OFFSET_Q10);
	u64 delta = (lola_params()->c_q10 * (offset_q10s * offset_q10s * offset_q10s)) >> 40;

	if (t_q10s < ca->k_q10s)
		return cc_beyond(ca->origin_pkts, delta);
	return cc_min(ca->origin_pkts + delta, (u64)cwnd + cwnd / 2);
}

CC_INLINE void lola_grow_on_curve(struct lola_state *ca, struct sock *sk, u32 acked_pkts)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 target;

	if (!ca->since_us)
		lola_start_curve(ca, tp->snd_cwnd, cc_now_us(sk));
	target = lola_target_pkts(ca, sk);
	if (target > tp->snd_cwnd)
		tcp_cong_avoid_ai(tp, cc_max(tp->snd_cwnd / (target - tp->snd_cwnd), 2), acked_pkts);
}

/* X(t) = (t / phi)^3 bytes, in packets */
CC_INLINE u64 lola_curve_pkts_q8(u64 t_us, u32 mss_bytes)
{
	u64 ratio_q10 = cc_min((cc_min(t_us, 1ULL << 40) << 10) / (lola_params()->phi_ms * 1000), LOLA_MAX_CURVE_Q10);

	return cc_div((ratio_q10 * ratio_q10 * ratio_q10) >> 22, mss_bytes);
}

/* How much the next round may add: up to X(t) packets in the queue */
CC_INLINE void lola_balance(struct lola_state *ca, const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct cc_rtt *rtt = &ca->rtt;
	u64 t_us = cc_beyond(cc_now_us(sk), ca->since_us);
	u64 wanted_q8 = lola_curve_pkts_q8(t_us, tp->mss_cache);
	u64 rise_q8 = wanted_q8 - lola_curve_pkts_q8(cc_beyond(t_us, rtt->base_us), tp->mss_cache);
	u64 queue_q8 = cc_queue_pkts_q8(tp->snd_cwnd, rtt->round_min_us, rtt->base_us);

	ca->increase_q10 = cc_min(cc_beyond(wanted_q8, queue_q8), 4 * rise_q8) << 2;
}

/* Leaves gamma of what the path holds without a queue. */
CC_INLINE void lola_decrease(struct lola_state *ca, struct tcp_sock *tp)
{
	struct cc_rtt *rtt = &ca->rtt;
	u64 kept = (u64)tp->snd_cwnd * rtt->base_us / cc_max(rtt->round_min_us, 1) * lola_params()->gamma_q10 >> 10;

	ca->w_max_pkts = tp->snd_cwnd;
	if (kept < tp->snd_cwnd)
		cc_set_cwnd(tp, cc_max(kept, cc_min(tp->snd_cwnd, LOLA_LEAST_PKTS)));
	tp->snd_ssthresh = cc_min(tp->snd_ssthresh, cc_ssthresh_floor(tp->snd_cwnd));
	ca->settle_rounds = LOLA_SETTLE_ROUNDS;
	lola_enter(ca, LOLA_CUBIC, 0);
	if (ca->unseen < LOLA_UNSEEN_DECREASES) {
		ca->unseen++;
	} else {
		ca->unseen = 0;
		rtt->base_us = 0;
	}
}

/* Once a round trip, with its smallest RTT */
CC_INLINE void lola_decide(struct lola_state *ca, struct sock *sk)
{
	const struct lola_params *p = lola_params();
	u32 delay_us = ca->rtt.round_min_us - ca->rtt.base_us;
	struct tcp_sock *tp = tcp_sk(sk);
	u64 now_us = cc_now_us(sk);

	if (tcp_in_slow_start(tp)) {
		if (delay_us > p->slow_start_exit_us)
			lola_decrease(ca, tp);
		return;
	}
	if (ca->mode == LOLA_HOLD) {
		if (cc_beyond(now_us, ca->since_us) >= p->hold_ms * 1000)
			lola_decrease(ca, tp);
		return;
	}
	if (delay_us > p->target_us)
		lola_enter(ca, LOLA_HOLD, now_us);
	else if (ca->mode == LOLA_CUBIC && delay_us > p->low_us)
		lola_enter(ca, LOLA_BALANCE, now_us);
	if (ca->mode == LOLA_BALANCE)
		lola_balance(ca, sk);
}

CC_INLINE void lola_end_round(struct lola_state *ca, struct sock *sk)
{
	if (ca->settle_rounds)
		ca->settle_rounds--;
	else if (cc_rtt_is_known(&ca->rtt))
		lola_decide(ca, sk);
	cc_rtt_restart_round(&ca->rtt, tcp_sk(sk));
}

void CC_HOOK(lola_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	struct lola_state *ca = CC_STATE(lola, sk);
	struct tcp_sock *tp = tcp_sk(sk);

	acked_pkts = cc_begin_growth(sk, acked_pkts);
	if (acked_pkts && ca->mode == LOLA_CUBIC)
		lola_grow_on_curve(ca, sk, acked_pkts);
	else if (acked_pkts && ca->mode == LOLA_BALANCE)
		cc_additive_increase_q10(tp, &ca->credit_q10, ca->increase_q10, acked_pkts);
	if (after(tp->snd_una, ca->rtt.round_end_seq))
		lola_end_round(ca, sk);
}

void CC_HOOK(lola_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct lola_state *ca = CC_STATE(lola, sk);

	cc_rtt_sample(&ca->rtt, sk, sample->rtt_us, 0, false);
	if (sample->rtt_us >= 0 && cc_beyond(sample->rtt_us, ca->rtt.base_us) <= LOLA_NEAR_BASE_US)
		ca->unseen = 0;
}

u32 CC_HOOK(lola_ssthresh, struct sock *sk)
{
	struct lola_state *ca = CC_STATE(lola, sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	ca->w_max_pkts = cwnd;
	ca->settle_rounds = LOLA_SETTLE_ROUNDS;
	lola_enter(ca, LOLA_CUBIC, 0);
	return cc_ssthresh_floor((u64)cwnd * lola_params()->beta_q10 >> 10);
}

void CC_HOOK(lola_set_state, struct sock *sk, u8 new_state)
{
	cc_rtt_change_state(&CC_STATE(lola, sk)->rtt, tcp_sk(sk), new_state, false);
}

/* A pause counts neither as time on the curve nor as a hold. */
CC_INLINE void lola_restart(struct sock *sk)
{
	struct lola_state *ca = CC_STATE(lola, sk);

	lola_enter(ca, LOLA_CUBIC, 0);
	cc_rtt_restart_round(&ca->rtt, tcp_sk(sk));
}
CC_DEFINE_RESTART(lola, lola_restart)

CC_ALGORITHM(lola,
	.init = CC_FN(lola_init),
	.cong_avoid = CC_FN(lola_cong_avoid),
	.ssthresh = CC_FN(lola_ssthresh),
	.set_state = CC_FN(lola_set_state),
	.pkts_acked = CC_FN(lola_pkts_acked),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
	CC_TX_START_HOOKS(lola),
);
