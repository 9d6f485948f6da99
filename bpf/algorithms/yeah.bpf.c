// SPDX-License-Identifier: GPL-2.0-only
/*
 * YeAH: fast while the queue is short, Reno while it is not, and polite to Reno flows beside it.
 *
 * For      study: fast and long paths with a short queue
 * Use      when you study a fast path whose queue should stay short, and can measure what other flows get.
 * Not      when it must get its share beside Reno flows: here it got 0.40 of one's rate
 *          (docs/results/reproduction-findings.md).
 * Source   A. Baiocchi, A. P. Castellani, F. Vacirca, "YeAH-TCP: Yet Another Highspeed TCP", PFLDnet 2007; constants of
 *          Linux tcp_yeah.c, since the paper gives none.
 * Law      Q = W (RTT_min - base) / RTT_min, L = (RTT_min - base) / base; fast iff Q < alpha and L < 1 / phi
 *          fast: Scalable TCP; slow: Reno, and Q > alpha: W -= Q (precautionary decongestion), ssthresh = W
 *          loss: W -= min(max(W / 8, Q), W / 2); against greedy flows (slow for rho round trips) W -= W / 2
 * Why      Draining its own queue keeps the path's buffer empty; count_reno, the window that a Reno flow would have, keeps
 *          it from giving way to flows that do not drain theirs.
 * Differs  From the paper: after zeta fast round trips count_reno becomes 2 and then half the window (paper_reset: half
 *          the window at once), and Q counts whole packets: slow is Q > alpha, where the paper has Q >= Q_max. As in
 *          Linux there is no decision after a round with fewer than three samples or with an unfilled window. From
 *          Linux: L is compared as base / phi in integers of any RTT, and no window limit of 2^25 is set; a timeout
 *          forgets the base RTT, and samples in recovery do not count (linux_counting: as in Linux).
 * State    36 bytes of 104.
 * Range    exact for windows up to 2^20 packets and RTTs up to 10 s.
 */
#include "rtt.h"

#define YEAH_PARAMS(P)                                                                                                 \
	P(CC_PARAM(alpha_pkts, 80, 1, 10000, "pkts", "Q_max: queued packets from which on it is slow"))                \
	P(CC_PARAM(gamma, 1, 1, 16, "", "decongestion takes Q / gamma"))                                               \
	P(CC_PARAM(delta_shift, 3, 1, 6, "", "a loss takes at least 2^-delta_shift of the window"))                    \
	P(CC_PARAM(epsilon_shift, 1, 1, 4, "", "decongestion takes at most 2^-epsilon_shift of the window"))           \
	P(CC_PARAM(phi, 8, 1, 64, "", "queueing delay over base / phi: slow"))                                         \
	P(CC_PARAM(rho_rtts, 16, 1, 1000, "RTTs", "slow for so long: competing with greedy flows"))                    \
	P(CC_PARAM(zeta_rtts, 50, 1, 1000, "RTTs", "fast for so long: count_reno starts anew"))                        \
	P(CC_PARAM(acks_per_pkt, 100, 10, 1000, "pkts", "fast mode: packets acked for one more packet of window"))     \
	P(CC_VARIANT(CC_SWITCH(paper_reset, 0,                                                                         \
			       "count_reno starts anew at half the window (paper) instead of at 2 (Linux)")))          \
	CC_RTT_PARAMS(P, 1)                                                                                            \
	P(CC_VARIANT(CC_SWITCH(linux_counting, 0,                                                                      \
			       "RTTs and rounds as tcp_yeah.c: base kept over timeouts, samples in recovery")))
CC_PARAMS(yeah, YEAH_PARAMS);

struct yeah_state {
	struct cc_rtt rtt;
	u32 queue_pkts; /* Q of the last round */
	u32 reno_count_pkts; /* what a Reno flow would have */
	u32 fast_rtts; /* rounds in fast mode */
	u32 slow_rtts; /* rounds in slow mode; 0: in fast mode */
};
CC_STATE_STRUCT(yeah);

void CC_HOOK(yeah_init, struct sock *sk)
{
	struct yeah_state *ca = CC_NEW_STATE(yeah, sk);

	cc_rtt_relearn(&ca->rtt, tcp_sk(sk));
	ca->reno_count_pkts = 2;
}

/* Takes the queue out of the window, but no more than a share of it and not below Reno's. */
CC_INLINE void yeah_decongest(const struct yeah_state *ca, const struct yeah_params *p, struct tcp_sock *tp)
{
	u32 cwnd = tp->snd_cwnd;
	u32 reduction = cc_min(ca->queue_pkts / p->gamma, cwnd >> p->epsilon_shift);

	cc_set_cwnd(tp, cc_max(cwnd - reduction, ca->reno_count_pkts));
	tp->snd_ssthresh = cc_ssthresh_floor(tp->snd_cwnd);
}

CC_INLINE void yeah_slow_round(struct yeah_state *ca, const struct yeah_params *p, struct tcp_sock *tp)
{
	if (ca->queue_pkts > p->alpha_pkts && tp->snd_cwnd > ca->reno_count_pkts)
		yeah_decongest(ca, p, tp);
	if (ca->reno_count_pkts <= 2)
		ca->reno_count_pkts = cc_max(tp->snd_cwnd >> 1, 2);
	else
		ca->reno_count_pkts = cc_min(ca->reno_count_pkts + 1ULL, CC_CWND_MAX_PKTS);
	ca->slow_rtts = cc_min(ca->slow_rtts + 1ULL, 0xffffff);
}

CC_INLINE void yeah_fast_round(struct yeah_state *ca, const struct yeah_params *p, const struct tcp_sock *tp)
{
	ca->slow_rtts = 0;
	if (++ca->fast_rtts <= p->zeta_rtts)
		return;
	ca->fast_rtts = 0;
	ca->reno_count_pkts = p->paper_reset ? cc_max(tp->snd_cwnd >> 1, 2) : 2;
}

CC_INLINE void yeah_end_round(struct yeah_state *ca, const struct yeah_params *p, struct tcp_sock *tp)
{
	u32 queueing_us = ca->rtt.round_min_us - ca->rtt.base_us;

	ca->queue_pkts = cc_queue_pkts_q8(tp->snd_cwnd, ca->rtt.round_min_us, ca->rtt.base_us) >> 8;
	if (ca->queue_pkts > p->alpha_pkts || queueing_us > ca->rtt.base_us / p->phi)
		yeah_slow_round(ca, p, tp);
	else
		yeah_fast_round(ca, p, tp);
}

void CC_HOOK(yeah_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	const struct yeah_params *p = yeah_params();
	struct yeah_state *ca = CC_STATE(yeah, sk);
	struct tcp_sock *tp = tcp_sk(sk);
	bool limited = tcp_is_cwnd_limited(sk);

	acked_pkts = cc_begin_growth(sk, acked_pkts);
	if (acked_pkts) {
		u32 divisor = ca->slow_rtts ? tp->snd_cwnd : cc_min(tp->snd_cwnd, p->acks_per_pkt);

		tcp_cong_avoid_ai(tp, divisor, acked_pkts);
	}
	if (p->linux_counting ? !limited
			      : cc_in_reduction_or_loss(sk)) /* Linux: no round ends with an unfilled window */
		return;
	if (!after(tp->snd_una, ca->rtt.round_end_seq))
		return;
	if (limited && cc_rtt_is_known(&ca->rtt))
		yeah_end_round(ca, p, tp);
	cc_rtt_restart_round(&ca->rtt, tp);
}

u32 CC_HOOK(yeah_ssthresh, struct sock *sk)
{
	const struct yeah_params *p = yeah_params();
	struct yeah_state *ca = CC_STATE(yeah, sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;
	u32 reduction = cc_max(cwnd >> 1, 2);

	if (ca->slow_rtts < p->rho_rtts)
		reduction = cc_min(cc_max(ca->queue_pkts, cwnd >> p->delta_shift), cwnd >> 1);
	ca->fast_rtts = 0;
	ca->reno_count_pkts = cc_max(ca->reno_count_pkts >> 1, 2);
	return cc_ssthresh_floor(cwnd > reduction ? cwnd - reduction : 0);
}

void CC_HOOK(yeah_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	const struct yeah_params *p = yeah_params();

	cc_rtt_sample(&CC_STATE(yeah, sk)->rtt, sk, sample->rtt_us, p->base_expiry_s, p->linux_counting);
}

void CC_HOOK(yeah_set_state, struct sock *sk, u8 new_state)
{
	cc_rtt_change_state(&CC_STATE(yeah, sk)->rtt, tcp_sk(sk), new_state, yeah_params()->linux_counting);
}

CC_INLINE void yeah_restart(struct sock *sk)
{
	struct cc_rtt *rtt = &CC_STATE(yeah, sk)->rtt;

	if (yeah_params()->relearn_base)
		rtt->base_us = 0;
	cc_rtt_restart_round(rtt, tcp_sk(sk));
}
CC_DEFINE_RESTART(yeah, yeah_restart)

CC_ALGORITHM(yeah,
	.init = CC_FN(yeah_init),
	.cong_avoid = CC_FN(yeah_cong_avoid),
	.ssthresh = CC_FN(yeah_ssthresh),
	.set_state = CC_FN(yeah_set_state),
	.pkts_acked = CC_FN(yeah_pkts_acked),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
	CC_TX_START_HOOKS(yeah),
);
