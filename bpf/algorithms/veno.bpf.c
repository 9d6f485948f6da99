// SPDX-License-Identifier: GPL-2.0-only
/*
 * Veno: tell random losses, as on radio links, from those of a full queue.
 *
 * For      study: radio links with random losses
 * Use      when you study how delay tells random losses from those of a full queue.
 * Not      when the path is fast and long: it grows as Reno or slower.
 * Source   C. P. Fu, S. C. Liew, "TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks", IEEE JSAC
 *          21(2), 2003; Linux tcp_veno.c.
 * Law      N = W (RTT - base) / RTT; N < beta: W += 1 per round trip, loss takes 1/5;
 *          else W += 1 every second round trip, loss takes 1/2
 * Why      With few packets queued a loss is hardly congestion, so less is given up for it.
 * Differs  The RTT is that of each ACK, as in Linux. Linux never resets its 16-bit count of samples, which wraps to zero
 *          after 65,536 of them and makes it Reno for three ACKs; here the count stays at its limit.
 * State    28 bytes of 104.
 * Range    exact for windows up to 2^20 packets and RTTs up to 10 s; N in Q1.
 */
#include "rtt.h"

#define VENO_PARAMS(P)                                                                                                 \
	P(CC_PARAM(beta_pkts, 3, 1, 16, "pkts", "queued packets from which on the path counts as congested"))          \
	CC_RTT_PARAMS(P, 1)
CC_PARAMS(veno, VENO_PARAMS);

struct veno_state {
	struct cc_rtt rtt; /* round_min_us is the RTT of the last ACK */
	u32 diff_q1; /* N: queued packets, Q1 */
	bool increase_next; /* congested: this round trip is the one that grows */
};
CC_STATE_STRUCT(veno);

void CC_HOOK(veno_init, struct sock *sk)
{
	struct veno_state *ca = CC_NEW_STATE(veno, sk);

	cc_rtt_relearn(&ca->rtt, tcp_sk(sk));
	ca->increase_next = true;
}

/* One more packet every second window; the credit is tested before the ACK adds to it, as in Linux. */
CC_INLINE void veno_grow_slowly(struct veno_state *ca, struct tcp_sock *tp, u32 acked_pkts)
{
	if (tp->snd_cwnd_cnt < tp->snd_cwnd) {
		tp->snd_cwnd_cnt += acked_pkts;
		return;
	}
	tp->snd_cwnd_cnt = 0;
	if (ca->increase_next)
		cc_set_cwnd(tp, tp->snd_cwnd + 1ULL);
	ca->increase_next = !ca->increase_next;
}

CC_INLINE void veno_grow(struct veno_state *ca, struct tcp_sock *tp, u32 acked_pkts)
{
	u64 target_q1 = cc_div((u64)tp->snd_cwnd * ca->rtt.base_us * 2, ca->rtt.round_min_us);

	ca->diff_q1 = ((u64)tp->snd_cwnd << 1) - target_q1;
	if (tcp_in_slow_start(tp))
		acked_pkts = tcp_slow_start(tp, acked_pkts);
	if (!acked_pkts)
		return;
	if (ca->diff_q1 < 2 * veno_params()->beta_pkts)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked_pkts);
	else
		veno_grow_slowly(ca, tp, acked_pkts);
}

void CC_HOOK(veno_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	struct veno_state *ca = CC_STATE(veno, sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (cc_in_reduction_or_loss(sk) || !cc_rtt_is_known(&ca->rtt))
		cc_reno_grow(tp, acked_pkts);
	else
		veno_grow(ca, tp, acked_pkts);
}

void CC_HOOK(veno_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct cc_rtt *rtt = &CC_STATE(veno, sk)->rtt;

	if (sample->rtt_us >= 0)
		rtt->round_min_us = 0; /* each ACK is a round of its own, with as many samples as there ever were */
	cc_rtt_sample(rtt, sk, sample->rtt_us, veno_params()->base_expiry_s, false);
}

u32 CC_HOOK(veno_ssthresh, struct sock *sk)
{
	const struct veno_state *ca = CC_STATE(veno, sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (ca->diff_q1 < 2 * veno_params()->beta_pkts)
		return cc_ssthresh_floor((u64)tp->snd_cwnd * 4 / 5);
	return cc_half_cwnd_pkts(tp);
}

void CC_HOOK(veno_set_state, struct sock *sk, u8 new_state)
{
	struct cc_rtt *rtt = &CC_STATE(veno, sk)->rtt;

	if (new_state == TCP_CA_Loss)
		cc_rtt_relearn(rtt, tcp_sk(sk));
	else if (new_state == TCP_CA_Open)
		cc_rtt_restart_round(rtt, tcp_sk(sk));
}

CC_INLINE void veno_restart(struct sock *sk)
{
	struct cc_rtt *rtt = &CC_STATE(veno, sk)->rtt;

	if (veno_params()->relearn_base)
		rtt->base_us = 0;
	cc_rtt_restart_round(rtt, tcp_sk(sk));
}
CC_DEFINE_RESTART(veno, veno_restart)

CC_ALGORITHM(veno,
	.init = CC_FN(veno_init),
	.cong_avoid = CC_FN(veno_cong_avoid),
	.ssthresh = CC_FN(veno_ssthresh),
	.set_state = CC_FN(veno_set_state),
	.pkts_acked = CC_FN(veno_pkts_acked),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
	CC_TX_START_HOOKS(veno),
);
