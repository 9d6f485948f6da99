// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compound TCP: a Reno window plus a delay window that fills fast paths and retreats when a queue builds.
 *
 * For      study: fast and long paths, fair to Reno
 * Use      when you study the Compound TCP of Windows Vista, or a window that is the sum of a loss part and a delay
 *          part.
 * Not      when you want what Windows sends today: its default is CUBIC (RFC 9438).
 * Source   K. Tan, J. Song, Q. Zhang, M. Sridharan, "A Compound TCP Approach for High-Speed and Long Distance Networks",
 *          IEEE INFOCOM 2006; draft-sridharan-tcpm-ctcp; Y.-T. Li, "Evaluation of TCP Congestion Control Algorithms on
 *          the Windows Vista Platform", SLAC 2006 (burst control, gamma auto-tuning).
 * Law      W = lwnd + dwnd; each packet acked: lwnd += 1 / W; once a round trip, with diff = W (RTT - base) / RTT:
 *          diff < gamma: dwnd += W^0.75 / 8 - 1; else dwnd -= zeta diff
 *          loss: lwnd = lwnd / 2, dwnd = W / 2 - lwnd / 2; auto-tuning: gamma += lambda (3/4 diff_reno - gamma) per loss
 * Why      The Reno part guarantees a fair share where loss decides; the delay part adds what nobody else uses.
 * Differs  The report on Vista has no formula for burst control: muted adds nothing while gamma_low <= diff < gamma,
 *          partial at most partial_max. Its two ways of tuning gamma are read as the later published law. dwnd
 *          changes at once at the end of a round, on the smallest RTT of the round and the window of its first ACK.
 *          Rounds in slow start or recovery, and those that did not fill the window, decide and tune nothing.
 * State    52 bytes of 104.
 * Range    exact for windows up to 2^20 packets and RTTs up to 10 s; dwnd and gamma in Q8.
 */
#include "rtt.h"

#define COMPOUND_PARAMS(P)                                                                                             \
	P(CC_PARAM(alpha_shift, 3, 1, 6, "", "alpha = 2^-alpha_shift: growth of dwnd is alpha W^0.75 - 1"))            \
	P(CC_PARAM(zeta, 1, 1, 8, "", "dwnd falls by zeta diff"))                                                      \
	P(CC_PARAM(gamma_pkts, 30, 1, 255, "pkts", "queued packets from which on dwnd falls"))                         \
	P(CC_PARAM(gamma_low_pkts, 5, 1, 255, "pkts", "burst control acts from here; lower bound of auto-tuning"))     \
	P(CC_PARAM(gamma_high_pkts, 30, 1, 255, "pkts", "upper bound of auto-tuning"))                                 \
	P(CC_PARAM(low_window_pkts, 41, 10, 1000, "pkts", "below this window dwnd does not grow"))                     \
	P(CC_VARIANT(CC_CHOICE(below_low_window, 0, 1, "freeze|zero", "what dwnd does below low_window_pkts")))        \
	P(CC_VARIANT(CC_CHOICE(burst_control, 0, 2, "off|muted|partial",                                               \
			       "growth of dwnd while gamma_low <= diff < gamma")))                                     \
	P(CC_VARIANT(CC_PARAM(partial_max_q8, 256, 0, 65535, "1/256 pkts/RTT",                                         \
			      "most growth of dwnd under burst_control=partial")))                                     \
	P(CC_CHOICE(gamma_tuning, 0, 2, "off|diffwnd|losswindow",                                                      \
		    "what gamma follows: queue of the Reno part, or of all"))                                          \
	P(CC_PARAM(lambda_shift, 2, 0, 6, "", "gamma moves by 2^-lambda_shift of the way at each loss"))               \
	P(CC_PARAM(gamma_gain_num, 3, 1, 16, "", "gamma aims at gain times diff; numerator"))                          \
	P(CC_PARAM(gamma_gain_den, 4, 1, 16, "", "... and denominator"))                                               \
	P(CC_VARIANT(CC_CHOICE(power_base, 0, 1, "win|dwnd",                                                           \
			       "what is raised to 0.75: the window, or dwnd (first drafts)")))                         \
	P(CC_VARIANT(CC_SWITCH(c06_loss, 0, "dwnd survives losses whole, as in the Linux patch of 2006")))             \
	P(CC_VARIANT(CC_SWITCH(rto_from_lwnd, 0, "after a timeout ssthresh is lwnd / 2 (Vista) instead of W / 2")))    \
	CC_RTT_PARAMS(P, 0)
CC_PARAMS(compound, COMPOUND_PARAMS);

enum compound_burst { BURST_OFF, BURST_MUTED, BURST_PARTIAL };
enum compound_tuning { TUNING_OFF, TUNING_DIFFWND, TUNING_LOSSWINDOW };
#define COMPOUND_NO_DIFF (-1) /* nothing measured since the last loss */

struct compound_state {
	struct cc_rtt rtt;
	u32 dwnd_q8;
	u32 round_cwnd_pkts CC_NONE(0, "the round has not begun"); /* window at the start of the round */
	s32 reno_diff_q8; /* queue of the Reno part in the last round */
	s32 total_diff_q8; /* ... of the whole window */
	u32 gamma_q8;
	u32 undo_dwnd_q8;
	u32 undo_gamma_q8;
	bool filled; /* every ACK of this round found the window filled */
};
CC_STATE_STRUCT(compound);

CC_INLINE void compound_restart_round(struct compound_state *ca, const struct tcp_sock *tp)
{
	cc_rtt_restart_round(&ca->rtt, tp);
	ca->round_cwnd_pkts = 0;
	ca->filled = true;
}

CC_INLINE void compound_reset(struct compound_state *ca, const struct tcp_sock *tp)
{
	ca->rtt.base_us = 0;
	ca->dwnd_q8 = 0;
	ca->gamma_q8 = compound_params()->gamma_pkts << 8;
	ca->reno_diff_q8 = ca->total_diff_q8 = COMPOUND_NO_DIFF;
	compound_restart_round(ca, tp);
}

void CC_HOOK(compound_init, struct sock *sk)
{
	compound_reset(CC_NEW_STATE(compound, sk), tcp_sk(sk));
}

/* The Reno part is what dwnd leaves of the window, so that changes of the window by the core cannot part the two. */
CC_INLINE u32 compound_lwnd_pkts(const struct compound_state *ca, u32 cwnd)
{
	u32 dwnd = ca->dwnd_q8 >> 8;

	return cwnd > dwnd ? cwnd - dwnd : 1;
}

/* alpha W^0.75 - 1, Q8, not below zero */
CC_INLINE u32 compound_increase_q8(u32 pkts, u32 alpha_shift)
{
	u64 power_q8 = cc_pow075_q10(cc_min(pkts, CC_CWND_MAX_PKTS)) >> alpha_shift >> 2;

	return power_q8 > 256 ? power_q8 - 256 : 0;
}

CC_INLINE u32 compound_growth_q8(const struct compound_state *ca, const struct compound_params *p, u64 diff_q8)
{
	u32 pkts = p->power_base ? ca->dwnd_q8 >> 8 : ca->round_cwnd_pkts;
	u32 growth_q8 = compound_increase_q8(pkts, p->alpha_shift);

	if (diff_q8 < (u64)p->gamma_low_pkts << 8 || p->burst_control == BURST_OFF)
		return growth_q8;
	return p->burst_control == BURST_MUTED ? 0 : cc_min(growth_q8, p->partial_max_q8);
}

/* The delay window's step, once a round trip */
CC_INLINE void compound_end_round(struct compound_state *ca, const struct compound_params *p, struct tcp_sock *tp)
{
	u32 rtt_us = ca->rtt.round_min_us, base_us = ca->rtt.base_us;
	u32 lwnd = compound_lwnd_pkts(ca, tp->snd_cwnd);
	u32 round_lwnd = compound_lwnd_pkts(ca, ca->round_cwnd_pkts);
	u64 diff_q8 = cc_queue_pkts_q8(ca->round_cwnd_pkts, rtt_us, base_us);

	ca->total_diff_q8 = cc_min(diff_q8, 0x7fffffff);
	ca->reno_diff_q8 = cc_min(cc_queue_pkts_q8(round_lwnd, rtt_us, base_us), 0x7fffffff);
	if (diff_q8 >= ca->gamma_q8)
		ca->dwnd_q8 -= cc_min(ca->dwnd_q8, p->zeta * diff_q8);
	else if (tp->snd_cwnd >= p->low_window_pkts)
		ca->dwnd_q8 = cc_min((u64)ca->dwnd_q8 + compound_growth_q8(ca, p, diff_q8), CC_CWND_MAX_PKTS << 8);
	else if (p->below_low_window)
		ca->dwnd_q8 = 0;
	cc_set_cwnd(tp, (u64)lwnd + (ca->dwnd_q8 >> 8));
}

void CC_HOOK(compound_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	struct compound_state *ca = CC_STATE(compound, sk);
	struct tcp_sock *tp = tcp_sk(sk);
	bool slow_start = tcp_in_slow_start(tp);

	if (tcp_is_cwnd_limited(sk))
		cc_reno_grow(tp, acked_pkts);
	else
		ca->filled = false;
	if (cc_in_reduction_or_loss(sk) || !after(tp->snd_una, ca->rtt.round_end_seq))
		return;
	if (!slow_start && ca->filled && ca->round_cwnd_pkts && cc_rtt_is_known(&ca->rtt))
		compound_end_round(ca, compound_params(), tp);
	compound_restart_round(ca, tp);
}

void CC_HOOK(compound_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct compound_state *ca = CC_STATE(compound, sk);

	if (!ca->round_cwnd_pkts && !cc_in_reduction_or_loss(sk)) {
		ca->round_cwnd_pkts = tcp_sk(sk)->snd_cwnd;
		ca->dwnd_q8 = cc_min(ca->dwnd_q8, (u64)ca->round_cwnd_pkts << 8);
	}
	cc_rtt_sample(&ca->rtt, sk, sample->rtt_us, compound_params()->base_expiry_s, false);
}

/* One measured round tunes gamma once: two losses without one between them count as one. */
CC_INLINE void compound_tune_gamma(struct compound_state *ca, const struct compound_params *p)
{
	s32 diff_q8 = p->gamma_tuning == TUNING_DIFFWND ? ca->reno_diff_q8 : ca->total_diff_q8;
	u64 aim_q8, step_q8;

	if (p->gamma_tuning == TUNING_OFF || diff_q8 < 0)
		return;
	aim_q8 = (u64)diff_q8 * p->gamma_gain_num / p->gamma_gain_den;
	step_q8 = cc_distance(aim_q8, ca->gamma_q8);
	if (aim_q8 >= ca->gamma_q8)
		aim_q8 = ca->gamma_q8 + (step_q8 >> p->lambda_shift);
	else /* rounded away from gamma, as an arithmetic shift of a negative number is */
		aim_q8 = ca->gamma_q8 - ((step_q8 + (1U << p->lambda_shift) - 1) >> p->lambda_shift);
	ca->gamma_q8 = cc_clamp(aim_q8, p->gamma_low_pkts << 8, cc_max(p->gamma_high_pkts, p->gamma_low_pkts) << 8);
}

u32 CC_HOOK(compound_ssthresh, struct sock *sk)
{
	struct compound_state *ca = CC_STATE(compound, sk);

	ca->undo_dwnd_q8 = ca->dwnd_q8;
	ca->undo_gamma_q8 = ca->gamma_q8;
	compound_tune_gamma(ca, compound_params());
	ca->reno_diff_q8 = ca->total_diff_q8 = COMPOUND_NO_DIFF;
	return cc_half_cwnd_pkts(tcp_sk(sk));
}

/* dwnd gets what is left of half the window when the Reno part has halved its own. */
CC_INLINE void compound_halve(struct compound_state *ca, u32 cwnd)
{
	u64 half_q8 = (u64)(cwnd >> 1) << 8; /* what ssthresh gives the whole window */
	u64 reno_half_q8 = (u64)compound_lwnd_pkts(ca, cwnd) << 7;

	if (compound_params()->c06_loss)
		ca->dwnd_q8 = cc_min(ca->dwnd_q8, half_q8);
	else
		ca->dwnd_q8 = half_q8 > reno_half_q8 ? half_q8 - reno_half_q8 : 0;
}

void CC_HOOK(compound_set_state, struct sock *sk, u8 new_state)
{
	struct compound_state *ca = CC_STATE(compound, sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (new_state == TCP_CA_Recovery || new_state == TCP_CA_CWR)
		compound_halve(ca, tp->snd_cwnd);
	else if (new_state == TCP_CA_Loss)
		compound_reset(ca, tp);
	else if (new_state == TCP_CA_Open)
		compound_restart_round(ca, tp);
}

u32 CC_HOOK(compound_undo_cwnd, struct sock *sk)
{
	struct compound_state *ca = CC_STATE(compound, sk);

	ca->dwnd_q8 = ca->undo_dwnd_q8;
	ca->gamma_q8 = ca->undo_gamma_q8;
	return cc_restored_cwnd_pkts(tcp_sk(sk));
}

CC_INLINE void compound_restart(struct sock *sk)
{
	struct compound_state *ca = CC_STATE(compound, sk);

	if (compound_params()->relearn_base)
		ca->rtt.base_us = 0;
	ca->reno_diff_q8 = ca->total_diff_q8 = COMPOUND_NO_DIFF;
	compound_restart_round(ca, tcp_sk(sk));
}

void CC_HOOK(compound_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct compound_state *ca = CC_STATE(compound, sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (event == CA_EVENT_TX_START || event == CA_EVENT_CWND_RESTART)
		compound_restart(sk);
	if (event == CA_EVENT_CWND_RESTART)
		ca->dwnd_q8 = 0;
	if (event == CA_EVENT_LOSS && compound_params()->rto_from_lwnd)
		tp->snd_ssthresh = cc_ssthresh_floor(compound_lwnd_pkts(ca, tp->snd_cwnd) >> 1);
}

void CC_HOOK(compound_cwnd_event_tx_start, struct sock *sk)
{
	compound_restart(sk);
}

CC_ALGORITHM(compound,
	.init = CC_FN(compound_init),
	.cong_avoid = CC_FN(compound_cong_avoid),
	.ssthresh = CC_FN(compound_ssthresh),
	.set_state = CC_FN(compound_set_state),
	.pkts_acked = CC_FN(compound_pkts_acked),
	.undo_cwnd = CC_FN(compound_undo_cwnd),
	CC_TX_START_HOOKS(compound),
);
