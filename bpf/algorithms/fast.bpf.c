// SPDX-License-Identifier: GPL-2.0-only
/*
 * FAST: an equation for the window, from the queueing delay.
 *
 * For      study: high rates with a short queue
 * Use      when you study a window that follows the queueing delay, and all flows of the path run it.
 * Not      when loss-based flows share the path: it takes their queue for congestion and gives way. Not when flows
 *          start at different times: a later one can take the standing queue for base RTT, and then gets more.
 * Source   C. Jin, D. X. Wei, S. H. Low, "FAST TCP: Motivation, Architecture, Algorithms, Performance", IEEE INFOCOM 2004;
 *          constants of Even, Li, Leith, PFLDnet 2006, Table II; ns-2 tcp-fast.cc.
 * Law      once a round trip: W = min(2 W, (1 - gamma) W + gamma (base / RTT W + alpha)); queueing delay below mi:
 *          W doubles per round trip; loss: Reno
 * Why      In equilibrium each flow keeps alpha packets in the queue, whatever the rate: stable and without loss.
 * Differs  alpha_pkts = 0 chooses alpha by throughput in three modes (Table II, read as kB/s). The RTT is smoothed with
 *          weight min(3 / W, 1/4) as in the paper (ns-2: 3 / W or 1/256). The step is taken at once, after a round that
 *          was filled. After a decrease ssthresh follows the window. After a reduction the average delay begins anew,
 *          after a timeout the base too; until there is one the window grows as Reno's: the paper says nothing of
 *          either.
 * State    24 bytes of 104.
 * Range    windows up to 2^20 packets in Q8, RTTs up to 10 s: 2^28 * 10^7 < 2^52; the average in Q23: 3 * 2^51.
 */
#include "rtt.h"

#define FAST_PARAMS(P)                                                                                                 \
	P(CC_PARAM(gamma_pct, 50, 1, 100, "%", "share of the way to the equation's window taken at each step"))        \
	P(CC_PARAM(alpha_pkts, 0, 0, 10000, "pkts", "packets to keep in the queue; 0 = by mode"))                      \
	P(CC_PARAM(mode0_alpha_pkts, 8, 1, 10000, "pkts", "alpha at low throughput"))                                  \
	P(CC_PARAM(mode1_alpha_pkts, 20, 1, 10000, "pkts", "... medium"))                                              \
	P(CC_PARAM(mode2_alpha_pkts, 200, 1, 10000, "pkts", "... high"))                                               \
	P(CC_PARAM(mode0_up_kbytes_per_s, 1500, 1, 4000000, "kB/s", "above this from mode 0 to 1"))                    \
	P(CC_PARAM(mode1_down_kbytes_per_s, 1250, 1, 4000000, "kB/s", "below this from mode 1 to 0"))                  \
	P(CC_PARAM(mode1_up_kbytes_per_s, 15000, 1, 4000000, "kB/s", "above this from mode 1 to 2"))                   \
	P(CC_PARAM(mode2_down_kbytes_per_s, 12500, 1, 4000000, "kB/s", "below this from mode 2 to 1"))                 \
	P(CC_PARAM(packet_bytes, 1500, 64, 65535, "bytes", "size of a packet for the thresholds"))                     \
	P(CC_PARAM(mi_us, 750, 0, 10000, "us", "queueing delay below which the window doubles"))                       \
	P(CC_VARIANT(CC_SWITCH(every_other_rtt, 0, "a step every other round trip only")))
CC_PARAMS(fast, FAST_PARAMS);

struct fast_state {
	/* smoothed, us; steps of 3 / W of the way are small */
	u64 rtt_q23 CC_NONE(0, "no RTT since the last reduction or pause");
	u32 base_rtt_us CC_NONE(0, "no RTT yet");
	u32 cwnd_q8; /* window with the fraction that the kernel cannot hold */
	u32 round_end_seq;
	u8 mode;
	bool skip; /* every_other_rtt: no step at the end of this round */
	bool filled; /* every ACK of this round found the window filled */
};
CC_STATE_STRUCT(fast);

CC_INLINE void fast_restart_round(struct fast_state *ca, const struct tcp_sock *tp)
{
	ca->round_end_seq = tp->snd_nxt;
	ca->filled = true;
}

void CC_HOOK(fast_init, struct sock *sk)
{
	fast_restart_round(CC_NEW_STATE(fast, sk), tcp_sk(sk));
}

/* weight min(3 / W, 1/4); the difference is kept unsigned */
CC_INLINE void fast_smooth(struct fast_state *ca, u32 rtt_us, u32 cwnd)
{
	u64 sample_q23 = (u64)rtt_us << 23;
	u64 step = cc_distance(sample_q23, ca->rtt_q23) * 3 / cc_max(cwnd, 12);

	ca->rtt_q23 = sample_q23 > ca->rtt_q23 ? ca->rtt_q23 + step : ca->rtt_q23 - step;
}

void CC_HOOK(fast_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct fast_state *ca = CC_STATE(fast, sk);
	u32 rtt_us;

	if (sample->rtt_us < 0 || cc_in_reduction_or_loss(sk))
		return;
	rtt_us = cc_clamp(sample->rtt_us, 1, 1U << 28);
	if (!ca->base_rtt_us || rtt_us < ca->base_rtt_us)
		ca->base_rtt_us = rtt_us;
	if (ca->rtt_q23)
		fast_smooth(ca, rtt_us, tcp_sk(sk)->snd_cwnd);
	else
		ca->rtt_q23 = (u64)rtt_us << 23;
}

CC_INLINE u32 fast_rtt_us(const struct fast_state *ca)
{
	return cc_max(ca->rtt_q23 >> 23, cc_max(ca->base_rtt_us, 1));
}

/* One mode up or down per threshold crossed */
CC_INLINE void fast_choose_mode(struct fast_state *ca, const struct fast_params *p, u32 cwnd)
{
	u64 kbytes_per_s = (u64)cwnd * p->packet_bytes * 1000 / fast_rtt_us(ca);

	if (ca->mode == 2 && kbytes_per_s < p->mode2_down_kbytes_per_s)
		ca->mode = 1;
	if (ca->mode == 1 && kbytes_per_s < p->mode1_down_kbytes_per_s)
		ca->mode = 0;
	if (ca->mode == 0 && kbytes_per_s > p->mode0_up_kbytes_per_s)
		ca->mode = 1;
	if (ca->mode == 1 && kbytes_per_s > p->mode1_up_kbytes_per_s)
		ca->mode = 2;
}

CC_INLINE u32 fast_alpha_pkts(struct fast_state *ca, const struct fast_params *p, u32 cwnd)
{
	if (p->alpha_pkts)
		return p->alpha_pkts;
	fast_choose_mode(ca, p, cwnd);
	if (ca->mode == 0)
		return p->mode0_alpha_pkts;
	return ca->mode == 1 ? p->mode1_alpha_pkts : p->mode2_alpha_pkts;
}

/* The equation, one step */
CC_INLINE void fast_step(struct fast_state *ca, const struct fast_params *p, struct tcp_sock *tp)
{
	u64 cwnd_q8 = (u64)tp->snd_cwnd << 8;
	u64 target_q8, step_q8;

	if (ca->cwnd_q8 >> 8 == tp->snd_cwnd)
		cwnd_q8 = ca->cwnd_q8;
	target_q8 = cwnd_q8 * ca->base_rtt_us / fast_rtt_us(ca) + ((u64)fast_alpha_pkts(ca, p, tp->snd_cwnd) << 8);
	step_q8 = cc_distance(target_q8, cwnd_q8) * p->gamma_pct / 100;
	target_q8 = target_q8 > cwnd_q8 ? cwnd_q8 + step_q8 : cwnd_q8 - step_q8;
	ca->cwnd_q8 = cc_clamp(target_q8, 2 << 8, cc_max((u64)tp->snd_cwnd << 9, 2 << 8));
	cc_set_cwnd(tp, ca->cwnd_q8 >> 8);
	if (tp->snd_cwnd < tp->snd_ssthresh)
		tp->snd_ssthresh = cc_ssthresh_floor(tp->snd_cwnd);
}

CC_INLINE bool fast_queue_is_empty(const struct fast_state *ca, const struct fast_params *p)
{
	return fast_rtt_us(ca) - ca->base_rtt_us < p->mi_us;
}

CC_INLINE void fast_end_round(struct fast_state *ca, const struct fast_params *p, struct tcp_sock *tp)
{
	bool step = ca->filled && !(p->every_other_rtt && ca->skip);

	ca->skip = !ca->skip;
	if (step)
		fast_step(ca, p, tp);
}

void CC_HOOK(fast_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	const struct fast_params *p = fast_params();
	struct fast_state *ca = CC_STATE(fast, sk);
	struct tcp_sock *tp = tcp_sk(sk);
	bool round_ended = after(tp->snd_una, ca->round_end_seq);

	if (!tcp_is_cwnd_limited(sk))
		ca->filled = false;
	else if (tcp_in_slow_start(tp))
		tcp_slow_start(tp, acked_pkts);
	else if (cc_in_reduction_or_loss(sk) || !ca->rtt_q23) /* no delay is known: it is not that the queue is empty */
		cc_reno_grow(tp, acked_pkts);
	else if (fast_queue_is_empty(ca, p))
		cc_set_cwnd(tp, (u64)tp->snd_cwnd + acked_pkts);
	else if (round_ended)
		fast_end_round(ca, p, tp);
	if (round_ended)
		fast_restart_round(ca, tp);
}

/* The RTT of the full queue is no guide once the window is halved. */
void CC_HOOK(fast_set_state, struct sock *sk, u8 new_state)
{
	struct fast_state *ca = CC_STATE(fast, sk);

	if (new_state != TCP_CA_Open && new_state != TCP_CA_Loss)
		return;
	ca->rtt_q23 = 0;
	if (new_state == TCP_CA_Loss)
		ca->base_rtt_us = 0;
	fast_restart_round(ca, tcp_sk(sk));
}

/* A pause: the base stays true, the average does not. */
CC_INLINE void fast_restart(struct sock *sk)
{
	struct fast_state *ca = CC_STATE(fast, sk);

	ca->rtt_q23 = 0;
	fast_restart_round(ca, tcp_sk(sk));
}
CC_DEFINE_RESTART(fast, fast_restart)

CC_ALGORITHM(fast,
	.init = CC_FN(fast_init),
	.cong_avoid = CC_FN(fast_cong_avoid),
	.ssthresh = CC_FN(tcp_reno_ssthresh),
	.set_state = CC_FN(fast_set_state),
	.pkts_acked = CC_FN(fast_pkts_acked),
	.undo_cwnd = CC_FN(tcp_reno_undo_cwnd),
	CC_TX_START_HOOKS(fast),
);
