// SPDX-License-Identifier: GPL-2.0-only
/*
 * LEDBAT++: only the capacity that other flows leave, with at most 60 ms of queue.
 *
 * For      production: background transfers that yield to other traffic
 * Use      when backups, updates or replication share a path with traffic that must not notice them.
 * Not      when the transfer has a deadline, or when the path has a shorter queue than the target: there it yields to
 *          losses only, like Reno. Delays that vary without congestion, as on radio links, make it yield.
 * Source   draft-irtf-iccrg-ledbat-plus-plus-06; RFC 6817 for the base delay and the filter.
 * Law      gain = 1 / min(16, ceil(2 T / base)), T = 60 ms; queueing delay d = smallest of the last 4 RTTs - base
 *          each RTT: d <= T: W += gain; beyond: W += max(gain - C W (d / T - 1), -W / 2)
 *          slow start: each packet acked W += gain; the first one ends at d > 3/4 T
 * Why      Delay rises before packets are lost, so it gives way to flows that only react to losses. Increase by a constant
 *          and decrease by a share bring several of its flows to equal shares. Slowdowns, two packets for 2 RTTs, empty
 *          its queue, so that its flows see the base delay of the path and not each other's queue.
 * Differs  From the draft: the window follows at each ACK, not once per RTT. A socket that is moved to it outside slow
 *          start begins with a slowdown. A loss in a slowdown halves the window from before it. T and the bound of the gain may be
 *          those of a rule.
 * State    104 bytes of 104.
 * Range    delays up to 71 minutes.
 */
#include "cc.h"

#define LEDBATPP_PARAMS(P)                                                                                             \
	P(CC_PER_CONNECTION(CC_PARAM(target_ms, 60, 1, 1000, "ms", "T: the queueing delay that it aims at")))          \
	P(CC_PER_CONNECTION(CC_PARAM(gain_divisor_max, 16, 1, 64, "", "the gain is at least one divided by this")))    \
	P(CC_PARAM(decrease_pct, 100, 1, 1000, "%",                                                                    \
		   "C: share of the window given up in an RTT at twice the target, at most half"))                     \
	P(CC_PARAM(exit_pct, 75, 1, 100, "%", "share of the target at which the first slow start ends"))               \
	P(CC_PARAM(slowdown_pause, 9, 0, 100, "",                                                                      \
		   "pause after a slowdown, in lengths of that slowdown; 0 = no slowdowns"))                           \
	P(CC_PARAM(slowdown_rtts, 2, 1, 10, "RTTs", "length of a slowdown, without the slow start after it"))          \
	P(CC_PARAM(slowdown_cwnd_pkts, 2, 2, 10, "pkts", "window of a slowdown, the smallest, and the first"))
CC_PARAMS(ledbatpp, LEDBATPP_PARAMS);
CC_CONNECTION_PARAMS(ledbatpp);

#define LEDBATPP_HISTORY_MIN 10 /* RFC 6817 BASE_HISTORY */
#define LEDBATPP_FILTER 4 /* RFC 6817 CURRENT_FILTER, and the draft's */
#define LEDBATPP_MINUTE_US 60000000

enum ledbatpp_phase {
	LEDBATPP_FIRST, /* the first slow start */
	LEDBATPP_STEADY,
	LEDBATPP_SLOWDOWN,
	LEDBATPP_RETURN, /* slow start back to the window before the slowdown */
};

struct ledbatpp_state {
	u64 slowdown_us; /* when the last one began */
	u64 next_us; /* when the next one begins, or this one's return */
	u32 minute_us[LEDBATPP_HISTORY_MIN] CC_NONE(0, "no RTT in this minute"); /* smallest RTT of each minute */
	u32 base_us CC_NONE(0, "no RTT yet"); /* smallest of these */
	u32 recent_us[LEDBATPP_FILTER] CC_NONE(0, "no RTT yet");
	u32 minute; /* of minute_us[0] */
	u32 saved_pkts; /* window before the slowdown */
	u32 due_q20; /* decrease of less than a packet */
	u32 phase;
	u32 own_target_ms CC_NONE(0, "no target of its own"); /* from its rule, as the next */
	u32 own_gain_divisor_max CC_NONE(0, "no bound of its own");
};
CC_STATE_STRUCT(ledbatpp);

CC_INLINE u64 ledbatpp_target_us(const struct ledbatpp_state *ca, const struct ledbatpp_params *p)
{
	return 1000ULL * (ca->own_target_ms ? ca->own_target_ms : p->target_ms);
}

CC_INLINE u32 ledbatpp_smaller(u32 smallest_us, u32 rtt_us)
{
	return rtt_us && (!smallest_us || rtt_us < smallest_us) ? rtt_us : smallest_us;
}

CC_INLINE void ledbatpp_begin_minute(struct ledbatpp_state *ca, u32 minute)
{
	bool is_stale = cc_minus(minute, ca->minute) >= LEDBATPP_HISTORY_MIN;

	ca->base_us = 0;
	for (u32 i = LEDBATPP_HISTORY_MIN - 1; i > 0; i--) {
		ca->minute_us[i] = is_stale ? 0 : ca->minute_us[i - 1];
		ca->base_us = ledbatpp_smaller(ca->base_us, ca->minute_us[i]);
	}
	ca->minute_us[0] = 0;
	ca->minute = minute;
}

CC_INLINE void ledbatpp_note_rtt(struct ledbatpp_state *ca, const struct sock *sk, u32 rtt_us)
{
	u32 minute = cc_now_us(sk) / LEDBATPP_MINUTE_US;

	if (minute != ca->minute)
		ledbatpp_begin_minute(ca, minute);
	ca->minute_us[0] = ledbatpp_smaller(ca->minute_us[0], rtt_us);
	ca->base_us = ledbatpp_smaller(ca->base_us, rtt_us);
	for (u32 i = LEDBATPP_FILTER - 1; i > 0; i--)
		ca->recent_us[i] = ca->recent_us[i - 1];
	ca->recent_us[0] = rtt_us;
}

CC_INLINE u32 ledbatpp_queue_us(const struct ledbatpp_state *ca)
{
	u32 recent_us = 0;

	for (u32 i = 0; i < LEDBATPP_FILTER; i++)
		recent_us = ledbatpp_smaller(recent_us, ca->recent_us[i]);
	return cc_beyond(recent_us, ca->base_us);
}

/* 1 / gain; the largest while no RTT is known */
CC_INLINE u32 ledbatpp_gain_divisor(const struct ledbatpp_state *ca, const struct ledbatpp_params *p)
{
	u32 most = ca->own_gain_divisor_max ? ca->own_gain_divisor_max : p->gain_divisor_max;
	u64 twice_us = 2 * ledbatpp_target_us(ca, p);

	return ca->base_us ? cc_clamp((twice_us + ca->base_us - 1) / ca->base_us, 1, most) : most;
}

/* Down to this, but not below the window of a slowdown; never up */
CC_INLINE void ledbatpp_shrink(struct tcp_sock *tp, const struct ledbatpp_params *p, u32 cwnd)
{
	cc_set_cwnd(tp, cc_min(tp->snd_cwnd, cc_max(cwnd, p->slowdown_cwnd_pkts)));
	tp->snd_cwnd_cnt = 0;
}

CC_INLINE void ledbatpp_slow_down(struct ledbatpp_state *ca, struct sock *sk, const struct ledbatpp_params *p)
{
	struct tcp_sock *tp = tcp_sk(sk);

	ca->phase = LEDBATPP_SLOWDOWN;
	ca->saved_pkts = tp->snd_cwnd;
	ca->slowdown_us = cc_now_us(sk);
	ca->next_us = ca->slowdown_us + (u64)p->slowdown_rtts * cc_srtt_us(sk);
	ledbatpp_shrink(tp, p, 0);
}

/* From slow start to the steady phase, and when that ends */
CC_INLINE void ledbatpp_settle(struct ledbatpp_state *ca, struct sock *sk, const struct ledbatpp_params *p)
{
	u64 pause_us = (u64)p->slowdown_rtts * cc_srtt_us(sk);

	if (ca->phase == LEDBATPP_RETURN)
		pause_us = p->slowdown_pause * cc_beyond(cc_now_us(sk), ca->slowdown_us);
	ca->phase = LEDBATPP_STEADY;
	ca->next_us = cc_now_us(sk) + pause_us;
	ca->due_q20 = 0;
	tcp_sk(sk)->snd_cwnd_cnt = 0;
}

CC_INLINE void ledbatpp_change_phase(struct ledbatpp_state *ca, struct sock *sk, const struct ledbatpp_params *p)
{
	struct tcp_sock *tp = tcp_sk(sk);
	bool is_due = cc_now_us(sk) >= ca->next_us;

	if (ca->phase == LEDBATPP_SLOWDOWN) {
		if (!is_due)
			return;
		ca->phase = LEDBATPP_RETURN;
		tp->snd_ssthresh = cc_ssthresh_floor(ca->saved_pkts);
	}
	if (tcp_in_slow_start(tp))
		return;
	if (ca->phase != LEDBATPP_STEADY)
		ledbatpp_settle(ca, sk, p);
	else if (p->slowdown_pause && is_due)
		ledbatpp_slow_down(ca, sk, p);
}

/* Returns the packets left for congestion avoidance, as tcp_slow_start. */
CC_INLINE u32 ledbatpp_slow_start(struct tcp_sock *tp, u32 divisor, u32 acked_pkts)
{
	u32 credit_pkts = tp->snd_cwnd_cnt + acked_pkts;

	tp->snd_cwnd_cnt = credit_pkts % divisor;
	return tcp_slow_start(tp, credit_pkts / divisor);
}

/* For each packet acknowledged C (d / T - 1) - gain / W, at most 1/2. Bound: 1000 * 2^32 * 2^20, and 2^20 * 2^19 + 2^20 */
CC_INLINE void ledbatpp_decrease(struct ledbatpp_state *ca, struct tcp_sock *tp, const struct ledbatpp_params *p,
				 u32 divisor, u32 queue_us, u32 acked_pkts)
{
	u64 target_us = ledbatpp_target_us(ca, p);
	u64 share_q20 = cc_div(((u64)p->decrease_pct * cc_beyond(queue_us, target_us)) << 20, 100 * target_us);
	u64 gain_q20 = cc_div(1 << 20, (u64)tp->snd_cwnd * divisor);
	u64 due_q20 = ca->due_q20 + acked_pkts * cc_min(cc_beyond(share_q20, gain_q20), 1 << 19);

	ca->due_q20 = due_q20 & ((1 << 20) - 1);
	ledbatpp_shrink(tp, p, cc_beyond(tp->snd_cwnd, due_q20 >> 20));
	tp->snd_ssthresh = cc_min(tp->snd_ssthresh, cc_ssthresh_floor(tp->snd_cwnd));
}

void CC_HOOK(ledbatpp_init, struct sock *sk)
{
	const struct ledbatpp_params *p = ledbatpp_params();
	struct ledbatpp_state *ca = CC_NEW_STATE(ledbatpp, sk);
	struct tcp_sock *tp = tcp_sk(sk);

	ca->minute = cc_now_us(sk) / LEDBATPP_MINUTE_US;
	ca->own_target_ms = CC_OWN_PARAM(ledbatpp, sk, target_ms, 0);
	ca->own_gain_divisor_max = CC_OWN_PARAM(ledbatpp, sk, gain_divisor_max, 0);
	if (tcp_in_slow_start(tp))
		ledbatpp_shrink(tp, p, 0);
	else
		ledbatpp_slow_down(ca, sk, p);
}

void CC_HOOK(ledbatpp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	if (sample->rtt_us >= 0)
		ledbatpp_note_rtt(CC_STATE(ledbatpp, sk), sk, cc_max(sample->rtt_us, 1));
}

void CC_HOOK(ledbatpp_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	const struct ledbatpp_params *p = ledbatpp_params();
	struct ledbatpp_state *ca = CC_STATE(ledbatpp, sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 queue_us = ledbatpp_queue_us(ca);
	u32 divisor = ledbatpp_gain_divisor(ca, p);
	u64 target_us = ledbatpp_target_us(ca, p);

	if (ca->phase == LEDBATPP_FIRST && 100ULL * queue_us > p->exit_pct * target_us)
		tp->snd_ssthresh = cc_min(tp->snd_ssthresh, cc_ssthresh_floor(tp->snd_cwnd));
	ledbatpp_change_phase(ca, sk, p);
	if (ca->phase == LEDBATPP_SLOWDOWN)
		return;
	if (!tcp_in_slow_start(tp) && queue_us > target_us) {
		ledbatpp_decrease(ca, tp, p, divisor, queue_us, acked_pkts);
		return;
	}
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked_pkts = ledbatpp_slow_start(tp, divisor, acked_pkts);
	if (acked_pkts && !tcp_in_slow_start(tp))
		tcp_cong_avoid_ai(tp, tp->snd_cwnd * divisor, acked_pkts);
}

void CC_HOOK(ledbatpp_release, struct sock *sk)
{
	CC_DROP_OWN_PARAMS(sk);
}

u32 CC_HOOK(ledbatpp_ssthresh, struct sock *sk)
{
	struct ledbatpp_state *ca = CC_STATE(ledbatpp, sk);

	ca->due_q20 = 0;
	ca->saved_pkts >>= 1;
	return cc_half_cwnd_pkts(tcp_sk(sk));
}

CC_ALGORITHM(ledbatpp,
	.init = CC_FN(ledbatpp_init),
	.release = CC_FN(ledbatpp_release),
	.pkts_acked = CC_FN(ledbatpp_pkts_acked),
	.cong_avoid = CC_FN(ledbatpp_cong_avoid),
	.ssthresh = CC_FN(ledbatpp_ssthresh),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
);
