// SPDX-License-Identifier: GPL-2.0-only
/*
 * BIC: binary search for the window at which the last loss happened.
 *
 * For      study: fast and long paths, as CUBIC's predecessor
 * Use      when you reproduce measurements of 2004 to 2006, when it was Linux's default.
 * Not      when it shares a path with CUBIC or Reno: it takes several times their share
 *          (docs/results/reproduction-findings.md).
 * Source   L. Xu, K. Harfoush, I. Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance Networks",
 *          IEEE INFOCOM 2004; constants of Even, Li, Leith, PFLDnet 2006, Table II.
 * Law      below last_max: W += min(S_max, (last_max - W) / B) per round trip, B / smooth_part in the last B packets;
 *          above: the mirror image (max probing); loss: last_max = W, W = beta W
 * Why      Steps are large far from the last loss and small near it, so most time is spent close to saturation.
 * Differs  From Linux: S_max is 32 (Linux 16: profile linux), packets are counted once (Linux counts packets and also
 *          divides by the measured ACK ratio: ack_ratio=on), and the step is renewed at each ACK, not each 1/32 s. Undo
 *          restores last_max and the window. 2.6.6 to 2.6.10 computed fast convergence as 3.75 W; that is not
 *          reproduced.
 * State    12 bytes of 104.
 * Range    exact for windows up to 2^20 packets: window * smooth_part < 2^27, window * (1024 + beta) < 2^31.
 */
#include "cc.h"

#define BIC_PARAMS(P)                                                                                                  \
	P(CC_PARAM(max_step_pkts, 32, 1, 1024, "pkts/RTT", "S_max: largest increase in one round trip"))               \
	P(CC_PARAM(search_divisor, 4, 2, 16, "",                                                                       \
		   "B: the search goes 1/B of the distance; width of the flat zone in packets"))                       \
	P(CC_PARAM(smooth_part, 20, 2, 100, "",                                                                        \
		   "round trips in the flat zone: ln(1/S_min) / ln(B/(B-1)) + B (20: S_min = 0.01)"))                  \
	P(CC_PARAM(beta_q10, 819, 512, 1023, "1/1024", "share of the window kept on loss"))                            \
	P(CC_PARAM(low_window_pkts, 14, 0, 1000, "pkts", "at and below this window: Reno"))                            \
	P(CC_SWITCH(fast_convergence, 1, "a flow that lost before it reached last_max leaves room for others"))        \
	P(CC_PARAM(start_divisor, 20, 1, 100, "", "before the first loss: at least one packet per this many acked"))   \
	P(CC_VARIANT(CC_SWITCH(ack_ratio, 0,                                                                           \
			       "steps are larger by the measured packets per ACK, as in Linux (31/16 where each "      \
			       "packet has its ACK)")))
CC_PARAMS(bic, BIC_PARAMS);

struct bic_state {
	u32 last_max_pkts CC_NONE(0, "no loss yet"); /* window at the last loss */
	u32 undo_last_max_pkts;
	u32 ack_ratio_q4 CC_NONE(0, "not measured yet"); /* packets per ACK */
};
CC_STATE_STRUCT(bic);

/* Packets acked for one more packet while the window is below last_max */
CC_INLINE u32 bic_search_divisor(const struct bic_params *p, u32 cwnd, u32 last_max)
{
	u32 step = (last_max - cwnd) / p->search_divisor;

	if (step > p->max_step_pkts)
		return cwnd / p->max_step_pkts;
	if (step <= 1)
		return cwnd * p->smooth_part / p->search_divisor;
	return cwnd / step;
}

/* ... and above it */
CC_INLINE u32 bic_probe_divisor(const struct bic_params *p, u32 cwnd, u32 last_max)
{
	u32 beyond = cwnd - last_max;

	if (beyond < p->search_divisor)
		return cwnd * p->smooth_part / p->search_divisor;
	if (beyond < p->max_step_pkts * (p->search_divisor - 1))
		return cwnd * (p->search_divisor - 1) / beyond;
	return cwnd / p->max_step_pkts;
}

#define BIC_START_RATIO_Q4 (2 << 4) /* delayed ACKs */
#define BIC_MAX_RATIO_Q4 (1 << 20)

/* Linux means to make up for ACKs that are delayed: d = d / ratio */
CC_INLINE u32 bic_scaled_by_acks(const struct bic_params *p, const struct bic_state *ca, u32 divisor)
{
	u32 ratio_q4 = ca->ack_ratio_q4 ? ca->ack_ratio_q4 : BIC_START_RATIO_Q4;

	if (!p->ack_ratio)
		return divisor;
	return cc_max(cc_div((u64)divisor << 4, ratio_q4), 1);
}

CC_INLINE u32 bic_divisor(const struct bic_params *p, const struct bic_state *ca, u32 cwnd)
{
	u32 divisor;

	if (cwnd <= p->low_window_pkts)
		return cwnd;
	if (cwnd < ca->last_max_pkts)
		divisor = bic_search_divisor(p, cwnd, ca->last_max_pkts);
	else
		divisor = bic_probe_divisor(p, cwnd, ca->last_max_pkts);
	if (!ca->last_max_pkts)
		divisor = cc_min(divisor, p->start_divisor);
	return bic_scaled_by_acks(p, ca, divisor);
}

void CC_HOOK(bic_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	const struct bic_state *ca = CC_STATE(bic, sk);
	struct tcp_sock *tp = tcp_sk(sk);

	acked_pkts = cc_begin_growth(sk, acked_pkts);
	if (acked_pkts)
		tcp_cong_avoid_ai(tp, bic_divisor(bic_params(), ca, tp->snd_cwnd), acked_pkts);
}

u32 CC_HOOK(bic_ssthresh, struct sock *sk)
{
	const struct bic_params *p = bic_params();
	struct bic_state *ca = CC_STATE(bic, sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tp->snd_cwnd;

	ca->undo_last_max_pkts = ca->last_max_pkts;
	if (cwnd < ca->last_max_pkts && p->fast_convergence)
		ca->last_max_pkts = (u64)cwnd * (1024 + p->beta_q10) / 2048;
	else
		ca->last_max_pkts = cwnd;
	if (cwnd <= p->low_window_pkts)
		return cc_half_cwnd_pkts(tp);
	return cc_ssthresh_floor((u64)cwnd * p->beta_q10 >> 10);
}

/* After a timeout nothing is known of the path: search from anew. */
void CC_HOOK(bic_set_state, struct sock *sk, u8 new_state)
{
	struct bic_state *ca = CC_STATE(bic, sk);

	if (new_state != TCP_CA_Loss)
		return;
	ca->last_max_pkts = 0;
	ca->ack_ratio_q4 = BIC_START_RATIO_Q4;
}

/*
 * Linux: ratio = 15/16 ratio + packets of this ACK. The sixteenth that goes is rounded down, so where every packet has
 * its own ACK the ratio stops at 31/16 on its way from 2 to 1.
 */
void CC_HOOK(bic_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct bic_state *ca = CC_STATE(bic, sk);
	u32 ratio_q4;

	if (!bic_params()->ack_ratio || CC_BITFIELD(inet_csk(sk), icsk_ca_state) != TCP_CA_Open)
		return;
	ratio_q4 = ca->ack_ratio_q4 ? ca->ack_ratio_q4 : BIC_START_RATIO_Q4;
	ca->ack_ratio_q4 = cc_min((u64)ratio_q4 - (ratio_q4 >> 4) + sample->pkts_acked, BIC_MAX_RATIO_Q4);
}

u32 CC_HOOK(bic_undo_cwnd, struct sock *sk)
{
	struct bic_state *ca = CC_STATE(bic, sk);

	ca->last_max_pkts = ca->undo_last_max_pkts;
	return cc_restored_cwnd_pkts(tcp_sk(sk));
}

CC_ALGORITHM(bic,
	.cong_avoid = CC_FN(bic_cong_avoid),
	.ssthresh = CC_FN(bic_ssthresh),
	.set_state = CC_FN(bic_set_state),
	.pkts_acked = CC_FN(bic_pkts_acked),
	.undo_cwnd = CC_FN(bic_undo_cwnd),
);
